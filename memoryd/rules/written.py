"""Text that a call writes, beside what a memory forbids to write. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from memoryd.language.stems import stem
from memoryd.language.tokens import is_stop, split

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.rules.calls import Call
    from memoryd.rules.match import StoredTrigger

_PROSE = (".md", ".mdx", ".rst", ".adoc", ".txt")
_TAKEN_IN = re.compile(
    r"\s*(?:import|from|require|use|using|include|#include|gem|implementation|compileOnly|api|FROM)\b|\s*[\"']?[@\w./-]+[\"']?\s*[:=]\s*[\"']?[\^~>=]*\d"
)
"""A line that imports something, or names a dependency."""
NAME_PART = re.compile(r"[A-Z]?[a-z]+(?<=\w\w)|[A-Z]{2,}(?![a-z])|[^\W\d_a-zA-Z]{2,}")
"""The words that a name in code is made of; a sentence has them too."""
_LEAST_SHARED = 3
_MOST_CHARACTERS = 400
"""Of a line that is looked at; a longer one was written by a program."""


def has(trigger: StoredTrigger, call: Call, works: frozenset[str]) -> bool:
    """Whether a call writes a piece of code, or words with another word of the memory near them."""
    if not _is_in(trigger.scope, call):
        return False
    if trigger.kind == "text":
        return _has_piece(trigger.pattern, call.written, is_sql=any(path.endswith(".sql") for path in call.changed))
    if trigger.kind == "about":
        is_prose = all(path.endswith(_PROSE) for path in call.changed)
        return (bool(trigger.scope) or not is_prose) and _is_about({*trigger.pattern.split()}, call)
    words, _, near = trigger.pattern.partition("|")
    if "dependency" in works and call.names.issuperset(words.split()):
        return True
    return _has_words(words.split(), set(near.split()), call)


def _is_in(scope: str, call: Call) -> bool:
    """Whether something is written where a memory holds; what a text for people tells of is not done there."""
    endings = tuple(part[1:] for part in scope.split() if part.startswith("*."))
    folders = [part.strip("/") for part in scope.split() if not part.startswith("*.")]
    if endings and call.changed and not any(path.lower().endswith(endings) for path in call.changed):
        return False
    if not folders:
        return not call.changed or not all(path.endswith(_PROSE) for path in call.changed)
    return any(f"/{folder}/" in f"/{path}" for folder in folders for path in call.changed)


def _has_piece(code: str, text: str, *, is_sql: bool) -> bool:
    """Whether a text has a piece of code, as a whole word; in SQL capitals make no difference."""
    if is_sql:
        code, text = code.lower(), text.lower()
    words = code.split()
    if not words or not all(word in text for word in words):  # a pattern takes long to make
        return False
    before = r"(?<!\w)" if code[0].isalnum() else ""
    behind = r"(?!\w)" if code[-1].isalnum() else ""
    piece = r"\s+".join(map(re.escape, words))
    return re.search(f"{before}{piece}{behind}", text) is not None


def _has_words(words: list[str], near: set[str], call: Call) -> bool:
    """Whether all words stand in one line: with another word of the memory near, or where names are given and taken in."""
    start = words[0][:4]
    if start not in call.written.lower():
        return False
    around = {stem(word) for word in split(f"{' '.join(call.changed)}\n{call.replaced}")}
    named = {stem(word) for path in call.changed for word in split(path.rpartition("/")[2])}
    for line in _lines(call.written, start):
        found = set(map(stem, split(line)))
        if found.issuperset(words) and (
            len(words) > 1 or near & (found | around) or named.issuperset(words) or _TAKEN_IN.match(line)
        ):
            return True
    return False


def _is_about(words: set[str], call: Call) -> bool:
    """Whether an edit has at least three words of a memory: two of them in lines that belong together, or in the file's name."""
    together, folders = _words_of(call)
    if len(words & frozenset().union(folders, *together)) < _LEAST_SHARED:
        return False
    more = bool(words & folders)
    return any(len(words & found) + more >= _LEAST_SHARED for found in together)


@lru_cache(maxsize=1)
def _words_of(call: Call) -> tuple[list[frozenset[str]], frozenset[str]]:
    """Words that stand together in a call, as stems: of each two lines that it writes, of what they replace, of the names of
    its files; and those of the folders. Kept for the next memory.
    """
    names = _stems(" ".join(path.rpartition("/")[2] for path in call.changed))
    names |= _stems(call.replaced) if len(call.replaced) <= _MOST_CHARACTERS else frozenset()
    lines = [_stems(line[:_MOST_CHARACTERS]) for line in call.written.split("\n")]
    together = [first | second | names for first, second in zip(lines, [*lines[1:], names], strict=True)]
    return together, _stems(" ".join(path.rpartition("/")[0] for path in call.changed))


def _stems(text: str) -> frozenset[str]:
    words = (word.lower() for word in NAME_PART.findall(text))
    return frozenset(stem(word) for word in words if not is_stop(word))


def _lines(text: str, start: str) -> Iterator[str]:
    for line in text.split("\n"):
        if start in line.lower():
            yield line[:_MOST_CHARACTERS]
