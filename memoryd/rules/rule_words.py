"""Words of a rule, as they are kept beside its triggers: which it is about, and which it forbids. Pure; read when it is indexed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.language.forbidden import forbidden_spans
from memoryd.language.tokens import is_stop
from memoryd.rules.call_words import stems_of
from memoryd.rules.evidence import BETWEEN
from memoryd.rules.match import WORDS
from memoryd.rules.named import Trigger
from memoryd.rules.written_terms import CODE, CODE_LIKE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.rules.passages import Passage

_OBJECT_WORDS = 2
"""Behind a negation: they name what is forbidden."""
_OBJECT = re.compile(r"[\w@#$!](?:[\w.@#$!-]*[\w@#$!])?")
_PATH = re.compile(r"[\w.~-]*/[\w./*-]*")
_SIGNS = re.compile(r"(?<!\S)[^\w\s`.,;:()'\"“”„…/-]{2,4}(?!\w)")
"""An operator of some language: `|>`, `!!`."""
_MOST_CHARACTERS = 2000


def trigger_of(description: str, body: str, passages: list[Passage], kinds: Iterable[str], wanted: set[str]) -> Trigger:
    """The words of a rule, as one trigger, without the programs that are `wanted` instead of others.

    Its reason and its advice are left out by whoever asks.
    """
    head = stems_of(description) - wanted
    forbidden: set[str] = set()
    objects: set[str] = set()
    written: dict[str, None] = {}
    for span in (span for passage in passages if passage.is_negated for span in forbidden_spans(passage.text)):
        forbidden |= stems_of(span)
        found = [word for word in _OBJECT.findall(span) if not is_stop(word.lower()) or word == "any"][:_OBJECT_WORDS]
        objects |= stems_of(" ".join(found))
        written.update(dict.fromkeys(word for word in found if word.isascii() and len(word) > 1))
    groups = (head | stems_of(body) - wanted, head, forbidden, objects, kinds, written)
    pattern = BETWEEN.join(" ".join(word for word in group if BETWEEN not in word) for group in groups)
    pieces = dict.fromkeys(piece for text in (description, body) for piece in _pieces_of(text) if len(piece) > 1)
    return Trigger("words", WORDS, pattern, "\n".join(pieces)[:_MOST_CHARACTERS])


def _pieces_of(text: str) -> Iterator[str]:
    yield from (code[2].strip().removesuffix("()").replace("\n", " ") for code in CODE.finditer(text))
    prose = CODE.sub(" ", text)
    for pattern in (CODE_LIKE, _SIGNS, _PATH):
        yield from (found[0].rstrip(".").removesuffix("()") for found in pattern.finditer(prose))
