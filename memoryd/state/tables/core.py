"""Tables of sessions, jobs, changes, model calls, dreams and the inbox: the first steps of the state database."""

from __future__ import annotations

STEPS: tuple[str, ...] = (
    """
    CREATE TABLE roots (
        path TEXT PRIMARY KEY,
        first_seen_at REAL NOT NULL,
        scanned_at REAL NOT NULL
    ) STRICT;

    CREATE TABLE projects (
        id INTEGER PRIMARY KEY,
        root TEXT NOT NULL UNIQUE,
        slug TEXT NOT NULL,
        memory_dir TEXT NOT NULL,
        is_shared INTEGER NOT NULL,
        first_seen_at REAL NOT NULL
    ) STRICT;

    CREATE INDEX projects_by_memory_dir ON projects (memory_dir);

    CREATE VIEW collisions AS                    -- projects whose memory directory an older one has already
        SELECT younger.id AS project_id, (
            SELECT older.root FROM projects AS older
            WHERE older.memory_dir = younger.memory_dir AND older.id < younger.id AND NOT older.is_shared
            ORDER BY older.id LIMIT 1
        ) AS collides_with
        FROM projects AS younger WHERE NOT younger.is_shared AND collides_with IS NOT NULL;

    CREATE TABLE transcripts (
        id INTEGER PRIMARY KEY,
        client TEXT NOT NULL,
        root TEXT NOT NULL,
        path TEXT NOT NULL UNIQUE,
        session_id TEXT NOT NULL,
        first_seen_at REAL NOT NULL,
        history_bytes INTEGER NOT NULL,          -- what it held at first sight
        device INTEGER NOT NULL,                 -- the file as it was when last read; size -1: never
        inode INTEGER NOT NULL,
        size INTEGER NOT NULL DEFAULT -1,
        mtime_ns INTEGER NOT NULL,
        generation INTEGER NOT NULL DEFAULT 0,   -- how often it was found rewritten
        offset INTEGER NOT NULL DEFAULT 0,
        head_bytes INTEGER NOT NULL DEFAULT 0,
        head_hash BLOB NOT NULL DEFAULT x'',
        tail_bytes INTEGER NOT NULL DEFAULT 0,
        tail_hash BLOB NOT NULL DEFAULT x'',
        is_complete INTEGER NOT NULL DEFAULT 0,  -- read up to its last newline
        active_at REAL NOT NULL,                 -- when it last grew, never later than when that was noticed
        missing_at REAL,
        cwd TEXT NOT NULL DEFAULT '',
        project_id INTEGER REFERENCES projects (id),
        opted_out INTEGER NOT NULL DEFAULT 0,
        damage TEXT NOT NULL DEFAULT '{}',       -- JSON: kind -> number of lines
        error TEXT                               -- why it could not be read the last time
    ) STRICT;
    CREATE INDEX transcripts_by_session ON transcripts (session_id);
    CREATE INDEX transcripts_by_cwd ON transcripts (cwd);
    CREATE INDEX transcripts_by_project ON transcripts (project_id);

    CREATE TABLE turns (
        id INTEGER PRIMARY KEY,
        transcript_id INTEGER NOT NULL REFERENCES transcripts (id),
        generation INTEGER NOT NULL,
        prompt_id TEXT NOT NULL,
        said_at REAL,
        start INTEGER NOT NULL,
        end INTEGER NOT NULL,
        is_history INTEGER NOT NULL,
        pending_calls TEXT NOT NULL,             -- JSON list of tool calls without a result
        answered INTEGER NOT NULL,
        end_reason TEXT,                         -- NULL while the turn is open
        ended_at REAL,                           -- when that was noticed
        outcome TEXT                             -- NULL while nobody has worked on it
    ) STRICT;
    CREATE INDEX turns_by_transcript ON turns (transcript_id, start);
    CREATE INDEX turns_waiting ON turns (transcript_id) WHERE outcome IS NULL AND is_history = 0;
    CREATE INDEX turns_open ON turns (transcript_id) WHERE outcome IS NULL AND end_reason IS NULL;

    CREATE TABLE seen_messages (                 -- every prompt ever delivered, by digest of its ids
        id BLOB PRIMARY KEY,
        turn_id INTEGER NOT NULL REFERENCES turns (id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE oddities (                      -- named like transcripts, but nothing that can be read
        path TEXT PRIMARY KEY,
        root TEXT NOT NULL,
        kind TEXT NOT NULL
    ) STRICT;

    CREATE TABLE notices (                       -- what happened to memoryd itself and `status` should tell
        name TEXT PRIMARY KEY,
        text TEXT NOT NULL,
        fix TEXT NOT NULL,
        about_file TEXT NOT NULL,
        at REAL NOT NULL
    ) STRICT;
    """,
    """
    ALTER TABLE transcripts ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;   -- jobs in a row that failed
    ALTER TABLE transcripts ADD COLUMN retry_at REAL;                         -- not before this time

    CREATE TABLE jobs (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        memory_dir TEXT NOT NULL,
        session_id TEXT NOT NULL,
        token TEXT NOT NULL,                     -- the lease: whoever closes the job must know it
        started_at REAL NOT NULL,
        ended_at REAL,
        outcome TEXT,                            -- NULL while it runs
        detail TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE INDEX jobs_running ON jobs (memory_dir) WHERE outcome IS NULL;
    ALTER TABLE turns ADD COLUMN job_id INTEGER REFERENCES jobs (id);

    CREATE TABLE blobs (
        hash BLOB PRIMARY KEY,
        data BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE changes (                       -- one row for every commit, made before the first file is touched
        id INTEGER PRIMARY KEY,
        memory_dir TEXT NOT NULL,
        kind TEXT NOT NULL,                      -- extract, remember, forget, undo, redo, restore, reindex
        why TEXT NOT NULL,
        session_id TEXT NOT NULL,
        job_id INTEGER REFERENCES jobs (id),
        undoes INTEGER REFERENCES changes (id),
        undone_by INTEGER REFERENCES changes (id),
        at REAL NOT NULL,
        state TEXT NOT NULL                      -- prepared, applied, conflicted
    ) STRICT;
    CREATE INDEX changes_by_directory ON changes (memory_dir, id);
    CREATE INDEX changes_prepared ON changes (memory_dir) WHERE state = 'prepared';

    CREATE TABLE change_files (
        change_id INTEGER NOT NULL REFERENCES changes (id),
        position INTEGER NOT NULL,
        group_number INTEGER NOT NULL,           -- a group changes together or not at all; -1 is the index
        why TEXT NOT NULL,
        name TEXT NOT NULL,
        temporary TEXT NOT NULL,                 -- recorded before it is made
        before_hash BLOB REFERENCES blobs (hash),
        before_mtime_ns INTEGER,
        after_hash BLOB REFERENCES blobs (hash),
        after_mtime_ns INTEGER,
        mode INTEGER NOT NULL,
        state TEXT NOT NULL,                     -- prepared, applied, conflicted
        PRIMARY KEY (change_id, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX change_files_by_name ON change_files (name, change_id);

    CREATE VIEW memory_changes AS                -- what a person calls a change: with names, without the index
        SELECT changes.*, (
            SELECT group_concat(name, char(0)) FROM (
                SELECT name FROM change_files WHERE change_id = changes.id AND group_number >= 0 ORDER BY position
            )
        ) AS names
        FROM changes WHERE kind <> 'reindex';

    CREATE TABLE change_turns (                  -- the turns that count as done when the change is closed
        change_id INTEGER NOT NULL REFERENCES changes (id),
        turn_id INTEGER NOT NULL REFERENCES turns (id),
        PRIMARY KEY (change_id, turn_id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE evidence (                      -- the words of the user that a memory rests on
        id INTEGER PRIMARY KEY,
        change_id INTEGER NOT NULL REFERENCES changes (id),
        group_number INTEGER NOT NULL,
        memory_dir TEXT NOT NULL,
        name TEXT NOT NULL,
        session_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        said_at REAL,
        quote TEXT NOT NULL,
        hash TEXT NOT NULL
    ) STRICT;
    CREATE INDEX evidence_by_file ON evidence (memory_dir, name);

    CREATE TABLE refused_evidence (              -- undone or forgotten: it does not come back
        memory_dir TEXT NOT NULL,
        message_id TEXT NOT NULL,
        hash TEXT NOT NULL,
        change_id INTEGER NOT NULL REFERENCES changes (id),
        PRIMARY KEY (memory_dir, message_id, hash)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE rescued (                       -- edits that a commit met and could not leave in place
        id INTEGER PRIMARY KEY,
        change_id INTEGER NOT NULL REFERENCES changes (id),
        name TEXT NOT NULL,
        hash BLOB NOT NULL REFERENCES blobs (hash)
    ) STRICT;
    """,
    """
    ALTER TABLE transcripts ADD COLUMN failed_bytes INTEGER NOT NULL DEFAULT 0;  -- how long it was at the last failure
    CREATE INDEX jobs_by_session ON jobs (session_id, ended_at);
    CREATE INDEX changes_by_job ON changes (job_id) WHERE job_id IS NOT NULL;

    CREATE VIEW job_files AS                     -- the memories that a job wrote and took away, names joined by NUL
        SELECT jobs.id AS job_id,
            group_concat(name, char(0)) FILTER (WHERE after_hash IS NOT NULL) AS saved,
            group_concat(name, char(0)) FILTER (WHERE name IS NOT NULL AND after_hash IS NULL) AS removed
        FROM jobs LEFT JOIN changes ON changes.job_id = jobs.id
        LEFT JOIN change_files ON change_id = changes.id AND group_number >= 0 AND change_files.state = 'applied'
        GROUP BY jobs.id;
    """,
    """
    CREATE TABLE steps (                         -- every request to a model, recorded before it is sent
        id INTEGER PRIMARY KEY,
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        request BLOB NOT NULL,                   -- its digest
        model TEXT NOT NULL,
        prompt TEXT NOT NULL,                    -- name and version of the brief
        sent_at REAL NOT NULL,
        reserved_usd REAL NOT NULL,              -- what it may cost at most
        settled_usd REAL,                        -- NULL: nobody knows what came of it, and it counts as reserved
        input_tokens INTEGER NOT NULL DEFAULT 0,
        cache_read_tokens INTEGER NOT NULL DEFAULT 0,
        cache_created_tokens INTEGER NOT NULL DEFAULT 0,
        output_tokens INTEGER NOT NULL DEFAULT 0,
        reply BLOB                               -- kept until the job closes: what was paid for is not asked again
    ) STRICT;
    CREATE INDEX steps_by_request ON steps (request) WHERE reply IS NOT NULL;
    CREATE INDEX steps_by_job ON steps (job_id);
    CREATE INDEX steps_by_time ON steps (sent_at);
    CREATE TABLE remarks (                       -- what the log is to say of a run: refused calls, lost caches
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        kind TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    CREATE INDEX remarks_by_job ON remarks (job_id);

    CREATE TABLE holds (                         -- why an engine rests
        engine TEXT PRIMARY KEY,
        reason TEXT NOT NULL,                    -- engine_stopped, engine_busy, budget_reached
        text TEXT NOT NULL,
        fix TEXT NOT NULL,
        until REAL,                              -- NULL: until the settings change
        settings BLOB NOT NULL,                  -- digest of those that it is about
        failures INTEGER NOT NULL,
        at REAL NOT NULL
    ) STRICT;
    """,
    """
    CREATE TABLE locks (                         -- what stood in a consolidation lock before a process of ours took it
        memory_dir TEXT PRIMARY KEY,
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        existed INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        taken_ns INTEGER NOT NULL,
        pid INTEGER NOT NULL,
        start_ticks INTEGER NOT NULL,
        boot_id TEXT NOT NULL,
        temporary TEXT NOT NULL
    ) STRICT;

    CREATE TABLE dreams (                        -- a job of consolidation, as far as it has come
        job_id INTEGER PRIMARY KEY REFERENCES jobs (id),
        project_root TEXT NOT NULL,
        engine TEXT NOT NULL,
        state TEXT NOT NULL,                     -- starting, updating
        phase TEXT NOT NULL DEFAULT '',          -- orient, gather, consolidate, prune
        line TEXT NOT NULL DEFAULT '',           -- what it does, in a few words
        tools INTEGER NOT NULL DEFAULT 0,
        files TEXT NOT NULL DEFAULT '[]',        -- JSON list of the memories it has touched
        usd REAL NOT NULL DEFAULT 0,
        stop_requested INTEGER NOT NULL DEFAULT 0
    ) STRICT;

    CREATE TABLE dream_turns (                   -- what it did, step by step
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        number INTEGER NOT NULL,
        at REAL NOT NULL,
        phase TEXT NOT NULL,
        line TEXT NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (job_id, number)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE fates (                         -- what review kept a dream from doing: a row for each group
        job_id INTEGER NOT NULL REFERENCES jobs (id),
        name TEXT NOT NULL,                      -- its files
        statement TEXT NOT NULL,                 -- what it wanted to do
        fate TEXT NOT NULL,                      -- held, refused, dropped; older dreams: other words
        explained_by TEXT NOT NULL               -- why it was not done
    ) STRICT;
    CREATE INDEX fates_by_job ON fates (job_id);

    CREATE INDEX evidence_by_message ON evidence (memory_dir, message_id);

    DROP VIEW memory_changes;
    CREATE VIEW memory_changes AS                -- what a person calls a change: with the files that it did change
        SELECT changes.*, (
            SELECT group_concat(name, char(0)) FROM (
                SELECT name FROM change_files WHERE change_id = changes.id AND group_number >= 0
                AND (change_files.state <> 'conflicted' OR changes.state = 'conflicted') ORDER BY position
            )
        ) AS names
        FROM changes WHERE kind <> 'reindex';

    CREATE TABLE dream_checks (                  -- what the gates of consolidation have to remember
        memory_dir TEXT PRIMARY KEY,
        counted_at REAL,                         -- when the sessions were last counted
        ahead_ns INTEGER,                        -- an mtime of the lock that was ahead of the clock,
        noticed_at REAL,                         -- and when that was noticed
        failures INTEGER NOT NULL DEFAULT 0,     -- dreams in a row that failed or were refused
        retry_at REAL
    ) STRICT;
    """,
    """
    CREATE TABLE settings (                      -- what the user or the daemon wants remembered: a pause, the last upkeep
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL,                     -- JSON
        at REAL NOT NULL
    ) STRICT;

    ALTER TABLE blobs ADD COLUMN dropped_at REAL;  -- its data is gone: older than history is kept
    """,
    """
    CREATE TABLE inbox (                         -- groups that review kept from being committed
        id INTEGER PRIMARY KEY,
        memory_dir TEXT NOT NULL,
        state TEXT NOT NULL,                     -- held, unconfirmed: for the user to answer; refused, dropped: for history
        reason TEXT NOT NULL,                    -- why it was not committed
        why TEXT NOT NULL,                       -- what the group itself says it is for,
        change_reason TEXT NOT NULL,             -- what kind of change it is,
        from_index TEXT NOT NULL,                -- and, as a JSON list, the passages of the index that it moves
        fingerprint BLOB NOT NULL,               -- digest of what it would do and the words it rests on
        session_id TEXT NOT NULL,
        job_id INTEGER REFERENCES jobs (id),
        brought_by INTEGER REFERENCES changes (id),   -- the commit that it came with
        at REAL,                                 -- NULL until that commit is closed: then it is there
        closed_at REAL,                          -- NULL while it waits for an answer
        outcome TEXT,                            -- accepted, rejected, expired, displaced; NULL: refused or dropped
        accepted_by INTEGER REFERENCES changes (id)   -- the commit that makes the change, from its first moment on
    ) STRICT;
    CREATE INDEX inbox_waiting ON inbox (memory_dir) WHERE closed_at IS NULL;
    CREATE INDEX inbox_by_fingerprint ON inbox (memory_dir, fingerprint);
    CREATE INDEX inbox_by_commit ON inbox (brought_by) WHERE at IS NULL;
    CREATE INDEX inbox_by_acceptance ON inbox (accepted_by) WHERE accepted_by IS NOT NULL;

    CREATE TABLE inbox_files (
        inbox_id INTEGER NOT NULL REFERENCES inbox (id),
        position INTEGER NOT NULL,
        name TEXT NOT NULL,
        op TEXT NOT NULL,                        -- write, remove
        before BLOB,                             -- what the engine had read; dropped with history once it is answered
        after BLOB,
        after_mtime_ns INTEGER,
        mode INTEGER NOT NULL,
        PRIMARY KEY (inbox_id, position)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE inbox_evidence (
        inbox_id INTEGER NOT NULL REFERENCES inbox (id),
        position INTEGER NOT NULL,
        name TEXT NOT NULL,
        session_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        said_at REAL,
        quote TEXT NOT NULL,
        hash TEXT NOT NULL,
        PRIMARY KEY (inbox_id, position)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE refused_words (                 -- what was undone, forgotten or answered with no: it does not come back
        memory_dir TEXT NOT NULL,
        message_id TEXT NOT NULL,
        hash TEXT NOT NULL,
        change_id INTEGER REFERENCES changes (id),
        inbox_id INTEGER REFERENCES inbox (id),
        PRIMARY KEY (memory_dir, message_id, hash)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO refused_words SELECT memory_dir, message_id, hash, change_id, NULL FROM refused_evidence;
    DROP TABLE refused_evidence;
    ALTER TABLE refused_words RENAME TO refused_evidence;

    DROP VIEW memory_changes;
    CREATE VIEW memory_changes AS                -- what a person calls a change: one that changed files
        SELECT changes.*, (
            SELECT group_concat(name, char(0)) FROM (
                SELECT name FROM change_files WHERE change_id = changes.id AND group_number >= 0
                AND (change_files.state <> 'conflicted' OR changes.state = 'conflicted') ORDER BY position
            )
        ) AS names
        FROM changes WHERE kind <> 'reindex' AND EXISTS (SELECT 1 FROM change_files WHERE change_id = changes.id);
    """,
    """
    ALTER TABLE steps ADD COLUMN engine TEXT NOT NULL DEFAULT 'anthropic'; -- claude: on the user's plan, nothing is paid
    ALTER TABLE steps ADD COLUMN reserved_tokens INTEGER NOT NULL DEFAULT 0; -- and what it may take of that at most
    CREATE TABLE releases (session_id TEXT PRIMARY KEY, at REAL NOT NULL) STRICT; -- the client ends or compacts a session
    """,
)
