"""Table of teams: the user's own answer, for each project, whether it takes part in its team."""

from __future__ import annotations

STEP = """
    CREATE TABLE team_answers (
        memory_dir TEXT PRIMARY KEY,
        place TEXT NOT NULL,                     -- where the team's memories live, as the user agreed to; empty: a no
        author TEXT NOT NULL,                    -- what the team is told that the user is called
        is_on INTEGER NOT NULL,                  -- whether they are shown: the config may have the team switched off
        at REAL NOT NULL
    ) STRICT, WITHOUT ROWID;
"""
