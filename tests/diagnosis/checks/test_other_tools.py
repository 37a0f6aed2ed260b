"""Other tools that extract or dream here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clients.registry import ALL
from memoryd.clients.settings import Switch
from memoryd.config import Config
from memoryd.diagnosis.checks import other_tools
from memoryd.jobs.ingest import Ingester
from tests.clients.user_settings import set_client
from tests.diagnosis.checks.checking import NOW, verdicts
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.diagnosis.facts import World
    from memoryd.paths import Paths
    from memoryd.state.database import Database


def around(**more: Any) -> other_tools.OtherToolFacts:
    facts = other_tools.OtherToolFacts(
        "/home/me", Switch(None), Switch(None), extracts=True, dreams=True, tools=(), holders=()
    )
    return facts._replace(**more)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (around(), ("both extract", "memoryd dreams; Claude Code dreams if")),
        (
            around(auto_memory=Switch(False, "x in /home/me/s"), auto_dream=Switch(False, "y in /home/me/s")),
            ("only memoryd extracts: Claude Code's own memory is off (x in ~/s)", "does not dream (y in ~/s)"),
        ),
        (around(extracts=False, dreams=False), ("only Claude Code extracts", "memoryd does not dream")),
        (around(extracts=False, auto_memory=Switch(False, "x in y")), ("nobody extracts", "memoryd dreams")),
    ],
)
def test_who_does_what_is_said_in_a_sentence(facts: other_tools.OtherToolFacts, words: tuple[str, str]) -> None:
    memory, dream, *_ = other_tools.judge_other_tools(facts)
    assert (words[0] in memory.text, words[1] in dream.text) == (True, True)


def test_other_tools_are_found_by_hook_plugin_server_and_directory(world: World, paths: Paths) -> None:
    set_client(
        paths,
        hooks={"Stop": [{"hooks": [{"command": "/opt/memsearch/hook.sh --token hunter2"}]}]},
        enabledPlugins={"claude-mem@thedotmack": True, "episodic-memory@x": False},
    )
    os.makedirs(os.path.join(paths.home, ".claude-mem"))
    os.makedirs(os.path.join(paths.home, ".basic-memory"))
    facts = other_tools.read_other_tools(world)
    assert facts.tools == (
        other_tools.Seen("claude-mem", ("plugin", "~/.claude-mem")),
        other_tools.Seen("memsearch", ("hook",)),
        other_tools.Seen("basic-memory", ("~/.basic-memory",)),
    )
    text = "\n".join(check.text for check in other_tools.judge_other_tools(facts))
    assert "memsearch remembers here too" in text
    assert "basic-memory was or is used here" in text
    assert "hunter2" not in text


def test_whoever_consolidates_now_is_named(world: World, paths: Paths, database: Database) -> None:
    write(paths.transcripts_root, session := Session(cwd=paths.home), session.turn())
    Ingester(ALL, database, paths, Config()).ingest(NOW)
    (row,) = database.query("SELECT memory_dir FROM projects")
    os.makedirs(row[0])
    lock = Path(row[0], ".consolidate-lock")
    lock.write_text(str(os.getpid()))
    now = lock.stat().st_mtime
    (holder,) = other_tools.read_other_tools(world._replace(now=now)).holders
    assert (holder.memory_dir, holder.pid, holder.is_ours) == (row[0], os.getpid(), False)
    assert ("consolidating", "note") in verdicts(other_tools.judge_other_tools(around(holders=(holder,))))
    assert other_tools.read_other_tools(world._replace(now=now + 7200)).holders == ()
