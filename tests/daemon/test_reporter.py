"""The one line that the log has for a job: all that one wants to know of it, and no word of what was said."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.daemon import reporter
from memoryd.daemon.reporter import Reporter
from memoryd.engines.model import tools
from memoryd.errors import EngineRestsError, EngineStoppedError, MemorydError
from memoryd.jobs import extract
from memoryd.log.writer import open_log
from memoryd.memory.guards import RefusedError
from memoryd.state import jobs, settings
from tests.jobs.dream_workspace import RevisingEngine
from tests.jobs.model_answers import NOTHING, RULE, content, in_turn, with_model, writes
from tests.jobs.workspace import NOW, TABS
from tests.messages_server import Garbage, Reply, Status, StreamError, call, raw_block, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.config import Config
    from memoryd.model import Exchange, Revision
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.jobs.dream_workspace import DreamWorkspace
    from tests.jobs.workspace import Workspace
    from tests.messages_server import Answer

WORD = "zanzibar"
SAID = f"please keep every {WORD} review under 400 changed lines"


class Listener:
    """A daemon's reporter, and all that it wrote."""

    def __init__(self, database: Database, paths: Paths, config: Config) -> None:
        self.database, self.paths = database, paths
        self.said: list[str] = []
        self._log = open_log(paths, "debug", journal=True)
        self.reporter = Reporter(paths, config, self.said.append, self._log)

    def listen(self) -> list[dict[str, Any]]:
        """The lines of jobs, with everything else having been told too."""
        self.reporter.report_jobs(self.database, NOW)
        self.reporter.report_why_not(self.database, NOW)
        return [line for line in map(json.loads, self.text.splitlines()) if line["event"] == "job"]

    @property
    def text(self) -> str:
        return Path(self.paths.log_file).read_text()


def test_an_extraction_has_all_its_facts_on_one_line(workspace: Workspace) -> None:
    session = workspace.say(TABS)
    workspace.work()
    (line,) = Listener(workspace.database, workspace.paths, workspace.config).listen()
    assert line.pop("at").endswith("Z")
    assert line == {
        "level": "info",
        "event": "job",
        "job": 1,
        "kind": "extract",
        "project": "/code/acme",
        "session": session.id,
        "memory_dir": str(workspace.memory),
        "engine": "offline",
        "outcome": "succeeded",
        "saved": 1,
        "removed": 0,
        "seconds": 0.0,
        "ended_at": "2033-05-18T03:33:20Z",
    }


def test_a_dream_has_its_project_and_who_dreamt(dream_workspace: DreamWorkspace) -> None:
    dream_workspace.remember("project_a.md", "The server is blue.")
    dream_workspace.dream()
    (line,) = Listener(dream_workspace.database, dream_workspace.paths, dream_workspace.config).listen()
    assert (line["kind"], line["project"], line["engine"], line["outcome"]) == (
        "dream",
        "/code/acme",
        "offline",
        "succeeded",
    )
    assert "session" not in line


def test_a_run_of_a_model_counts_what_was_refused_and_used_and_the_docs_explain_every_fact(
    database: Database, paths: Paths
) -> None:
    first = Reply(writes("never said"), call("Bash", {"command": "rm x"}), raw_block({"type": "hologram"}))
    with with_model(database, paths, in_turn(first, Reply(call("Conjure", {})), NOTHING)) as model_workspace:
        model_workspace.say(RULE)
        model_workspace.work()
        (line,) = Listener(database, paths, model_workspace.config).listen()
    assert (line["level"], line["refused"], line["unknown_blocks"]) == ("warning", "1 Bash, 1 Write, 1 unknown", 1)
    assert (line["engine"], line["turns"], 0 < line["hit_rate"] < 1) == ("claude-haiku-5-5", 3, True)
    table = Path(os.path.dirname(__file__), "../../docs/logs.md").read_text().partition("| fact |")[2].partition("\n\n")
    explained = re.findall(r"`(\w+)`", re.sub(r"(?m)^(\|[^|]*\|).*$", r"\1", table[0]))
    assert set(line) - {"at", "level", "event"} < set(explained)


def test_the_tools_of_the_agent_are_known_by_name() -> None:
    assert set(reporter.TOOLS) == set(tools.TOOLS)


# --- each job once ----------------------------------------------------------------------------------------------------


def test_a_job_that_ended_while_no_daemon_ran_is_logged_by_the_next_and_told_to_nobody(workspace: Workspace) -> None:
    first = Listener(workspace.database, workspace.paths, workspace.config)
    first.reporter.begin_behind(jobs.last_id(workspace.database))
    assert first.listen() == []
    workspace.say(TABS)
    workspace.work()
    for _ in range(2):  # and the one after it does not do so again
        later = Listener(workspace.database, workspace.paths, workspace.config)
        later.reporter.begin_behind(jobs.last_id(workspace.database))
        assert [line["job"] for line in later.listen()] == [1]
        assert later.said == []


def test_jobs_of_before_the_log_was_counted_are_not_logged_again(workspace: Workspace) -> None:
    workspace.say(TABS)
    workspace.work()
    listener = Listener(workspace.database, workspace.paths, workspace.config)
    listener.reporter.begin_behind(jobs.last_id(workspace.database))
    assert listener.listen() == []
    setting = settings.get(workspace.database, settings.LOGGED)
    assert setting is not None
    assert setting.value == 1


# --- no word of what was said -----------------------------------------------------------------------------------------


def check_silent(listener: Listener, capfd: pytest.CaptureFixture[str], outcome: str) -> None:
    lines = listener.listen()
    assert outcome in [line["outcome"] for line in lines]
    assert WORD not in listener.text
    told = capfd.readouterr().err
    assert f": {outcome}" in told
    assert WORD not in told


ECHO = f"messages.0.content.0.text: {SAID}"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Status(400, "invalid_request_error", ECHO), "failed"),
        (Status(401, "authentication_error", ECHO), "failed"),
        (Status(402, "billing_error", ECHO), "failed"),
        (Status(529, "overloaded_error", ECHO), "failed"),
        (Status(529, "overloaded_error", f'"{ECHO}" said "you"'), "failed"),
        (StreamError(Reply(text("x")), 3, type=WORD), "failed"),
        (Garbage(ECHO.encode()), "failed"),
        (Reply(text(SAID), stop_reason="refusal"), "refused(model)"),
        (Reply(text(SAID), stop_reason="max_tokens"), "failed"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_an_endpoint_repeats_is_not_logged(
    database: Database, paths: Paths, capfd: pytest.CaptureFixture[str], answer: Answer, outcome: str
) -> None:
    with with_model(database, paths, answer) as model_workspace:
        model_workspace.say(SAID)
        with suppress(EngineStoppedError, EngineRestsError):
            model_workspace.work()
        check_silent(Listener(database, paths, model_workspace.config), capfd, outcome)


@pytest.mark.parametrize(
    "first",
    [
        writes(f"never said {WORD}"),
        writes(SAID, f"../{WORD}.md"),
        writes(SAID, f"{WORD}.md", f"no frontmatter, {WORD}"),
        writes(SAID, written=content(f"See https://{WORD}.example for every {WORD} review under 400 changed lines.")),
        call("Bash", {"command": f"grep {WORD} . | sh"}),
        call("Read", {"file_path": f"/etc/{WORD}"}),
        call(WORD, {}),
        raw_block({"type": WORD}),
    ],
    ids=lambda block: str(block.get("name", block["type"])),
)
def test_what_an_agent_tried_is_counted_and_not_quoted(
    database: Database, paths: Paths, capfd: pytest.CaptureFixture[str], first: dict[str, Any]
) -> None:
    with with_model(database, paths, in_turn(Reply(first), NOTHING)) as model_workspace:
        model_workspace.say(SAID)
        model_workspace.work()
        assert database.query("SELECT count(*) FROM remarks")[0][0] == 1
        check_silent(Listener(database, paths, model_workspace.config), capfd, "succeeded_no_output")


@pytest.mark.parametrize(
    "error",
    [
        ValueError(SAID),
        KeyError(WORD),
        OSError(28, "No space left on device", f"feedback_{WORD}.md"),
        UnicodeDecodeError("utf-8", SAID.encode(), 3, 4, WORD),
        OSError(SAID),
    ],
    ids=repr,
)
def test_what_a_fault_quotes_is_not_logged(
    workspace: Workspace, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(extract, "sorted_by_verdict", fail)
    workspace.say(f"from now on, use {WORD}")
    assert workspace.work() == [("failed", ())]
    assert WORD in workspace.jobs()[0][1], "its user may know"
    check_silent(Listener(workspace.database, workspace.paths, workspace.config), capfd, "failed")


@pytest.mark.parametrize(
    ("error", "outcome"), [(ValueError(SAID), "failed"), (MemorydError(f'The file "{WORD}.md" is gone.'), "failed")]
)
def test_what_a_failing_dream_quotes_is_not_logged(
    dream_workspace: DreamWorkspace, capfd: pytest.CaptureFixture[str], error: Exception, outcome: str
) -> None:
    def fail(_: Sequence[Exchange]) -> Sequence[Revision]:
        raise error

    dream_workspace.remember(f"project_{WORD}.md", SAID)
    dream_workspace.say(SAID)
    with pytest.raises(type(error)):
        dream_workspace.dream(RevisingEngine(fail))
    check_silent(Listener(dream_workspace.database, dream_workspace.paths, dream_workspace.config), capfd, outcome)


def test_a_memory_that_was_refused_is_not_named(
    workspace: Workspace, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard is named by the outcome; its sentence names the file, and that is called like what was said."""

    def refuse(*_: object) -> None:
        raise RefusedError("pinned", f"feedback_{WORD}.md is pinned.")

    monkeypatch.setattr(extract, "sorted_by_verdict", refuse)
    workspace.say(f"from now on, use {WORD}")
    workspace.work()
    assert workspace.jobs() == [("refused(pinned)", f"feedback_{WORD}.md is pinned.")]
    check_silent(Listener(workspace.database, workspace.paths, workspace.config), capfd, "refused(pinned)")
