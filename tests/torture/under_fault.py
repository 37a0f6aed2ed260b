"""`python -m tests.torture.under_fault FAULT NUMBER COMMAND…`: a memoryd whose disk or database fails at a call, in its own process.

The calls of the kind that FAULT names are counted, and the one with NUMBER fails; with some faults all that follow fail as well.
With the number 0 none fails. How many there were is written to the file that `MEMORYD_TEST_CALLS` names.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.cli import main
from memoryd.memory import exchange

if TYPE_CHECKING:
    from collections.abc import Callable

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CALLS = {
    "open": ("open",),
    "write": ("write",),
    "fsync": ("fsync", "fdatasync"),
    "rename": ("rename", "replace", "link"),
    "unlink": ("unlink", "remove", "rmdir"),
    "make": ("mkdir", "symlink"),
    "mode": ("utime", "chmod", "fchmod"),
}
_READING = ("SELECT", "PRAGMA", "ROLLBACK", "WITH", "EXPLAIN")


class Fault(NamedTuple):
    kinds: tuple[str, ...]
    """Kinds of calls that are counted; `step` is a statement of SQLite, `change` one that changes something."""
    number: int
    """`errno`; 0 where the process is killed."""
    lasts: bool = False
    """Whether all later calls of these kinds fail, too."""


_CHANGES = ("open", "rename", "unlink", "make", "mode", "change")
FAULTS = {
    "open fails": Fault(("open",), errno.EIO),
    "no space for a file": Fault(("open", "make"), errno.ENOSPC, lasts=True),
    "no space for a write": Fault(("write",), errno.ENOSPC, lasts=True),
    "fsync fails": Fault(("fsync",), errno.EIO),
    "fsync finds no space": Fault(("fsync",), errno.ENOSPC, lasts=True),
    "rename fails": Fault(("rename",), errno.EIO),
    "unlink fails": Fault(("unlink",), errno.EIO),
    "SQLite step fails": Fault(("step",), errno.EIO),
    "SQLite steps fail from then on": Fault(("step",), errno.EIO, lasts=True),
    "disk becomes read-only": Fault(_CHANGES, errno.EROFS, lasts=True),
    "kill": Fault(_CHANGES, 0),
}


class Counter:
    """Counts calls, and says of each whether it fails."""

    def __init__(self, fault: Fault, number: int) -> None:
        self.fault, self._number = fault, number
        self.count = 0

    def fails(self, kind: str) -> bool:
        if kind not in self.fault.kinds:
            return False
        self.count += 1
        is_hit = self.count == self._number or (self.fault.lasts and 0 < self._number < self.count)
        if is_hit and not self.fault.number:
            os._exit(137)
        return is_hit


def put_in_place(counter: Counter) -> None:
    """Wrap every call that is counted."""
    for kind, names in _CALLS.items():
        for name in names:
            setattr(os, name, _failing(counter, kind, getattr(os, name)))
    exchange._rename = _failing(counter, "rename", exchange._rename)
    connect = sqlite3.connect

    class Connection(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            _step(counter, sql)
            return super().execute(sql, *values)

        def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
            _step(counter, sql)
            return super().executemany(sql, *values)

    sqlite3.connect = partial(connect, factory=Connection)  # type: ignore[assignment]


def _failing(counter: Counter, kind: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        is_counted = kind != "open" or (len(given) > 1 and given[1] & _WRITING and given[0] != os.devnull)
        is_counted = is_counted and not (kind == "write" and given[0] in (1, 2))
        if is_counted and counter.fails(kind):
            raise OSError(counter.fault.number, os.strerror(counter.fault.number))
        return real(*given, **named)

    return call


def _step(counter: Counter, sql: str) -> None:
    is_change = not sql.lstrip().upper().startswith(_READING)
    if is_change and counter.fails("change"):
        raise _sqlite_error("attempt to write a readonly database", sqlite3.SQLITE_READONLY)
    if counter.fails("step"):
        raise _sqlite_error("disk I/O error", sqlite3.SQLITE_IOERR)


def _sqlite_error(words: str, code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(words)
    error.sqlite_errorcode = code
    return error


if __name__ == "__main__":
    counting = Counter(FAULTS[sys.argv[1]], int(sys.argv[2]))
    file = os.environ.pop("MEMORYD_TEST_CALLS")
    put_in_place(counting)
    ended = main(sys.argv[3:])
    with open(file, "w", encoding="ascii") as written:
        written.write(str(counting.count))
    sys.exit(ended)
