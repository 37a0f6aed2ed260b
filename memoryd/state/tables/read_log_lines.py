"""Tables of lines of daily logs that count no more: dreams have read them, or the user has said otherwise since."""

from __future__ import annotations

STEP = """
    CREATE TABLE read_log_lines (                -- a log that is edited later is read again without them
        log TEXT NOT NULL,
        change_id INTEGER NOT NULL REFERENCES changes (id), -- of the dream that has read it
        digest TEXT NOT NULL,                    -- of the line's words
        PRIMARY KEY (log, change_id, digest)
    ) STRICT, WITHOUT ROWID;
    INSERT OR IGNORE INTO read_log_lines
        SELECT reached.log, dream.id, line.digest FROM change_logs AS reached
        JOIN changes AS dream ON dream.id = reached.change_id
        JOIN log_lines AS line ON line.memory_dir = dream.memory_dir AND line.log = reached.log AND line.change_id < dream.id
        JOIN change_files AS file ON file.change_id = line.change_id AND file.group_number = line.group_number
        WHERE file.line_offset < reached.end_offset;

    CREATE TABLE outdated_log_lines (            -- taken back or told anew before a dream: not recalled any more
        memory_dir TEXT NOT NULL,
        log TEXT NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (memory_dir, log, digest)
    ) STRICT, WITHOUT ROWID;
"""
