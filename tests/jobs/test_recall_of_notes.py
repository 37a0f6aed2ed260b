"""Notes of the last session on a branch in recall: the part that is surely meant, marked, once a session, and no secret of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.clients import hook
from memoryd.clients.base import HookCall
from memoryd.clients.registry import WITH_HOOKS
from memoryd.jobs.notes import update_due
from memoryd.jobs.recall import NO_MEMORIES, NOTHING_RELEVANT, recall, record_shown
from memoryd.jobs.recall_matches import Request
from tests.jobs.model_workspace import ToldClock
from tests.jobs.workspace import NOW
from tests.notes.working_session import SECRET, WorkingSession

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.jobs.recall import RecallAnswer
    from tests.jobs.workspace import Workspace

ROOT = "/code/acme"
PROMPT = "go on with the double serialization of the telemetry frames"
ANSWER = f"The telemetry frames were serialized twice, in encoder.py and in the relay; the encoder is mended. {SECRET}"


def work(workspace: Workspace, name: str, branch: str, *, turns: int = 20, cwd: str = ROOT) -> WorkingSession:
    """A session with notes, in which one turn is about the frames."""
    session = WorkingSession(name, cwd)
    asked = session.prompt("why are the telemetry frames serialized twice?", gitBranch=branch)
    data = asked + session.reply(ANSWER) + b"".join(session.long_turn(number) for number in range(turns))
    workspace.append(session, data)
    os.utime(workspace.transcript(session), (NOW, NOW))
    workspace.ingester.ingest(NOW)
    update_due(workspace.database, workspace.paths, workspace.config, NOW)
    return session


def ask(workspace: Workspace, prompt: str, branch: str, session_id: str = "now", root: str = ROOT) -> RecallAnswer:
    clock = ToldClock()
    clock.at = NOW + 86_400
    request = Request(prompt, session_id, root=root, branch=branch, is_waited_for=True)
    answer = recall(workspace.paths, workspace.config, {}, clock, str(workspace.memory), request)
    record_shown(workspace.paths, str(workspace.memory), request, answer, clock.at)
    return answer


@pytest.mark.parametrize("has_memory_dir", [False, True])
def test_the_part_that_a_prompt_means_comes_once_and_marked(workspace: Workspace, *, has_memory_dir: bool) -> None:
    if has_memory_dir:
        workspace.memory.mkdir(parents=True)
    session = work(workspace, "before", "fix/frames")
    found = ask(workspace, PROMPT, "fix/frames")
    assert [memory.name for memory in found.memories] == [f"notes/{session.id}"]
    assert "### last session on branch fix/frames (notes, yesterday)\n> Asked: why are the telemetry" in found.text
    assert "serialized twice, in encoder.py" in found.text
    assert SECRET not in found.text
    assert ask(workspace, PROMPT, "fix/frames").memories == ()  # this session has it
    assert ask(workspace, PROMPT, "fix/frames", "another").memories != ()


@pytest.mark.parametrize(
    ("prompt", "branch", "session_id"),
    [
        (PROMPT, "main", "now"),  # another branch
        (PROMPT, "", "now"),  # none
        (PROMPT, "fix/frames", ""),  # no session, so nobody could say whether it has them
        ("write the release notes for the mobile app", "fix/frames", "now"),  # something else
    ],
)
def test_otherwise_nothing_comes(workspace: Workspace, prompt: str, branch: str, session_id: str) -> None:
    work(workspace, "before", "fix/frames")
    answer = ask(workspace, prompt, branch, session_id)
    assert (answer.text, answer.memories) == ("", ())
    assert answer.why_not in {NO_MEMORIES, NOTHING_RELEVANT}


def test_the_session_itself_and_one_too_short_for_notes_are_not_searched(workspace: Workspace) -> None:
    session = work(workspace, "before", "fix/frames")
    assert ask(workspace, PROMPT, "fix/frames", session.id).memories == ()
    work(workspace, "short", "fix/other", turns=1)
    assert ask(workspace, PROMPT, "fix/other").memories == ()


def test_the_hook_tells_the_branch_that_is_checked_out(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    session = work(workspace, "before", "fix/frames", cwd=str(tmp_path))
    said = {}
    for branch in ("fix/frames", "main"):
        (tmp_path / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
        call = HookCall("prompt", "now", str(tmp_path), prompt=PROMPT)
        world = hook._World(workspace.paths, workspace.config, {}, str(workspace.memory), workspace.database)
        said[branch], _ = hook._recalled(WITH_HOOKS[0], call, world)
    assert "last session on branch fix/frames" in said["fix/frames"]
    assert said["main"] == ""
    assert session.id not in said["fix/frames"]


def test_notes_of_another_project_that_shares_the_directory_stay_there(workspace: Workspace) -> None:
    work(workspace, "before", "main")
    assert ask(workspace, PROMPT, "main", root="/code/another").memories == ()
    assert ask(workspace, PROMPT, "main").memories != ()
