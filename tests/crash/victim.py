"""`python -m tests.crash.victim HOME SCENARIO ACTION`: a real process that commits or recovers, to be killed by strace.

It marks where *intend* begins and *close* ends by trying to open files that do not exist, which strace shows.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from memoryd.errors import StateError
from memoryd.memory.commit import commit, recover
from memoryd.memory.directory import open_directory
from memoryd.memory.document import new_document
from memoryd.memory.limits import INDEX_NAME
from memoryd.model import Changeset, Evidence, FileChange, Group
from memoryd.paths import paths_from
from memoryd.state import changes
from memoryd.state.database import open_database
from tests.inbox_rows import held

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.paths import Paths

NOW = 2_000_000_000.0
OLD_NS = 1_900_000_000_123_456_789
SAID_NOTHING_WAS_CHANGED = 3
SAID_IT_WILL_BE_FINISHED = 4
DATABASE_FAILED = 5
TURNS = (1, 2)
OWN_LINE = "- [My own words](kept.md) — never touch this line"


def memory_dir(home: str) -> str:
    return os.path.join(home, "memory")


def paths_of(home: str) -> Paths:
    return paths_from({"HOME": home})


def memory(name: str, body: str) -> bytes:
    return new_document(
        name=name.removesuffix(".md"),
        description=f"about {body.split(maxsplit=1)[0]}",
        kind="feedback",
        body=body,
        session_id="s",
        evidence="e",
        modified="2026-10-18T09:00:00Z",
    ).render()


def old(name: str) -> bytes:
    """Long enough that a file cut off anywhere differs from it."""
    return memory(name, f"old-{name} " + "words of before " * 40)


def new(name: str) -> bytes:
    return memory(name, f"new-{name} " + "words of after " * 60)


BEFORE = {
    name: old(name)
    for name in (
        *("kept.md", "replaced.md", "target.md", "source.md", "gone.md"),
        *("half-target.md", "half-gone.md", "half-source.md", "third-target.md", "third-source.md"),
    )
}

_APPLIED = (
    (("created.md", None, new("created.md")),),
    (("replaced.md", old("replaced.md"), new("replaced.md")),),
    (("target.md", old("target.md"), new("target.md")), ("source.md", old("source.md"), None)),
    (("gone.md", old("gone.md"), None), ("made.md", None, new("made.md"))),
)
# The last file of each of these has been edited: everything before it has to be taken back.
_CONFLICTED = (
    (
        ("half-target.md", old("half-target.md"), new("half-target.md")),
        ("half-made.md", None, new("half-made.md")),
        ("half-gone.md", old("half-gone.md"), None),
        ("half-source.md", b"what was read, and is no longer there", None),
    ),
    (
        ("third-made.md", None, new("third-made.md")),
        ("third-source.md", old("third-source.md"), None),
        ("third-target.md", b"what was read, and is no longer there", new("third-target.md")),
    ),
)
SCENARIOS = {"applied": _APPLIED, "conflicted": (*_APPLIED, *_CONFLICTED)}


def changeset(scenario: str) -> Changeset:
    groups = tuple(
        Group(
            tuple(
                FileChange(name, before, after, OLD_NS if before else None, mode=0o640) for name, before, after in files
            ),
            "said so",
            tuple((name, Evidence("s", "m", "words", "e")) for name, _, after in files if after),
        )
        for files in SCENARIOS[scenario]
    )
    return Changeset("extract", "a wish", groups, "s", TURNS, held=(held("feedback_held.md"),))


def make_world(home: str) -> None:
    """A memory directory and a database with turns, as they are before the commit."""
    os.makedirs(memory_dir(home))
    index = f"# Memories of mine\n\n{OWN_LINE}\n- [Gone long ago](nowhere.md)\n- [Source](source.md)\n\nfree text\n"
    for name, data in {**BEFORE, "notes.txt": b"no memory\n", INDEX_NAME: index.encode()}.items():
        path = os.path.join(memory_dir(home), name)
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, 0o640)
        os.utime(path, ns=(OLD_NS, OLD_NS))
    with closing(open_database(paths_of(home))) as database:
        database.execute(
            "INSERT INTO transcripts (id, client, root, path, session_id, first_seen_at, history_bytes, device, inode,"
            " mtime_ns, active_at) VALUES (1, 'c', '/r', '/r/t', 's', 1, 0, 1, 1, 1, 1)"
        )
        for turn in TURNS:
            database.execute(
                "INSERT INTO turns (id, transcript_id, generation, prompt_id, start, end, is_history, pending_calls,"
                " answered, end_reason) VALUES (?, 1, 0, ?, 0, 1, 0, '[]', 1, 'end_turn')",
                (turn, f"p{turn}"),
            )


def _marked(function: Callable[..., Any], home: str, before: str, after: str) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        _mark(home, before)
        result = function(*arguments, **named)
        _mark(home, after)
        return result

    return call


def _mark(home: str, name: str) -> None:
    with suppress(OSError):
        os.close(os.open(os.path.join(home, f"mark-{name}"), os.O_RDONLY))


def main(home: str, scenario: str, action: str) -> int:
    vars(changes).update(
        prepare=_marked(changes.prepare, home, "intend", "intended"),
        close=_marked(changes.close, home, "close", "closed"),
    )
    try:
        with closing(open_database(paths_of(home))) as database, open_directory(memory_dir(home)) as directory:
            _mark(home, "begin")
            if action == "commit":
                commit(database, directory, changeset(scenario), NOW)
            else:
                with directory.locked():
                    recover(database, directory, NOW)
    except StateError as error:
        if "state database" in error.sentence or "disk is full" in error.sentence:
            return DATABASE_FAILED
        return SAID_NOTHING_WAS_CHANGED if "Nothing was changed" in error.sentence else SAID_IT_WILL_BE_FINISHED
    finally:
        _mark(home, "end")
    return 0


if __name__ == "__main__":
    os._exit(main(*sys.argv[1:]))  # without a word: what it would print could be what strace makes fail
