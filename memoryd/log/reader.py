"""Reading of the log: its files, its lines, and an entry in words. Nothing here writes."""

from __future__ import annotations

import json
import os
import stat
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from memoryd.clock import parse_iso
from memoryd.errors import MemorydError, StateError
from memoryd.formatting import count, quoted, short, shown, unquoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.paths import Paths

OLD_FILES = 3
LEVELS = ("debug", "info", "warning", "error", "critical")
PLACES = frozenset({"project", "memory_dir", "root", "kept"})
"""Names of facts that are paths."""

_LINE_BYTES = 1 << 20
"""Longest line that memoryd writes."""
_LATEST = 250_000_000_000.0
"""Latest time that a calendar can show."""
_CHUNK_BYTES = 1 << 16
_FRAMES = 4
_LATE_SECONDS = 60.0
"""A job that ended this long before its line was reported by the next daemon."""
_SESSION_LETTERS = 8


# --- one line ---------------------------------------------------------------------------------------------------------


class LogEntry(NamedTuple):
    at: float
    level: str
    event: str
    facts: dict[str, Any]
    """All but the three above."""

    @property
    def severity(self) -> int:
        """Where it stands in LEVELS."""
        return LEVELS.index(self.level)


def entry_of(line: bytes) -> LogEntry | None:
    """A line of the log; None for what is none: torn, or written by somebody else."""
    try:
        facts = json.loads(line)
        at = parse_iso(facts.pop("at"))
        level, event = facts.pop("level"), facts.pop("event")
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return None
    if at is None or not 0 <= at < _LATEST or level not in LEVELS or not isinstance(event, str):
        return None
    return LogEntry(at, level, event, facts)


def line_in_words(entry: LogEntry, home: str) -> tuple[str, str]:
    """An entry as a person reads it: what happened, in words, and the other facts. Safe for a terminal."""
    facts = dict(entry.facts)
    words = facts.pop("detail", "") or facts.pop("reason", "")
    known = ""
    if entry.event == "job" and "job" in facts:
        happened, known = _job(facts, entry.at)
    else:
        happened = entry.event + _where(facts)
    rest = " ".join(f"{name}={_value(name, value, home)}" for name, value in sorted(facts.items()))
    return shown(f"{happened}: {words}" if words else happened), shown(", ".join(filter(None, (known, rest))))


def _job(facts: dict[str, Any], at: float) -> tuple[str, str]:
    """`job 41: extract in acme, session e8cdbb4d: succeeded, 2 saved` and `offline, 0.1 s`; takes that out of the facts."""
    happened = f"job {facts.pop('job')}: {facts.pop('kind', 'work')}{_where(facts)}: {facts.pop('outcome', 'ended')}"
    facts.pop("memory_dir", None)  # the project says enough
    happened += "".join(f", {number} {name}" for name in ("saved", "removed") if (number := facts.pop(name, 0)))
    prompt = [facts.pop(name, 0) for name in ("input_tokens", "cache_read_tokens", "cache_created_tokens")]
    output, rate = facts.pop("output_tokens", 0), facts.pop("hit_rate", 0)
    numbers = all(isinstance(number, int | float) for number in (*prompt, output, rate))
    known = [facts.pop("engine", "")]
    turns = facts.pop("turns", 0)
    known += [count(turns, "turn")] if turns and isinstance(turns, int) else []
    known += [f"{sum(prompt):,} tokens in ({rate:.0%} cached), {output:,} out"] if numbers and any(prompt) else []
    known += [f"{usd} USD"] if (usd := facts.pop("usd", 0)) else []
    known += [f"{facts.pop('seconds')} s"] if "seconds" in facts else []
    ended_at = facts.pop("ended_at", None)
    moment = parse_iso(ended_at) if isinstance(ended_at, str) else None
    if moment is not None and 0 <= moment < at - _LATE_SECONDS:
        known.append(f"ended {datetime.fromtimestamp(moment).astimezone():%Y-%m-%d %H:%M}")
    return happened, ", ".join(str(fact) for fact in known if fact)


def _where(facts: dict[str, Any]) -> str:
    project, session = str(facts.pop("project", "")), str(facts.pop("session", ""))
    words = f" in {os.path.basename(project) or project}" if project else ""
    return words + (f", session {session[:_SESSION_LETTERS]}" if session else "")


def _value(name: str, value: Any, home: str) -> str:
    text = short(str(value), home) if name in PLACES else value
    is_plain = isinstance(text, str) and text and " " not in text
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def reason_of(error: Exception) -> str:
    """Reason of a failure for its user, with the message of the error in quotes, which the log leaves out."""
    if isinstance(error, MemorydError):
        return error.sentence
    if isinstance(error, OSError) and error.strerror:
        return error.strerror + (f": {quoted(os.fsdecode(error.filename))}" if error.filename else "")
    return f"{type(error).__name__}: {quoted(str(error))}"


def fault_of(error: BaseException) -> str:
    """Type and place of an error, without its message, which may quote a transcript.

    memoryd's own errors are sentences, with quotations in quotes.
    """
    if isinstance(error, MemorydError):
        return unquoted(error.sentence)
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    import traceback  # noqa: PLC0415 - most readers of the log never need it

    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = [f"{os.path.basename(frame.filename)}:{frame.lineno} {frame.name}" for frame in reversed(frames)]
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    kinds = type(error).__name__ + (f" after {type(cause).__name__}" if cause is not None else "")
    return f"{kinds} in {', '.join(places)}" if places else kinds


# --- the files --------------------------------------------------------------------------------------------------------


def files_of(paths: Paths) -> list[str]:
    """Files of the log, newest first."""
    return [paths.log_file, *(f"{paths.log_file}.{number}" for number in range(1, OLD_FILES + 1))]


class Tail:
    """All files of the log as one, from the oldest line on, also while they are rotated, cut, deleted or moved."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._files: list[BinaryIO] = []  # oldest first; the first one is being read
        self._rest = b""

    @property
    def has_begun(self) -> bool:
        """Whether there was a file."""
        return bool(self._files)

    def read(self) -> Iterator[bytes]:
        """The lines that have come since the last time, without their ends. Raises StateError."""
        if not self._files:
            self._files = self._newer()
        while self._files:
            yield from self._lines(self._files[0])
            if len(self._files) == 1:
                self._files += self._newer()
                if len(self._files) == 1:
                    return
                yield from self._lines(self._files[0])  # what came before it was put aside
            yield from self.torn()
            self._files.pop(0).close()

    def torn(self) -> Iterator[bytes]:
        """What stands behind the last whole line, if nothing more is to come."""
        if self._rest:
            yield self._rest
        self._rest = b""

    def close(self) -> None:
        _close(self._files)
        self._files = []

    def _lines(self, file: BinaryIO) -> Iterator[bytes]:
        if os.fstat(file.fileno()).st_size < file.tell():  # the file was truncated
            file.seek(0)
            self._rest = b""
        while chunk := file.read(_CHUNK_BYTES):
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            yield from filter(None, lines)
            if len(self._rest) > _LINE_BYTES:
                yield from self.torn()

    def _newer(self) -> list[BinaryIO]:
        """Files that are newer than the last one we have, oldest first, opened.

        All are opened before one is read: a file that is rotated meanwhile is met twice, and recognised. If ours is not
        among them, it was deleted or moved, and only the newest is new.
        """
        ours = os.fstat(self._files[-1].fileno()) if self._files else None
        found: list[BinaryIO] = []
        for path in files_of(self._paths):
            try:
                file = _opened(path)
            except StateError:
                _close(found)
                raise
            if file is None:
                if ours is not None and not found:
                    return []  # about to be made
                continue
            status = os.fstat(file.fileno())
            if ours is not None and os.path.samestat(ours, status):
                file.close()
                break
            if any(os.path.samestat(os.fstat(file.fileno()), status) for file in found):
                file.close()
                continue
            found.append(file)
        else:
            if ours is not None:
                _close(found[1:])
                del found[1:]
        return found[::-1]


def _close(files: Iterable[BinaryIO]) -> None:
    for file in files:
        file.close()


def _opened(path: str) -> BinaryIO | None:
    """None where there is no such file."""
    try:
        # O_NONBLOCK: a pipe in its place is no reason to wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"The log {path} cannot be read: {error.strerror}.", f"ls -l {path}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StateError(f"The log {path} is no file.", f"ls -ld {path}")
    return open(descriptor, "rb", buffering=0)
