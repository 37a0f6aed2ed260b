"""What recall learns behind the work: which memories were of use, what the code has left behind; and what goes at night."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Config
from memoryd.model import WaitingSession
from memoryd.recall import shown
from memoryd.recall.outcomes import Use, use_since
from memoryd.recall.rank import candidates, query_of
from memoryd.recall.refresh import MemoryPlace, after_work, nightly
from memoryd.recall.shown import Shown
from memoryd.recall.store import open_store
from tests.jobs.model_workspace import ToldClock
from tests.recall.memories import FIVE, RELEASE, ROLE, TESTS, TRACKER, Library, topic
from tests.rot.repository import Checkout
from tests.transcript import Session, line

if TYPE_CHECKING:
    from memoryd.paths import Paths

DAY = 86_400.0


class Room:
    """One project: its memories, its repository, and a session that was shown some."""

    def __init__(self, paths: Paths, tmp_path: Path) -> None:
        self.paths, self.clock, self.config = paths, ToldClock(), Config()
        self.library = Library(paths, tmp_path / "memory")
        self.library.write(FIVE)
        self.root = tmp_path / "acme"
        self.root.mkdir()
        self.transcript = tmp_path / "session.jsonl"
        self.session = Session()

    @property
    def memory_dir(self) -> str:
        return str(self.library.place)

    def place(self) -> MemoryPlace:
        session = WaitingSession(
            1, self.session.id, "claude-code", str(self.transcript), str(self.root), str(self.root), 0.0, 0.0, (1,)
        )
        return MemoryPlace(self.memory_dir, str(self.root), (session,))

    def show(self, *names: str) -> None:
        pieces = [Shown(name, 10) for name in names]
        shown.record(self.paths, self.session.id, self.memory_dir, pieces, self.clock.at)

    def care(self) -> None:
        after_work(self.paths, self.config, self.clock, [self.place()])

    def used(self) -> dict[str, str]:
        file = Path(self.paths.state_dir, "recalled", f"{self.session.id}.jsonl")
        lines = [json.loads(one) for one in file.read_text().splitlines()]
        return {one["used"]: one["how"] for one in lines if "used" in one}

    def gone(self) -> dict[str, tuple[str, ...]]:
        with closing(open_store(self.paths)) as store:
            directory = store.directory(self.memory_dir)
            return store.gone(directory.id) if directory else {}

    def logged(self) -> list[dict[str, object]]:
        try:
            return [json.loads(one) for one in Path(self.paths.log_file).read_text().splitlines()]
        except FileNotFoundError:
            return []


@pytest.fixture
def room(paths: Paths, tmp_path: Path) -> Room:
    return Room(paths, tmp_path)


# --- of use -----------------------------------------------------------------------------------------------------------


def test_what_a_session_read_or_quoted_of_what_it_was_shown_is_noted(room: Room) -> None:
    room.show(RELEASE, TESTS, ROLE, TRACKER)
    block = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": f"{room.memory_dir}/{TESTS}"}}
    message = {"role": "assistant", "content": [block], "stop_reason": "tool_use"}
    room.transcript.write_bytes(
        room.session.prompt("The user is a data scientist, I say so myself")
        + line(room.session.entry("assistant", message=message))
        + room.session.reply("Releases are cut from the branch stable, so I tag there.")
        + room.session.reply(f"See {TRACKER}.")
    )
    room.care()
    assert room.used() == {TESTS: "read", RELEASE: "quoted", TRACKER: "quoted"}
    room.care()
    assert shown.unused(room.paths, room.session.id, room.memory_dir) == [ROLE]
    for file in Path(room.paths.state_dir, "recalled").iterdir():
        os.utime(file, (room.clock.at, room.clock.at))
    assert use_since(room.paths, room.clock.at - 1) == Use(
        4, 1, 3, tokens=10, prompts=1, prompt_tokens=10, session_tokens=10
    )


def test_what_nobody_was_shown_is_of_no_use(room: Room) -> None:
    room.transcript.write_bytes(room.session.reply("Releases are cut from the branch stable, so I tag there."))
    room.care()
    assert use_since(room.paths, 0.0) is None


def test_a_session_without_a_transcript_or_a_project_without_memories_is_nothing(room: Room) -> None:
    room.show(RELEASE)
    room.care()
    assert room.used() == {}
    shutil.rmtree(room.library.place)
    room.care()
    assert room.logged() == []


def test_new_terms_are_taken_behind_the_work(room: Room) -> None:
    """So that no prompt waits for it."""
    room.care()
    with closing(open_store(room.paths)) as store:
        directory = store.directory(room.memory_dir)
        assert directory is not None
        assert directory.memories == 5


# --- what the code has left behind ------------------------------------------------------------------------------------


@pytest.fixture
def checkout(room: Room) -> Checkout:
    checkout = Checkout(room.root, "2026-05-01")
    checkout.commit({"src/mail.py": "def send_mail(): ...\n", "src/cart.py": "1\n"})
    (room.library.place / "mail.md").write_bytes(topic("Mail goes out in `src/mail.py`", "Also `src/cart.py`."))
    return checkout


def test_rot_is_recorded_once_for_each_state(room: Room, checkout: Checkout) -> None:
    """A look through the repository's history takes long: it is made again only when that or a memory has changed."""

    def care_later() -> bool:
        """Whether it was looked again."""
        room.clock.at += 60
        room.care()
        with closing(sqlite3.connect(room.paths.recall_file)) as connection:
            return bool(connection.execute("SELECT at FROM rot_checks").fetchone()[0] == room.clock.at)

    assert (care_later(), room.gone()) == (True, {})
    assert not care_later()
    checkout.commit(without=("src/mail.py",), day="2026-06-01")
    assert (care_later(), room.gone()) == (True, {"mail.md": ("src/mail.py (deleted 2026-06-01)",)})
    assert not care_later()
    (room.library.place / "mail.md").write_bytes(topic("Mail goes out in `src/cart.py`"))
    assert (care_later(), room.gone()) == (True, {})
    (room.library.place / RELEASE).unlink()
    assert care_later()


def test_it_is_not_compared_where_the_config_does_not_want_that(room: Room, checkout: Checkout) -> None:
    checkout.commit(without=("src/mail.py",), day="2026-06-01")
    room.config = room.config._replace(features=room.config.features._replace(rot_check=False))
    room.care()
    assert room.gone() == {}


def test_a_project_whose_root_is_gone_harms_nothing(room: Room, checkout: Checkout) -> None:
    shutil.rmtree(checkout.root)
    room.care()
    assert (room.gone(), room.logged()) == ({}, [])


# --- what fails, and what goes ----------------------------------------------------------------------------------------


def test_a_failure_is_one_line_in_the_log(room: Room) -> None:
    os.makedirs(room.paths.recall_file)
    room.care()
    (told,) = room.logged()
    assert (told["level"], told["event"]) == ("warning", "recall was not brought up to date")
    assert "Is a directory" in str(told["why"])


def test_at_night_what_is_too_old_and_directories_that_have_vanished_go(room: Room, tmp_path: Path) -> None:
    other = Library(room.paths, tmp_path / "other")
    other.write(FIVE)
    places = [room.place(), MemoryPlace(str(other.place), "")]
    room.show(RELEASE)
    (file,) = Path(room.paths.state_dir, "recalled").iterdir()
    os.utime(file, (room.clock.at, room.clock.at))

    nightly(room.paths, room.config, room.clock, places)
    with closing(open_store(room.paths)) as store:
        assert [path for _, path in store.directories()] == [room.memory_dir, str(other.place)]
    assert file.exists()

    shutil.rmtree(other.place)
    room.clock.at += 91 * DAY
    nightly(room.paths, room.config, room.clock, places)
    with closing(open_store(room.paths)) as store:
        assert [path for _, path in store.directories()] == [room.memory_dir]
    assert not file.exists()
    assert room.logged() == []


def test_at_night_past_use_is_counted_for_the_rank(room: Room) -> None:
    """Among equals the one that a session used comes before the one that five had in vain."""
    texts = ("Releases are cut from a branch", "")
    room.library.write({"liked.md": texts, "unused.md": texts, "other.md": texts})
    for number in range(5):
        room.session = Session(number)
        room.show("liked.md", "unused.md")
    shown.record_use(room.paths, room.session.id, {"liked.md": "read"}, room.clock.at)
    for file in Path(room.paths.state_dir, "recalled").iterdir():
        os.utime(file, (room.clock.at, room.clock.at))
    nightly(room.paths, room.config, room.clock, [MemoryPlace(room.memory_dir, "")])
    with closing(open_store(room.paths)) as store:
        directory = store.directory(room.memory_dir)
        assert directory is not None
        found = candidates(store, directory, query_of("the branch for releases"))
        probable = {one.memory.name: one.probability for one in found}
    assert probable["unused.md"] < probable["other.md"] < probable["liked.md"]
