"""Parts of a memory: description, fact, Why, How to apply; and the names in them. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.language.statements import PART
from memoryd.review.words import content_words, is_founded

if TYPE_CHECKING:
    from memoryd.memory.document import Document

_NAME = re.compile(r"(?<=[\w,;:)] )(?P<name>[A-ZÀ-Þ][^\W_]+(?:['’]s)?)|\b(?P<acronym>[A-Z][A-Z0-9]{1,6}s?)\b")  # noqa: RUF001
_CAPITALS = 0.25
"""So many words in capitals, and the language writes its nouns so."""


def parts_of(document: Document) -> list[tuple[str, str]]:
    """The description, the fact, and each named part with its name in small letters: `why`, `how to apply`."""
    labels = PART.findall(document.body)
    texts = PART.split(document.body)
    named = [(label.strip("*: ").casefold(), text.strip()) for label, text in zip(labels, texts[1:], strict=True)]
    return [("description", document.description), ("fact", texts[0].strip()), *named]


def strange_names(text: str, sources: str) -> list[str]:
    """Names and abbreviations in a text that none of its sources has, whatever their case."""
    words = re.findall(r"[^\W\d_]{2,}", text)
    found = [match["name"] or match["acronym"] for match in _NAME.finditer(text)]
    if sum(word[0].isupper() for word in words) > len(words) * _CAPITALS + 3:
        found = [match["acronym"] for match in _NAME.finditer(text) if match["acronym"]]
    known = content_words(sources) | frozenset(re.findall(r"[^\W_]+", sources.casefold()))
    names = dict.fromkeys(re.sub(r"['’]s$|(?<=[A-Z0-9])s$", "", name) for name in found)  # noqa: RUF001
    return [name for name in names if not is_founded(name.casefold(), known)]
