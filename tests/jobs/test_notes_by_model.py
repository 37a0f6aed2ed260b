"""Session notes by a model: it adds below the headings, within limits and budget, and never takes away what code made."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.config import Budget, NotesSettings
from memoryd.engines.model.engine import ModelEngine
from memoryd.errors import EngineStoppedError
from memoryd.jobs.notes import notes_file, update_due
from memoryd.jobs.notes_by_model import add_to_due
from memoryd.jobs.notes_due import due_by_model
from memoryd.notes.sections import TITLES, WRITTEN_TOKENS
from memoryd.state import notes as kept_notes
from tests.jobs.model_workspace import VARIABLE, ModelWorkspace, config_with_model
from tests.jobs.workspace import NOW
from tests.messages_server import MessagesServer, Reply, Status, call, last_text, text, tool_results
from tests.notes.working_session import SECRET, WorkingSession
from tests.transcript import write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.messages_server import Request

pytestmark = pytest.mark.usefixtures("loaded_sdk")
STATE = "Part 21 is next; parts 1 to 20 accept empty lines."


def notes_text(**sections: str) -> str:
    named = {title.replace(" ", "_"): title for title in TITLES}
    bodies = {named[name]: body for name, body in sections.items()}
    return "\n".join(f"# {title}\n{bodies.get(title, '(nothing yet)')}\n" for title in TITLES)


def written(content: str, file: str = "notes.md") -> Reply:
    return Reply(call("Write", {"file_path": file, "content": content, "quote": ""}))


class Player:
    """Answers from a list; the last answer repeats."""

    def __init__(self) -> None:
        self.replies: list[Reply | Status] = [written(notes_text(Current_State=STATE, Session_Title="Empty lines"))]
        self.told: list[str] = []

    def __call__(self, request: Request) -> Reply | Status:
        self.told.append(last_text(request) + str(tool_results(request)))
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class NotedWorkspace(ModelWorkspace):
    def __init__(self, database: Database, paths: Paths, server: MessagesServer, player: Player) -> None:
        super().__init__(database, paths, config_with_model(server), server)
        self.player = player
        self.session = WorkingSession()
        self.turns = 0

    def have_turns(self, turns: int) -> None:
        """Have so many turns; twenty are more than 10,000 tokens, eight more than 5,000."""
        data = [self.session.long_turn(number) for number in range(self.turns + 1, self.turns + turns + 1)]
        self.turns += turns
        path = self.transcript(self.session)
        before = path.read_bytes() if path.exists() else b""
        write(self.paths.transcripts_root, self.session, before + b"".join(data))
        os.utime(path, (NOW, NOW))
        self.ingester.ingest(NOW)
        assert update_due(self.database, self.paths, self.config, NOW) == []

    def add(self) -> list[str]:
        return add_to_due(self.database, self.paths, self.config, {VARIABLE: self.key}, self.clock)

    @property
    def text(self) -> str:
        return Path(notes_file(self.paths, self.config, self.session.id)).read_text()

    @property
    def kept(self) -> kept_notes.KeptNotes:
        (notes,) = kept_notes.all_notes(self.database)
        return notes


@pytest.fixture
def noted(database: Database, paths: Paths) -> Iterator[NotedWorkspace]:
    player = Player()
    with MessagesServer(player) as server:
        yield NotedWorkspace(database, paths, server, player)
        assert server.violations == []


def test_what_a_model_writes_stands_above_what_code_made(noted: NotedWorkspace) -> None:
    noted.have_turns(20)
    assert noted.add() == [noted.session.id]
    assert f"# Current State\n{STATE}\n\nTurn 20" in noted.text
    assert "# Session Title\nEmpty lines\n" in noted.text
    assert "src/part20.py (changed once" in noted.text
    (told,) = noted.player.told
    assert "step 20:" in told
    assert not os.path.exists(os.path.join(noted.paths.state_dir, "notes-run"))
    noted.have_turns(1)
    assert STATE in noted.text  # code goes on, and keeps it
    assert "step 21:" in noted.text


def test_it_is_asked_again_after_more_of_everything(noted: NotedWorkspace) -> None:
    noted.have_turns(19)
    noted.add()
    noted.have_turns(3)
    assert noted.add() == []
    noted.have_turns(6)
    noted.player.replies = [written(notes_text(Current_State="Part 29 is next."))]
    assert noted.add() == [noted.session.id]
    assert noted.kept.written == {"Current State": "Part 29 is next."}
    said = noted.player.told[-1]
    assert "[user]\nstep 28:" in said
    assert "[user]\nstep 19:" not in said  # it has read that
    assert STATE in said  # what it wrote


@pytest.mark.parametrize(
    ("content", "file", "why"),
    [
        ("# Task\nmine", "notes.md", "the ten headings have to stay"),
        (notes_text(Learnings="word " * 1_000), "notes.md", "is longer than"),
        (notes_text(Learnings="more"), "other.md", "only notes.md may be changed"),
        (notes_text(Learnings=f"the token is {SECRET}"), "notes.md", "would hold a secret"),
    ],
)
def test_a_write_beyond_the_rules_is_refused_and_told(noted: NotedWorkspace, content: str, file: str, why: str) -> None:
    noted.player.replies = [written(content, file), written(notes_text(Learnings="short")), Reply(text("done"))]
    noted.have_turns(20)
    assert noted.add() == [noted.session.id]
    assert why in noted.player.told[1]
    assert noted.kept.written == {"Learnings": "short"}


def test_other_tools_are_refused(noted: NotedWorkspace) -> None:
    noted.player.replies = [Reply(call("Bash", {"command": "ls"})), Reply(text("nothing"))]
    noted.have_turns(20)
    noted.add()
    assert "does not permit" in noted.player.told[1]
    assert noted.kept.written == {}


def test_three_failures_end_it_for_a_session_and_each_waits_for_more(noted: NotedWorkspace) -> None:
    noted.player.replies = [Reply(text('<tool_call>{"name": "Write"}'))]
    noted.have_turns(20)
    for failures in (1, 2, 3):
        assert noted.add() == []
        assert noted.kept.failures == failures
        assert noted.add() == []
        assert len(noted.player.told) == failures
        noted.have_turns(8)
    assert noted.add() == []
    assert len(noted.player.told) == 3
    assert "step 44:" in noted.text


def test_notes_leave_a_part_of_the_budget(noted: NotedWorkspace) -> None:
    noted.have_turns(20)
    noted.config = noted.config._replace(budget=Budget(usd_per_day=0.0001))
    noted.database.execute(
        "INSERT INTO jobs (id, kind, memory_dir, session_id, token, started_at) VALUES (9, 'extract', '', '', '', ?)",
        (NOW,),
    )
    from memoryd.state import model_calls  # noqa: PLC0415 - only here

    model_calls.reserve(
        noted.database, 9, b"x", model="m", prompt="p", usd=0.00006, now=NOW, engine=model_calls.PAID, tokens=1
    )
    assert due_by_model(noted.database, noted.config, NOW) == []
    noted.config = noted.config._replace(notes=NotesSettings(model_share=0.0), budget=Budget())
    assert due_by_model(noted.database, noted.config, NOW) == []
    noted.config = noted.config._replace(notes=NotesSettings())
    assert due_by_model(noted.database, noted.config, NOW) != []


def test_a_refused_key_stops_the_engine_as_in_any_job(noted: NotedWorkspace) -> None:
    noted.player.replies = [Status(401, "authentication_error", "invalid x-api-key")]
    noted.have_turns(20)
    with pytest.raises(EngineStoppedError):
        noted.add()
    assert noted.kept.failures == 0


def test_what_came_while_the_model_wrote_is_not_lost(noted: NotedWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    noted.have_turns(20)

    add_to_notes = ModelEngine.add_to_notes

    def meanwhile(engine: ModelEngine, *given: Any) -> dict[str, str]:
        written = add_to_notes(engine, *given)
        noted.have_turns(1)
        return written

    monkeypatch.setattr(ModelEngine, "add_to_notes", meanwhile)
    noted.add()
    assert STATE in noted.text
    assert "step 21:" in noted.text
    assert noted.kept.written_tokens < noted.kept.tokens


def test_limits_hold_with_a_model_that_fills_everything(noted: NotedWorkspace) -> None:
    full = "x" * (WRITTEN_TOKENS * 4 - 10)
    noted.player.replies = [written("\n".join(f"# {title}\n{full}\n" for title in TITLES))]
    noted.have_turns(40)
    noted.add()
    assert len(noted.text.encode()) <= 48_000
    assert "step 40:" in noted.text
