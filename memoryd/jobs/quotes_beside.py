"""Quotes that recall hands over beside memories: unconfirmed ones, and lines of daily logs that are none yet."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.memory.daily_logs import open_log
from memoryd.memory.directory import open_directory
from memoryd.state import log_lines
from memoryd.state.inbox import Quote, unconfirmed_quotes

if TYPE_CHECKING:
    from memoryd.state.database import Database

_MOST_BYTES = 1 << 20
"""Of a log, from its end: somebody waits for it."""


def quotes_beside(database: Database, memory_dir: str) -> list[Quote]:
    """A line of a log counts only while it stands there: the user may have edited or deleted it."""
    lines = log_lines.undistilled(database, memory_dir)
    standing = {log: _lines_in(memory_dir, log) for log in {log for _, log, _, _ in lines}}
    facts = [
        (number, log, line.partition("user: ")[2].strip(), said_at)
        for number, log, line, said_at in lines
        if line in standing[log]
    ]
    logged = [Quote(-number, log, fact.encode(), fact, said_at, log) for number, log, fact, said_at in facts]
    return [*unconfirmed_quotes(database, memory_dir), *logged]


def _lines_in(memory_dir: str, log: str) -> frozenset[str]:
    try:
        with open_directory(memory_dir) as directory, open_log(directory, log) as descriptor:
            size = os.fstat(descriptor).st_size
            data = os.pread(descriptor, _MOST_BYTES, max(size - _MOST_BYTES, 0))
    except OSError:  # it is gone, or no log
        return frozenset()
    return frozenset(line.strip() for line in data.decode("utf-8", "replace").splitlines())
