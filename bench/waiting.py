"""A hook that tells on stderr how long it waited for the locks of its database: `python -m bench.waiting`."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from memoryd import hook
from memoryd.recall import database

waited = 0.0
_execute = database.Database.execute


def execute(self: database.Database, sql: str, values: Any = ()) -> Any:
    """Taking a lock and committing are where others can be in the way."""
    global waited  # noqa: PLW0603 - one process, one figure
    began = time.perf_counter()
    try:
        return _execute(self, sql, values)
    finally:
        if sql.startswith(("BEGIN", "COMMIT")):
            waited += time.perf_counter() - began


if __name__ == "__main__":
    database.Database.execute = execute  # type: ignore[method-assign]
    hook.PATIENCE_SECONDS = 600.0  # five hundred at once on two cores take longer than any client waits
    hook.answer(["user-prompt-submit"], dict(os.environ))
    sys.stderr.write(f"{waited:.6f}")
