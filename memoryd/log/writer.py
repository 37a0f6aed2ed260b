"""Writing of the log: one JSON object per line in a rotating file, and words for the journal; never what was said."""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, cast

import structlog
from structlog.typing import FilteringBoundLogger

from memoryd.errors import StateError
from memoryd.formatting import unquoted
from memoryd.log.reader import LEVELS, PLACES, LogEntry, fault_of, files_of, line_in_words
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from memoryd.paths import Paths

FILE_BYTES = 5 << 20
_MOST_LETTERS = 500
_PRIORITIES = dict(zip(LEVELS, (7, 6, 4, 3, 2), strict=True))
"""Priorities of syslog."""


class Log(FilteringBoundLogger, Protocol):
    def set_level(self, level: str) -> None:
        """Set the level, by its name in the config."""

    def close(self) -> None:
        """Close the file."""


class _Logger(structlog.stdlib.BoundLogger):
    def set_level(self, level: str) -> None:
        self._logger.setLevel(level.upper())

    def close(self) -> None:
        for handler in self._logger.handlers[:]:
            self._logger.removeHandler(handler)
            handler.close()


def open_log(paths: Paths, level: str, *, journal: bool = False, file_bytes: int = FILE_BYTES) -> Log:
    """Open the log file for appending; with `journal` each line goes to stderr too, for the journal that listens there.

    The state directory exists. Raises StateError.
    """
    sink = logging.Logger("memoryd", level.upper())  # noqa: LOG001 - one of our own, not shared through the registry
    file = _File(paths, file_bytes)
    try:
        file.open()
    except OSError as error:
        raise StateError(
            f"The log file {paths.log_file} cannot be written: {error.strerror}.", f"ls -l {paths.log_file}"
        ) from error
    sink.addHandler(file)
    if journal:
        sink.addHandler(_Journal(paths.home))
    log: Log = structlog.wrap_logger(
        sink,
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            _harmless,
            lambda _logger, _method, event: ((event,), {}),  # each handler has a form of its own
        ],
        wrapper_class=_Logger,
    )
    return log


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


def _harmless(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Filter of all lines: no quotation, no secret, of an error only its type and place."""
    if error := event.pop("exc_info", None):
        error = sys.exc_info()[1] if error is True else error
        event["error"] = error[1] if isinstance(error, tuple) else error
    first = {name: event.pop(name) for name in ("at", "level", "event")}
    return first | {name: value if name in PLACES else _cleaned(value) for name, value in event.items()}


def _cleaned(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, BaseException):
        return redact(fault_of(value))[:_MOST_LETTERS]
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    return redact(unquoted(str(value)))[:_MOST_LETTERS]


class _File(logging.Handler):
    """Log file of mode 0600. A failure to write is reported once on stderr and stops nothing.

    After a kill in the middle of a line, or a full disk, it goes on with a new line. A file that was deleted or moved is
    made again; that is checked at every line.
    """

    def __init__(self, paths: Paths, most_bytes: int) -> None:
        super().__init__()
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
        super().close()

    def emit(self, record: logging.LogRecord) -> None:
        line = json.dumps(record.msg, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        try:
            self._write(line)
        except OSError as error:
            if not self._has_complained:
                self._has_complained = True
                _say(f"memoryd: cannot write {self._path}: {error.strerror}")
        else:
            self._has_complained = False

    def _write(self, line: bytes) -> None:
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


class _Journal(logging.Handler):
    """Lines for a person, each with the priority that the journal reads. The time is the journal's own."""

    def __init__(self, home: str) -> None:
        super().__init__()
        self._home = home

    def emit(self, record: logging.LogRecord) -> None:
        facts = dict(cast("dict[str, Any]", record.msg))  # as the last processor made it
        level = facts.pop("level")
        facts.pop("at")
        words, rest = line_in_words(LogEntry(record.created, level, facts.pop("event"), facts), self._home)
        _say(f"<{_PRIORITIES[level]}>{words}{'  ' + rest if rest else ''}")


def _say(line: str) -> None:
    with suppress(OSError):  # nobody listens any more: no reason to stop
        print(line, file=sys.stderr, flush=True)
