"""Open sessions: lines at offsets, whatever they are kept in, and how a session is known again at the next look."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Protocol, Self

from memoryd.sources.lines import line_blocks, whole_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.model import Found
    from memoryd.sources.lines import Line


UNKNOWN_TABLES = "tables that this memoryd does not know"
"""How the text of an error begins where a database has other tables than expected."""


class NotATranscriptError(Exception):
    """What the scan saw as a session is something else by now; its text says what."""


class OpenSession(Protocol):
    """A session as a row of lines.

    An offset is a number that only grows along the lines: the byte in a file, the place in a rendered text, the number of a
    row. Lines that are already there keep their offsets as long as `bytes_before` says that nothing before them has changed.
    """

    @property
    def found(self) -> Found:
        """It, as it is now."""

    @property
    def end(self) -> int:
        """The offset behind its last whole line or, in a file, behind its last byte."""

    def lines(self, start: int) -> Iterator[Line]:
        """Every whole line from an offset on. Raises OSError."""

    def blocks(self) -> Iterator[bytes]:
        """All lines, many at a time, for a search in bytes."""

    def head(self, most_bytes: int) -> bytes:
        """How it begins."""

    def bytes_before(self, offset: int, most_bytes: int) -> bytes:
        """What stands right before an offset; nothing where it has become shorter than that."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def digest(data: bytes) -> bytes:
    """A digest of the bytes and of how many there are, so that a short head never passes for a longer one."""
    import hashlib  # noqa: PLC0415 - 5 ms that a hook, for which somebody waits, need not pay

    return hashlib.blake2b(data, digest_size=16, salt=len(data).to_bytes(8, "big")).digest()


def open_regular(path: str) -> int:
    """Open a file for reading; never through a symlink, never waiting for the writer of a fifo.

    Raises OSError, or NotATranscriptError where the file was exchanged for something else since the scan.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotATranscriptError("no regular file")
    return descriptor


class SessionFile:
    """A file to which lines are appended."""

    def __init__(self, path: str) -> None:
        """Raises OSError and NotATranscriptError like `open_regular`."""
        self._path = path
        self._descriptor = open_regular(path)
        self._status = os.fstat(self._descriptor)
        self.end = self._status.st_size

    @property
    def found(self) -> Found:
        from memoryd.sources.scan import found_of  # noqa: PLC0415 - a hook, for which somebody waits, need not load it

        return found_of(self._path, self._status)

    def lines(self, start: int) -> Iterator[Line]:
        return whole_lines(self._descriptor, start)

    def blocks(self) -> Iterator[bytes]:
        return line_blocks(self._descriptor)

    def head(self, most_bytes: int) -> bytes:
        return os.pread(self._descriptor, most_bytes, 0)

    def bytes_before(self, offset: int, most_bytes: int) -> bytes:
        start = max(0, offset - most_bytes)
        data = os.pread(self._descriptor, offset - start, start)
        return data if len(data) == offset - start else b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
