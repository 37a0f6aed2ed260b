"""Allowances: one call, one session, one hour; whatever happens at once."""

from __future__ import annotations

import sys
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.rules import allowance

if TYPE_CHECKING:
    from memoryd.paths import Paths

NOW = 2_000_000_000.0


def test_one_call_of_one_session_is_allowed(paths: Paths) -> None:
    assert not allowance.use(paths, "/m", "a.md", "s1", NOW)
    allowance.allow(paths, "/m", "a.md", "s1", NOW)
    assert not allowance.use(paths, "/m", "a.md", "s2", NOW)
    assert not allowance.use(paths, "/m", "b.md", "s1", NOW)
    assert allowance.use(paths, "/m", "a.md", "s1", NOW + 60)
    assert not allowance.use(paths, "/m", "a.md", "s1", NOW + 60)


def test_without_a_session_the_first_that_asks_has_it(paths: Paths) -> None:
    allowance.allow(paths, "/m", "a.md", "", NOW)
    assert allowance.use(paths, "/m", "a.md", "s7", NOW)
    assert not allowance.use(paths, "/m", "a.md", "s8", NOW)


def test_an_old_one_a_future_one_and_a_damaged_one_allow_nothing(paths: Paths) -> None:
    for at in (NOW - allowance.SECONDS, NOW + 60):
        allowance.allow(paths, "/m", "a.md", "s1", at)
        assert not allowance.use(paths, "/m", "a.md", "s1", NOW)
    allowance.allow(paths, "/m", "a.md", "s1", NOW)
    (file,) = Path(paths.state_dir, "allowed-once").glob("*.json")
    file.write_bytes(b'{"session": "s1", "a')
    assert not allowance.use(paths, "/m", "a.md", "s1", NOW)
    assert not file.exists()
    allowance.allow(paths, "/m", "a.md", "s1", NOW)
    assert file.stat().st_mode & 0o777 == 0o600
    allowance.withdraw(paths, "/m", "a.md")
    assert not allowance.use(paths, "/m", "a.md", "s1", NOW)


def test_of_calls_at_once_in_several_processes_one_is_allowed(paths: Paths) -> None:
    fork = get_context("fork")

    def ask() -> None:
        sys.exit(0 if allowance.use(paths, "/m", "a.md", "s1", NOW) else 1)

    for _ in range(10):
        allowance.allow(paths, "/m", "a.md", "s1", NOW)
        asking = [fork.Process(target=ask) for _ in range(6)]
        for process in asking:
            process.start()
        for process in asking:
            process.join()
        assert sorted(process.exitcode or 0 for process in asking) == [0, 1, 1, 1, 1, 1]
