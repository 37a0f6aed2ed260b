"""The notice: what was kept since, once, at the start of a session; what was asked for, with the next prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoryd.jobs.notice import notice_at_start, notice_with_prompt, record_told
from memoryd.jobs.remember import remember
from memoryd.state import history
from tests.jobs.workspace import MOCKS, NOW, TABS
from tests.transcript import Session

if TYPE_CHECKING:
    from memoryd.jobs.notice import KeptNotice
    from tests.jobs.workspace import Workspace

ASKED = "please remember: always release from the branch stable"


def at_start(workspace: Workspace, mode: str = "session") -> KeptNotice:
    return notice_at_start(workspace.database, workspace.paths, str(workspace.memory), mode)


def with_prompt(workspace: Workspace, mode: str = "session") -> KeptNotice:
    return notice_with_prompt(workspace.database, workspace.paths, str(workspace.memory), mode)


def heard(workspace: Workspace, notice: KeptNotice) -> str:
    if notice.text:
        record_told(workspace.paths, str(workspace.memory), notice.told)
    return notice.text


def test_the_start_of_a_session_tells_what_was_kept_once_and_how_to_undo_it(workspace: Workspace) -> None:
    assert at_start(workspace).text == ""
    workspace.say(MOCKS)
    workspace.work()
    change = history.last_undoable(workspace.database, str(workspace.memory))
    assert change is not None
    assert with_prompt(workspace).text == ""
    text = f"memoryd keeps: Never use mocks. To take it back: memoryd undo {change.id}"
    assert heard(workspace, at_start(workspace)) == text
    assert at_start(workspace).text == ""


def test_several_changes_are_one_line(workspace: Workspace) -> None:
    for name, wish in enumerate((TABS, MOCKS)):
        workspace.say(wish, session=Session(name))
        workspace.work()
    text = at_start(workspace).text
    assert "memoryd keeps: Never use mocks; Use tabs." in text
    assert "2 changes: memoryd history" in text
    assert "\n" not in text


def test_what_was_asked_for_comes_with_the_next_prompt_and_not_again(workspace: Workspace) -> None:
    workspace.say(MOCKS)
    workspace.work()
    workspace.say(ASKED, session=Session("two"))
    workspace.work()
    asked = heard(workspace, with_prompt(workspace))
    assert "stable" in asked
    assert "mocks" not in asked
    assert with_prompt(workspace).text == ""
    left = heard(workspace, at_start(workspace))
    assert "mocks" in left
    assert "stable" not in left
    assert at_start(workspace).text == ""


def test_each_tells_with_every_prompt_and_off_never(workspace: Workspace) -> None:
    workspace.say(ASKED)
    workspace.work()
    assert at_start(workspace, "off").text == with_prompt(workspace, "off").text == ""
    workspace.say(MOCKS, session=Session("two"))
    workspace.work()
    assert "mocks" in heard(workspace, with_prompt(workspace, "each"))
    assert at_start(workspace).text == ""


def test_what_was_undone_or_done_by_a_command_is_not_told(workspace: Workspace) -> None:
    remember(workspace.database, str(workspace.memory), "always run the linter", NOW)
    workspace.say(MOCKS)
    workspace.work()
    workspace.undo()
    assert at_start(workspace).text == ""


@pytest.mark.parametrize("text", ["", "{", "[]", '{"up_to": "x", "also": 3}'])
def test_a_damaged_note_tells_once_more(workspace: Workspace, text: str) -> None:
    workspace.say(MOCKS)
    workspace.work()
    heard(workspace, at_start(workspace))
    place = workspace.paths.place_for(str(workspace.memory), "told")
    with open(place, "w", encoding="utf-8") as file:
        file.write(text)
    assert "mocks" in at_start(workspace).text
