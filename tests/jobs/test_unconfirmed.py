"""What was said once waits outside the directory, is recalled as a quote, and is written when it is said again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline import find
from memoryd.jobs.recall import recall
from memoryd.jobs.recall_matches import Request
from memoryd.memory.unconfirmed import unconfirmed_memories
from memoryd.model import UserMessage
from memoryd.state import inbox
from memoryd.state.quotes import unconfirmed_quotes
from tests import inbox_rows
from tests.jobs.model_workspace import ToldClock
from tests.jobs.workspace import NOW
from tests.transcript import Session

if TYPE_CHECKING:
    from tests.jobs.workspace import Workspace

ONCE = "grafana board for the queue is ops/queues i think people call it the wall"
LIKELY = "pls format the docs with mdformat not prettier"


def likely_words() -> str:
    """Words that the engine holds for likely, and no more; which these are is not the job's business."""
    for words in (
        LIKELY,
        ONCE,
        "the intern only works mornings",
        "docs go in the wiki first",
        "we test on the old phones too",
        "the printer room is locked after six",
        "marta reads every changelog",
    ):
        found = find([UserMessage("s", "m", None, words)])
        if found.unconfirmed and not found.written:
            return words
    raise AssertionError("none of these is unconfirmed")


def test_what_is_likely_waits_outside_directory_and_index(workspace: Workspace) -> None:
    words = likely_words()
    workspace.say(words)
    workspace.work()
    assert workspace.files() == []
    (row,) = inbox.waiting(workspace.database, str(workspace.memory))
    assert (row.held.state, row.newest_words.quote if row.newest_words else "") == ("unconfirmed", words)
    (quote,) = unconfirmed_quotes(workspace.database, str(workspace.memory))
    assert (quote.row_id, quote.quote) == (row.id, words)
    (memory,) = unconfirmed_memories(workspace.database, str(workspace.memory))
    assert memory.body.strip() == words


def test_what_is_said_again_in_another_session_is_written_and_leaves_the_inbox(workspace: Workspace) -> None:
    words = likely_words()
    workspace.say(words)
    workspace.work()
    workspace.say(f"again: {words}", session=Session("later"))
    workspace.work()
    assert inbox.waiting(workspace.database, str(workspace.memory)) == []
    assert workspace.bodies() == [words]


def test_what_was_said_once_about_the_person_is_recalled_in_every_project(workspace: Workspace) -> None:
    """It waits beside the global memories; this project has no memory at all."""
    once = inbox_rows.held(state="unconfirmed", after=inbox_rows.memory("Under 300 lines."))
    inbox_rows.store(workspace.database, workspace.paths.global_dir, once, now=NOW)
    request = Request("how large may a review be?")
    answer = recall(workspace.paths, workspace.config, {}, ToldClock(), "/elsewhere/memory", request)
    (memory,) = answer.memories
    assert (memory.name, memory.is_unconfirmed) == ("feedback_review_size.md", True)
    assert "\n> Under 300 lines.\n" in answer.text
