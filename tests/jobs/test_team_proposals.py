"""Proposals to share with a team: asked in the inbox, answered by the user, never done by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoryd.jobs import extract, team_proposals
from memoryd.jobs.team_proposals import withdraw_outdated
from memoryd.memory.document import parse
from memoryd.review.inbox import accept, reject
from memoryd.state import inbox, team
from tests.jobs.workspace import NOW, TABS

if TYPE_CHECKING:
    from memoryd.state.inbox import InboxRow
    from tests.jobs.workspace import Workspace

FREEZE = "remember that the release is frozen until 2033-06-01"
BOARD = "remember that bugs are tracked in the Linear project INGEST"


def join(workspace: Workspace) -> None:
    team.put_answer(workspace.database, str(workspace.memory), "example.org/me/shop", "Mara", NOW)


def proposals(workspace: Workspace) -> list[InboxRow]:
    """What waits in `memoryd review`, of the project, to be shared."""
    rows = inbox.waiting(workspace.database, str(workspace.memory))
    return [row for row in rows if row.memory_dir == str(workspace.memory / "team")]


def test_what_may_be_of_use_to_all_is_proposed_and_shared_by_a_yes_alone(workspace: Workspace) -> None:
    join(workspace)
    workspace.say(FREEZE, TABS)
    workspace.work()
    (row,) = proposals(workspace)  # a rule is not the team's by itself
    assert "share it with the team?" in row.held.reason
    assert row.newest_words is not None
    assert "frozen" in row.newest_words.quote
    assert not (workspace.memory / "team").exists()
    accept(workspace.database, row, NOW)
    shared = parse((workspace.memory / "team" / row.first.name).read_bytes())
    assert (shared.type, shared.metadata["author"]) == ("project", "Mara")
    assert f"(team/{row.first.name})" in (workspace.memory / "MEMORY.md").read_text()
    assert proposals(workspace) == []


def test_a_process_that_dies_right_after_the_commit_has_asked(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    join(workspace)
    workspace.say(FREEZE)
    monkeypatch.setattr(extract, "withdraw_outdated", die)
    with pytest.raises(KeyboardInterrupt):
        workspace.work()
    assert len(proposals(workspace)) == 1


def test_a_no_is_the_end_of_it_and_leaves_the_memory(workspace: Workspace) -> None:
    join(workspace)
    workspace.say(FREEZE)
    workspace.work()
    (row,) = proposals(workspace)
    reject(workspace.database, row, NOW)
    assert proposals(workspace) == []
    assert row.first.name in workspace.files()
    assert not (workspace.memory / "team").exists()


def test_nothing_is_proposed_where_the_user_takes_part_in_no_team(workspace: Workspace) -> None:
    workspace.say(FREEZE)
    workspace.work()
    assert proposals(workspace) == []


def test_what_was_changed_since_is_not_shared_as_it_was(workspace: Workspace) -> None:
    join(workspace)
    workspace.say(FREEZE)
    workspace.work()
    (row,) = proposals(workspace)
    own = workspace.memory / row.first.name
    own.write_text(own.read_text().replace("2033-06-01", "2033-07-01"))
    withdraw_outdated(workspace.database, str(workspace.memory), NOW)
    assert proposals(workspace) == []


def test_no_more_are_asked_than_somebody_answers(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_proposals, "MOST_WAITING", 1)
    join(workspace)
    workspace.say(FREEZE, BOARD)
    workspace.work()
    assert len(workspace.bodies()) == 2
    assert len(proposals(workspace)) == 1
