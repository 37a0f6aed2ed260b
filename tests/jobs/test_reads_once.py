"""A job lists a memory directory once and reads each memory once; only the commit, under its lock, looks again.

Told by the interpreter's own audit events, so that no way to read a file goes unseen.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memoryd.memory.document import new_document
from tests.jobs.model_answers import in_turn, with_model, writes
from tests.messages_server import Reply, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.jobs.dream_workspace import DreamWorkspace
    from tests.jobs.workspace import Workspace


class Accesses:
    """What was listed and read while nobody held the directory's lock."""

    def __init__(self) -> None:
        self.memory = ""
        self.listed = 0
        self.read: Counter[str] = Counter()
        self._locks = 0
        self._directory = ""

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "fcntl.flock":
            self._locks += (
                {fcntl.LOCK_EX: 1, fcntl.LOCK_UN: -1}.get(arguments[1], 0) if self._is_ours(arguments[0]) else 0
            )
        elif self._locks:
            return
        elif event == "os.scandir" and self._is_ours(arguments[0]):
            self.listed += 1
        elif event == "open" and isinstance(arguments[0], str):
            self._note_open(arguments[0], arguments[2] or 0)

    def _note_open(self, path: str, flags: int) -> None:
        """A plain name is read from the directory that was opened last: an event does not tell the descriptor."""
        if os.path.isabs(path) and flags & os.O_DIRECTORY:
            self._directory = os.path.realpath(path)
        is_reading = os.path.basename(path) in NOTES and not flags & (os.O_WRONLY | os.O_RDWR)
        if is_reading and (os.path.dirname(path) or self._directory) == self.memory:
            self.read[os.path.basename(path)] += 1

    def _is_ours(self, place: object) -> bool:
        if isinstance(place, int):
            place = os.readlink(f"/proc/self/fd/{place}")
        return os.fspath(place) == self.memory if isinstance(place, str | os.PathLike) else False


_WATCHING: list[Accesses] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _WATCHING and event in ("open", "os.scandir", "fcntl.flock"):
        watched = _WATCHING.pop()  # what the watching itself opens is not looked at
        try:
            watched.note(event, arguments)
        finally:
            _WATCHING.append(watched)


sys.addaudithook(_hook)


@contextmanager
def accesses_to(memory: Path) -> Iterator[Accesses]:
    watched = Accesses()
    watched.memory = os.path.realpath(memory)
    _WATCHING.append(watched)
    try:
        yield watched
    finally:
        _WATCHING.clear()


def a_memory(body: str) -> bytes:
    return new_document(
        name="a-note",
        description=body.rstrip("."),
        kind="project",
        body=body,
        session_id="",
        evidence="",
        modified="2026-10-16T07:40:18Z",
    ).render()


NOTES = {f"project_{number}.md": a_memory(f"Pump {number} stands in hall {number}.") for number in range(5)}


def put(memory: Path) -> None:
    memory.mkdir(parents=True, exist_ok=True)
    for name, data in NOTES.items():
        (memory / name).write_bytes(data)
        os.utime(memory / name, (1e9, 1e9))


def test_the_watching_sees_every_list_and_read(tmp_path: Path) -> None:
    put(tmp_path)
    with accesses_to(tmp_path) as accesses:
        list(os.scandir(tmp_path))
        (tmp_path / "project_1.md").read_bytes()
        (tmp_path / "project_1.md").read_bytes()
    assert (accesses.listed, accesses.read) == (1, {"project_1.md": 2})


def test_an_offline_extraction(workspace: Workspace) -> None:
    put(workspace.memory)
    workspace.say("From now on, use tabs.")
    with accesses_to(workspace.memory) as accesses:
        assert [outcome for outcome, _ in workspace.work()] == ["succeeded"]
    assert (accesses.listed, set(accesses.read.values())) == (1, {1})


def test_an_extraction_that_finds_nothing_reads_no_memory(workspace: Workspace) -> None:
    put(workspace.memory)
    workspace.say("what does this do?")
    with accesses_to(workspace.memory) as accesses:
        assert [outcome for outcome, _ in workspace.work()] == ["succeeded_no_output"]
    assert accesses.listed <= 1
    assert accesses.read == {}


def test_an_extraction_by_a_model(database: Database, paths: Paths) -> None:
    with with_model(database, paths, in_turn(Reply(writes()), Reply(text("done")))) as model_workspace:
        put(model_workspace.memory)
        model_workspace.say("please keep every review under 400 changed lines")
        with accesses_to(model_workspace.memory) as accesses:
            assert [outcome for outcome, _ in model_workspace.work()] == ["succeeded"]
    assert (accesses.listed, set(accesses.read.values())) == (1, {1})


def test_a_dream(dream_workspace: DreamWorkspace) -> None:
    put(dream_workspace.memory)
    dream_workspace.say("From now on, use tabs.")
    with accesses_to(dream_workspace.memory) as accesses:
        assert dream_workspace.dream().outcome == "succeeded"
    assert (accesses.listed, set(accesses.read.values())) == (1, {1})
