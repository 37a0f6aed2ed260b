"""Tokens: the words of a text, and the runs of scripts that are written without spaces. Pure."""

from __future__ import annotations

import os
import re
import unicodedata
from functools import cache

MOST_CHARACTERS = 20_000
"""Of one text; what stands behind is not split."""
UNSPACED = r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
"""Letters of scripts without spaces, as a pattern takes them: kana, ideographs, Thai."""
_HIRAGANA = ("\u3040", "\u309f")
_HUMP = re.compile(r"([A-Z])(?<=[a-z0-9][A-Z])")
"""The capital comes first, since a search for it is fast."""
_WORD = re.compile(r"[^\W_]+")
_AROUND_A_WORD = "\"'`*_()[]{}<>“”‘’«»„「」『』"  # noqa: RUF001
_BEHIND_A_WORD = ".,;:!?…。，、；：！？" + _AROUND_A_WORD  # noqa: RUF001


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text in order, as they are written, without case and without the punctuation around them.

    Signs that belong to a word stay: `.env`, `--force`, `C++`, `v1.2`.
    """
    found = (word.lstrip(_AROUND_A_WORD).rstrip(_BEHIND_A_WORD) for word in text.casefold().split())
    return tuple(word for word in found if word and any(letter.isalnum() for letter in word))


def split(text: str) -> list[str]:
    """The words of a text in lower case, humps of identifiers apart; runs of a script without spaces as one."""
    text = text[:MOST_CHARACTERS]
    if text.isascii():
        return _WORD.findall(_HUMP.sub(r" \1", text).lower())
    text = _HUMP.sub(r" \1", unicodedata.normalize("NFKC", text)).lower()
    if not (_may_have_runs(text) and _unspaced().search(text)):
        return _WORD.findall(text)
    found = []
    for word in _WORD.findall(text):
        if word.isascii():
            found.append(word)
            continue
        end = 0
        for run in _unspaced().finditer(word):
            if run.start() > end:
                found.append(word[end : run.start()])
            found.append(run[0])
            end = run.end()
        if end < len(word):
            found.append(word[end:])
    return found


def is_stop(word: str) -> bool:
    """Whether a word tells nothing of what a text is about."""
    return word in _stop_words()


@cache
def _stop_words() -> frozenset[str]:
    """Those that recall's model was fitted with. Plain text: a hook waits, and to import a parser takes longer than to rank."""
    with open(os.path.join(os.path.dirname(__file__), "data", "stop_words.txt"), encoding="utf-8") as file:
        return frozenset(file.read().split())


def is_unspaced(word: str) -> bool:
    """Whether a word of `split` is a run of a script without spaces."""
    return not word.isascii() and _may_have_runs(word) and bool(_unspaced().match(word))


def runs_in(text: str) -> list[str]:
    """The runs of a script without spaces."""
    return _unspaced().findall(text) if _may_have_runs(text) else []


def is_without_spaces(text: str) -> bool:
    """Whether a text is mostly in a script that is written without spaces."""
    return 2 * sum(map(len, runs_in(text))) > sum(letter.isalpha() for letter in text)


def _may_have_runs(text: str) -> bool:
    """Whether to look for letters of UNSPACED at all: a dash or an umlaut is none, and to compile the pattern takes longer than
    most prompts do.
    """
    return not text.isascii() and any(letter >= "\u3005" or "\u0e00" <= letter <= "\u0e7f" for letter in set(text))


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{UNSPACED}]+")


def pairs_of(run: str) -> list[str]:
    """The pairs of neighbours in a run without spaces, of a single character itself; empty ones for what tells nothing.

    In Japanese that is what is written in hiragana alone: endings, particles, politeness.
    """
    pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    return ["" if all(_HIRAGANA[0] <= letter <= _HIRAGANA[1] for letter in pair) else pair for pair in pairs]


def token_count(text: str) -> int:
    """How many words a prompt has; in a script without spaces two characters count as one."""
    return sum(max(1, len(word) // 2) if is_unspaced(word) else 1 for word in split(text))
