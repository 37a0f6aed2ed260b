"""Text that a call writes, beside what a memory forbids to write. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.language.stems import stem
from memoryd.language.tokens import split

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.rules.calls import Call
    from memoryd.rules.match import StoredTrigger

_PROSE = (".md", ".mdx", ".rst", ".adoc", ".txt")
_TAKEN_IN = re.compile(
    r"\s*(?:import|from|require|use|using|include|#include|gem|implementation|compileOnly|api|FROM)\b|\s*[\"']?[@\w./-]+[\"']?\s*[:=]\s*[\"']?[\^~>=]*\d"
)
"""A line that imports something, or names a dependency."""
_MOST_CHARACTERS = 400
"""Of a line that is looked at; a longer one was written by a program."""


def has(trigger: StoredTrigger, call: Call, works: frozenset[str]) -> bool:
    """Whether a call writes a piece of code, or words with another word of the memory near them."""
    if not _is_in(trigger.scope, call):
        return False
    if trigger.kind == "text":
        return (
            _piece(trigger.pattern, is_sql=any(path.endswith(".sql") for path in call.changed)).search(call.written)
            is not None
        )
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


def _piece(code: str, *, is_sql: bool) -> re.Pattern[str]:
    """A piece of code as a whole word; in SQL capitals make no difference."""
    before = r"(?<!\w)" if code[0].isalnum() else ""
    behind = r"(?!\w)" if code[-1].isalnum() else ""
    words = r"\s+".join(map(re.escape, code.split()))
    return re.compile(f"{before}{words}{behind}", re.IGNORECASE if is_sql else 0)


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


def _lines(text: str, start: str) -> Iterator[str]:
    for line in text.split("\n"):
        if start in line.lower():
            yield line[:_MOST_CHARACTERS]
