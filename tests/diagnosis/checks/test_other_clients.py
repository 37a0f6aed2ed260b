"""What doctor says of other agents than Claude Code."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.clients import ALL
from memoryd.config import Config
from memoryd.diagnosis.checks.other_clients import judge_other_clients, read_other_clients
from memoryd.diagnosis.checks.other_tools import judge_other_tools, read_other_tools
from memoryd.diagnosis.facts import World
from memoryd.jobs.ingest import Ingester
from tests.clients.homes import Codex, GeminiCli

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database


def test_nobody_else_is_here(paths: Paths) -> None:
    (check,) = judge_other_clients(read_other_clients(World(paths, Config(), 1.0)))
    assert (check.verdict, check.text) == ("ok", "no other agent that memoryd reads is used here")


def test_a_client_that_is_newer_than_memoryd_is_named_with_its_lines(paths: Paths, database: Database) -> None:
    home = Path(paths.home)
    codex, gemini = Codex(), GeminiCli()
    codex.write(home, codex.head() + codex.prompt("a") + codex.unknown_type() * 3 + codex.reply("b"))
    gemini.write(home, gemini.head())
    now = time.time()
    Ingester(ALL, database, paths, Config()).ingest(now)
    checks = list(judge_other_clients(read_other_clients(World(paths, Config(), now))))
    assert [(check.name, check.verdict, check.text.partition(",")[0]) for check in checks] == [
        ("transcripts", "ok", "Codex: 1 session"),
        ("unknown_lines", "note", "Codex: 3 lines of a kind that this memoryd does not know"),
        ("transcripts", "ok", "Gemini CLI: 1 session"),
    ]
    assert "deletes some at its next start" in checks[2].text


def test_a_client_with_memories_of_its_own_is_named(paths: Paths) -> None:
    for place in (".gemini/tmp/acme/memory", ".qwen/projects/-code-acme/memory", ".qwen/memories"):
        Path(paths.home, place).mkdir(parents=True)
    facts = read_other_tools(World(paths, Config(), 1.0))
    told = [check.text for check in judge_other_tools(facts) if check.name == "other_tools"]
    assert told == [
        "Gemini CLI was or is used here (~/.gemini/tmp/acme/memory)",
        "Qwen Code was or is used here (~/.qwen/memories, ~/.qwen/projects/-code-acme/memory)",
    ]
