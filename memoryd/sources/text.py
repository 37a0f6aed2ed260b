"""Sessions that are rendered as text: what a client rewrites as a whole becomes lines that only grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from memoryd.sources.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.model import Found


class RenderedSession:
    """Lines in memory, made of a session that is small enough to be read at once; each ends in a newline."""

    def __init__(self, found: Found, lines: Sequence[bytes]) -> None:
        self.found = found
        self._lines = lines
        self._text = b"".join(lines)
        self.end = len(self._text)

    def lines(self, start: int) -> Iterator[Line]:
        at = 0
        for data in self._lines:
            if at >= start:
                yield Line(at, at + len(data), data)
            at += len(data)

    def blocks(self) -> Iterator[bytes]:
        if self._text:
            yield self._text

    def head(self, most_bytes: int) -> bytes:
        return self._text[:most_bytes]

    def bytes_before(self, offset: int, most_bytes: int) -> bytes:
        return self._text[max(0, offset - most_bytes) : offset] if offset <= self.end else b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to close."""
