"""Table of session notes."""

from __future__ import annotations

STEP = """
    CREATE TABLE session_notes (                 -- what the notes of a session are made of, up to a place in its transcript
        session_id TEXT PRIMARY KEY,
        revision INTEGER NOT NULL,               -- who stores must know it: another process may have been faster
        client TEXT NOT NULL,
        path TEXT NOT NULL,
        offset INTEGER NOT NULL,
        head_bytes INTEGER NOT NULL,
        head_hash BLOB NOT NULL,
        tail_bytes INTEGER NOT NULL,
        tail_hash BLOB NOT NULL,
        facts TEXT NOT NULL,                     -- JSON, by code
        tokens INTEGER NOT NULL DEFAULT 0,
        calls INTEGER NOT NULL DEFAULT 0,
        last_calls INTEGER NOT NULL DEFAULT 0,   -- in the last turn
        written TEXT NOT NULL DEFAULT '{}',      -- JSON: section -> what a model wrote
        written_offset INTEGER NOT NULL DEFAULT 0,
        written_tokens INTEGER NOT NULL DEFAULT 0,
        written_calls INTEGER NOT NULL DEFAULT 0,
        failures INTEGER NOT NULL DEFAULT 0,     -- runs of a model in a row
        file TEXT NOT NULL DEFAULT '',           -- the notes; empty while the session is too short for them
        active_at REAL NOT NULL,                 -- when the transcript last grew
        handed_back INTEGER NOT NULL DEFAULT -1, -- how long the transcript was when they were handed back
        failed_offset INTEGER NOT NULL DEFAULT -1 -- how far ingestion was when they could not be made
    ) STRICT;
    CREATE INDEX transcripts_by_activity ON transcripts (active_at);
    """
