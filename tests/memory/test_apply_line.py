"""Lines of daily logs: appended and taken away through the one commit; the rest of a log stays as it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryd.errors import MemorydError, StateError
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.guards import RefusedError
from memoryd.memory.history import restoring, undoing
from memoryd.model import AT_THE_END, Changeset, Evidence, FileChange, Group, UserMessage
from memoryd.state import history
from memoryd.state.database import open_database

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.memory.commit import Committed
    from memoryd.paths import Paths
    from memoryd.state.database import Database

NOW = 2_000_000_000.0
LOG = "logs/2026/10/2026-10-18.md"
SAID = Evidence("session", "message", "use tabs", "hash", NOW)
WORDS = UserMessage("session", "message", NOW, "use tabs")


def line(fact: str) -> Group:
    text = f"- 09:00 user: {fact}\n".encode()
    return Group((FileChange(LOG, None, text, offset=AT_THE_END),), "said", ((LOG, SAID),), said=(WORDS,))


class Place:
    def __init__(self, database: Database, memory: Path) -> None:
        self.database, self.memory = database, memory
        self.log = memory / LOG

    def commit(self, changeset: Changeset, now: float = NOW) -> Committed:
        with open_directory(str(self.memory), create=True) as directory:
            return commit(self.database, directory, changeset, now)

    def append(self, *facts: str, now: float = NOW) -> int:
        done = self.commit(Changeset("extract", "said", tuple(line(fact) for fact in facts), "session"), now)
        assert done.change_id is not None
        assert not done.conflicted
        return done.change_id

    def undo(self, change_id: int, now: float = NOW) -> Committed:
        change = history.find(self.database, change_id)
        assert change is not None
        return self.commit(undoing(self.database, change), now)


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Place:
    return Place(database, tmp_path / "memory")


def test_lines_are_appended_and_neither_topics_nor_the_index_are_touched(place: Place) -> None:
    place.append("use tabs", "no mocks")
    place.append("ask Dana")
    assert place.log.read_bytes() == b"- 09:00 user: use tabs\n- 09:00 user: no mocks\n- 09:00 user: ask Dana\n"
    assert place.log.stat().st_mode & 0o777 == 0o600
    assert place.log.parent.stat().st_mode & 0o777 == 0o700
    assert os.listdir(place.memory) == ["logs"]


def test_the_history_keeps_the_line_alone_however_large_the_log_is(place: Place) -> None:
    place.log.parent.mkdir(parents=True)
    place.log.write_bytes(b"- 08:00 user: something said before\n" * 30_000)
    number = place.append("use tabs")
    place.undo(number)
    (kept,) = place.database.query("SELECT sum(length(data)) FROM blobs")[0]
    assert kept == len(b"- 09:00 user: use tabs\n")
    assert history.recent(place.database, str(place.memory))[0].names == (LOG,)


def test_undo_takes_exactly_these_lines_away_and_undoing_it_brings_them_back(place: Place) -> None:
    place.append("use tabs")
    os.utime(place.log, ns=(7, 7))
    number = place.append("no mocks", "ask Dana", now=NOW + 5)
    place.append("use pnpm")
    undone = place.undo(number)
    assert place.log.read_bytes() == b"- 09:00 user: use tabs\n- 09:00 user: use pnpm\n"
    assert undone.change_id is not None
    place.undo(undone.change_id)
    assert place.log.read_text().split("user: ")[1:] == [
        *("use tabs\n- 09:00 ", "use pnpm\n- 09:00 ", "no mocks\n- 09:00 ", "ask Dana\n")
    ]


def test_an_undone_line_gives_the_log_its_time_back_and_a_log_with_nothing_else_goes(place: Place) -> None:
    first = place.append("use tabs")
    os.utime(place.log, ns=(7, 7))
    place.undo(place.append("no mocks", "ask Dana", now=NOW + 5))
    assert place.log.stat().st_mtime_ns == 7
    place.undo(first)
    assert not place.log.exists()


def test_a_line_that_somebody_has_edited_stays_and_the_others_go(place: Place) -> None:
    number = place.append("use tabs", "no mocks")
    place.log.write_bytes(b"a note of mine\n" + place.log.read_bytes().replace(b"tabs", b"spaces"))
    assert place.undo(number).conflicted == (1,)
    assert place.log.read_bytes() == b"a note of mine\n- 09:00 user: use spaces\n"


def test_a_last_line_without_its_newline_is_not_glued_to_the_next(place: Place) -> None:
    place.log.parent.mkdir(parents=True)
    place.log.write_bytes(b"by hand")
    number = place.append("use tabs", "no mocks")
    assert place.log.read_bytes() == b"by hand\n- 09:00 user: use tabs\n- 09:00 user: no mocks\n"
    place.undo(number)
    assert place.log.read_bytes() == b"by hand"


@pytest.mark.parametrize("part", ["logs", "logs/2026", "logs/2026/10", LOG])
def test_no_link_on_the_way_is_followed(place: Place, tmp_path: Path, part: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "2026-10-18.md").write_bytes(b"")
    link = place.memory / part
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside / "2026-10-18.md" if part == LOG else outside)
    with pytest.raises(StateError, match="is no log that lines can be appended to"):
        place.append("use tabs")
    assert (outside / "2026-10-18.md").read_bytes() == b""
    assert os.listdir(outside) == ["2026-10-18.md"]


@pytest.mark.parametrize(
    "change",
    [
        FileChange("logs/2026/10/../../../x.md", None, b"- 09:00 user: x\n", offset=AT_THE_END),
        FileChange("logs/2026/10/2026-11-18.md", None, b"- 09:00 user: x\n", offset=AT_THE_END),
        FileChange("project_x.md", None, b"- 09:00 user: x\n", offset=AT_THE_END),
        FileChange(LOG, None, b"- 09:00 user: x\n# more\n", offset=AT_THE_END),
        FileChange(
            LOG, None, b"- 09:00 user: the token is ghp_9f3KqL0xWv2TzYb7NcRd5JhGs8PmEa1UoI4Q\n", offset=AT_THE_END
        ),
    ],
)
def test_only_a_line_without_secrets_goes_into_the_log_of_its_day(place: Place, change: FileChange) -> None:
    with pytest.raises(RefusedError):
        place.commit(Changeset("extract", "", (Group((change,), "", ((change.name, SAID),)),), "session"))
    assert not list(place.memory.rglob("*.md"))


def test_a_line_is_put_back_by_undo_and_not_by_restore(place: Place) -> None:
    place.append("use tabs")
    with open_directory(str(place.memory)) as directory, pytest.raises(MemorydError, match="is a daily log"):
        restoring(place.database, directory, LOG, None)


def test_an_undone_line_does_not_come_back_unless_a_memory_rests_on_its_words(place: Place) -> None:
    number = place.append("use tabs")
    place.undo(number)
    assert history.is_refused(place.database, str(place.memory), SAID)


_EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3)),
        st.tuples(st.just("undo"), st.integers(0, 9)),
        st.tuples(st.just("write"), st.sampled_from([b"x\n", b"no newline", b""])),
    ),
    max_size=8,
)


@given(edits=_EDITS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_in_any_order_every_line_is_there_once_unless_undone(
    paths: Paths, tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, object]]
) -> None:
    """Whatever a person writes between, it stays; whatever is undone last is gone, and nothing else."""
    root = tmp_path_factory.mktemp("logs")
    database = open_database(paths._replace(state_dir=str(root / "state")))
    place = Place(database, root / "memory")
    lines: dict[int, list[str]] = {}
    by_hand = b""
    for number, (kind, what) in enumerate(edits):
        if kind == "append":
            facts = [f"{fact}{number}.{place_in}" for place_in, fact in enumerate(list(what))]  # type: ignore[call-overload]
            lines[place.append(*facts)] = facts
        elif kind == "undo" and lines:
            chosen = sorted(lines)[int(str(what)) % len(lines)]
            facts = lines.pop(chosen)
            again = place.undo(chosen).change_id
            if int(str(what)) % 2 and again is not None:
                redone = place.undo(again).change_id
                assert redone is not None
                lines[redone] = facts
        elif kind == "write" and place.log.exists():
            assert isinstance(what, bytes)
            by_hand += what
            place.log.write_bytes(place.log.read_bytes() + what)
    log = place.log.read_bytes() if place.log.exists() else b""
    told = [entry.partition(b"user: ")[2].decode() for entry in log.split(b"\n") if b"user: " in entry]
    assert sorted(told) == sorted(fact for facts in lines.values() for fact in facts)
    rest = b"".join(entry for entry in log.split(b"\n") if b"user: " not in entry)
    assert rest == by_hand.replace(b"\n", b"")
    database.close()
