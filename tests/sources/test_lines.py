"""Bytes to lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from memoryd.sources.lines import Line, whole_lines

if TYPE_CHECKING:
    from pathlib import Path

pieces = st.lists(st.sampled_from([b"a", b"bcd", b"\n", b"\n\n", b"\0", b"x" * 9, b"\xff"]), max_size=30)


def lines_of(data: bytes, start: int = 0, *, chunk_bytes: int = 4, longest_line_bytes: int = 8) -> list[Line]:
    descriptor = os.memfd_create("lines")
    try:
        os.write(descriptor, data)
        return list(whole_lines(descriptor, start, chunk_bytes=chunk_bytes, longest_line_bytes=longest_line_bytes))
    finally:
        os.close(descriptor)


@given(pieces, st.integers(1, 12))
def test_every_whole_line_once_whatever_the_chunks(parts: list[bytes], chunk_bytes: int) -> None:
    """The lines, put together, are the file up to its last newline; long ones are passed over by position only."""
    data = b"".join(parts)
    lines = lines_of(data, chunk_bytes=chunk_bytes)
    position = 0
    for line in lines:
        assert line.start == position
        expected = data[line.start : line.end]
        assert line.data == (expected if len(expected) <= 9 else None)
        assert expected.find(b"\n") == len(expected) - 1
        position = line.end
    assert b"\n" not in data[position:]


@given(pieces, st.integers(1, 12))
def test_starting_behind_any_line_gives_the_rest(parts: list[bytes], chunk_bytes: int) -> None:
    data = b"".join(parts)
    lines = lines_of(data, chunk_bytes=chunk_bytes)
    for number, line in enumerate(lines):
        assert lines_of(data, line.end, chunk_bytes=chunk_bytes) == lines[number + 1 :]


def test_a_half_line_waits() -> None:
    assert lines_of(b"one\ntw") == [Line(0, 4, b"one\n")]


def test_a_long_line_is_not_kept_in_memory(tmp_path: Path) -> None:
    """A line far over the limit is skipped, and the lines around it are read."""
    path = tmp_path / "long"
    path.write_bytes(b"before\n" + b"x" * 1_000_000 + b"\nafter\n")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        lines = list(whole_lines(descriptor, 0, chunk_bytes=4096, longest_line_bytes=10_000))
    finally:
        os.close(descriptor)
    assert [line.data for line in lines] == [b"before\n", None, b"after\n"]
    assert lines[-1].end == path.stat().st_size
