"""One suite for all engines: what a job may rely on, whichever engine it was given."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from memoryd.engines.base import Signal
from memoryd.engines.model.engine import ModelEngine
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.memory.document import new_document, parse
from memoryd.memory.snapshot import DirectorySnapshot
from memoryd.model import Exchange, UserMessage
from memoryd.review.context import ReviewContext
from memoryd.review.review import Review
from memoryd.state import jobs
from tests.claude_server import ClaudeServer, config_with_claude, install_command
from tests.jobs.model_workspace import VARIABLE, ToldClock, config_with_model
from tests.messages_server import MessagesServer, Reply, call, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoryd.engines.base import Engine
    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import Proposal
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.messages_server import Request

NOW = 2_000_000_000.0
RULE = "From now on, always run the linter before you commit."
TASK = "Please rename the variable in line 12."


def wish_keeping_model(request: Request) -> Reply:
    """A small model: it keeps each sentence of the user that begins with "From now on", unless the manifest has it."""
    task = "\n".join(block["text"] for block in request.body["messages"][0]["content"])
    wishes = re.findall(r"From now on, ([^.\n]+)\.", task.partition("<conversation>")[2])
    if len(request.body["messages"]) > 1 or any(wish in task.partition("<conversation>")[0] for wish in wishes):
        return Reply(text("nothing"))
    return Reply(*(_kept(wish) for wish in wishes)) if wishes else Reply(text("nothing"))


def _kept(wish: str) -> dict[str, object]:
    rule = wish[:1].upper() + wish[1:]
    head = f"---\nname: {'-'.join(wish.split()[:4])}\ndescription: {json.dumps(rule)}\ntype: feedback\n---\n"
    quote = f"From now on, {wish}."
    return call("Write", {"file_path": "feedback_wish.md", "content": f"{head}{rule}.\n", "quote": quote})


# What the real `claude` does otherwise than the one of the tests is asked in test_transports.py.
@pytest.fixture(params=["offline", "model", "claude"])
def engine(
    request: pytest.FixtureRequest, environment: dict[str, str], database: Database, paths: Paths, tmp_path: Path
) -> Iterator[Engine]:
    if request.param == "offline":
        yield OfflineEngine()
        return
    if request.param == "model":
        server = MessagesServer(wish_keeping_model)
        config = config_with_model(server)
    else:
        server = ClaudeServer(wish_keeping_model)
        config = config_with_claude(install_command(tmp_path / "bin"), server)
    with server:
        made = ModelEngine(database, paths, config, environment | {VARIABLE: "test-key"}, ToldClock())
        yield made
        made.close()
        assert server.violations == []


class Job:
    """What a job hands to an engine, and what it gets back."""

    def __init__(self, database: Database, memory: Path, engine: Engine) -> None:
        self._database, self._memory, self._engine = database, memory, engine
        memory.mkdir(exist_ok=True)

    def extract(self, *texts: str) -> Proposal:
        snapshot, signal, review = self._inputs("extract", *texts)
        return self._engine.extract(snapshot, signal, review)

    def dream(self, *texts: str) -> Proposal:
        snapshot, signal, review = self._inputs("dream", *texts)
        return self._engine.dream(snapshot, signal._replace(deadline=NOW + 60), review)

    def put(self, name: str, body: str, **fields: str) -> bytes:
        data = new_document(
            name=name.removesuffix(".md"),
            description=body.rstrip(".\n"),
            kind="feedback",
            body=body,
            session_id="",
            evidence="",
            modified="2026-10-16T07:40:18Z",
        ).render()
        for key, value in fields.items():
            data = data.replace(b"metadata:\n", f"metadata:\n  {key}: {value}\n".encode())
        (self._memory / name).write_bytes(data)
        return data

    def files(self) -> dict[str, tuple[bytes, int]]:
        return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in self._memory.iterdir()}

    def _inputs(self, kind: str, *texts: str) -> tuple[Snapshot, Signal, Review]:
        snapshot = DirectorySnapshot(self._database, str(self._memory))
        said = [
            UserMessage("s", f"m{number}", NOW - 100 + number, words, cwd="/code", reply="Done.")
            for number, words in enumerate(texts)
        ]
        job_id = jobs.begin_request(
            self._database, jobs.RECALL, str(self._memory), NOW
        )  # any row: calls are booked under its number
        signal = Signal(job_id, NOW, [Exchange(message) for message in said])
        context = ReviewContext("extract" if kind == "extract" else "dream", snapshot, said, NOW)
        return snapshot, signal, Review(context, self._engine.meaning_asker(signal, str(self._memory)))


@pytest.fixture
def job(database: Database, tmp_path: Path, engine: Engine) -> Job:
    return Job(database, tmp_path / "memory", engine)


def test_an_engine_has_a_name(engine: Engine) -> None:
    assert engine.name


def test_a_wish_becomes_a_group_that_rests_on_the_users_words(job: Job) -> None:
    proposal = job.extract(TASK, RULE)
    (group,) = proposal.groups
    (change,) = group.changes
    assert (change.before, group.reason) == (None, "learnt")
    document = parse(change.after or b"")
    assert document.problem is None
    assert document.type == "feedback"
    assert "linter" in document.body
    assert {name for name, _ in group.evidence} == {change.name}
    assert all(piece.message_id == "m1" and piece.quote in RULE for _, piece in group.evidence)


def test_it_says_how_many_turns_it_has_looked_at(job: Job) -> None:
    assert job.extract(TASK, RULE).taken in (None, 2)


def test_where_nothing_is_to_be_kept_nothing_is_proposed(job: Job) -> None:
    assert job.extract(TASK).groups == ()


def test_what_a_memory_says_in_the_same_words_is_not_proposed_again(job: Job) -> None:
    job.put("feedback_lint.md", "Always run the linter before you commit.\n")
    assert job.extract(RULE).groups == ()


def test_two_facts_that_differ_in_a_number_are_two(job: Job) -> None:
    job.put("feedback_page.md", "Always page customer 4711 first.\n")
    (group,) = job.extract("From now on, always page customer 4712 first.").groups
    assert [change.before for change in group.changes] == [None]


def test_nothing_is_written_to_the_directory(job: Job) -> None:
    job.put("feedback_tabs.md", "Use tabs.\n")
    before = job.files()
    assert job.extract(RULE).groups
    job.dream(RULE)
    assert job.files() == before


def test_the_same_inputs_lead_to_the_same_proposal(job: Job) -> None:
    assert job.extract(TASK, RULE).groups == job.extract(TASK, RULE).groups


def test_a_dream_without_a_signal_proposes_nothing(job: Job) -> None:
    job.put("feedback_tabs.md", "Use tabs.\n")
    job.put("feedback_lint.md", "Run the linter before you commit.\n")
    assert job.dream().groups == ()


def test_a_dream_learns_what_was_said(job: Job) -> None:
    proposal = job.dream(RULE)
    assert [group.reason for group in proposal.groups] == ["learnt"]
    assert proposal.unused == frozenset()


def test_what_is_pinned_is_in_no_group(job: Job) -> None:
    job.put("feedback_tabs.md", "Use tabs.\n", pinned="true")
    job.put("feedback_tabs_too.md", "use tabs\n", pinned="true")
    assert job.dream(RULE).groups
    names = {change.name for group in job.dream(RULE).groups for change in group.changes}
    assert not names & {"feedback_tabs.md", "feedback_tabs_too.md"}
