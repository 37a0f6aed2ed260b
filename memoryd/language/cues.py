"""Cues: what people do with a sentence, by name ("standing", "deadline", "approve"). Pure."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from memoryd.language.lexicon import pattern, table

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator


def cues_of(sentence: str) -> tuple[str, ...]:
    return tuple(name for name in _cues() if has_cue(sentence, name))


@lru_cache(maxsize=4096)
def has_cue(sentence: str, name: str) -> bool:
    """Whether a sentence has one of the cues; to look for all of them takes longer than all else that is done with it."""
    return _cues()[name].search(sentence) is not None


@cache
def _cues() -> dict[str, re.Pattern[str]]:
    return {name: pattern("cues", name) for name in table("cues")}


def reports_in(sentence: str) -> Iterator[re.Match[str]]:
    """Places where a sentence tells what somebody says."""
    return _cues()["says"].finditer(sentence)
