"""Lines of the daily logs of a directory that are new since they were last distilled."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.base import LoggedFact
from memoryd.jobs.dream_cancel import LONGEST_SECONDS
from memoryd.memory.daily_logs import logs_in, open_log, said_in_log
from memoryd.memory.directory import open_directory
from memoryd.state import history, log_lines
from memoryd.state.changes import digest
from memoryd.state.log_lines import LogRead
from memoryd.state.quotes import logs_with_lines

if TYPE_CHECKING:
    from collections.abc import Collection

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.model import UserMessage
    from memoryd.state.database import Database
    from memoryd.state.log_lines import LogCursor, LogLine

DREAM_BYTES = 1 << 20
"""New bytes of logs that one dream reads; where there are more, another one follows."""
_TAIL_BYTES = 64
_HALF_LINE_SECONDS = 60.0
"""A last line without a newline counts when nobody has written on for so long."""


class NewLine(NamedTuple):
    """A line of a log that has not been distilled."""

    log: str
    end: int
    """Offset behind it."""
    tail: bytes
    """Digest of the bytes before that."""
    digest: str
    """Of its words."""
    said: tuple[UserMessage, ...]
    """What it comes of, or quotes; none: it says nothing that could become a memory, or a memory says it."""
    fact: LoggedFact | None = None
    """Of a line that extraction appended."""


class NewLines(NamedTuple):
    """What is new in the logs of a directory, oldest log first."""

    lines: tuple[NewLine, ...] = ()
    is_all: bool = True
    """There is no more than a dream can read."""

    @property
    def messages(self) -> tuple[UserMessage, ...]:
        """What the lines come of, each once."""
        return tuple({message.message_id: message for line in self.lines for message in line.said}.values())

    @property
    def facts(self) -> tuple[LoggedFact, ...]:
        return tuple(line.fact for line in self.lines if line.fact is not None and line.said)

    @property
    def waiting(self) -> int:
        return sum(bool(line.said) for line in self.lines)

    def cursors(self, read: Collection[str]) -> tuple[LogRead, ...]:
        """Logs and how far each is distilled when these messages have been read."""
        reached: dict[str, list[NewLine]] = {}
        unread: set[str] = set()
        for line in self.lines:
            if all(message.message_id in read for message in line.said) and line.log not in unread:
                reached.setdefault(line.log, []).append(line)
            else:
                unread.add(line.log)
        return tuple(
            LogRead(log, lines[-1].end, lines[-1].tail, tuple(line.digest for line in lines if line.said))
            for log, lines in reached.items()
        )


def new_lines(database: Database, directory: MemoryDirectory, since: float, now: float) -> NewLines:
    """What is new in the daily logs: behind their cursors, or, where a log has none, if it was written since then.

    Reads new bytes only; a log that was edited above its cursor is read anew, without the lines that a dream has read before.
    """
    known = log_lines.cursors(database, directory.path)
    ours = logs_with_lines(database, directory.path)
    found: list[NewLine] = []
    left = DREAM_BYTES
    for name, status in logs_in(directory):
        cursor = known.get(name)
        # A line may have been written while the last dream was at work.
        is_old = cursor is None and name not in ours and status.st_mtime <= since - LONGEST_SECONDS
        if is_old or (cursor is not None and cursor.end == status.st_size):
            continue
        if left <= 0:
            return NewLines(tuple(found), is_all=False)
        with_half = now - status.st_mtime > _HALF_LINE_SECONDS
        lines, used, is_all = _lines_behind(database, directory, name, cursor, left, with_half=with_half)
        found += lines
        left -= used
        if not is_all:
            return NewLines(tuple(found), is_all=False)
    return NewLines(tuple(found))


def undistilled(database: Database, memory_dir: str, logs: Collection[str]) -> list[NewLine]:
    """Lines of these logs that no dream has read, as they stand there now; those that say nothing are left out."""
    known = log_lines.cursors(database, memory_dir)
    found: list[NewLine] = []
    with suppress(FileNotFoundError), open_directory(memory_dir) as directory:
        for name in sorted(logs):
            cursor = known.get(name)
            with suppress(OSError):  # it is gone
                status = os.stat(name, dir_fd=directory.descriptor, follow_symlinks=False)
                if cursor is None or cursor.end != status.st_size:
                    found += _lines_behind(database, directory, name, cursor, DREAM_BYTES, with_half=False)[0]
    return [line for line in found if line.said]


def waiting_lines(database: Database, memory_dir: str, since: float, now: float, *, is_on: bool) -> int:
    """How many lines of daily logs are to become memories; where the mode is off, only those that memoryd appended."""
    try:
        with open_directory(memory_dir) as directory:
            new = new_lines(database, directory, since, now)
    except FileNotFoundError:
        return 0
    return new.waiting if is_on else len(new.facts)


def _lines_behind(
    database: Database, directory: MemoryDirectory, name: str, cursor: LogCursor | None, most: int, *, with_half: bool
) -> tuple[list[NewLine], int, bool]:
    """Lines behind a cursor, how many bytes that are, and whether these are all."""
    try:
        with open_log(directory, name) as descriptor:
            start = cursor.end if cursor is not None else 0
            is_edited = False
            before = os.pread(descriptor, min(start, _TAIL_BYTES), max(start - _TAIL_BYTES, 0))
            if cursor is not None and digest(before) != cursor.tail:  # edited, or shortened
                start, before, is_edited = 0, b"", True
            data = os.pread(descriptor, most, start)
            is_all = len(data) < most
    except OSError:  # left to the next dream
        return [], 0, True
    if not (is_all and with_half):
        data = data[: data.rfind(b"\n") + 1] or (b"" if is_all else data)  # a line of a megabyte is none
    ours = log_lines.lines_of(database, directory.path, name)
    read = log_lines.read_lines(database, directory.path, name) if is_edited else set()
    lines, end = [], 0
    for line in data.splitlines(keepends=True):
        end += len(line)
        tail = digest((before + data[:end])[-_TAIL_BYTES:] if end < _TAIL_BYTES else data[end - _TAIL_BYTES : end])
        text = line.decode("utf-8", "replace")
        own = ours.get(log_lines.digest_of_line(text))
        if own is None:  # those of ours were redacted before; line by line, since half a secret is not recognised
            text = _redacted(text)
        line_digest = log_lines.digest_of_line(text)
        said = own.said if own is not None else tuple(said_in_log(name, text))
        is_known = line_digest in read or any(
            history.is_cited(database, directory.path, message.message_id) for message in said
        )
        fact = _fact_of(own, text) if own is not None else None
        lines.append(NewLine(name, start + end, tail, line_digest, () if is_known else said, fact))
    return lines, len(data), is_all


def _redacted(text: str) -> str:
    from memoryd.security.redact import redact  # noqa: PLC0415 - 40 ms that recall need not wait for

    return redact(text)


def _fact_of(line: LogLine, text: str) -> LoggedFact:
    return LoggedFact(text.partition("user: ")[2].strip(), line.type, line.said, line.evidence)
