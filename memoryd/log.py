"""The log: one JSON object a line in a file that rotates. It never holds what was said in a session."""

from __future__ import annotations

import logging
import logging.handlers
import os
import sys
from typing import TYPE_CHECKING

import structlog

from memoryd.errors import StateError

if TYPE_CHECKING:
    from io import TextIOWrapper

    from structlog.typing import FilteringBoundLogger

    from memoryd.paths import Paths

FILE_BYTES = 5 << 20
OLD_FILES = 3


def open_log(paths: Paths, level: str) -> FilteringBoundLogger:
    """Open the log file for appending and return a logger for it. The state directory exists."""
    sink = logging.Logger("memoryd", level.upper())  # noqa: LOG001 - one of our own, not shared through the registry
    try:
        handler = _PrivateRotatingFile(paths.log_file, maxBytes=FILE_BYTES, backupCount=OLD_FILES, encoding="utf-8")
    except OSError as error:
        raise StateError(
            f"The log file {paths.log_file} cannot be written: {error.strerror}.", f"ls -l {paths.log_file}"
        ) from error
    sink.addHandler(handler)
    logger: FilteringBoundLogger = structlog.wrap_logger(
        sink,
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    return logger


class _PrivateRotatingFile(logging.handlers.RotatingFileHandler):
    """Files of mode 0600; a failure to write is said once on stderr and stops nothing."""

    _has_complained = False

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(
            self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        return open(descriptor, "a", encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - logging's own signature
        if not self._has_complained:
            self._has_complained = True
            print(f"memoryd: cannot write {self.baseFilename}: {sys.exc_info()[1]}", file=sys.stderr)
