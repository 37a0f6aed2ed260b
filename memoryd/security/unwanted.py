"""Text that is to be removed wherever it stands: found in bytes, in every form in which we write text, and masked there. Pure."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from mmap import mmap

LEAST_BYTES = 4
"""A shorter text stands in too many words."""
_MASK = b"x"
_WORDS = re.compile(r"[^\W_]+")


class Unwanted:
    """What matches a pattern or is one of some texts.

    Masking keeps the length, so a file that another process has open for appending can be masked in place, and what two places
    hold alike stays alike. The mask is a letter: valid in YAML, JSON, Markdown and file names.
    """

    def __init__(self, texts: Iterable[str], pattern: re.Pattern[bytes] | None = None, spared: str = "") -> None:
        """`spared`: a file name that others have as well, so no form of a text that is a part of it counts."""
        self._texts = frozenset(texts)
        self._pattern = pattern
        kept = spared.encode("utf-8", "surrogateescape")
        found = {form for text in self._texts for form in _forms(text) if form not in kept}
        forms = sorted(found, key=lambda form: (-len(form), form))
        self._forms = re.compile(b"|".join(map(re.escape, forms)) or rb"(?!)")

    def with_texts(self, found: Iterable[bytes]) -> Unwanted:
        """Also these, in every form."""
        return Unwanted(self._texts | {text.decode("utf-8", "surrogateescape") for text in found}, self._pattern)

    def found_in(self, data: bytes | mmap) -> set[bytes]:
        return {match[0] for match in self._matches(data)}

    def is_in(self, data: bytes) -> bool:
        return any(True for _ in self._matches(data))

    def masked(self, data: bytes) -> bytes:
        new = bytearray(data)
        for start, mask in self.masks(data):
            new[start : start + len(mask)] = mask
        return bytes(new)

    def masks(self, data: bytes | mmap) -> Iterator[tuple[int, bytes]]:
        """Where something has to be written over, and with what."""
        return ((match.start(), _MASK * len(match[0])) for match in self._matches(data))

    def _matches(self, data: bytes | mmap) -> Iterator[re.Match[bytes]]:
        """Those of the forms and those of the pattern; they may overlap."""
        for expression in (self._forms, self._pattern):
            for match in expression.finditer(data) if expression else ():
                if len(match[0]) >= LEAST_BYTES and match[0].strip(_MASK):
                    yield match


def unwanted_like(pattern: str, *, is_fixed: bool = False) -> Unwanted:
    """What a person named on the command line: a regular expression, and, as many secrets hold signs that mean something there,
    also the very text. Raises ValueError where that is too short, or matches nothing at all.
    """
    raw = pattern.encode("utf-8", "surrogateescape")
    if len(raw) < LEAST_BYTES:
        raise ValueError(f"A text of fewer than {LEAST_BYTES} bytes stands in too many words.")
    expression: re.Pattern[bytes] | None = None
    if not is_fixed and re.escape(raw) != raw:
        try:
            expression = re.compile(raw)
        except re.error:
            return Unwanted([pattern])  # then it was meant as it stands
        if expression.fullmatch(b""):
            raise ValueError("This pattern also matches nothing at all.")
    return Unwanted([pattern], expression)


def _forms(text: str) -> set[bytes]:
    """A text as it stands in Markdown, in JSON with and without other letters than ASCII, in HTML, and in a file name."""
    plain = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    words = _WORDS.findall(plain.lower())
    forms = {
        text,
        json.dumps(plain)[1:-1],
        json.dumps(plain, ensure_ascii=False)[1:-1],
        html.escape(plain),
        html.escape(plain, quote=False),
        "_".join(words),
        "-".join(words),
    }
    return {form.encode("utf-8", "surrogateescape") for form in forms if form}
