"""Turns that the client itself has saved are passed over, and only those; whoever looks can see which file it was."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.jobs import extract as module
from memoryd.jobs.exclusion import Covered, covered_turns
from memoryd.memory.commit import commit
from memoryd.memory.directory import MemoryDirectory
from memoryd.memory.document import new_document
from memoryd.model import Said
from memoryd.state.jobs import WaitingTurn
from memoryd.transcripts.conversation import Heard
from tests.jobs.desk import MOCKS, MOCKS_MD, TABS, TABS_MD
from tests.sample import Session

if TYPE_CHECKING:
    from memoryd.memory.directory import FileState
    from tests.jobs.desk import Desk

MORNING = 1_792_314_000.0  # 2026-10-18T09:00:00Z, when the sessions of tests.sample begin
BODIES_DIFFER = "Something that no test says."


def put(desk: Desk, name: str, session_id: str, at: float, data: bytes | None = None) -> None:
    """A memory as the client's own extractor leaves it."""
    desk.memory.mkdir(parents=True, exist_ok=True)
    document = new_document(
        name="n", description="d", kind="user", body=BODIES_DIFFER, session_id=session_id, evidence="", modified="x"
    )
    (desk.memory / name).write_bytes(document.render() if data is None else data)
    os.utime(desk.memory / name, (at, at))


# --- the main agent ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["Write", "Edit", "MultiEdit"])
def test_a_turn_in_which_the_main_agent_saved_is_passed_over_and_the_others_are_not(desk: Desk, tool: str) -> None:
    session = Session()
    saving = desk.saving_turn(session, TABS, tool, file_path=f"{desk.memory}/feedback_tabs.md")
    desk.append(session, session.turn("hello") + saving + session.turn(MOCKS))
    (outcome,) = desk.run()
    told = "1 turn left to the main agent, which saved feedback_tabs.md"
    assert (outcome.outcome, outcome.saved, outcome.detail) == ("succeeded", (MOCKS_MD,), told)
    assert desk.outcomes() == ["succeeded", "skipped(main_agent_saved)", "succeeded"]
    assert desk.jobs() == [("succeeded", told)]
    assert list(desk.memories()) == [MOCKS_MD]


def test_where_all_turns_are_passed_over_the_job_says_so(desk: Desk) -> None:
    session = Session()
    command = "rm ~/.claude/projects/-code-acme/memory/old.md"
    desk.append(session, desk.saving_turn(session, TABS, "Bash", command=command))
    (outcome,) = desk.run()
    told = "1 turn left to the main agent, which saved old.md"
    assert (outcome.outcome, outcome.detail) == ("skipped(main_agent_saved)", told)
    assert desk.outcomes() == ["skipped(main_agent_saved)"]
    assert desk.jobs() == [("skipped(main_agent_saved)", told)]
    assert desk.files() == []
    assert desk.work() == []


def test_a_turn_without_a_wish_beside_one_that_was_saved_is_done_without_output(desk: Desk) -> None:
    session = Session()
    saving = desk.saving_turn(session, TABS, "Write", file_path=f"{desk.memory}/a.md")
    desk.append(session, saving + session.turn("hello"))
    assert desk.work() == [("succeeded_no_output", ())]
    assert desk.outcomes() == ["skipped(main_agent_saved)", "succeeded_no_output"]
    assert desk.jobs() == [("succeeded_no_output", "1 turn left to the main agent, which saved a.md")]


def test_a_turn_in_which_a_memory_was_only_read_is_worked_on(desk: Desk) -> None:
    session = Session()
    command = f"cat {desk.memory}/MEMORY.md 2>/dev/null || echo none"
    desk.append(session, desk.saving_turn(session, TABS, "Bash", command=command))
    assert desk.work() == [("succeeded", (TABS_MD,))]
    assert desk.jobs() == [("succeeded", "")]


def test_a_folder_of_the_project_that_is_called_memory_is_not_ours(desk: Desk) -> None:
    session = Session()
    desk.append(session, desk.saving_turn(session, TABS, "Write", file_path="/code/acme/memory/tabs.md"))
    assert desk.work() == [("succeeded", (TABS_MD,))]


def test_what_was_passed_over_is_named_also_if_the_job_fails_then(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn is not seen again, so its file would never be named."""
    session = Session()
    saving = desk.saving_turn(session, TABS, "Write", file_path=f"{desk.memory}/a.md")
    desk.append(session, saving + session.turn(MOCKS))
    real = commit

    def disturbed(*arguments: object) -> object:
        monkeypatch.setattr(module, "commit", real)
        (desk.memory / MOCKS_MD).write_text("mine")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "commit", disturbed)
    assert [outcome.outcome for outcome in desk.run()] == ["succeeded"]
    told = "1 turn left to the main agent, which saved a.md"
    assert desk.jobs() == [("failed", f"{told}; somebody else changed the same files"), ("succeeded", "")]
    assert desk.outcomes() == ["skipped(main_agent_saved)", "succeeded"]


# --- the client's own extractor ---------------------------------------------------------------------------------------


def test_a_turn_in_whose_time_a_memory_of_this_session_appeared_is_passed_over(desk: Desk) -> None:
    session = desk.say("hello", TABS, MOCKS)  # said at second 1, 3 and 5
    put(desk, "client.md", session.id, MORNING + 4)
    (outcome,) = desk.run()
    told = "1 turn left to the client's own extraction, which saved client.md"
    assert (outcome.outcome, outcome.saved, outcome.detail) == ("succeeded", (MOCKS_MD,), told)
    assert desk.outcomes() == ["succeeded", "skipped(client_saved)", "succeeded"]
    assert desk.jobs() == [("succeeded", told)]


def test_both_kinds_in_one_job_are_told_apart(desk: Desk) -> None:
    session = Session()
    saving = desk.saving_turn(session, TABS, "Write", file_path=f"{desk.memory}/a.md")  # 4 entries
    desk.append(session, saving + session.turn("two") + session.turn("three"))
    put(desk, "b.md", session.id, MORNING + 5)
    put(desk, "c.md", session.id, MORNING + 90)
    (outcome,) = desk.run()
    assert (outcome.outcome, outcome.detail) == (
        "skipped(main_agent_saved)",
        (
            "1 turn left to the main agent, which saved a.md; "
            "2 turns left to the client's own extraction, which saved b.md, c.md"
        ),
    )
    assert desk.outcomes() == ["skipped(main_agent_saved)", "skipped(client_saved)", "skipped(client_saved)"]


@pytest.mark.parametrize(
    ("session_id", "at"),
    [
        (None, 0.5),  # before the first word
        ("another", 1.5),
        ("", 1.5),
    ],
)
def test_a_memory_from_before_or_of_another_session_is_no_reason(desk: Desk, session_id: str | None, at: float) -> None:
    session = desk.say(TABS)
    put(desk, "client.md", session.id if session_id is None else session_id, MORNING + at)
    assert desk.work() == [("succeeded", (TABS_MD,))]


def test_a_file_that_only_mentions_the_session_is_no_reason(desk: Desk) -> None:
    session = desk.say(TABS)
    put(desk, "no_frontmatter.md", "", MORNING + 1, f"originSessionId: {session.id}\n".encode())
    put(desk, "broken.md", "", MORNING + 1, f"---\nmetadata: [\noriginSessionId: {session.id}\n---\n".encode())
    put(desk, "in_body.md", "another", MORNING + 1, f"---\nname: x\n---\noriginSessionId: {session.id}\n".encode())
    put(desk, "empty.md", "", MORNING + 1, b"")
    assert desk.work() == [("succeeded", (TABS_MD,))]


def test_what_cannot_be_read_is_no_reason(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    session = desk.say(TABS)
    put(desk, "client.md", session.id, MORNING + 1)
    os.symlink("client.md", desk.memory / "link.md")
    real = MemoryDirectory.read

    def refused(self: MemoryDirectory, name: str, limit: int = 1 << 20) -> FileState | None:
        if name == "client.md":
            raise PermissionError(13, "Permission denied")
        return real(self, name, limit)

    monkeypatch.setattr(MemoryDirectory, "read", refused)
    assert desk.work() == [("succeeded", (TABS_MD,))]


def test_our_own_memories_are_no_reason(desk: Desk) -> None:
    """They name their session too, and appear in the time of its last turn."""
    session = desk.say(TABS)
    desk.work()
    os.utime(desk.memory / TABS_MD, (MORNING + 3, MORNING + 3))
    desk.say(MOCKS, session=session)
    assert desk.work() == [("succeeded", (MOCKS_MD,))]


def test_the_place_of_the_session_id_may_be_either(desk: Desk) -> None:
    session = desk.say(TABS)
    put(desk, "old_style.md", "", MORNING + 1, f"---\nname: x\noriginSessionId: {session.id}\n---\nx\n".encode())
    assert desk.work() == [("skipped(client_saved)", ())]


# --- deciding ---------------------------------------------------------------------------------------------------------


def a_turn(number: int, said_at: float | None, next_said_at: float | None) -> WaitingTurn:
    return WaitingTurn(number, f"m{number}", number * 10, number * 10 + 9, said_at, None, next_said_at)


def covered(desk: Desk, *turns: WaitingTurn) -> list[Covered]:
    heard = {turn.prompt_id: Heard(Said("s", turn.prompt_id, turn.said_at, "so")) for turn in turns}
    return covered_turns(desk.database, str(desk.memory), "s", turns, heard)


def test_a_file_belongs_to_the_turn_from_its_words_to_the_next(desk: Desk) -> None:
    turns = (a_turn(1, 100.0, 200.0), a_turn(2, 200.0, 300.0), a_turn(3, 300.0, None))
    assert covered(desk, *turns) == []  # there is no directory yet
    for name, at in (("a.md", 99.5), ("b.md", 200.0), ("c.md", 5000.0)):
        put(desk, name, "s", at)
    assert covered(desk, *turns) == [Covered(2, "client_saved", "b.md"), Covered(3, "client_saved", "c.md")]


def test_words_without_a_time_cannot_be_covered_and_do_not_disturb(desk: Desk) -> None:
    put(desk, "a.md", "s", 150.0)
    turns = (a_turn(1, None, 100.0), a_turn(2, 100.0, None))
    assert covered(desk, *turns) == [Covered(2, "client_saved", "a.md")]
    assert covered(desk, a_turn(1, None, None)) == []


def test_a_clock_that_was_set_back_between_two_turns_hides_no_file(desk: Desk) -> None:
    put(desk, "a.md", "s", 150.0)
    assert covered(desk, a_turn(1, 900.0, 100.0), a_turn(2, 100.0, None)) == [Covered(2, "client_saved", "a.md")]


def test_a_directory_that_is_none_is_no_reason(desk: Desk) -> None:
    desk.memory.parent.mkdir(parents=True)
    desk.memory.write_text("in the way")
    assert covered(desk, a_turn(1, 100.0, None)) == []
