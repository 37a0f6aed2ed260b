"""kill -9 at a system call that touches the disk while keys are kept: all of a request, or none; and recall gets to know them."""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from memoryd.state.database import open_database
from tests.crash import key_writer, strace
from tests.crash.victim import memory_dir, paths_of
from tests.recall.memories import FIVE, Library

if TYPE_CHECKING:
    from pathlib import Path

    from tests.torture.campaign import Campaign


def number_kept(home: str) -> int:
    with closing(open_database(paths_of(home))) as database:
        (row,) = database.query("SELECT count(*) FROM memory_keys")
        return int(row[0])


@pytest.mark.torture
def test_killed_anywhere_keys_are_whole_or_absent_and_the_next_night_ends_it(
    tmp_path: Path, torture: bool, campaign: Campaign
) -> None:
    fresh, home = str(tmp_path / "fresh"), str(tmp_path / "home")
    Library(paths_of(home), memory_dir(home)).write(FIVE)
    assert number_kept(home) == 0
    shutil.copytree(home, fresh)

    def run(*inject: str) -> strace.Run:
        shutil.rmtree(home)
        shutil.copytree(fresh, home)
        assert key_writer.found(home) == set()  # the terms of these very files are known from now on, without keys
        return strace.run_module(home, ("tests.crash.key_writer", home), *inject)

    plain = run()
    assert (plain.returncode, number_kept(home), key_writer.found(home)) == (0, len(FIVE), set(FIVE))
    outcomes = []
    calls = plain.calls if torture else plain.calls[:: max(1, len(plain.calls) // 6)]
    for call in campaign.in_time(dict.fromkeys([*calls, plain.calls[-1]])):
        assert run(f"{call.kind}:signal=KILL:when={call.number}").was_killed, f"{call} was not reached"
        outcomes.append(number_kept(home))
        assert outcomes[-1] in (0, len(FIVE)), f"torn at {call}"
        assert key_writer.found(home) == (set(FIVE) if outcomes[-1] else set()), f"recall knows others after {call}"
        assert key_writer.write_keys(home).written == len(FIVE) - outcomes[-1]
        assert key_writer.found(home) == set(FIVE)
    assert set(outcomes) == {0, len(FIVE)}
    campaign.tried("faults", "kill at a disk call of keeping keys", len(outcomes))
