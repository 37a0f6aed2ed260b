"""A hook that tells on stderr how long it waited for its database: `python -m bench.waiting`.

What the processor did for others meanwhile is not counted: with hundreds of processes on a few cores that is nearly all of
the time. Who waits for a lock goes to sleep, and the kernel counts that.
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


def _timed(work: Any, *arguments: Any) -> Any:
    global waited  # noqa: PLW0603 - one process, one figure
    sleeps, began = _sleeps(), time.perf_counter()
    try:
        return work(*arguments)
    finally:
        if _sleeps() > sleeps:
            waited += time.perf_counter() - began


if __name__ == "__main__":
    Database.execute = lambda *given: _timed(_execute, *given)  # type: ignore[method-assign]
    Database.query = lambda *given: _timed(_query, *given)  # type: ignore[method-assign]
    hook.PATIENCE_SECONDS = 600.0  # five hundred at once on two cores take longer than any client waits
    hook.answer(["user-prompt-submit"], dict(os.environ))
    sys.stderr.write(f"{waited:.6f}")
