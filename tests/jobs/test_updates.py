"""What later words do to memories, through whole jobs: updates, withdrawals, second thoughts, secrets, any split."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.cli.history import describe
from memoryd.config import Config
from memoryd.engines import offline
from memoryd.jobs import extract as module
from memoryd.jobs.changeset import groups_of
from memoryd.jobs.work import due, work
from memoryd.model import Evidence, Finding, Withdrawal
from memoryd.paths import paths_from
from memoryd.state import history
from memoryd.state.database import open_database
from tests.jobs.desk import MOCKS, MOCKS_MD, NOW, TABS, TABS_MD, Desk
from tests.sample import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memoryd.model import Said, Shelved

TAKE_BACK = "scratch that"


def plain_engine(
    messages: Iterable[Said], shelf: Callable[[], Sequence[Shelved]] = lambda: (), _: Sequence[str] = ()
) -> list[Finding | Withdrawal]:
    """`KEY = value` is a fact, also a new version of KEY; `drop KEY` takes it back. For tests of the job around it."""
    found: list[Finding | Withdrawal] = []
    for said in messages:
        evidence = Evidence(said.session_id, said.message_id, said.text, f"hash of {said.text}", said.said_at)
        key, _is, value = said.text.partition(" = ")
        ours = {memory.name for memory in shelf() if memory.is_ours}
        if value:
            name = f"project_{key}.md"
            found.append(
                Finding("project", key, key, f"{said.text}\n", evidence, replaces=name if name in ours else "")
            )
        elif said.text.startswith("drop "):
            name = f"project_{said.text.removeprefix('drop ')}.md"
            found += [Withdrawal(name, evidence)] if name in ours else []
    return found


@pytest.fixture
def plain(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(offline, "find", plain_engine)
    return desk


def test_later_words_bring_a_memory_up_to_date(plain: Desk) -> None:
    session = plain.say("port = 80")
    assert plain.work() == [("succeeded", ("project_port.md",))]
    plain.say("port = 81", session=session)
    assert plain.work() == [("succeeded", ("project_port.md",))]
    assert plain.bodies() == ["port = 81"]
    evidence = history.evidence_of(plain.database, str(plain.memory), "project_port.md")
    assert [one.quote for one in evidence] == ["port = 80", "port = 81"]


@pytest.mark.parametrize("edit", [b"And my own words.\n", b""])
def test_a_memory_that_the_user_edited_or_pinned_is_never_rewritten_or_taken_away(plain: Desk, edit: bytes) -> None:
    session = plain.say("port = 80")
    plain.work()
    path = plain.memory / "project_port.md"
    mine = (
        path.read_bytes() + edit if edit else path.read_bytes().replace(b"metadata:\n", b"metadata:\n  pinned: true\n")
    )
    assert mine != path.read_bytes()
    path.write_bytes(mine)
    plain.say("port = 81", "drop port", session=session)
    assert plain.work() == [("succeeded", ("project_port_2.md",))]
    assert path.read_bytes() == mine


def test_an_edit_between_the_engines_look_and_the_plan_wins(plain: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    session = plain.say("port = 80")
    plain.work()
    path = plain.memory / "project_port.md"
    mine = path.read_bytes() + b"Mine.\n"
    real = groups_of

    def disturbed(*arguments: object) -> object:
        monkeypatch.setattr(module, "groups_of", real)
        path.write_bytes(mine)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "groups_of", disturbed)
    plain.say("port = 81", session=session)
    assert plain.work() == [("succeeded", ("project_port_2.md",))]
    assert path.read_bytes() == mine
    assert plain.jobs()[1:] == [("failed", "somebody else changed the same files"), ("succeeded", "")]


def test_a_memory_that_went_away_between_the_look_and_the_plan_is_made_anew(
    plain: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = plain.say("port = 80")
    plain.work()
    real = groups_of

    def disturbed(*arguments: object) -> object:
        monkeypatch.setattr(module, "groups_of", real)
        (plain.memory / "project_port.md").unlink()
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "groups_of", disturbed)
    plain.say("port = 81", session=session)
    assert plain.work() == [("succeeded", ("project_port.md",))]
    assert plain.bodies() == ["port = 81"]


def test_a_withdrawal_is_told_as_one_and_can_be_undone(plain: Desk) -> None:
    session = plain.say("port = 80")
    plain.work()
    before = plain.memories()
    plain.say("drop port", session=session)
    (outcome,) = plain.run()
    assert (outcome.outcome, outcome.saved, outcome.removed) == ("succeeded", (), ("project_port.md",))
    assert plain.memories() == {}
    plain.undo()
    assert plain.memories() == before
    plain.database.execute("UPDATE turns SET outcome = NULL")
    assert plain.work() == [("succeeded_no_output", ())]  # what was undone does not come back
    assert plain.memories() == before


def test_a_withdrawal_of_what_is_not_ours_changes_nothing(plain: Desk) -> None:
    plain.memory.mkdir(parents=True)
    (plain.memory / "project_port.md").write_text("port = 80\n")
    plain.say("drop port")
    assert plain.work() == [("succeeded_no_output", ())]
    assert plain.memories() == {"project_port.md": b"port = 80\n"}


def test_a_file_of_the_user_that_was_forgotten_and_brought_back_is_still_theirs(plain: Desk) -> None:
    """Memoryd wrote it last, but did not make it."""
    plain.memory.mkdir(parents=True)
    (plain.memory / "project_port.md").write_text("port = 80\n")
    plain.forget("project_port.md")
    plain.undo()
    assert plain.memories() == {"project_port.md": b"port = 80\n"}
    plain.say("port = 81")
    assert plain.work() == [("succeeded", ("project_port_2.md",))]
    assert plain.memories()["project_port.md"] == b"port = 80\n"


def test_what_was_taken_back_and_is_said_again_rests_on_the_new_words_alone(plain: Desk) -> None:
    session = plain.say("port = 80")
    plain.work()
    plain.say("drop port", session=session)
    plain.work()
    plain.say("port = 80", session=session)
    assert plain.work() == [("succeeded", ("project_port.md",))]
    evidence = history.evidence_of(plain.database, str(plain.memory), "project_port.md")
    (last,) = plain.database.query("SELECT prompt_id FROM turns ORDER BY id DESC LIMIT 1")
    assert [(one.quote, one.message_id) for one in evidence] == [("port = 80", last["prompt_id"])]


def test_the_evidence_of_a_withdrawal_that_was_undone_counts_again(plain: Desk) -> None:
    session = plain.say("port = 80")
    plain.work()
    plain.say("drop port", session=session)
    plain.work()
    plain.undo()
    evidence = history.evidence_of(plain.database, str(plain.memory), "project_port.md")
    assert [one.quote for one in evidence] == ["port = 80"]


# --- secrets ----------------------------------------------------------------------------------------------------------

SECRET = "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"


def everything_in(database_file: str) -> bytes:
    """Every value of every table."""
    found = []
    with sqlite3.connect(database_file) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            for row in connection.execute(f"SELECT * FROM {name}"):  # noqa: S608 - names from the schema
                found += [value if isinstance(value, bytes) else str(value).encode() for value in row]
    connection.close()
    return b"\0".join(found)


def test_a_secret_in_a_prompt_or_an_answer_is_kept_nowhere(desk: Desk) -> None:
    """Not in the database, not in a memory, not in what is told of the job; the wish beside it is."""
    session = Session()
    saving = desk.saving_turn(session, f"the token is {SECRET}", "Bash", command=f"echo {SECRET} > {desk.memory}/a.md")
    desk.append(
        session,
        session.prompt(f"the key? {SECRET}")
        + session.reply(f"I see {SECRET}.")
        + session.turn(f"From now on, always use the token {SECRET} for deploys to staging")
        + session.turn(f"never use mocks, and {SECRET} is the token")
        + saving
        + session.turn(TABS),
    )
    told = desk.run()
    assert [outcome.outcome for outcome in told] == ["succeeded"]
    assert TABS_MD in told[0].saved
    kept = everything_in(desk.paths.database) + repr(told).encode() + b"".join(desk.memories().values())
    for root in (Path(desk.paths.state_dir), desk.memory):
        kept += b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert SECRET.encode() not in kept
    assert TABS_MD.encode() in kept


def test_an_engine_that_breaks_on_a_secret_does_not_tell_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaking(*_: object) -> list[Finding]:
        raise ValueError(f"cannot parse {SECRET}")

    monkeypatch.setattr(offline, "find", breaking)
    desk.say("hello")
    (outcome,) = desk.run()
    assert outcome.outcome == "failed"
    assert SECRET.encode() not in everything_in(desk.paths.database) + repr(outcome).encode()


# --- jobs in a row ----------------------------------------------------------------------------------------------------


def test_the_answer_before_a_prompt_is_known_also_if_its_turn_was_done_in_an_earlier_job(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[str, str]] = []

    def listening(messages: Iterable[Said], *_: object) -> list[Finding]:
        heard.extend((said.text, said.answer) for said in messages)
        return []

    monkeypatch.setattr(offline, "find", listening)
    session = Session()
    desk.append(session, session.prompt("one") + session.reply("First."))
    desk.work()
    desk.append(session, session.prompt("two") + session.reply("Second.") + session.turn("three"))
    desk.work()
    assert heard == [("one", ""), ("two", "First."), ("three", "Second.")]


def test_a_turn_that_a_rewrite_moved_waits_for_the_next_look_and_the_others_are_done(desk: Desk) -> None:
    session = desk.say(TABS, MOCKS)
    path = desk.transcript(session)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], session.bulk(), *lines[2:]]))
    assert desk.work() == [("succeeded", (TABS_MD,))]
    assert desk.outcomes() == ["succeeded", None]
    assert desk.work() == [("failed", ())]
    assert desk.jobs()[-1] == ("failed", "the transcript was rewritten")
    desk.sweeper.sweep(NOW)
    assert desk.work() == [("succeeded", (MOCKS_MD,))]
    assert desk.outcomes() == ["succeeded", "succeeded"]


def test_a_turn_whose_only_copy_is_in_a_fork_is_worked_on(desk: Desk) -> None:
    """The original is deleted before anybody worked on it; the copy has an id of its own."""
    original = desk.say(TABS)
    (row,) = desk.database.query("SELECT prompt_id FROM turns")
    fork = Session("fork")
    copied = {"sessionId": original.id, "messageUuid": row["prompt_id"]}
    desk.transcript(original).unlink()
    desk.sweeper.sweep(NOW)
    desk.append(fork, fork.prompt(TABS, forkedFrom=copied) + fork.reply())
    assert desk.work() == [("succeeded", (TABS_MD,))]
    assert desk.outcomes() == ["succeeded"]


class Ticking:
    """A clock by which every look takes a second."""

    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        self._now += 1
        return self._now

    def wait(self, *_: object) -> bool:
        raise AssertionError


def test_a_job_ends_later_than_it_began(desk: Desk) -> None:
    """Otherwise no turn could ever end while it ran."""
    desk.say(TABS)
    desk.say("hello", session=Session("two"))
    sessions = due(desk.database, desk.paths, desk.config, NOW, at_once=True)
    list(work(desk.database, desk.paths, sessions, NOW, clock=Ticking(NOW)))
    rows = desk.database.query("SELECT started_at, ended_at FROM jobs ORDER BY id")
    assert [tuple(row) for row in rows] == [(NOW + 1, NOW + 3), (NOW + 4, NOW + 5)]


# --- any split --------------------------------------------------------------------------------------------------------

WISHES = (
    TABS,
    MOCKS,
    "always answer in German",
    "please remember: the release branch is called stable",
)
CHANGES = ("the freeze moved to next Wednesday", "the freeze moved to next Thursday")
IDLE = ("hello", "thanks, looks good")


def final_bodies(texts: Sequence[str], ends: Sequence[bool]) -> list[str]:
    """What is remembered after these words, with a job after each of those whose `ends` is true, and one at the end."""
    home = tempfile.mkdtemp(prefix="memoryd-split-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        paths = paths_from({"HOME": home})
        database = open_database(paths)
        desk = Desk(database, paths, Config())
        session = Session()
        for text, is_end in zip(texts, ends, strict=True):
            desk.say(text, session=session)
            if is_end:
                desk.work()
        desk.work()
        assert set(desk.outcomes()) <= {"succeeded", "succeeded_no_output"}
        database.close()
        return desk.bodies()
    finally:
        shutil.rmtree(home)


def assert_any_split_is_the_same(texts: list[str], data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts)))
    assert final_bodies(texts, ends) == final_bodies(texts, [False] * len(texts))


@settings(max_examples=20)
@given(st.lists(st.sampled_from([*WISHES, *CHANGES, *IDLE]), min_size=1, max_size=6), st.data())
def test_any_split_of_wishes_and_later_changes_leads_to_the_same_memories(
    texts: list[str], data: st.DataObject
) -> None:
    assert_any_split_is_the_same(texts, data)


@settings(max_examples=20)
@given(st.permutations([*WISHES, "hello", TAKE_BACK, TAKE_BACK]), st.data())
def test_any_split_of_wishes_that_are_taken_back_leads_to_the_same_memories(
    texts: list[str], data: st.DataObject
) -> None:
    assert_any_split_is_the_same(texts[:5], data)


@settings(max_examples=20)
@given(st.lists(st.sampled_from([*WISHES, *CHANGES, TAKE_BACK]), min_size=1, max_size=6), st.data())
def test_any_split_of_what_is_said_taken_back_and_said_again_leads_to_the_same_memories(
    texts: list[str], data: st.DataObject
) -> None:
    assert_any_split_is_the_same(texts, data)


def test_the_history_tells_what_was_said_from_what_was_taken_back(desk: Desk) -> None:
    session = desk.say(TABS)
    desk.work()
    desk.say("forget that, please", session=session)
    desk.work()
    changes = history.recent(desk.database)
    assert [change.why for change in changes] == ["what you took back", "what you said"]
    assert [describe(change).rpartition("  ")[2] for change in changes] == [
        f"{TABS_MD} (what you took back)",
        TABS_MD,
    ]
