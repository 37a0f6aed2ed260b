"""kill -9 at every system call that touches the disk while rows come into the inbox or are answered: all or nothing."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from memoryd.memory.commit import recover
from memoryd.memory.directory import open_directory
from memoryd.state import history, inbox
from memoryd.state.database import open_database
from tests.crash import answerer, strace
from tests.crash.victim import NOW, memory_dir, paths_of
from tests.inbox_rows import words

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.state.database import Database
    from tests.torture.campaign import Campaign

MEMORIES = {"a.md": answerer.OLD, "source.md": answerer.OLD}
MERGED = {"a.md": answerer.NEW, "made.md": answerer.NEW}


def files(home: str) -> dict[str, bytes]:
    """All that is in the memory directory but the index: a temporary file would be among it."""
    found = {}
    for entry in os.scandir(memory_dir(home)):
        if entry.name != "MEMORY.md":
            with open(entry.path, "rb") as file:
                found[entry.name] = file.read()
    return found


def is_done(database: Database, home: str, action: str) -> bool:
    """Whether all of an action has happened; fails where only some of it has."""
    row = inbox.find(database, 1)
    assert row is not None
    if action == "accept":
        assert (files(home), row.outcome) in ((MEMORIES, None), (MERGED, "accepted"))
        is_made = row.outcome == "accepted"
        assert [change.state for change in history.recent(database)] == ["applied"] * is_made
        assert history.evidence_of(database, memory_dir(home), "a.md") == [words("two", "m2")] * is_made
        return is_made
    if action == "reject":
        is_rejected = row.outcome == "rejected"
        assert files(home) == MEMORIES
        assert history.is_refused(database, memory_dir(home), words("two", "m2")) is is_rejected
        return is_rejected
    is_stored = inbox.number_waiting(database) == 2
    assert [closed.outcome for closed in inbox.closed(database)] == ["refused"] * is_stored
    (job,) = database.query("SELECT outcome FROM jobs")
    (turn,) = database.query("SELECT outcome FROM turns")
    outcome = None if not is_stored else "succeeded_no_output" if action == "finish" else "succeeded"
    assert (job["outcome"], turn["outcome"]) == (outcome, outcome)
    written = {answerer.WRITTEN: answerer.NEW} if is_stored and action == "commit" else {}
    assert files(home) == MEMORIES | written
    return is_stored


def check_after_recovery(home: str, action: str) -> bool:
    with closing(open_database(paths_of(home))) as database, open_directory(memory_dir(home)) as directory:
        with directory.locked():
            recover(database, directory, NOW + 60)
        done = is_done(database, home, action)
        assert database.query("SELECT 1 FROM inbox WHERE at IS NULL") == [], "a row that nobody will ever see"
        with directory.locked():
            assert recover(database, directory, NOW + 120) == 0
        assert is_done(database, home, action) is done
    return done


@pytest.mark.torture
@pytest.mark.parametrize("action", answerer.ACTIONS)
def test_killed_anywhere_it_has_happened_or_it_has_not(
    tmp_path: Path, action: str, torture: bool, campaign: Campaign
) -> None:
    fresh, home = str(tmp_path / "fresh"), str(tmp_path / "home")
    # The path of the memory directory is in the database: the world is made where it is used.
    answerer.make_world(home)
    shutil.copytree(home, fresh)

    def run(*inject: str) -> strace.Run:
        shutil.rmtree(home)
        shutil.copytree(fresh, home)
        return strace.run_module(home, ("tests.crash.answerer", home, action), *inject)

    plain = run()
    assert plain.returncode == 0
    assert check_after_recovery(home, action)
    calls = list(plain.calls)
    chosen = calls if torture else random.Random(3).sample(calls, min(len(calls), 10))
    outcomes = []
    for call in campaign.in_time(dict.fromkeys([calls[0], *chosen, calls[-1]])):
        assert run(f"{call.kind}:signal=KILL:when={call.number}").was_killed, f"{call} was not reached"
        outcomes.append(check_after_recovery(home, action))
    print(f"killed at {len(outcomes)} of {len(calls)}: {outcomes.count(True)} done, {outcomes.count(False)} not")
    assert False in outcomes
    campaign.tried("faults", f"kill at a disk call of the inbox: {action}", len(outcomes))
    shutil.rmtree(tmp_path)
