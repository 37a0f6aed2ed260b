"""What status and doctor both show: the same sentences, with the same fixes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Config, parse
from memoryd.daemon import last_failure
from memoryd.daemon.last_failure import Failure
from memoryd.daemon.single_instance import Trouble, only_instance
from memoryd.diagnosis.checks import EXAMINATIONS, examine
from memoryd.diagnosis.facts import World
from memoryd.diagnosis.status import gather
from memoryd.engines.model import credentials
from memoryd.state import engine_holds, notices

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database

NOW = 2_000_000_000.0
PARTS = ("memoryd", "database", "engine")


def in_status(paths: Paths, config: Config) -> set[tuple[str, str]]:
    return {(problem.text.rstrip("."), problem.fix) for problem in gather(paths, config, NOW).problems}


def in_doctor(paths: Paths, config: Config) -> set[tuple[str, str]]:
    parts = [part for part in EXAMINATIONS if part[0] in PARTS]
    examined = examine(World(paths, config, NOW, is_offline=True), parts)
    return {(check.text, check.fix) for part in examined for check in part.checks}


def test_the_daemon_and_notices(paths: Paths, database: Database) -> None:
    notices.post(database, notices.Notice("a", "It was set aside.", "look at it", paths.database), NOW)
    with only_instance(paths, NOW) as held:
        held.write_state("polling", [Trouble("watch_limit", "Too many watches.", "raise it")])
        lock = Path(paths.daemon_lock)
        lock.write_text(lock.read_text().replace('"version": "0.1.0"', '"version": "0.0.9"'))
        shown = in_status(paths, Config())
        assert len(shown) == 3
        assert shown <= in_doctor(paths, Config())


@pytest.mark.parametrize("fix", ["vi config.toml", ""])
def test_the_last_failure(paths: Paths, fix: str) -> None:
    last_failure.record(paths, Failure(NOW - 300, 78, "The config is broken.", fix))
    shown = in_status(paths, Config())
    assert len(shown) == 1
    assert shown <= in_doctor(paths, Config())


@pytest.mark.parametrize("is_held", [False, True])
def test_the_engine(paths: Paths, database: Database, is_held: bool) -> None:
    config = parse(f'[anthropic]\napi_key_file = "{paths.home}/none"\n'.encode(), paths)
    if is_held:
        digest = credentials.settings_digest(config)
        engine_holds.stop(database, credentials.NAME, "It refuses the key.", "another key", digest, NOW)
    shown = in_status(paths, config)
    assert len(shown) == 1
    assert shown <= in_doctor(paths, config)
