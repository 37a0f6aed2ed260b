"""Cues: what people do with a sentence, by name ("standing", "deadline", "approve"). Pure."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from memoryd.language.lexicon import pattern, table

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator


@lru_cache(maxsize=4096)
def cues_of(sentence: str) -> tuple[str, ...]:
    return tuple(name for name, cue in _cues().items() if cue.search(sentence))


@cache
def _cues() -> dict[str, re.Pattern[str]]:
    return {name: pattern("cues", name) for name in table("cues")}


def reports_in(sentence: str) -> Iterator[re.Match[str]]:
    """Places where a sentence tells what somebody says."""
    return _cues()["says"].finditer(sentence)
