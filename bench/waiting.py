"""A hook that tells on stderr how long it waited for its database: `python -m bench.waiting`.

What the processor did for others meanwhile is not counted: with hundreds of processes on a few cores that is nearly all of
the time. Who waits for a lock goes to sleep, and the kernel counts that; it also counts how long a process that could go on
again waited for a processor, which after a millisecond of sleep may be seconds (Linux only).
"""

from __future__ import annotations

import os
import resource
import sys
import time
from typing import Any

from memoryd.clients import hook
from memoryd.state.database import Database

waited = 0.0
_execute = Database.execute
_query = Database.query


def _sleeps() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


def _queued() -> float:
    """Seconds that this process has waited for a processor so far."""
    try:
        with open("/proc/self/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except OSError:
        return 0.0


def _timed(work: Any, *arguments: Any) -> Any:
    global waited  # noqa: PLW0603 - one process, one figure
    sleeps, queued, began = _sleeps(), _queued(), time.perf_counter()
    try:
        return work(*arguments)
    finally:
        if _sleeps() > sleeps:
            waited += max(0.0, time.perf_counter() - began - (_queued() - queued))


if __name__ == "__main__":
    Database.execute = lambda *given: _timed(_execute, *given)  # type: ignore[method-assign]
    Database.query = lambda *given: _timed(_query, *given)  # type: ignore[method-assign]
    hook.PATIENCE_SECONDS = 600.0  # five hundred at once on two cores take longer than any client waits
    hook.answer(["user-prompt-submit"], dict(os.environ))
    sys.stderr.write(f"{waited:.6f}")
