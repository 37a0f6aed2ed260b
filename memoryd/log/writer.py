"""Writing of the log: one JSON object per line in a rotating file, and words for the journal; never what was said."""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memoryd.clock import SystemClock
from memoryd.errors import StateError
from memoryd.formatting import unquoted
from memoryd.log.reader import LEVELS, PLACES, LogEntry, fault_of, files_of, line_in_words
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoryd.paths import Paths

FILE_BYTES = 5 << 20
_MOST_LETTERS = 500
_PRIORITIES = dict(zip(LEVELS, (7, 6, 4, 3, 2), strict=True))
"""Priorities of syslog."""


class Log:
    """Log of one process: each event has a name, a level and facts, of which nothing is kept that others said."""

    def __init__(
        self, level: str, *sinks: Callable[[float, dict[str, Any]], None], close: Callable[[], None] = lambda: None
    ) -> None:
        """`sinks` are given the time of an event, and its line; `close` is called with the log's own."""
        self._sinks = sinks
        self._lock = threading.Lock()
        self.close = close
        self.set_level(level)

    def set_level(self, level: str) -> None:
        """Set the level, by its name in the config."""
        self._level = LEVELS.index(level)

    def debug(self, event: str, **facts: object) -> None:
        self._write("debug", event, facts)

    def info(self, event: str, **facts: object) -> None:
        self._write("info", event, facts)

    def warning(self, event: str, **facts: object) -> None:
        self._write("warning", event, facts)

    def error(self, event: str, **facts: object) -> None:
        self._write("error", event, facts)

    def critical(self, event: str, **facts: object) -> None:
        self._write("critical", event, facts)

    def _write(self, level: str, event: str, facts: dict[str, object]) -> None:
        if LEVELS.index(level) < self._level:
            return
        now = SystemClock().now()
        at = datetime.fromtimestamp(now, UTC).isoformat().replace("+00:00", "Z")
        line: dict[str, Any] = {"at": at, "level": level, "event": event}
        line |= {name: value if name in PLACES else _cleaned(value) for name, value in facts.items()}
        with self._lock:
            for sink in self._sinks:
                sink(now, line)


def open_log(paths: Paths, level: str, *, journal: bool = False, file_bytes: int = FILE_BYTES) -> Log:
    """Open the log file for appending; with `journal` each line goes to stderr too, for the journal that listens there.

    The state directory exists. Raises StateError.
    """
    file = _File(paths, file_bytes)
    try:
        file.open()
    except OSError as error:
        raise StateError(
            f"The log file {paths.log_file} cannot be written: {error.strerror}.", f"ls -l {paths.log_file}"
        ) from error
    sinks = (file.write, _Journal(paths.home).write) if journal else (file.write,)
    return Log(level, *sinks, close=file.close)


def is_journal(descriptor: int, environment: Mapping[str, str]) -> bool:
    """Whether this descriptor is connected to the journal of systemd."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return False
    return environment.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def is_supervised(environment: Mapping[str, str]) -> bool:
    """Whether a service manager started this process, so that nobody reads the terminal."""
    return "NOTIFY_SOCKET" in environment or "MEMORYD_SUPERVISOR" in environment


def _cleaned(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, BaseException):
        return redact(fault_of(value))[:_MOST_LETTERS]
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    return redact(unquoted(str(value)))[:_MOST_LETTERS]


class _File:
    """Log file of mode 0600. A failure to write is reported once on stderr and stops nothing.

    After a kill in the middle of a line, or a full disk, it goes on with a new line. A file that was deleted or moved is
    made again; that is checked at every line.
    """

    def __init__(self, paths: Paths, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._path = paths.log_file
        self._files = files_of(paths)
        self._descriptor = -1
        self._has_complained = False

    def open(self) -> None:
        self._descriptor = os.open(
            self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def write(self, _at: float, line: dict[str, Any]) -> None:
        try:
            self._append(json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
        except OSError as error:
            if not self._has_complained:
                self._has_complained = True
                _say(f"memoryd: cannot write {self._path}: {error.strerror}")
        else:
            self._has_complained = False

    def _append(self, line: bytes) -> None:
        if not self._is_in_place():
            self._reopen()
        size = os.fstat(self._descriptor).st_size
        if size and size + len(line) > self._most_bytes:
            self._rotate()
            size = 0
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        os.write(self._descriptor, line)

    def _is_in_place(self) -> bool:
        try:
            return self._descriptor >= 0 and os.path.samestat(
                os.fstat(self._descriptor), os.stat(self._path, follow_symlinks=False)
            )
        except FileNotFoundError:
            return False

    def _reopen(self) -> None:
        old, self._descriptor = self._descriptor, -1
        if old >= 0:
            os.close(old)
        self.open()

    def _rotate(self) -> None:
        """Rename the file and those before it; the oldest is removed."""
        for newer, older in reversed(list(zip(self._files, self._files[1:], strict=False))):
            if os.path.lexists(newer):
                os.replace(newer, older)
        self._reopen()


class _Journal:
    """Lines for a person, each with the priority that the journal reads. The time is the journal's own."""

    def __init__(self, home: str) -> None:
        self._home = home

    def write(self, at: float, line: dict[str, Any]) -> None:
        facts = {name: value for name, value in line.items() if name not in ("at", "level", "event")}
        level = line["level"]
        words, rest = line_in_words(LogEntry(at, level, line["event"], facts), self._home)
        _say(f"<{_PRIORITIES[level]}>{words}{'  ' + rest if rest else ''}")


def _say(line: str) -> None:
    with suppress(OSError):  # nobody listens any more: no reason to stop
        print(line, file=sys.stderr, flush=True)
