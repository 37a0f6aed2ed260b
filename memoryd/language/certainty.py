"""Certainty: whether words of the user are meant, and not taken back later. Pure.

"I wish it deployed on Tuesdays" states nothing. In doubt words are not meant.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from memoryd.language.lexicon import pattern
from memoryd.language.sentences import is_in_quotes
from memoryd.language.stems import stem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.language.statements import Statement
    from memoryd.model import Evidence, UserMessage

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_NAMED_UNIT = re.compile(
    r"(?i)(?P<value>\d[\d.,:]*)\s*[\w%°-]{0,14}\s*(?:per|a|an|each|every|/|pro|je|por|par)\s+(?P<unit>[^\W\d_]{3,})"
)
_LOOKS_AHEAD = 3
_NO_ASSERTION = ("not_meant", "tag", "attributed", "rolled_back")


@lru_cache(maxsize=256)  # each step over a message asks
def is_meant(text: str) -> bool:
    """Whether words state something, by who says them, and have not been taken back in the same breath."""
    return not is_in_quotes(text) and not any(pattern("certainty", name).search(text) for name in _NO_ASSERTION)


def is_in_other_units(quote: Statement, new: Statement) -> bool:
    """`6000 requests per hour` is not `6000 requests per minute`."""
    said = {match["value"]: match["unit"].lower() for match in _NAMED_UNIT.finditer(quote.text)}
    told = {match["value"]: match["unit"].lower() for match in _NAMED_UNIT.finditer(new.text)}
    return any(stem(said[value]) != stem(told[value]) for value in said.keys() & told.keys())


def is_taken_back(words_said: Evidence, said: Iterable[UserMessage]) -> bool:
    """Whether something said later takes words back: soon after them in the same session, or of the same thing anywhere."""
    if words_said.said_at is None:
        return False
    words = _long_stems(words_said.quote)
    soon = 0
    for message in said:
        if message.said_at is None or message.said_at <= words_said.said_at:
            continue
        is_here = message.session_id == words_said.session_id
        is_near = is_here and soon < _LOOKS_AHEAD
        soon += is_here
        if _takes_back(message.text) and (is_near or len(words & _long_stems(message.text)) >= _LOOKS_AHEAD):
            return True
    return False


@lru_cache(maxsize=4096)
def _takes_back(text: str) -> bool:
    """Every quote of a run is held against every later message of it, so each is looked at once."""
    return pattern("certainty", "taken_back").search(text) is not None


@lru_cache(maxsize=256)
def _long_stems(text: str) -> frozenset[str]:
    return frozenset(stem(word.lower()) for word in _WORD.findall(text) if len(word) > _LOOKS_AHEAD)
