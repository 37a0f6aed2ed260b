"""Forbidden actions of a memory, as patterns that code can compare with a call: `run npm install`, `edit db/`. Pure.

A memory binds by such patterns alone, and they are shown to the user before they count: nothing is refused because it resembles
something.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.language.forbidden import prohibitions_in
from memoryd.language.replaced import swap_in
from memoryd.rules.match import Forbidden
from memoryd.rules.named import commands_in, paths_in
from memoryd.rules.programs import PROGRAMS
from memoryd.rules.triggers import rule_of

if TYPE_CHECKING:
    from memoryd.rules.named import Trigger

_PIECE = re.compile(r"(run|edit)\s+(\S.*)")
_CODE_MARKS = re.compile(r"`+")
_MOST_WORDS_BETWEEN = 4
_SEPARATOR = ";"


def read_patterns(text: str) -> tuple[Forbidden, ...] | None:
    """What stands behind `enforce` in a memory; None where it cannot be understood: then it binds nothing."""
    found = []
    for piece in text.split(_SEPARATOR):
        match = _PIECE.fullmatch(piece.strip())
        if match is None or (match[1] == "edit" and not match[2].strip("./ ")):  # everything there is
            return None
        found.append(Forbidden(match[1], " ".join(match[2].split())))
    return tuple(found)


def written(patterns: tuple[Forbidden, ...]) -> str:
    return f"{_SEPARATOR} ".join(map(str, patterns))


def forbidden_in(description: str, body: str) -> tuple[Forbidden, ...]:
    """What a memory forbids beyond doubt; empty where that cannot be told from its words."""
    found: dict[Forbidden, None] = {}
    for text in (description, rule_of(body)):
        for prohibition in prohibitions_in(text):
            if prohibition.verb != "edit":
                found.update(dict.fromkeys(_first("run", prohibition.behind, is_bare=not prohibition.verb)))
            if prohibition.verb == "edit":
                found.update(dict.fromkeys(_first("edit", prohibition.behind, is_bare=False)))
        for sentence in re.split(r"(?<=[.!?;])\s+|\n", _CODE_MARKS.sub("", text)):
            swap = swap_in(sentence)
            if swap is not None and swap.old in PROGRAMS:
                found[Forbidden("run", swap.old)] = None
    return _without_narrower(found)


def _first(verb: str, behind: str, *, is_bare: bool) -> list[Forbidden]:
    """The command or path that a prohibition is about: the first one, with few words before it; none before it if bare."""
    triggers: list[tuple[int, Trigger]] = list(commands_in(behind) if verb == "run" else paths_in(behind))
    if not triggers:
        return []
    at, trigger = min(triggers)
    words = len(_CODE_MARKS.sub("", behind[:at]).split())
    return [Forbidden(verb, trigger.pattern)] if words <= (0 if is_bare else _MOST_WORDS_BETWEEN) else []


def _without_narrower(found: dict[Forbidden, None]) -> tuple[Forbidden, ...]:
    """Without what another pattern forbids already: `npm` has `npm install` in it."""
    return tuple(
        pattern
        for pattern in found
        if not any(
            other != pattern
            and other.verb == pattern.verb == "run"
            and f"{pattern.pattern} ".startswith(f"{other.pattern} ")
            for other in found
        )
    )
