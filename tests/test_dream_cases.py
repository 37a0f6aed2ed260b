"""The labelled cases of consolidation are sound: what a careful person made of each meets what it asks for."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from memoryd.memory.document import parse

TRAINING = Path(__file__).parent.parent / "training"
CASES: list[dict[str, Any]] = [
    json.loads(line)
    for part in ("dreams", "dreams-heldout")
    for file in sorted((TRAINING / part).glob("*.jsonl"))
    for line in file.read_text("utf-8").splitlines()
]


def topics(case: dict[str, Any], *, solved: bool) -> dict[str, str]:
    """The memories of a case, as they are or as they should be."""
    files = case["files"] | (case["solution"] if solved else {})
    return {
        name: text
        for name, text in files.items()
        if text is not None and name.endswith(".md") and not name.endswith("MEMORY.md") and text.startswith("---")
    }


def problems(case: dict[str, Any], *, solved: bool) -> list[str]:
    """What a state of the directory lacks of what the case expects; the index is another matter."""
    expect, found = case["expect"], topics(case, solved=solved)
    files = case["files"] | (case["solution"] if solved else {})
    everything = "\n".join(found.values())
    wrong = [
        f"lost: {rule['all_of']}"
        for rule in expect["must_contain"]
        if not any(
            all(any(word.lower() in text.lower() for word in group) for group in rule["all_of"])
            for text in found.values()
        )
    ]
    wrong += [
        f"there: {words}"
        for words in expect["must_not_contain"]
        if re.search(words, everything, re.IGNORECASE | re.MULTILINE)
    ]
    wrong += [
        f"not merged: {names}" for names in expect["merged"] if sum(files.get(name) is not None for name in names) > 1
    ]
    wrong += [f"touched: {name}" for name in expect["keep_untouched"] if files[name] != case["files"][name]]
    wrong += [f"no {absolute}" for _, absolute in expect["absolute_dates"] if absolute not in everything]
    if not expect["min_files"] <= len(found) <= expect["max_files"]:
        wrong.append(f"{len(found)} files")
    return wrong


def test_there_are_enough_of_every_kind_and_none_twice() -> None:
    kinds = Counter(case["kind"] for case in CASES)
    assert len({case["id"] for case in CASES}) == len(CASES) == 55
    assert len(kinds) == 13
    assert min(kinds.values()) >= 3


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_what_a_careful_person_made_of_it_is_what_is_expected(case: dict[str, Any]) -> None:
    assert problems(case, solved=True) == []
    if case["kind"] not in ("index-repair", "full-index"):  # whose task may be the index alone
        assert bool(problems(case, solved=False)) == (case["kind"] != "no-op")
    now = datetime.fromisoformat(case["now"])
    assert all(datetime.fromisoformat(session["started_at"]) < now for session in case["sessions"])
    for name, text in topics(case, solved=True).items():
        document = parse(text.encode())
        assert document.problem is None or case["files"].get(name) == text, name
