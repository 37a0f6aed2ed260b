"""Make memoryd/recall/concepts.txt from the lists in training/concepts: `python -m training.words`, part of `make train`."""

from __future__ import annotations

import os
from pathlib import Path

from memoryd.language.stems import stem
from memoryd.language.tokens import is_stop, is_unspaced, split
from memoryd.recall.concepts import FILE, MOST_CHARACTERS, MOST_WORDS

LISTS = Path(os.path.dirname(__file__), "concepts")
_LANGUAGES = 6
_MOST_MEANINGS = 3
"""A phrase that can mean more says nothing."""


def made() -> str:
    """The file as it should be."""
    meanings: dict[str, list[str]] = {}
    number = 0
    for path in sorted(LISTS.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            number += 1
            for phrase in _phrases(line):
                known = meanings.setdefault(phrase, [])
                if str(number) not in known:
                    known.append(str(number))
    return "".join(
        f"{phrase}\t{' '.join(numbers)}\n"
        for phrase, numbers in sorted(meanings.items())
        if len(numbers) <= _MOST_MEANINGS
    )


def _phrases(line: str) -> list[str]:
    """The phrases of one concept, in the form that a text is searched for."""
    cells = line.split("|")
    if len(cells) != _LANGUAGES:
        raise SystemExit(f"not {_LANGUAGES} languages: {line}")
    found = []
    for entry in ",".join(cells).split(","):
        words = split(entry)
        if len(words) == 1 and is_unspaced(words[0]):
            if 1 < len(words[0]) <= MOST_CHARACTERS:
                found.append(words[0])
        elif words and len(words) <= MOST_WORDS and not all(map(is_stop, words)) and not any(map(is_unspaced, words)):
            found.append(" ".join(map(stem, words)))
    return found


if __name__ == "__main__":
    Path(FILE).write_text(made(), encoding="utf-8")
