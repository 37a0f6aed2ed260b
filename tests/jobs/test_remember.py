"""Remembering for an agent: the user's words decide, not the agent's."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Config
from memoryd.errors import MemorydError
from memoryd.jobs.remember import AgentRequest, remember_for_agent
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.history import undoing
from memoryd.review.inbox import accept
from memoryd.state import history, inbox, pauses
from tests.jobs.model_workspace import VARIABLE, ToldClock, config_with_model
from tests.messages_server import MessagesServer, Reply, Status, accept_changes, judged, last_text, text
from tests.transcript import Session, line, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.jobs.remember import Remembered
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.jobs.workspace import Workspace
    from tests.messages_server import Answer, Request

NOW = datetime(2026, 10, 18, 12, tzinfo=UTC).timestamp()
SAID = "remember that we use pnpm here, not npm"


class Project:
    """A project in which the user talks to an agent, which asks for things to be remembered."""

    def __init__(self, database: Database, paths: Paths) -> None:
        self.database, self.paths = database, paths
        self.memory = Path(paths.transcripts_root, "-code-acme", "memory")

    def say(self, *texts: str, cwd: str = "/code/acme", at: str = "2026-10-18T11:00:00Z", name: str = "one") -> None:
        session = Session(name, cwd=cwd)
        data = b"".join(line({**_user(session, text), "timestamp": at}) for text in texts)
        path = write(self.paths.transcripts_root, session, data, cwd.replace("/", "-"))
        os.utime(path, (NOW, NOW))

    def ask(self, text: str, quote: str, config: Config | None = None) -> Remembered:
        request = AgentRequest(str(self.memory), "/code/acme", text, quote)
        clock = ToldClock()
        clock.at = NOW
        environment = {VARIABLE: "test-key"}
        return remember_for_agent(self.database, self.paths, config or Config(), environment, clock, request)

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.memory.glob("*_*.md")}


def _user(session: Session, text: str) -> dict[str, object]:
    return session.entry("user", message={"role": "user", "content": text})


@pytest.fixture
def project(database: Database, paths: Paths) -> Project:
    return Project(database, paths)


def test_what_the_user_said_is_kept_with_their_words_and_can_be_undone(project: Project) -> None:
    project.say(SAID)
    done = project.ask("Use pnpm here, not npm.", "we use pnpm here, not npm")
    (name,) = done.saved
    assert "Use pnpm here, not npm." in project.files()[name]
    (evidence,) = history.evidence_of(project.database, str(project.memory), name)
    assert (evidence.quote, evidence.session_id) == ("we use pnpm here, not npm", Session().id)
    change = history.last_undoable(project.database, str(project.memory))
    assert change is not None
    with open_directory(str(project.memory)) as directory:
        commit(project.database, directory, undoing(project.database, change), NOW)
    assert project.files() == {}
    with pytest.raises(MemorydError, match="took back"):
        project.ask("Use pnpm here, not npm.", "we use pnpm here, not npm")


def test_a_quote_that_nobody_said_waits_for_the_users_yes(project: Project) -> None:
    project.say("please fix the tests")
    done = project.ask("Deploy on port 8443 with --force.", "always deploy with --force on 8443")
    assert (done.saved, done.is_quoted, project.files()) == ((), False, {})
    (row,) = inbox.waiting(project.database, str(project.memory))
    assert "not in what you said" in row.held.reason
    accept(project.database, row, NOW)
    assert len(project.files()) == 1


@pytest.mark.parametrize(
    "said",
    [
        {"cwd": "/code/other"},
        {"at": "2026-10-17T11:00:00Z"},
    ],
    ids=["in another project", "more than a day ago"],
)
def test_words_from_elsewhere_do_not_count(project: Project, said: dict[str, str]) -> None:
    project.say(SAID, **said)
    assert not project.ask("Use pnpm here, not npm.", "we use pnpm here, not npm").is_quoted


def test_a_session_that_opted_out_cannot_be_quoted(project: Project) -> None:
    project.say("<memoryd-off>", SAID)
    assert not project.ask("Use pnpm here, not npm.", "we use pnpm here, not npm").is_quoted


def test_a_number_that_the_user_did_not_say_is_told_to_the_agent_and_nothing_is_kept(project: Project) -> None:
    project.say("the staging database listens on port 5433")
    with pytest.raises(MemorydError, match="6433"):
        project.ask("The staging database listens on port 6433.", "the staging database listens on port 5433")
    assert project.files() == {}
    assert inbox.waiting(project.database, str(project.memory)) == []


def test_what_the_quote_does_not_carry_waits(project: Project) -> None:
    project.say("should we use yarn for this?")
    done = project.ask("Use yarn.", "should we use yarn for this?")
    assert done.saved == ()
    assert [held.state for held in done.held] == ["held"]


@pytest.mark.parametrize(("mode", "state"), [("all", "held"), ("off", "dropped")])
def test_the_config_decides_who_is_asked(project: Project, mode: str, state: str) -> None:
    project.say("should we use yarn for this?")
    assert [
        held.state for held in project.ask("Use yarn.", "should we use yarn for this?", Config(review=mode)).held
    ] == [state]


def test_secrets_repetitions_and_nothing_are_not_kept(project: Project) -> None:
    project.say(SAID)
    project.ask("Use pnpm here, not npm.", "we use pnpm here, not npm")
    for asked, why in (
        ("Use pnpm here, not npm.", "already"),
        ("  ", "nothing"),
        ("The token is ghp_" + "a1B2" * 9, "secret"),
        ("x" * 3000, "3,000"),
    ):
        with pytest.raises(MemorydError, match=why):
            project.ask(asked, "we use pnpm here, not npm")
    assert len(project.files()) == 1


def test_the_daemon_does_not_keep_the_same_words_a_second_time(workspace: Workspace) -> None:
    """The turn in which the agent called `remember` is read by extraction like any other."""
    session = workspace.say("from now on, use tabs")
    os.utime(workspace.transcript(session), (NOW, NOW))
    clock = ToldClock()
    clock.at = NOW - 3600 * 3
    request = AgentRequest(str(workspace.memory), "/code/acme", "Use tabs for indentation.", "use tabs")
    done = remember_for_agent(workspace.database, workspace.paths, Config(), {}, clock, request)
    assert not done.held
    workspace.work()
    assert [path.name for path in workspace.memory.glob("*_*.md")] == list(done.saved)


# --- with a model -----------------------------------------------------------------------------------------------------

TEXT, QUOTE = "Use pnpm here, not npm.", "we use pnpm here, not npm"


def ask_with_model(project: Project, reviewer: Callable[[Request], Answer]) -> tuple[Remembered, list[str]]:
    """What comes of it, and the questions that the model was asked."""
    with MessagesServer(lambda _: Reply(text("nobody asks for this")), reviewer=reviewer) as server:
        done = project.ask(TEXT, QUOTE, config_with_model(server))
        assert server.violations == []
        return done, [last_text(request) for request in server.reviews]


@pytest.mark.usefixtures("loaded_sdk")
def test_the_chosen_model_judges_it_and_the_call_is_booked(project: Project) -> None:
    project.say(SAID)
    done, (question,) = ask_with_model(project, accept_changes)
    assert list(project.files()) == list(done.saved)
    assert TEXT in question
    assert SAID in question
    ((kind, outcome, calls),) = project.database.query(
        "SELECT kind, outcome, count(steps.id) FROM jobs LEFT JOIN steps ON steps.job_id = jobs.id GROUP BY jobs.id"
    )
    assert (kind, outcome, calls) == ("remember", "succeeded", 1)


@pytest.mark.usefixtures("loaded_sdk")
def test_what_the_model_says_no_to_is_told_to_the_agent_and_what_it_doubts_waits(project: Project) -> None:
    project.say(SAID)
    with pytest.raises(MemorydError, match="Not what they meant"):
        ask_with_model(
            project, lambda request: judged(request, verdict="reject", meant=False, problem="Not what they meant.")
        )
    assert inbox.waiting(project.database, str(project.memory)) == []
    done, _ = ask_with_model(project, lambda request: judged(request, verdict="hold", problem="Was it a joke?"))
    assert [held.reason for held in done.held] == ["Was it a joke?"]
    assert project.files() == {}


@pytest.mark.usefixtures("loaded_sdk")
def test_a_model_that_cannot_be_asked_leaves_it_to_the_user(project: Project) -> None:
    project.say(SAID)
    done, _ = ask_with_model(project, lambda _: Status(401, "authentication_error", "invalid key"))
    (row,) = inbox.waiting(project.database, str(project.memory))
    assert (done.saved, project.files()) == ((), {})
    assert row.held.reason.startswith("The model could not be asked")
    accept(project.database, row, NOW)
    assert len(project.files()) == 1


@pytest.mark.usefixtures("loaded_sdk")
def test_during_a_pause_no_model_is_asked(project: Project) -> None:
    project.say(SAID)
    pauses.begin(project.database, None, NOW)
    done, questions = ask_with_model(project, accept_changes)
    assert questions == []
    assert [held.state for held in done.held] == ["held"]
