"""Scopes: of what the embedded engine finds in labelled messages, how much stands in the right tier: `python -m evaluation.scopes`."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from memoryd.engines.offline import find
from memoryd.model import UserMessage

FILES = ("scopes.tsv", "scopes_unseen.tsv")


def main() -> None:
    for name in FILES:
        score(Path(__file__).with_name(name))


def score(cases: Path) -> None:
    counts: Counter[str] = Counter()
    for line in cases.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        _, text, *facts = line.split("\t")
        found = find([UserMessage("s", "m", 1.8e9, text)])
        memories = (*found.written, *found.unconfirmed)
        for fact in facts:
            scope, _, words = fact.partition(": ")
            hits = [one for one in memories if any(word.casefold() in one.body.casefold() for word in words.split("|"))]
            counts[f"{scope} facts"] += 1
            counts[f"{scope} found"] += bool(hits)
            is_right = bool(hits) and all(hit.is_global == (scope == "global") for hit in hits)
            counts[f"{scope} right"] += is_right
            if hits and not is_right and "--verbose" in sys.argv:
                print(f"{scope}: {text}")
    print(
        f"{cases.name}: global facts {counts['global facts']}, found {counts['global found']}, of these in the global tier"
        f" {counts['global right'] / max(counts['global found'], 1):.3f}; project facts {counts['project facts']}, found"
        f" {counts['project found']}, of these in the global tier {counts['project found'] - counts['project right']}"
    )


if __name__ == "__main__":
    main()
