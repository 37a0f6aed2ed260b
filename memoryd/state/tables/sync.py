"""Tables of synchronisation with stores: what was last the same on both sides, what was refused, how the last round went."""

from __future__ import annotations

STEP = """
    CREATE TABLE synced_files (                  -- what a file was when it was last the same here and in a store
        store TEXT NOT NULL,                     -- address of the store
        memory_dir TEXT NOT NULL,
        key TEXT NOT NULL,                       -- in the store; its last part is the file's name
        sha256 TEXT NOT NULL,                    -- of the content
        remote_hash TEXT NOT NULL,               -- of the content, as the store computes it
        stamp INTEGER,                           -- ctime of the file here: while it has it, it is not read; NULL: read it
        PRIMARY KEY (store, memory_dir, key)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE kept_apart (                    -- files that were not taken from a store, or not given to it
        store TEXT NOT NULL,
        memory_dir TEXT NOT NULL,                -- empty: it belongs to no project here
        key TEXT NOT NULL,
        direction TEXT NOT NULL,                 -- in, out
        hash TEXT NOT NULL,                      -- of what was refused: another content is judged anew; empty: not for its content
        reason TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (store, memory_dir, key, direction)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE sync_rounds (                   -- the last round with each store
        store TEXT PRIMARY KEY,
        version TEXT NOT NULL,                   -- of the store, in the last round that was finished
        replicas TEXT NOT NULL,                  -- digest of the directories that were exchanged; empty: not everything was
        author TEXT NOT NULL,                    -- who had written that version
        at REAL NOT NULL,                        -- when it was last tried
        succeeded_at REAL,                       -- and when that last ended well
        exchanged_at REAL,                       -- and when files last went either way
        facts TEXT NOT NULL,                     -- JSON: numbers of the last exchange
        error TEXT NOT NULL,                     -- why the last try failed; empty: it did not
        fix TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
"""
