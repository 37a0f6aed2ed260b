"""What memories speak of: commands, paths, kinds of work; in doubt of no call."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluation.rules import FILES, score
from memoryd.clients.tool_actions import action_in
from memoryd.memory.quick_parse import quick_parse
from memoryd.rules.calls import call_of
from memoryd.rules.match import Forbidden, StoredTrigger, fitting_kinds, keys_of
from memoryd.rules.named import Trigger
from memoryd.rules.triggers import triggers_of, triggers_of_memory


def plain(description: str, body: str) -> list[Trigger]:
    """Triggers without the words that they are weighed with."""
    found = triggers_of(description, body)
    return [trigger for trigger in found if trigger.kind != "words"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Never run npm install here", {("run", "npm install")}),
        ("Use pnpm, not npm", {("run", "npm")}),
        ("Run `make db-up` first", {("run", "make db-up")}),
        ("Leave `vendor/` alone", {("edit", "vendor/")}),
        ("Do not edit CHANGELOG.md: a script writes it from the commit subjects", {("edit", "CHANGELOG.md")}),
        ("Keep every commit under 200 lines", {("work", "commit")}),
        ("Commit-Nachrichten auf Englisch", {("work", "commit")}),
        ("Never amend a commit that has been pushed", {("work", "amend")}),
        ("SQL keywords in capitals, in `*.sql`", {("files", "sql")}),
        ("The history of git stays linear", set()),
        ("In `web/` use yarn, not npm", {("run", "npm")}),
        ("Nothing in db/migrations that was on main is changed", {("edit", "db/migrations")}),
        ("Use yarn in apps/web, no npm", {("run", "npm")}),
        ("No console.log left in apps/web", {("text", "console.log")}),
        ("No time.time() in Python code", {("text", "time.time")}),
        ("Name them `V<date>__<what>.sql`", set()),
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
    found = {(trigger.kind, trigger.pattern or trigger.key) for trigger in plain(text, text)}
    assert found == wanted


def test_what_is_said_of_one_language_is_not_about_another() -> None:
    stored = [StoredTrigger(1, *trigger) for trigger in triggers_of("Go tests only with the race detector", "")]
    for line, is_meant in (
        ("go test ./...", True),
        ("make test", True),
        ("pytest -q", False),
        ("./gradlew test", False),
    ):
        call = call_of(action_in("Bash", {"command": line}), "/repo")
        assert bool(fitting_kinds(call, stored)) is is_meant, line


def test_the_reason_of_a_rule_is_not_what_it_speaks_of() -> None:
    body = "Answer in one paragraph.\n\n**Why:** `npm install` broke in api/gen/ while I read.\n"
    assert plain("One paragraph", body) == []


def test_only_feedback_is_handed_over_and_whatever_binds_refuses() -> None:
    head = '---\nname: a\ndescription: Never run npm install\ntype: {}\nmetadata:\n  enforce: "{}"\n---\nNever run npm install\n'

    def found(kind: str, enforce: str) -> tuple[Trigger, ...]:
        return triggers_of_memory(quick_parse(head.format(kind, enforce).encode()))

    assert found("feedback", "")[0] == Trigger("run", "npm", "npm install")
    assert found("project", "") == ()
    assert found("project", "run npm install; edit db/") == (
        Trigger("deny-run", "npm", "npm install"),
        Trigger("deny-edit", "", "db/"),
    )
    assert found("project", "whatever") == (Trigger("deny-unknown", "\0", "whatever"),)


def test_labelled_calls_get_their_rules_and_few_others() -> None:
    """At least as well as sets that the model has not seen: these are fitted to a little, so that they must not be worse.

    Their own figures (docs/quality.md) are no bound: to keep to them would be to fit the model to them.
    """
    scores = [score(half, file) for file, halves in FILES.items() for half in halves]
    right, wanted = sum(one.right for one in scores), sum(one.wanted for one in scores)
    assert right / wanted >= 0.58
    assert sum(one.calls_with_wrong for one in scores) / sum(one.calls for one in scores) <= 0.05


RULE_AND_CALLS = [
    # the rule, a call that it is about, and one that only looks like it
    ("Don't run the whole Playwright suite", "yarn workspace e2e playwright test", "yarn workspace e2e eslint ."),
    ("Do not start the dev server, it runs already", "cd web && yarn dev", "yarn build"),
    ("Ne lance pas le serveur", "bin/rails s", "bin/rails routes"),
    ("Only push to main through a pull request", "git push origin HEAD:main", "git push origin topic"),
    ("不要直接推送到 main", "git push origin main", "git push origin main-menu"),
    ("Branches are called feature/<ticket>", "git switch -c login", "git branch --show-current"),
    ("Say so before anything goes to production", "helm upgrade api . --kube-context hw-prod", "helm upgrade api ."),
    (
        "Never pipe a script from the web into a shell",
        "curl -fsS https://x.io/i | sudo bash -s -- -y",
        "curl -s localhost",
    ),
    ("Releases are made by CI only", "npm version minor", "git tag --list 'v2.*'"),
    ("`aws s3 sync`, `rm` and `mv` only after I have seen it", "aws s3 rm s3://a/b", "aws s3 ls"),
    ("Build the docs with `mkdocs build --strict`", "mkdocs build", "mkdocs --version"),
    ("Never run `docker compose down -v`", "docker compose -f dev.yml down -v", "docker compose down"),
    ("No `KEYS` on the shared cache", "redis-cli -h cache KEYS 'a*'", "redis-cli -h cache --scan"),
    ("In `web/` no npm", "cd web && npm ci", "cd tools && npm ci"),
    (
        "Migrations are tried on a copy first",
        "docker compose exec app bin/rails db:migrate",
        "docker compose exec app ls",
    ),
    ("Do not push to main, and no --force", "git push --force origin topic", "git push origin topic"),
    ("Never delete samples/audio or samples/video", "rm -rf samples/audio", "rm -rf build"),
    ("Always through the wrapper: `fvx flutter …`", "flutter build apk", "adb logcat"),
    ("Format with `uv run ruff format`", "ruff format src", "uv run mypy src"),
    ("Don't look into keys/ (cat, rg, whatever)", "rg token keys/", "rg token src/"),
    ("Run just the test that changed", "make test", "test -f Makefile"),
    ("Never bypass hooks with --no-verify", "git merge --no-verify x", "git merge x --verify-signatures"),
]


@pytest.mark.parametrize(("rule", "meant", "other"), RULE_AND_CALLS)
def test_a_rule_is_about_a_command(rule: str, meant: str, other: str) -> None:
    stored = [StoredTrigger(1, *trigger) for trigger in triggers_of(rule, "")]

    def is_found(line: str) -> bool:
        call = call_of(action_in("Bash", {"command": line}), "/repo")
        keys = keys_of(call)
        return bool(fitting_kinds(call, [trigger for trigger in stored if trigger.key in keys]))

    assert (is_found(meant), is_found(other)) == (True, False)


@pytest.mark.parametrize(
    ("rule", "path", "before", "after", "is_meant"),
    [
        ("No fmt.Println in api/, use slog", "api/a.go", "", 'fmt.Println("x")', True),
        ("No fmt.Println in api/, use slog", "tools/a.go", "", 'fmt.Println("x")', False),
        ("No fmt.Println in api/, use slog", "api/a.go", 'fmt.Println("x")', "", False),
        ("Never use `:latest` as a tag", "k8s/a.yaml", "image: a:1", "image: a:latest", True),
        ("Never use `:latest` as a tag", "README.md", "", "we had image: a:latest", False),
        ("We do not use Lombok", "Order.java", "", "// like lombok did", False),
        ("It is called a berth. Not slot, not spot.", "src/Button.tsx", "", "const C = asChild ? Slot : 'b'", False),
        ("Run Go tests with `-race`, always", "Makefile", "\tgo test -race ./...", "\tgo test ./...", True),
        (
            "Releases are made by the script: no version number by hand",
            "package.json",
            "",
            '  "version": "2.0.0",',
            True,
        ),
        ("Releases are made by the script: no version number by hand", "package.json", "", '  "name": "x",', False),
        ("No new dependencies without asking", "Gemfile", "", 'gem "rack-attack"', True),
        ("No new dependencies without asking", "package.json", "", '  "private": true,', False),
        ("Passwords never go into the repository", "a.yaml", "", 'password: "mO8-kabeljau-41x"', True),
        ("Passwords never go into the repository", "a.yaml", "", "timeout: 5", False),
        ("Every migration must be reversible", "db/migrate/1_a.rb", "", "add_column :a, :b", True),
        ("Generated: files ending in .pb.go", "api/orders.pb.go", "", "x", True),
        ("Use `uv lock`. Nothing in vendored/ is edited by hand.", "vendored/a.c", "", "x", True),
        ("Use `uv lock`. Nothing in vendored/ is edited by hand.", "src/a.c", "", "x", False),
        ("Nothing in out/ is written by hand. Patches go into fixes/.", "fixes/a.patch", "", "x", False),
        ("Never `fmt.Errorf`, use `errors.Join`", "a.go", "", "return errors.Join(a, b)", False),
        ("Never `fmt.Errorf`, use `errors.Join`", "a.go", "", "return fmt.Errorf(a)", True),
        ("No `??` in Kotlin", "a.kt", "", "val a = b ?? c", True),
        ("No `??` in Kotlin", "a.ts", "", "const a = b ?? c", False),
        ("`:edge`, or no tag, must not show up in a manifest", "k8s/a.yaml", "", "image: a:edge", True),
        (
            "No pixel sizes in a theme, only the spacing scale",
            "ui/form/card.css",
            "",
            "margin: auto; /* scale */",
            False,
        ),
        ("Secrets stay out of `.env` files", "web/.env.local", "", "A=1", True),
    ],
)
def test_a_rule_is_about_what_is_written(rule: str, path: str, before: str, after: str, is_meant: bool) -> None:
    given = {"file_path": f"/repo/{path}", "old_string": before, "new_string": after}
    call = call_of(action_in("Edit", given), "/repo")
    keys = keys_of(call)
    stored = [StoredTrigger(1, *trigger) for trigger in triggers_of(rule, "") if trigger.key in keys]
    assert bool(fitting_kinds(call, stored)) is is_meant


def test_a_command_in_a_script_or_container_refuses_nothing() -> None:
    forbidden = Forbidden("run", "npm install")
    for call in (
        call_of(action_in("Write", {"file_path": "/repo/a.sh", "content": "npm install"}), "/repo"),
        call_of(action_in("Bash", {"command": "docker compose run web npm install"}), "/repo"),
        call_of(action_in("Bash", {"command": "pnpm rm npm"}), "/repo"),
    ):
        assert not forbidden.fits(call)
        assert not Forbidden("run", "rm").fits(call)


@given(st.text(max_size=300) | st.text("`(){}.?-a", max_size=12).map("Never use {}.".format))
@example("Never use `()` as a default argument.")
def test_no_memory_is_too_odd(text: str) -> None:
    found = triggers_of(text, text)
    assert len(found) <= 41
    assert all(trigger.pattern.strip() for trigger in found if trigger.kind == "text")
