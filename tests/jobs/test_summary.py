"""Summary of a session: from its notes without a model, else in nine parts by one request, and never without anything."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.jobs.notes import read_on
from memoryd.jobs.summary import as_markdown, summary_of
from memoryd.notes.facts import SessionFacts
from memoryd.notes.recent import KeepLimits, RecentMessage, kept
from memoryd.state.notes import NotedSession
from tests.jobs.model_workspace import VARIABLE, ModelWorkspace, ToldClock, config_with_model
from tests.jobs.workspace import NOW
from tests.messages_server import MessagesServer, Reply, last_text, text
from tests.notes.working_session import SECRET, WorkingSession

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.config import Config
    from memoryd.jobs.summary import SessionSummary
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.jobs.workspace import Workspace

PARTS = (
    *("Request and intent", "Concepts", "Files and code", "Errors and fixes", "Problem solving", "All user messages"),
    *("Open tasks", "Current work", "Next step"),
)
NINE = "\n".join(f"## {part}\nas it was" for part in PARTS)


def summarized(workspace: Workspace, session: WorkingSession, config: Config, *, has_notes: bool) -> SessionSummary:
    place = NotedSession(session.id, "claude-code", str(workspace.transcript(session)))
    notes, facts, _ = read_on(place, None, NOW)
    notes = notes._replace(file="/s/notes.md" if has_notes else "")
    return summary_of(workspace.database, workspace.paths, config, {VARIABLE: "test-key"}, ToldClock(), notes, facts)


def test_notes_messages_files_plan_and_skills_without_a_model(workspace: Workspace, tmp_path: Path) -> None:
    session = WorkingSession(cwd=str(tmp_path))
    (tmp_path / "src").mkdir()
    for number in range(1, 8):
        (tmp_path / "src" / f"part{number}.py").write_text(f"KEY = '{SECRET}'\n# part {number}\n" + "x = 1\n" * 9_000)
    todo = [{"content": "write docs", "status": "pending"}]
    data = b"".join(session.long_turn(number) for number in range(1, 8))
    data += session.prompt("plan it") + session.use("TodoWrite", todos=todo) + session.use("Skill", skill="release")
    workspace.append(session, data + session.reply("Planned."))
    summary = summarized(workspace, session, workspace.config, has_notes=True)
    assert (summary.source, summary.skills) == ("notes", ("release",))
    assert [file.path for file in summary.files] == [f"src/part{number}.py" for number in (7, 6, 5, 4, 3)]
    assert all(len(file.text) <= 20_010 for file in summary.files)
    shown = as_markdown(summary)
    assert SECRET not in shown
    for piece in ("# Worklog", "- [ ] write docs", "[user]\nplan it", "[assistant]\nPlanned.", "## src/part7.py"):
        assert piece in shown


@pytest.mark.parametrize("has_notes", [True, False])
def test_notes_are_enough_where_the_transcript_is_gone(workspace: Workspace, has_notes: bool) -> None:
    session = WorkingSession()
    workspace.append(session, session.long_turn(1))
    path = workspace.transcript(session)
    notes, facts, _ = read_on(NotedSession(session.id, "claude-code", str(path)), None, NOW)
    notes = notes._replace(file="/s/notes.md" if has_notes else "")
    path.unlink()
    with nullcontext() if has_notes else pytest.raises(FileNotFoundError):
        summary = summary_of(workspace.database, workspace.paths, workspace.config, {}, ToldClock(), notes, facts)
        assert (summary.source, summary.messages, summary.is_transcript_gone) == ("notes", (), True)
        assert "# Worklog" in as_markdown(summary)


@pytest.mark.usefixtures("loaded_sdk")
def test_without_notes_a_model_writes_nine_parts_after_an_analysis_that_is_thrown_away(
    database: Database, paths: Paths
) -> None:
    asked: list[str] = []

    def answer(request: object) -> Reply:
        asked.append(last_text(request))  # type: ignore[arg-type]
        return Reply(text(f"<analysis>thoughts about it</analysis>\n<summary>\n{NINE}\n</summary>"))

    with MessagesServer(answer) as server:
        workspace = ModelWorkspace(database, paths, config_with_model(server), server)
        session = WorkingSession()
        workspace.append(session, session.long_turn(1))
        summary = summarized(workspace, session, workspace.config, has_notes=False)
        assert (summary.source, summary.text) == ("model", NINE), summary.why_no_model
        assert summarized(workspace, session, workspace.config, has_notes=True).source == "notes"
    (question,) = asked
    assert "[user]\nstep 1:" in question


@pytest.mark.usefixtures("loaded_sdk")
def test_three_failures_in_a_row_stop_it_and_the_transcript_stands_in(database: Database, paths: Paths) -> None:
    replies = [
        Reply(text("I would rather not.")),
        Reply(text(f"<summary>{NINE.replace('## Concepts', '## Ideas')}</summary>")),
    ]
    asked = 0

    def answer(_request: object) -> Reply:
        nonlocal asked
        asked += 1
        return replies[asked % 2]

    with MessagesServer(answer) as server:
        workspace = ModelWorkspace(database, paths, config_with_model(server), server)
        session = WorkingSession()
        workspace.append(session, session.long_turn(1))
        for tries in (1, 2, 3, 3):
            summary = summarized(workspace, session, workspace.config, has_notes=False)
            assert (summary.source, asked) == ("transcript", tries)
            assert "step 1:" in summary.text
            assert summary.why_no_model


MESSAGES = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.integers(0, 400), st.booleans()), max_size=40
)


@given(MESSAGES, st.integers(1, 300), st.integers(0, 6))
def test_the_kept_messages_are_the_end_and_no_call_is_split_from_its_result(
    drawn: list[tuple[str, int, bool]], least: int, texts: int
) -> None:
    messages: list[RecentMessage] = []
    open_calls: list[str] = []
    for number, (who, length, _) in enumerate(drawn):
        if who == "tool" and open_calls:
            messages.append(RecentMessage("tool", "x" * length, has_words=False, answers=(open_calls.pop(0),)))
        elif who == "assistant":
            open_calls.append(f"c{number}")
            messages.append(RecentMessage("assistant", "x" * length, has_words=False, calls=(open_calls[-1],)))
        else:
            messages.append(RecentMessage("user", "x" * length))
    limits = KeepLimits(least, texts, 4 * least)
    found = kept(messages, limits)
    assert found == messages[len(messages) - len(found) :]
    assert sum(message.tokens for message in found) <= limits.most_tokens
    called = {call for message in found for call in message.calls}
    assert all(answer in called for message in found for answer in message.answers)
    if all(message.who == "user" for message in messages) and len(found) < len(messages):
        nearly = sum(message.tokens for message in found)
        is_enough = nearly >= least and len(found) >= texts
        assert is_enough or nearly + messages[-len(found) - 1].tokens > limits.most_tokens


def test_facts_are_what_the_whole_transcript_says(workspace: Workspace) -> None:
    """Read in many small looks or in one: the same."""
    session = WorkingSession()
    workspace.append(session, b"".join(session.long_turn(number) for number in range(1, 12)))
    place = NotedSession(session.id, "claude-code", str(workspace.transcript(session)))
    whole, _, _ = read_on(place, None, NOW)
    notes, is_complete = None, False
    while not is_complete:
        notes, _, is_complete = read_on(place, notes, NOW, most_bytes=3_000)
    assert notes is not None
    assert notes.facts == whole.facts
    assert notes.cursor == whole.cursor
    assert re.search(r'"turns":11', SessionFacts(notes.facts).as_json())
