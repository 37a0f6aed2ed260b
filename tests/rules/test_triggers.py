"""What memories speak of: commands, paths, kinds of work; in doubt of no call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.rules import score
from memoryd.clients.tool_actions import action_in
from memoryd.memory.quick_parse import quick_parse
from memoryd.rules.calls import call_of
from memoryd.rules.match import StoredTrigger, matched
from memoryd.rules.triggers import Trigger, triggers_of, triggers_of_memory


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Never run npm install here", {("run", "npm install")}),
        ("Use pnpm, not npm", {("run", "pnpm"), ("run", "npm")}),
        ("Run `make db-up` first", {("run", "make db-up")}),
        ("Leave `vendor/` alone", {("edit", "vendor/")}),
        ("Do not edit CHANGELOG.md: a script writes it from the commit subjects", {("edit", "CHANGELOG.md")}),
        ("Keep every commit under 200 lines", {("work", "commit")}),
        ("Commit-Nachrichten auf Englisch", {("work", "commit")}),
        ("Never amend a commit that has been pushed", {("work", "amend")}),
        ("SQL keywords in capitals, in `*.sql`", {("files", "sql")}),
        ("TypeScript: no default exports", {("files", "ts"), ("files", "tsx"), ("files", "mts")}),
        ("The history of git stays linear", set()),
        ("In `web/` use yarn, not npm", {("run", "yarn"), ("run", "npm")}),
        ("Nothing in db/migrations that was on main is changed", {("edit", "db/migrations")}),
        ("The hw-prod cluster is for reading", {("name", "hw-prod")}),
        ("`docker volume rm` never: the demo is in docker", {("run", "docker volume rm")}),
        (
            "`terraform apply` with a plan, no `-auto-approve`",
            {("run", "terraform apply"), ("run", "terraform -auto-approve")},
        ),
        ("Pin actions in .github/workflows by commit", {("edit", ".github/workflows")}),
        ("No `npm publish`.\n\n**How to apply:** `make release`", {("run", "npm publish")}),
        ("Make sure that it works", set()),
    ],
)
def test_what_a_memory_names(text: str, wanted: set[tuple[str, str]]) -> None:
    found = {(kind, pattern or key) for kind, key, pattern in triggers_of(text, text) if kind != "folder"}
    assert found == wanted


def test_what_is_said_of_one_language_is_not_about_another() -> None:
    (trigger,) = triggers_of("Go tests only with the race detector", "")
    stored = StoredTrigger(1, *trigger)
    for line, is_meant in (
        ("go test ./...", True),
        ("make test", True),
        ("pytest -q", False),
        ("./gradlew test", False),
    ):
        assert bool(matched(call_of(action_in("Bash", {"command": line}), "/repo"), [stored])) is is_meant, line


def test_the_reason_of_a_rule_is_not_what_it_speaks_of() -> None:
    body = "Answer in one paragraph.\n\n**Why:** `npm install` broke in api/gen/ while I read.\n"
    assert {trigger.kind for trigger in triggers_of("One paragraph", body)} == {"folder"}


def test_only_feedback_is_handed_over_and_whatever_binds_refuses() -> None:
    head = '---\nname: a\ndescription: Never run npm install\ntype: {}\nmetadata:\n  enforce: "{}"\n---\nNever run npm install\n'

    def found(kind: str, enforce: str) -> tuple[Trigger, ...]:
        return triggers_of_memory(quick_parse(head.format(kind, enforce).encode()))

    assert found("feedback", "") == (Trigger("run", "npm", "npm install"),)
    assert found("project", "") == ()
    assert found("project", "run npm install; edit db/") == (
        Trigger("deny-run", "npm", "npm install"),
        Trigger("deny-edit", "", "db/"),
    )
    assert found("project", "whatever") == (Trigger("deny-unknown", "\0", "whatever"),)


def test_labelled_calls_get_their_rules_and_few_others() -> None:
    """The figures of docs/quality.md; the half that nothing was fitted to."""
    held_out = score("heldout")
    assert held_out.right / held_out.wanted >= 0.8
    assert held_out.calls_with_wrong / held_out.calls <= 0.05


@given(st.text(max_size=300))
def test_no_memory_is_too_odd(text: str) -> None:
    assert len(triggers_of(text, text)) <= 40
