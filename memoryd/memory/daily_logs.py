"""Daily logs (`logs/2026/10/2026-10-18.md`): lines about what was said and done that day, one for each fact."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import StateError
from memoryd.model import UserMessage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.memory.directory import MemoryDirectory

_OWN_NAME = re.compile(r"logs/(\d{4})/(\d\d)/\1-\2-\d\d\.md")
_OWN_LINE = re.compile(r"\n?- \d\d:\d\d user: \S[^\r\n]*\n")
_NAME = re.compile(r"logs/(?:\d{4}/\d\d/)?(\d{4})-(\d\d)-(\d\d)\.md")
_LINE = re.compile(r"\s*[-*]\s+(?:\[?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?\]?[\s,:-]*)?(?P<text>\S.*)")
_USER = re.compile(r"(?i)(?:the )?user(?P<how>(?: \([^()]{1,40}\)| [a-z]{1,20})?)\s*:\s*(?P<said>\S.*)")
_PERSON = re.compile(r"(?P<who>(?:[A-ZÀ-Þ][\w'’.-]{1,30} ?){1,3}):\s+\S")  # noqa: RUF001
_NO_PERSON = frozenset(
    {"assistant", "agent", "claude", "ai", "note", "notes", "todo", "done", "fixed", "bug", "idea", "plan", "result"}
    | {"warning", "error", "info", "decision", "question", "status", "summary", "update", "next", "open", "reminder"}
)
_FIRST_PERSON = re.compile(r"I(?:['’](?:m|ve|d|ll))? ")  # noqa: RUF001
_CLAUSE = re.compile(r"(?<=[.!?;,])\s+")


class EndOfLog(NamedTuple):
    """Where the next line of a log goes."""

    size: int
    is_whole: bool
    """There is no last line without a newline."""
    mtime_ns: int | None
    """None: there is no such log yet."""


def log_name(at: float) -> str:
    """The log of the day on which something was said, by the clock on the wall."""
    return datetime.fromtimestamp(at).strftime("logs/%Y/%m/%Y-%m-%d.md")  # noqa: DTZ006 - in the zone of this machine


def log_line(at: float, fact: str) -> bytes:
    """The line for something that the user said then."""
    time = datetime.fromtimestamp(at).strftime("%H:%M")  # noqa: DTZ006 - in the zone of this machine
    return f"- {time} user: {' '.join(fact.split())}\n".encode()


def is_log_name(name: str) -> bool:
    return _OWN_NAME.fullmatch(name) is not None


def is_log_line(line: bytes) -> bool:
    return _OWN_LINE.fullmatch(line.decode("utf-8", "replace")) is not None


def end_of_log(directory: MemoryDirectory, name: str) -> EndOfLog:
    """Where the next line of a log goes. Raises StateError where a line must not go there."""
    try:
        with open_log(directory, name) as descriptor:
            status = os.fstat(descriptor)
            last = os.pread(descriptor, 1, max(status.st_size - 1, 0))
            return EndOfLog(status.st_size, last in (b"", b"\n"), status.st_mtime_ns)
    except FileNotFoundError:
        return EndOfLog(0, is_whole=True, mtime_ns=None)
    except OSError as error:
        raise StateError(
            f"{os.path.join(directory.path, name)} is no log that lines can be appended to: {error.strerror}.",
            f"ls -ld {directory.path}/logs {os.path.join(directory.path, name)}",
        ) from error


@contextmanager
def open_log(directory: MemoryDirectory, name: str) -> Iterator[int]:
    """Descriptor of a log, for reading. Raises OSError where it is none: no link is followed, on the way neither."""
    with log_folder(directory, name) as (folder, file):
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def log_folder(directory: MemoryDirectory, name: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """Descriptor of the folder that a log is in, and the log's name there. Raises OSError where a part of it is a link."""
    *parts, file = name.split("/")
    descriptor = os.dup(directory.descriptor)
    try:
        for part in parts:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=descriptor)
                    os.fsync(descriptor)
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor, file
    finally:
        os.close(descriptor)


def said_in_log(name: str, text: str) -> list[UserMessage]:
    """Messages in a daily log: lines that quote the user or a named person. Lines about what was done are left out.

    The id of a line comes of its log and its words, so that it stays the same when the line moves.
    """
    day = _NAME.fullmatch(name)
    if day is None:
        return []
    said = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line.rstrip())
        words = _words_of(match["text"]) if match else ""
        if match is None or not words:
            continue
        try:
            year, month, date = map(int, day.groups())
            at = datetime(year, month, date, int(match["hour"] or 12), int(match["minute"] or 0)).astimezone()
        except (ValueError, OverflowError):
            continue
        digest = hashlib.blake2b(match["text"].encode("utf-8", "replace"), digest_size=8).hexdigest()
        said.append(UserMessage(name, f"{name}#{digest}", at.timestamp(), words))
    return said


def _words_of(line: str) -> str:
    """Words that a line quotes; empty where it quotes nobody."""
    if by_user := _USER.match(line):
        how = by_user["how"].strip()
        return _without_the_writer(by_user["said"]) if how.isalpha() else by_user["said"]
    person = _PERSON.match(line)
    if person is not None and not {word.lower() for word in person["who"].split()} & _NO_PERSON:
        return line
    return ""


def _without_the_writer(text: str) -> str:
    """The words without clauses in the first person: in "user annoyed: I renamed …" it is whoever wrote the log."""
    return " ".join(clause for clause in _CLAUSE.split(text) if not _FIRST_PERSON.match(clause))
