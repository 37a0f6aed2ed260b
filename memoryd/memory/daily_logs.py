"""Daily logs (`logs/2026/10/2026-10-18.md`): lines about what was said and done that day, one for each fact."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import StateError
from memoryd.model import UserMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.memory.directory import MemoryDirectory

_OWN_LINE = re.compile(r"\n?- \d\d:\d\d user: \S[^\r\n]*\n")
_NAME = re.compile(r"logs/(?P<folders>\d{4}/\d\d/)?(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\.md")
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


def is_own_log(name: str) -> bool:
    """Whether memoryd appends lines to a log of this name; others may keep theirs without the folders."""
    match = _NAME.fullmatch(name)
    return match is not None and match["folders"] == f"{match['year']}/{match['month']}/"


def split_names(names: Iterable[str]) -> tuple[list[str], Counter[str]]:
    """The memories among the names of changed files, each once, and how many lines each daily log has got."""
    all_names = list(names)
    memories = dict.fromkeys(name for name in all_names if not is_own_log(name))
    return list(memories), Counter(filter(is_own_log, all_names))


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


def logs_in(directory: MemoryDirectory) -> list[tuple[str, os.stat_result]]:
    """The logs of a directory by their days. No link is followed."""
    try:
        return sorted(_walked(directory))
    except OSError:  # there are none
        return []


def _walked(directory: MemoryDirectory) -> Iterator[tuple[str, os.stat_result]]:
    for place, _, names, descriptor in os.fwalk("logs", dir_fd=directory.descriptor, follow_symlinks=False):
        for name in names:
            if _NAME.fullmatch(f"{place}/{name}"):
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield f"{place}/{name}", status


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


class LoggedLine(NamedTuple):
    """A line of a daily log that tells something."""

    number: int
    """Of the line, from 1 on."""
    at: float
    text: str
    """Without bullet and time."""


def entries_of(name: str, text: str) -> Iterator[LoggedLine]:
    """The lines of a daily log that tell something; none where the name is no log's."""
    named = _NAME.fullmatch(name)
    for number, line in enumerate(text.splitlines() if named else (), 1):
        match = _LINE.fullmatch(line.rstrip())
        if named is None or match is None:
            continue
        try:
            year, month, day = (int(named[part]) for part in ("year", "month", "day"))
            at = datetime(year, month, day, int(match["hour"] or 12), int(match["minute"] or 0)).astimezone()
        except (ValueError, OverflowError):
            continue
        yield LoggedLine(number, at.timestamp(), match["text"])


def said_in_log(name: str, text: str) -> list[UserMessage]:
    """Messages in a daily log: lines that quote the user or a named person. Lines about what was done are left out.

    The id of a line comes of its log and its words, so that it stays the same when the line moves.
    """
    said = []
    for _, at, told in entries_of(name, text):
        if words := words_of(told):
            digest = hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=8).hexdigest()
            said.append(UserMessage(name, f"{name}#{digest}", at, words))
    return said


def words_of(line: str) -> str:
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
