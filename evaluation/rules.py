"""How well the rules that speak of a tool call are found: labelled calls, each as the first of a session.

    python -m evaluation.rules [FILE] [dev|heldout|…] [--verbose]

FILE has the same form as `rule_calls.json`: `rules` with `id`, `description` and `body`, `calls` with `half`, `tool`, `input`,
`rules` and `fine`. Without one all `rule_calls*.json` are read, without a name every half is scored. A call has the rules that somebody who knows them would name at that moment (`rules`), and those that are about it without being
needed (`fine`): they are neither right nor wrong.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from memoryd.clients.tool_actions import action_in
from memoryd.rules.calls import call_of
from memoryd.rules.match import StoredTrigger, keys_of, matched
from memoryd.rules.triggers import triggers_of

FILES = {
    Path(__file__).with_name(f"rule_calls{name}.json"): halves
    for name, halves in {
        "": ("dev", "heldout"),
        "_worlds": ("worlds",),  # Java, Rails, Go, Terraform, Android, SQL, documentation
        "_bakery": ("bakery",),  # Elixir, Flutter, Ansible, Kafka
        "_laboratory": ("laboratory",),  # PHP, machine learning, C#, firmware
    }.items()
}


class Score(NamedTuple):
    calls: int
    wanted: int
    right: int
    calls_with_wrong: int

    def __str__(self) -> str:
        return (
            f"{self.calls} calls: right rule {self.right / self.wanted:.3f} ({self.right} of {self.wanted}),"
            f" calls with a wrong one {self.calls_with_wrong / self.calls:.3f} ({self.calls_with_wrong})"
        )


def found_for(call: dict[str, Any], rules: list[dict[str, Any]], stored: list[StoredTrigger]) -> set[str]:
    meant = call_of(action_in(call["tool"], call["input"]), "/repo")
    keys = keys_of(meant)
    return {rules[number]["id"] for number in matched(meant, [one for one in stored if one.key in keys])}


def score(half: str, file: Path, *, verbose: bool = False) -> Score:
    labelled = json.loads(file.read_text(encoding="utf-8"))
    rules = labelled["rules"]
    stored = [
        StoredTrigger(number, *trigger)
        for number, rule in enumerate(rules)
        for trigger in triggers_of(rule["description"], rule["body"])
    ]
    calls = [call for call in labelled["calls"] if call["half"] == half]
    wanted = right = wrong = 0
    for call in calls:
        found = found_for(call, rules, stored)
        wanted += len(call["rules"])
        right += len(found & {*call["rules"]})
        others = found - {*call["rules"], *call["fine"]}
        wrong += bool(others)
        missing = {*call["rules"]} - found
        if verbose and (others or missing):
            print(f"  {next(iter(call['input'].values()))}: missing {sorted(missing)}, wrong {sorted(others)}")
    return Score(len(calls), wanted, right, wrong)


def main() -> int:
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    is_named = bool(arguments) and arguments[0].endswith(".json")
    for file in [Path(arguments.pop(0))] if is_named else FILES:
        halves = dict.fromkeys(call["half"] for call in json.loads(file.read_text(encoding="utf-8"))["calls"])
        for name in [name for name in halves if not arguments or name in arguments]:
            print(f"{name}: {score(name, file, verbose='--verbose' in sys.argv)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
