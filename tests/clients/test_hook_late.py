"""The hook when something takes too long: only what was late is missing."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.clients import hook
from memoryd.clients.base import HookCall
from memoryd.clients.registry import WITH_HOOKS
from memoryd.clock import elapsed
from memoryd.config import Config, Features
from memoryd.jobs import notes_hook
from memoryd.jobs.call_hook import follow_edits
from memoryd.recall.store import open_store
from memoryd.state.database import open_database

if TYPE_CHECKING:
    import pytest

    from memoryd.paths import Paths


def test_notes_that_are_late_do_not_silence_the_rest(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> str:
        hook._late(0, None)
        return "never"

    monkeypatch.setattr(notes_hook, "notes_for", late)
    call = HookCall("start", "0f8d3c1e", "/code/acme", is_compacted=True)
    assert hook._notes_for(WITH_HOOKS[0], call, paths, Config(), 0) == ""


def test_the_end_of_a_session_does_not_wait_for_a_locked_database(paths: Paths) -> None:
    call = HookCall("release", "0f8d3c1e", "/code/acme", is_before_compaction=True)
    config = Config(engine="claude", features=Features(notes=False))
    with closing(open_database(paths)) as database, database.transaction():
        begun = elapsed()
        assert hook._released(WITH_HOOKS[0], call, paths, config) == ("", None)
        assert elapsed() - begun < hook.PATIENCE_SECONDS
    assert os.path.exists(paths.wake_file)  # the rest is done
    assert "locked" in Path(paths.log_file).read_text()


def test_rules_are_followed_only_as_long_as_there_is_time(paths: Paths, tmp_path: Path) -> None:
    for number in range(300):
        Path(tmp_path, f"m{number}.md").write_text(f"---\nname: m{number}\ndescription: use tabs\n---\nUse tabs.\n")
    follow_edits(paths, str(tmp_path), 1.0, seconds=0.0)
    with closing(open_store(paths)) as store:
        known = store.directory(str(tmp_path))
    assert known is None or known.is_unfinished
