"""Bytes to whole lines: bounded memory whatever the file holds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_BYTES = 1 << 20
LONGEST_LINE_BYTES = 32 << 20  # the API takes requests of 32 MB: a longer line is no message anybody sent


class Line(NamedTuple):
    start: int
    end: int
    """Just after the newline."""
    data: bytes | None
    """Without the newline; None for a line that is too long to be kept."""


def whole_lines(
    descriptor: int, start: int, *, chunk_bytes: int = CHUNK_BYTES, longest_line_bytes: int = LONGEST_LINE_BYTES
) -> Iterator[Line]:
    """Yield every line from byte `start` on that ends in a newline. What follows the last newline waits."""
    line_start = start
    read_at = start
    begun: list[bytes] = []  # the pieces of a line that began in an earlier chunk
    begun_bytes = 0
    while chunk := os.pread(descriptor, chunk_bytes, read_at):
        read_at += len(chunk)
        first, *rest = chunk.split(b"\n")
        begun_bytes += len(first)
        if begun_bytes <= longest_line_bytes:
            begun.append(first)
        else:
            begun.clear()
        if not rest:
            continue
        unfinished = rest.pop()
        line_end = line_start + begun_bytes + 1
        yield Line(line_start, line_end, b"".join(begun) if begun_bytes <= longest_line_bytes else None)
        line_start = line_end
        for data in rest:
            line_end = line_start + len(data) + 1
            yield Line(line_start, line_end, data if len(data) <= longest_line_bytes else None)
            line_start = line_end
        begun = [unfinished]
        begun_bytes = len(unfinished)
