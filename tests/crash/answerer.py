"""`python -m tests.crash.answerer HOME ACTION`: a real process that brings rows into the inbox or answers one, to be killed."""

from __future__ import annotations

import os
import sys
from contextlib import closing, suppress

from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.model import Changeset, FileChange, Group
from memoryd.review.inbox import accept, reject
from memoryd.state import inbox, jobs
from memoryd.state.database import open_database
from tests.crash.victim import NOW, memory_dir, paths_of
from tests.inbox_rows import held, memory, store, words

ACTIONS = ("commit", "commit_alone", "finish", "accept", "reject")
OLD, NEW = memory("old " + "words of before " * 40), memory("new " + "words of after " * 60)
WRITTEN = "feedback_written.md"
NEW_ROWS = (
    held("feedback_held.md", said=(words("one", "m1"),)),
    held("b.md", state="refused", said=(words("b", "m1"),)),
)


def waiting_row() -> Group:
    """A merge: one memory is rewritten, one removed, one made."""
    return Group(
        (
            FileChange("a.md", OLD, NEW),
            FileChange("source.md", OLD, None),
            FileChange("made.md", None, NEW),
        ),
        "merged",
        (("a.md", words("two", "m2")),),
    )


def make_world(home: str) -> None:
    """Two memories, a job at work on a turn, and one row in the inbox."""
    os.makedirs(memory_dir(home))
    for name in ("a.md", "source.md"):
        with open(os.path.join(memory_dir(home), name), "wb") as file:
            file.write(OLD)
    with closing(open_database(paths_of(home))) as database:
        database.execute(
            "INSERT INTO transcripts (id, client, root, path, session_id, first_seen_at, history_bytes, device, inode,"
            " mtime_ns, active_at) VALUES (1, 'c', '/r', '/r/t', 's', 1, 0, 1, 1, 1, 1)"
        )
        database.execute(
            "INSERT INTO turns (id, transcript_id, generation, prompt_id, start, end, is_history, pending_calls,"
            " answered, end_reason) VALUES (1, 1, 0, 'm1', 0, 1, 0, '[]', 1, 'end_turn')"
        )
        jobs.claim(database, memory_dir(home), 1, "s", NOW)
        store(database, memory_dir(home), held()._replace(group=waiting_row()), now=NOW)


def act(home: str, action: str) -> None:
    with closing(open_database(paths_of(home))) as database:
        _mark(home, "begin")
        (row,) = inbox.waiting(database)
        if action == "accept":
            accept(database, row, NOW)
        elif action == "reject":
            reject(database, row, NOW)
        elif action == "finish":
            (token,) = database.query("SELECT token FROM jobs")[0]
            job = jobs.Job(1, token, 1, "s", ())
            jobs.finish(database, job, "succeeded_no_output", NOW, turns=(1,), held={memory_dir(home): NEW_ROWS})
        else:
            written = Group((FileChange(WRITTEN, None, NEW),), "said", ((WRITTEN, words("w", "m1")),))
            groups = (written,) if action == "commit" else ()
            with open_directory(memory_dir(home)) as directory:
                commit(database, directory, Changeset("extract", "said", groups, "s", (1,), 1, held=NEW_ROWS), NOW)
        _mark(home, "end")


def _mark(home: str, name: str) -> None:
    with suppress(OSError):
        os.close(os.open(os.path.join(home, f"mark-{name}"), os.O_RDONLY))


if __name__ == "__main__":
    act(*sys.argv[1:])
