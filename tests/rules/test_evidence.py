"""Which rules a call is handed over with, by the words that they have in common with it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.tool_actions import action_in
from memoryd.rules.calls import call_of
from memoryd.rules.evidence import FEATURES, evidence_of, model
from memoryd.rules.match import StoredTrigger, fitting_kinds, keys_of, least_probability, matched, rows_of
from memoryd.rules.triggers import triggers_of

if TYPE_CHECKING:
    from memoryd.rules.evidence import CallEvidence

RULES = (
    "We do not use Lombok",
    "dbt immer mit `--target dev`",
    "Terragrunt: plan first",
    "Never cast an ISBN to a number",
    "Use pnpm, not npm",
    "The archive server is restarted by Ida alone",
    "Answer in one paragraph",
)


def handed_over(tool: str, **given: str) -> list[str]:
    call = call_of(action_in(tool, given), "/repo")
    keys = keys_of(call)
    stored = [StoredTrigger(at, *trigger) for at, rule in enumerate(RULES) for trigger in triggers_of(rule, "")]
    return [RULES[number] for number in matched(call, [trigger for trigger in stored if trigger.key in keys])]


@pytest.mark.parametrize(
    ("path", "written", "wanted"),
    [
        ("Order.java", "import lombok.Data;", RULES[:1]),
        ("docs/history.md", "We had lombok once.", ()),
        ("src/import.php", "$isbn = (int) $number; // cast", RULES[3:4]),
        ("src/import.php", "$title = trim($row);", ()),
    ],
)
def test_an_edit_gets_the_rule_whose_words_it_writes(path: str, written: str, wanted: tuple[str, ...]) -> None:
    assert handed_over("Write", file_path=f"/repo/{path}", content=written) == [*wanted]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("terragrunt plan", RULES[2:3]),
        ("ssh archive sudo systemctl restart server", RULES[5:6]),
        ("pnpm install", ()),  # it does what the rule wants
        ("npm install", RULES[4:5]),
        ("git status", ()),
    ],
)
def test_a_command_gets_the_rule_whose_words_it_has(line: str, wanted: tuple[str, ...]) -> None:
    assert handed_over("Bash", command=line) == [*wanted]


def test_a_rule_that_names_the_call_comes_before_one_that_only_resembles_it() -> None:
    rules = ("Publish packages with care", "Never run `npm publish`")
    stored = [StoredTrigger(at, *trigger) for at, rule in enumerate(rules) for trigger in triggers_of(rule, "")]
    assert matched(call_of(action_in("Bash", {"command": "npm publish"}), "/repo"), stored)[0] == 1


def evidence_for(rule: str, line: str) -> list[CallEvidence]:
    stored = [StoredTrigger(1, *trigger) for trigger in triggers_of(rule, "")]
    call = call_of(action_in("Bash", {"command": line}), "/repo")
    return evidence_of(call, rows_of(stored), fitting_kinds(call, stored))


def test_the_model_weighs_what_is_found() -> None:
    assert set(model()) == {"run", "edit"}
    (found,) = evidence_for("Never run npm install", "npm install")
    assert len(found.values) == len(FEATURES)
    assert found.is_named
    assert found.probability == 1


def test_a_memory_without_anything_in_common_costs_no_weighing() -> None:
    assert evidence_for("Answer in one paragraph", "npm install") == []


def test_the_more_rules_there_are_the_surer_one_has_to_be() -> None:
    least = [least_probability(rules) for rules in (0, 1, 2, 8, 40, 500)]
    assert least[0] == least[1]
    assert all(few < more < 1 for few, more in pairwise(least[1:]))
    stored = [StoredTrigger(1, *trigger) for trigger in triggers_of("Terragrunt: plan first", "")]
    call = call_of(action_in("Bash", {"command": "terragrunt apply"}), "/repo")
    (chance,) = (one.probability for one in evidence_of(call, rows_of(stored), {}))
    for rules in (1, 4, 40, 10_000):
        assert matched(call, stored, rules) == ([1] if chance >= least_probability(rules) else [])
    assert matched(call, stored) == [1]
    assert matched(call, stored, 10_000) == []


@pytest.mark.parametrize(
    ("line", "is_there"),
    [
        ("node tool db.connect", True),
        ("node tool mydb.connect db.connect", True),
        ("node tool db.connects", False),
        ("node tool my_db.connect", False),
        ("node tool db.connect_all", False),
    ],
)
def test_a_piece_of_code_counts_as_a_whole_word(line: str, is_there: bool) -> None:
    (found,) = evidence_for("Node leaves db.connect to the pool", line)
    assert found.values[FEATURES.index("piece")] == is_there
