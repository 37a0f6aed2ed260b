"""Turns that the client itself has saved are passed over, and only those; whoever looks can see which file it was."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.errors import StateError
from memoryd.jobs.exclusion import CoveredTurn, covered_turns
from memoryd.memory import tiers
from memoryd.memory.commit import commit_together
from memoryd.memory.directory import MemoryDirectory
from memoryd.memory.document import new_document
from memoryd.memory.snapshot import DirectorySnapshot
from memoryd.model import UserMessage
from memoryd.state.jobs import WaitingTurn
from memoryd.transcripts.read import ReadTurn
from tests.jobs.workspace import MOCKS, MOCKS_MD, TABS, TABS_MD
from tests.transcript import Session

if TYPE_CHECKING:
    from memoryd.memory.directory import FileState
    from tests.jobs.workspace import Workspace

MORNING = 1_792_314_000.0  # 2026-10-18T09:00:00Z, when the sessions of tests.transcript begin
BODIES_DIFFER = "Something that no test says."


def put(workspace: Workspace, name: str, session_id: str, at: float, data: bytes | None = None) -> None:
    """A memory as the client's own extractor leaves it."""
    workspace.memory.mkdir(parents=True, exist_ok=True)
    document = new_document(
        name="n", description="d", kind="user", body=BODIES_DIFFER, session_id=session_id, evidence="", modified="x"
    )
    (workspace.memory / name).write_bytes(document.render() if data is None else data)
    os.utime(workspace.memory / name, (at, at))


# --- the main agent ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["Write", "Edit", "MultiEdit"])
def test_a_turn_in_which_the_main_agent_saved_is_passed_over_and_the_others_are_not(
    workspace: Workspace, tool: str
) -> None:
    session = Session()
    saving = workspace.saving_turn(session, TABS, tool, file_path=f"{workspace.memory}/feedback_tabs.md")
    workspace.append(session, session.turn("hello") + saving + session.turn(MOCKS))
    (outcome,) = workspace.run()
    told = "1 turn left to the main agent, which saved feedback_tabs.md"
    assert (outcome.outcome, outcome.saved, outcome.detail) == ("succeeded", (MOCKS_MD,), told)
    assert workspace.outcomes() == ["succeeded", "skipped(main_agent_saved)", "succeeded"]
    assert workspace.jobs() == [("succeeded", told)]
    assert list(workspace.memories()) == [MOCKS_MD]


def test_where_all_turns_are_passed_over_the_job_says_so(workspace: Workspace) -> None:
    session = Session()
    command = "rm ~/.claude/projects/-code-acme/memory/old.md"
    workspace.append(session, workspace.saving_turn(session, TABS, "Bash", command=command))
    (outcome,) = workspace.run()
    told = "1 turn left to the main agent, which saved old.md"
    assert (outcome.outcome, outcome.detail) == ("skipped(main_agent_saved)", told)
    assert workspace.outcomes() == ["skipped(main_agent_saved)"]
    assert workspace.jobs() == [("skipped(main_agent_saved)", told)]
    assert workspace.files() == []
    assert workspace.work() == []


def test_a_turn_without_a_wish_beside_one_that_was_saved_is_done_without_output(workspace: Workspace) -> None:
    session = Session()
    saving = workspace.saving_turn(session, TABS, "Write", file_path=f"{workspace.memory}/a.md")
    workspace.append(session, saving + session.turn("hello"))
    assert workspace.work() == [("succeeded_no_output", ())]
    assert workspace.outcomes() == ["skipped(main_agent_saved)", "succeeded_no_output"]
    assert workspace.jobs() == [("succeeded_no_output", "1 turn left to the main agent, which saved a.md")]


def test_a_turn_in_which_a_memory_was_only_read_is_worked_on(workspace: Workspace) -> None:
    session = Session()
    command = f"cat {workspace.memory}/MEMORY.md 2>/dev/null || echo none"
    workspace.append(session, workspace.saving_turn(session, TABS, "Bash", command=command))
    assert workspace.work() == [("succeeded", (TABS_MD,))]
    assert workspace.jobs() == [("succeeded", "")]


def test_a_folder_of_the_project_that_is_called_memory_is_not_ours(workspace: Workspace) -> None:
    session = Session()
    workspace.append(session, workspace.saving_turn(session, TABS, "Write", file_path="/code/acme/memory/tabs.md"))
    assert workspace.work() == [("succeeded", (TABS_MD,))]


def test_what_was_passed_over_is_named_also_if_the_job_fails_then(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn is not seen again, so its file would never be named."""
    session = Session()
    saving = workspace.saving_turn(session, TABS, "Write", file_path=f"{workspace.memory}/a.md")
    workspace.append(session, saving + session.turn(MOCKS))
    real = commit_together

    def disturbed(*arguments: object) -> object:
        monkeypatch.setattr(tiers, "commit_together", real)
        (workspace.memory / MOCKS_MD).write_text("mine")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(tiers, "commit_together", disturbed)
    assert [outcome.outcome for outcome in workspace.run()] == ["succeeded"]
    told = "1 turn left to the main agent, which saved a.md"
    assert workspace.jobs() == [("failed", f"{told}; somebody else changed the same files"), ("succeeded", "")]
    assert workspace.outcomes() == ["skipped(main_agent_saved)", "succeeded"]


# --- the client's own extractor ---------------------------------------------------------------------------------------


def test_a_turn_in_whose_time_a_memory_of_this_session_appeared_is_passed_over(workspace: Workspace) -> None:
    session = workspace.say("hello", TABS, MOCKS)  # said at second 1, 3 and 5
    put(workspace, "client.md", session.id, MORNING + 4)
    (outcome,) = workspace.run()
    told = "1 turn left to the client's own extraction, which saved client.md"
    assert (outcome.outcome, outcome.saved, outcome.detail) == ("succeeded", (MOCKS_MD,), told)
    assert workspace.outcomes() == ["succeeded", "skipped(client_saved)", "succeeded"]
    assert workspace.jobs() == [("succeeded", told)]


def test_both_kinds_in_one_job_are_told_apart(workspace: Workspace) -> None:
    session = Session()
    saving = workspace.saving_turn(session, TABS, "Write", file_path=f"{workspace.memory}/a.md")  # 4 entries
    workspace.append(session, saving + session.turn("two") + session.turn("three"))
    put(workspace, "b.md", session.id, MORNING + 5)
    put(workspace, "c.md", session.id, MORNING + 90)
    (outcome,) = workspace.run()
    assert (outcome.outcome, outcome.detail) == (
        "skipped(main_agent_saved)",
        (
            "1 turn left to the main agent, which saved a.md; "
            "2 turns left to the client's own extraction, which saved b.md, c.md"
        ),
    )
    assert workspace.outcomes() == ["skipped(main_agent_saved)", "skipped(client_saved)", "skipped(client_saved)"]


@pytest.mark.parametrize(
    ("session_id", "at"),
    [
        (None, 0.5),  # before the first word
        ("another", 1.5),
        ("", 1.5),
    ],
)
def test_a_memory_from_before_or_of_another_session_is_no_reason(
    workspace: Workspace, session_id: str | None, at: float
) -> None:
    session = workspace.say(TABS)
    put(workspace, "client.md", session.id if session_id is None else session_id, MORNING + at)
    assert workspace.work() == [("succeeded", (TABS_MD,))]


def test_a_file_that_only_mentions_the_session_is_no_reason(workspace: Workspace) -> None:
    session = workspace.say(TABS)
    put(workspace, "no_frontmatter.md", "", MORNING + 1, f"originSessionId: {session.id}\n".encode())
    put(workspace, "broken.md", "", MORNING + 1, f"---\nmetadata: [\noriginSessionId: {session.id}\n---\n".encode())
    put(workspace, "in_body.md", "another", MORNING + 1, f"---\nname: x\n---\noriginSessionId: {session.id}\n".encode())
    put(workspace, "empty.md", "", MORNING + 1, b"")
    assert workspace.work() == [("succeeded", (TABS_MD,))]


def test_what_cannot_be_read_is_no_reason(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    session = workspace.say(TABS)
    put(workspace, "client.md", session.id, MORNING + 1)
    os.symlink("client.md", workspace.memory / "link.md")
    real = MemoryDirectory.read

    def refused(self: MemoryDirectory, name: str, limit: int = 1 << 20) -> FileState | None:
        if name == "client.md":
            raise PermissionError(13, "Permission denied")
        return real(self, name, limit)

    monkeypatch.setattr(MemoryDirectory, "read", refused)
    assert workspace.work() == [("succeeded", (TABS_MD,))]


def test_our_own_memories_are_no_reason(workspace: Workspace) -> None:
    """They name their session too, and appear in the time of its last turn."""
    session = workspace.say(TABS)
    workspace.work()
    os.utime(workspace.memory / TABS_MD, (MORNING + 3, MORNING + 3))
    workspace.say(MOCKS, session=session)
    assert workspace.work() == [("succeeded", (MOCKS_MD,))]


def test_the_place_of_the_session_id_may_be_either(workspace: Workspace) -> None:
    session = workspace.say(TABS)
    put(workspace, "old_style.md", "", MORNING + 1, f"---\nname: x\noriginSessionId: {session.id}\n---\nx\n".encode())
    assert workspace.work() == [("skipped(client_saved)", ())]


# --- deciding ---------------------------------------------------------------------------------------------------------


def a_turn(number: int, said_at: float | None, next_said_at: float | None) -> WaitingTurn:
    return WaitingTurn(number, f"m{number}", number * 10, number * 10 + 9, said_at, None, next_said_at)


def covered(workspace: Workspace, *turns: WaitingTurn) -> list[CoveredTurn]:
    heard = {turn.prompt_id: ReadTurn(UserMessage("s", turn.prompt_id, turn.said_at, "so")) for turn in turns}
    snapshot = DirectorySnapshot(workspace.database, str(workspace.memory))
    return covered_turns(workspace.database, snapshot, "s", turns, heard)


def test_a_file_belongs_to_the_turn_from_its_words_to_the_next(workspace: Workspace) -> None:
    turns = (a_turn(1, 100.0, 200.0), a_turn(2, 200.0, 300.0), a_turn(3, 300.0, None))
    assert covered(workspace, *turns) == []  # there is no directory yet
    for name, at in (("a.md", 99.5), ("b.md", 200.0), ("c.md", 5000.0)):
        put(workspace, name, "s", at)
    assert covered(workspace, *turns) == [
        CoveredTurn(2, "client_saved", "b.md"),
        CoveredTurn(3, "client_saved", "c.md"),
    ]


def test_words_without_a_time_cannot_be_covered_and_do_not_disturb(workspace: Workspace) -> None:
    put(workspace, "a.md", "s", 150.0)
    turns = (a_turn(1, None, 100.0), a_turn(2, 100.0, None))
    assert covered(workspace, *turns) == [CoveredTurn(2, "client_saved", "a.md")]
    assert covered(workspace, a_turn(1, None, None)) == []


def test_a_clock_that_was_set_back_between_two_turns_hides_no_file(workspace: Workspace) -> None:
    put(workspace, "a.md", "s", 150.0)
    assert covered(workspace, a_turn(1, 900.0, 100.0), a_turn(2, 100.0, None)) == [
        CoveredTurn(2, "client_saved", "a.md")
    ]


def test_a_directory_that_is_none_covers_nothing_and_is_told(workspace: Workspace) -> None:
    """Nothing could be written there either: the job fails with that sentence, and its turns wait."""
    workspace.memory.parent.mkdir(parents=True)
    workspace.memory.write_text("in the way")
    with pytest.raises(StateError, match="is no directory"):
        covered(workspace, a_turn(1, 100.0, None))
