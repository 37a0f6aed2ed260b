"""Table of the keys that a model wrote for memories which have none of their own."""

from __future__ import annotations

STEP = """
CREATE TABLE memory_keys (
    digest BLOB PRIMARY KEY,                 -- of what the memory says: another text needs other keys
    keys TEXT NOT NULL,                      -- with semicolons between; empty: asked for, and none was of use
    seen_at REAL NOT NULL                    -- when a memory with this text was last there
) STRICT, WITHOUT ROWID;
"""
