"""What later words do to memories, through whole jobs: updates, withdrawals, second thoughts, secrets, any split."""

from __future__ import annotations

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
from memoryd.engines.offline import Findings
from memoryd.engines.offline import engine as offline
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.jobs.due import due, extract_due
from memoryd.language.evidence import evidence_of
from memoryd.memory.changeset import groups_of
from memoryd.model import Revision
from memoryd.paths import paths_from
from memoryd.state import history
from memoryd.state.database import open_database
from tests.jobs.workspace import MOCKS, MOCKS_MD, NOW, TABS, TABS_MD, Workspace
from tests.transcript import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memoryd.model import StoredMemory, UserMessage

TAKE_BACK = "forget what I just said"


def plain_engine(
    messages: Iterable[UserMessage],
    memories: Callable[[], Sequence[StoredMemory]] = lambda: (),
    _: Sequence[str] = (),
    _waiting: Sequence[StoredMemory] = (),
) -> Findings:
    """`KEY = value` is a fact; `drop KEY` takes it back. For tests of the job around it."""
    found: list[Revision] = []
    for said in messages:
        evidence = evidence_of(said, said.text)
        key, _is, value = said.text.partition(" = ")
        ours = {memory.name for memory in memories() if memory.is_ours}
        if value:
            found.append(Revision("learnt", said.text, (), "project", key, said.text, f"{said.text}\n", (evidence,)))
        elif said.text.startswith("drop "):
            name = f"project_{said.text.removeprefix('drop ')}.md"
            found += [Revision("taken_back", said.text, (name,), evidence=(evidence,))] if name in ours else []
    return Findings(tuple(found))


@pytest.fixture
def plain(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(offline, "find", plain_engine)
    return workspace


def test_later_words_stand_beside_a_memory(plain: Workspace) -> None:
    session = plain.say("port = 80")
    assert plain.work() == [("succeeded", ("project_port.md",))]
    plain.say("port = 81", session=session)
    assert plain.work() == [("succeeded", ("project_port_2.md",))]
    assert plain.bodies() == ["port = 80", "port = 81"]


@pytest.mark.parametrize("edit", [b"And my own words.\n", b""])
def test_a_memory_that_the_user_edited_or_pinned_is_never_taken_away(plain: Workspace, edit: bytes) -> None:
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


@pytest.mark.parametrize("mine", [b"Mine.\n", None])
def test_an_edit_between_the_engines_look_and_the_plan_wins(
    plain: Workspace, monkeypatch: pytest.MonkeyPatch, mine: bytes | None
) -> None:
    session = plain.say("port = 80")
    plain.work()
    path = plain.memory / "project_port.md"
    real = groups_of

    def disturbed(*arguments: object) -> object:
        monkeypatch.setattr(offline, "groups_of", real)
        path.unlink()
        if mine:
            path.write_bytes(mine)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(offline, "groups_of", disturbed)
    plain.say("drop port", session=session)
    assert plain.work() == [("succeeded_no_output", ())]
    assert plain.memories() == ({"project_port.md": mine} if mine else {})
    assert plain.jobs()[1:] == [("failed", "somebody else changed the same files"), ("succeeded_no_output", "")]


def test_a_withdrawal_is_told_as_one_and_can_be_undone(plain: Workspace) -> None:
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


def test_a_withdrawal_of_what_is_not_ours_changes_nothing(plain: Workspace) -> None:
    plain.memory.mkdir(parents=True)
    (plain.memory / "project_port.md").write_text("port = 80\n")
    plain.say("drop port")
    assert plain.work() == [("succeeded_no_output", ())]
    assert plain.memories() == {"project_port.md": b"port = 80\n"}


def test_a_file_of_the_user_that_was_forgotten_and_brought_back_is_still_theirs(plain: Workspace) -> None:
    """Memoryd wrote it last, but did not make it."""
    plain.memory.mkdir(parents=True)
    (plain.memory / "project_port.md").write_text("port = 80\n")
    plain.forget("project_port.md")
    plain.undo()
    assert plain.memories() == {"project_port.md": b"port = 80\n"}
    plain.say("port = 81")
    assert plain.work() == [("succeeded", ("project_port_2.md",))]
    assert plain.memories()["project_port.md"] == b"port = 80\n"


def test_what_was_taken_back_and_is_said_again_rests_on_the_new_words_alone(plain: Workspace) -> None:
    session = plain.say("port = 80")
    plain.work()
    plain.say("drop port", session=session)
    plain.work()
    plain.say("port = 80", session=session)
    assert plain.work() == [("succeeded", ("project_port.md",))]
    evidence = history.evidence_of(plain.database, str(plain.memory), "project_port.md")
    (last,) = plain.database.query("SELECT prompt_id FROM turns ORDER BY id DESC LIMIT 1")
    assert [(piece.quote, piece.message_id) for piece in evidence] == [("port = 80", last["prompt_id"])]


def test_the_evidence_of_a_withdrawal_that_was_undone_counts_again(plain: Workspace) -> None:
    session = plain.say("port = 80")
    plain.work()
    plain.say("drop port", session=session)
    plain.work()
    plain.undo()
    evidence = history.evidence_of(plain.database, str(plain.memory), "project_port.md")
    assert [piece.quote for piece in evidence] == ["port = 80"]


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


def test_a_secret_in_a_prompt_or_an_answer_is_kept_nowhere(workspace: Workspace) -> None:
    """Not in the database, not in a memory, not in what is told of the job; the wish beside it is."""
    session = Session()
    saving = workspace.saving_turn(
        session, f"the token is {SECRET}", "Bash", command=f"echo {SECRET} > {workspace.memory}/a.md"
    )
    workspace.append(
        session,
        session.prompt(f"the key? {SECRET}")
        + session.reply(f"I see {SECRET}.")
        + session.turn(f"From now on, always use the token {SECRET} for deploys to staging")
        + session.turn(f"never use mocks, and {SECRET} is the token")
        + saving
        + session.turn(TABS),
    )
    told = workspace.run()
    assert [outcome.outcome for outcome in told] == ["succeeded"]
    assert TABS_MD in told[0].saved
    kept = everything_in(workspace.paths.database) + repr(told).encode() + b"".join(workspace.memories().values())
    for root in (Path(workspace.paths.state_dir), workspace.memory):
        kept += b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert SECRET.encode() not in kept
    assert TABS_MD.encode() in kept


def test_an_engine_that_breaks_on_a_secret_does_not_tell_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(*_: object) -> list[Revision]:
        raise ValueError(f"cannot parse {SECRET}")

    monkeypatch.setattr(offline, "find", breaking)
    workspace.say("hello")
    (outcome,) = workspace.run()
    assert outcome.outcome == "failed"
    assert SECRET.encode() not in everything_in(workspace.paths.database) + repr(outcome).encode()


# --- jobs in a row ----------------------------------------------------------------------------------------------------


def test_the_answer_before_a_prompt_is_known_also_if_its_turn_was_done_in_an_earlier_job(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[str, str]] = []

    def listening(messages: Iterable[UserMessage], *_: object) -> list[Revision]:
        heard.extend((said.text, said.answer) for said in messages)
        return []

    monkeypatch.setattr(offline, "find", listening)
    session = Session()
    workspace.append(session, session.prompt("one") + session.reply("First."))
    workspace.work()
    workspace.append(session, session.prompt("two") + session.reply("Second.") + session.turn("three"))
    workspace.work()
    assert heard == [("one", ""), ("two", "First."), ("three", "Second.")]


def test_a_turn_that_a_rewrite_moved_waits_for_the_next_look_and_the_others_are_done(workspace: Workspace) -> None:
    session = workspace.say(TABS, MOCKS)
    path = workspace.transcript(session)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], session.bulk(), *lines[2:]]))
    assert workspace.work() == [("succeeded", (TABS_MD,))]
    assert workspace.outcomes() == ["succeeded", None]
    assert workspace.work() == [("failed", ())]
    assert workspace.jobs()[-1] == ("failed", "the transcript was rewritten")
    workspace.ingester.ingest(NOW)
    assert workspace.work() == [("succeeded", (MOCKS_MD,))]
    assert workspace.outcomes() == ["succeeded", "succeeded"]


def test_a_turn_whose_only_copy_is_in_a_fork_is_worked_on(workspace: Workspace) -> None:
    """The original is deleted before anybody worked on it; the copy has an id of its own."""
    original = workspace.say(TABS)
    (row,) = workspace.database.query("SELECT prompt_id FROM turns")
    fork = Session("fork")
    copied = {"sessionId": original.id, "messageUuid": row["prompt_id"]}
    workspace.transcript(original).unlink()
    workspace.ingester.ingest(NOW)
    workspace.append(fork, fork.prompt(TABS, forkedFrom=copied) + fork.reply())
    assert workspace.work() == [("succeeded", (TABS_MD,))]
    assert workspace.outcomes() == ["succeeded"]


class Ticking:
    """A clock by which every look takes a second."""

    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        self._now += 1
        return self._now

    def wait(self, *_: object) -> bool:
        raise AssertionError


def test_a_job_ends_later_than_it_began(workspace: Workspace) -> None:
    """Otherwise no turn could ever end while it ran."""
    workspace.say(TABS)
    workspace.say("hello", session=Session("two"))
    sessions = due(workspace.database, workspace.paths, workspace.config, NOW, at_once=True)
    list(extract_due(workspace.database, workspace.paths, sessions, NOW, clock=Ticking(NOW), engine=OfflineEngine()))
    rows = workspace.database.query("SELECT started_at, ended_at FROM jobs ORDER BY id")
    assert [tuple(row) for row in rows] == [(NOW + 1, NOW + 3), (NOW + 5, NOW + 7)]


# --- any split --------------------------------------------------------------------------------------------------------

WISHES = (
    TABS,
    MOCKS,
    "always answer in German",
    "please remember: the release branch is called stable",
)
CHANGES = ("the freeze moved to next Wednesday", "remember that Dana is out until Thursday")
IDLE = ("hello", "thanks, looks good")


def final_bodies(texts: Sequence[str], ends: Sequence[bool]) -> list[str]:
    """What is remembered after these words, with a job after each of those whose `ends` is true, and one at the end."""
    home = tempfile.mkdtemp(prefix="memoryd-split-")
    try:
        paths = paths_from({"HOME": home})
        database = open_database(paths)
        workspace = Workspace(database, paths, Config())
        session = Session()
        for text, is_end in zip(texts, ends, strict=True):
            workspace.say(text, session=session)
            if is_end:
                workspace.work()
        workspace.work()
        assert set(workspace.outcomes()) <= {"succeeded", "succeeded_no_output"}
        database.close()
        return workspace.bodies()
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


def test_the_history_tells_what_was_said_from_what_was_taken_back(workspace: Workspace) -> None:
    session = workspace.say(TABS)
    workspace.work()
    workspace.say("forget what I just said, please", session=session)
    workspace.work()
    changes = history.recent(workspace.database)
    assert [change.why for change in changes] == ["what you took back", "what you said"]
    assert [describe(change).what for change in changes] == [
        f"{TABS_MD} (what you took back)",
        TABS_MD,
    ]
