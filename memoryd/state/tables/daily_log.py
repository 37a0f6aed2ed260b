"""Tables of daily logs: their lines, and how far each log has been distilled."""

from __future__ import annotations

STEP = """
    ALTER TABLE change_files ADD COLUMN line_offset INTEGER; -- of a line in a daily log, the only part that is kept of it

    CREATE TABLE log_lines (                     -- lines that extraction appended to daily logs
        change_id INTEGER NOT NULL REFERENCES changes (id),
        group_number INTEGER NOT NULL,
        memory_dir TEXT NOT NULL,
        log TEXT NOT NULL,                       -- its path in the memory directory
        digest TEXT NOT NULL,                    -- of the line's words: a line that somebody edits is another one
        type TEXT,                               -- of the memory that it shall become; NULL: it takes one back
        said TEXT NOT NULL,                      -- JSON: the messages that it comes of, without secrets
        PRIMARY KEY (change_id, group_number)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX log_lines_by_log ON log_lines (memory_dir, log);

    CREATE TABLE log_cursors (                   -- up to where each daily log has been distilled
        memory_dir TEXT NOT NULL,
        log TEXT NOT NULL,
        end_offset INTEGER NOT NULL,             -- always just after a newline
        tail BLOB NOT NULL,                      -- digest of the last bytes before it: another one means an edited log
        PRIMARY KEY (memory_dir, log)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE change_logs (                   -- cursors that are reached when the change is closed
        change_id INTEGER NOT NULL REFERENCES changes (id),
        log TEXT NOT NULL,
        end_offset INTEGER NOT NULL,
        tail BLOB NOT NULL,
        PRIMARY KEY (change_id, log)
    ) STRICT, WITHOUT ROWID;
"""
