"""Tables of the state database, as numbered steps. A step that has been released is never edited; a new one is added."""

from __future__ import annotations

from memoryd.state.tables import (
    commits,
    core,
    daily_log,
    memory_keys,
    notes,
    notes_on_branches,
    read_log_lines,
    sync,
    team,
)

MIGRATIONS: tuple[str, ...] = (
    *core.STEPS,
    notes.STEP,
    sync.STEP,
    memory_keys.STEP,
    team.STEP,
    daily_log.STEP,
    commits.STEP,
    read_log_lines.STEP,
    notes_on_branches.STEP,
)
