"""Columns of session notes that recall searches: those of the last session on the branch that is checked out."""

from __future__ import annotations

STEP = """
    ALTER TABLE session_notes ADD COLUMN branch TEXT NOT NULL DEFAULT '';  -- that was checked out last; empty: not known
    ALTER TABLE session_notes ADD COLUMN parts TEXT NOT NULL DEFAULT '[]'; -- JSON: the texts that are searched
    CREATE INDEX session_notes_by_branch ON session_notes (branch, active_at);
"""
