"""A purge that is killed before its last step: the upkeep makes that step, at the next check and not at night."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.jobs.purge import purge_memory, texts_of_memory
from memoryd.jobs.upkeep import upkeep, upkeep_due
from memoryd.state import purge
from tests.jobs.dream_workspace import FastClock
from tests.jobs.workspace import NOW, TABS, TABS_MD

if TYPE_CHECKING:
    from tests.jobs.workspace import Workspace


def test_the_upkeep_writes_the_database_anew_that_a_killed_purge_left(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(_: object) -> None:
        raise KeyboardInterrupt

    workspace.say(TABS)
    workspace.work()
    database, memory = workspace.database, str(workspace.memory)
    upkeep_due(database, NOW)  # the first check counts as an upkeep
    assert not upkeep_due(database, NOW)
    unwanted = texts_of_memory(database, memory, TABS_MD)
    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr(purge, "rewrite", die)
        list(purge_memory(workspace.paths, workspace.config, database, memory, TABS_MD, unwanted, {}, NOW))
    assert upkeep_due(database, NOW)
    upkeep(database, workspace.paths, workspace.config, FastClock())
    assert not upkeep_due(database, NOW)
    files = [Path(f"{workspace.paths.database}{suffix}") for suffix in ("", "-wal")]
    assert not [path.name for path in files if path.exists() and unwanted.is_in(path.read_bytes())]
