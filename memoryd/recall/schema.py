"""Tables of the recall database. Another version, and the file is begun anew: everything in it can be made again."""

from __future__ import annotations

VERSION = 11
"""Of the tables, and of how terms are made."""
TABLES = """
CREATE TABLE directories (
    id INTEGER PRIMARY KEY,
    path BLOB NOT NULL UNIQUE,               -- as the system has it: a path need not be text
    mtime_ns INTEGER NOT NULL DEFAULT 0,     -- of the directory itself, when its files were last looked at,
    checked_at REAL NOT NULL DEFAULT 0,      -- and when that was
    dead INTEGER NOT NULL DEFAULT 0          -- memories that have gone and whose postings are still there
) STRICT;
CREATE TABLE memories (                      -- as they were when their terms were taken
    id INTEGER PRIMARY KEY AUTOINCREMENT,    -- never given twice: what is left of a dead one is nobody's
    directory_id INTEGER NOT NULL REFERENCES directories (id),
    name TEXT NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL,
    type TEXT NOT NULL,
    has_secret INTEGER NOT NULL,             -- somebody wrote one there: it is not handed over
    has_triggers_read INTEGER NOT NULL,      -- whether what it speaks of is known as well
    UNIQUE (directory_id, name)
) STRICT;
CREATE INDEX memories_without_triggers ON memories (directory_id) WHERE has_triggers_read = 0;
CREATE TABLE postings (                      -- which memories have a term, and how much it weighs in them
    directory_id INTEGER NOT NULL REFERENCES directories (id),
    term TEXT NOT NULL,
    entries BLOB NOT NULL,                   -- unsigned 32-bit numbers: the memory's id, then eight bits of weight
    PRIMARY KEY (directory_id, term)
) STRICT, WITHOUT ROWID;
CREATE TABLE triggers (                      -- what a memory speaks of: which tool calls it is handed over with
    directory_id INTEGER NOT NULL REFERENCES directories (id),
    memory_id INTEGER NOT NULL,
    kind TEXT NOT NULL,                      -- run, edit, text, name, work, files, …; deny-run and deny-edit bind; asked: by a prompt
    key TEXT NOT NULL,                       -- that a call is looked up by: a program, a kind of work, an extension, a folder
    pattern TEXT NOT NULL,                   -- a command, a path, a piece of code, words
    scope TEXT NOT NULL                      -- folders that it holds in; empty: everywhere
) STRICT;
CREATE INDEX triggers_by_key ON triggers (directory_id, key);
CREATE INDEX triggers_by_memory ON triggers (memory_id);
CREATE TABLE uses (                          -- how many sessions had a memory, and how many did something with it
    directory_id INTEGER NOT NULL REFERENCES directories (id),
    name TEXT NOT NULL,
    sessions INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (directory_id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE rot (                           -- what a memory names and its repository no longer has
    directory_id INTEGER NOT NULL REFERENCES directories (id),
    name TEXT NOT NULL,
    ctime_ns INTEGER NOT NULL,               -- of the memory that was looked at
    gone TEXT NOT NULL,                      -- JSON: a list of what and why, in words
    PRIMARY KEY (directory_id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE rot_checks (
    directory_id INTEGER PRIMARY KEY REFERENCES directories (id),
    stamp TEXT NOT NULL,                     -- of the repository
    at REAL NOT NULL
) STRICT;
"""
