"""A cache that an endpoint lost between two runs is told where somebody looks who wonders what it costs; the rest is no news."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

import pytest

from memoryd.cli import Context, usage
from memoryd.state import model_calls
from tests.jobs.model_answers import NOTHING, RULE, RULE_MD, content, in_turn, remarks, with_model, writes
from tests.messages_server import Reply
from tests.transcript import Session

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.jobs.model_workspace import ModelWorkspace

pytestmark = pytest.mark.usefixtures("loaded_sdk")

HOUR = 3600.0


def run_two(model_workspace: ModelWorkspace) -> None:
    """Two runs; between them the endpoint loses all that it had cached."""
    model_workspace.say("hello")
    model_workspace.work()
    model_workspace.server.forget_cache()
    model_workspace.say("hello again", session=Session("two"))
    model_workspace.work()


def test_what_the_endpoint_lost_between_runs_is_told(database: Database, paths: Paths) -> None:
    with with_model(database, paths, NOTHING) as model_workspace:
        run_two(model_workspace)
        assert [kind for kind, _ in remarks(model_workspace)] == ["cache_break"]
        assert [row.cache_breaks for row in model_calls.usage(database)] == [1]
        assert model_calls.cache_breaks(database, 0.0) == (1, 2)
        assert model_calls.cache_breaks(database, model_workspace.clock.now() + 1) == (0, 0)


def test_a_cache_that_is_kept_is_no_news(database: Database, paths: Paths) -> None:
    with with_model(database, paths, in_turn(Reply(writes()))) as model_workspace:
        model_workspace.say(RULE)
        assert model_workspace.work() == [("succeeded", (RULE_MD,))]
        model_workspace.say("hello", session=Session("two"))
        model_workspace.work()
        assert remarks(model_workspace) == []
        assert [row.cache_breaks for row in model_calls.usage(database)] == [0]


def test_what_is_lost_with_time_is_no_news(database: Database, paths: Paths) -> None:
    with with_model(database, paths, NOTHING) as model_workspace:
        model_workspace.say("hello")
        model_workspace.work()
        model_workspace.clock.at += HOUR
        model_workspace.server.forget_cache()
        model_workspace.say("hello again", session=Session("two"))
        model_workspace.work()
        assert remarks(model_workspace) == []


def test_another_model_has_another_cache(database: Database, paths: Paths) -> None:
    with with_model(database, paths, NOTHING) as model_workspace:
        model_workspace.say("hello")
        model_workspace.work()
        model_workspace.config = model_workspace.config._replace(
            anthropic=model_workspace.config.anthropic._replace(extraction_model="claude-haiku-4-5")
        )
        model_workspace.say("hello again", session=Session("two"))
        model_workspace.work()
        assert remarks(model_workspace) == []


def test_a_review_whose_brief_was_lost_is_told_like_any_other(database: Database, paths: Paths) -> None:
    """The question about meaning has a cached prefix of its own."""
    tabs = "please indent with tabs here"
    second = writes(tabs, "feedback_tabs.md", content("Indent with tabs."))
    with with_model(database, paths, in_turn(Reply(writes()), Reply(second))) as model_workspace:
        model_workspace.say(RULE)
        model_workspace.work()
        model_workspace.server.forget_cache()
        model_workspace.say(tabs, session=Session("two"))
        assert model_workspace.work() == [("succeeded", ("feedback_tabs.md",))]
        assert len(model_workspace.server.reviews) == 2
        assert [kind for kind, _ in remarks(model_workspace)] == ["cache_break"] * 2


def test_usage_says_how_often_it_was_lost(database: Database, paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    with with_model(database, paths, NOTHING) as model_workspace:
        run_two(model_workspace)
        shown = Context(
            argparse.Namespace(by="day", days=30, json=False), paths, model_workspace.config, model_workspace.clock, {}
        )
        assert usage.execute(shown) == 0
        assert "The endpoint had lost its cache 1 time for no known reason" in capsys.readouterr().err
        shown.arguments.json = True
        assert usage.execute(shown) == 0
        assert [row["cache_breaks"] for row in json.loads(capsys.readouterr().out)] == [1]
