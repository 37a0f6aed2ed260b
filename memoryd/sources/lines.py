"""Bytes to whole lines: bounded memory whatever the file holds."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHUNK_BYTES = 1 << 20
LONGEST_LINE_BYTES = 32 << 20  # the API takes requests of 32 MB: a longer line is no message anybody sent

LONGEST_SKIP_BYTES = 1 << 30  # what has no newline for a gigabyte is no transcript


class Line(NamedTuple):
    start: int
    end: int
    """Just after the newline."""
    data: bytes | None
    """With its newline; None for a line that is too long to be kept."""


def whole_lines(
    descriptor: int, start: int, *, chunk_bytes: int = CHUNK_BYTES, longest_line_bytes: int = LONGEST_LINE_BYTES
) -> Iterator[Line]:
    """Yield every line from byte `start` on that ends in a newline. What follows the last newline waits."""
    with io.BufferedReader(io.FileIO(descriptor, closefd=False), chunk_bytes) as file:
        file.seek(start)
        while data := file.readline(longest_line_bytes + 1):
            end = start + len(data)
            if data.endswith(b"\n"):
                yield Line(start, end, data)
            elif len(data) <= longest_line_bytes:
                return
            else:
                while not data.endswith(b"\n"):
                    data = file.readline(chunk_bytes)
                    end += len(data)
                    if not data or end - start > LONGEST_SKIP_BYTES:
                        return
                yield Line(start, end, None)
            start = end


def line_blocks(descriptor: int, *, longest_line_bytes: int = LONGEST_LINE_BYTES) -> Iterator[bytes]:
    """Yield the same lines, about a megabyte of them at a time: to search bytes, a block costs less than its lines do."""
    rest = b""
    is_too_long = False
    while piece := os.read(descriptor, CHUNK_BYTES):
        end = piece.rfind(b"\n") + 1
        if not end:
            rest = b"" if is_too_long else rest + piece
            is_too_long |= len(rest) > longest_line_bytes
            continue
        # Behind a line that nobody keeps, what stands before the first newline is the end of that line.
        block = piece[piece.find(b"\n") + 1 : end] if is_too_long else rest + piece[:end]
        rest, is_too_long = piece[end:], False
        if block:
            yield block


def blocks_of(lines: Iterable[Line]) -> Iterator[bytes]:
    """Lines that are made of something else than a file, many at a time."""
    block = b""
    for line in lines:
        block += line.data or b""
        if len(block) >= CHUNK_BYTES:
            yield block
            block = b""
    if block:
        yield block
