"""Commits over several memory directories: a change for each of them, which belong together."""

from __future__ import annotations

STEP = """
    ALTER TABLE changes ADD COLUMN commit_id INTEGER REFERENCES changes (id); -- the first change of a commit over several directories
    CREATE INDEX changes_by_commit ON changes (commit_id) WHERE commit_id IS NOT NULL;
"""
