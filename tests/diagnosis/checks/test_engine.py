"""The engine that the config names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.config import parse
from memoryd.diagnosis.checks import engine
from memoryd.diagnosis.facts import World
from memoryd.diagnosis.problems import Check
from memoryd.errors import EngineStoppedError
from memoryd.state.engine_holds import Hold
from tests.diagnosis.checks.checking import NOW

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.paths import Paths


def with_model(**more: Any) -> engine.EngineFacts:
    facts = engine.EngineFacts(
        is_chosen=True,
        base_url="https://x",
        models=("small", "large"),
        key_from="the file /k",
        answer=engine.EndpointAnswer("listed", ("small-20261001", "large")),
        usd_per_day=1.0,
    )
    return facts._replace(**more)


def test_offline_needs_nothing(world: World) -> None:
    assert list(engine.judge_engine(engine.read_engine(world))) == [
        Check("engine", "ok", "offline: no model, no network, no key needed")
    ]


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (with_model(), ["ok", "ok", "ok"]),
        (with_model(key_error=EngineStoppedError("It is gone.", "fix it"), answer=None), ["problem", "ok"]),
        (with_model(key_from="the variable KEY"), ["note", "ok", "ok"]),
        (with_model(answer=None), ["ok", "note", "ok"]),
        (
            with_model(answer=engine.EndpointAnswer("refused", text="It refuses.", fix="another")),
            ["ok", "problem", "ok"],
        ),
        (with_model(answer=engine.EndpointAnswer("silent", text="it cannot be reached")), ["ok", "problem", "ok"]),
        (with_model(answer=engine.EndpointAnswer("no_list")), ["ok", "note", "ok"]),
        (with_model(answer=engine.EndpointAnswer("no_list"), is_local=True, key_from=""), ["ok", "ok", "ok"]),
        (with_model(answer=engine.EndpointAnswer("listed", ("small",))), ["ok", "note", "ok"]),
        (with_model(price_errors=(EngineStoppedError("Nobody knows.", "add"),)), ["ok", "ok", "problem", "ok"]),
        (with_model(spent_usd=1.0), ["ok", "ok", "note"]),
        (with_model(cache_breaks=1, model_jobs=9), ["ok", "ok", "ok"]),
        (with_model(cache_breaks=2, model_jobs=9), ["ok", "ok", "ok", "note"]),
        (with_model(hold=Hold("engine_stopped", "It stopped.", "", None, NOW)), ["ok", "ok", "problem"]),
        (with_model(hold=Hold("budget_reached", "Used up.", "", None, NOW)), ["ok", "ok", "note"]),
    ],
)
def test_what_a_model_needs(facts: engine.EngineFacts, found: list[str]) -> None:
    checks = list(engine.judge_engine(facts))
    assert [check.verdict for check in checks] == ["ok", *found]
    assert all(check.fix for check in checks if check.verdict == "problem")


def test_without_the_network_no_command_for_the_key_is_run(paths: Paths, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    config = parse(f'[anthropic]\napi_key_command = "touch {mark}"\n'.encode(), paths)
    facts = engine.read_engine(World(paths, config, NOW, {"PATH": os.environ["PATH"]}, is_offline=True))
    assert isinstance(facts, engine.EngineFacts)
    assert (facts.key_error, facts.answer, mark.exists()) == (None, None, False)
