"""What doctor says of other agents than Claude Code."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.clients.codex import CodexClient
from memoryd.clients.codex.connection import _hash
from memoryd.clients.connections import note_of, put_in
from memoryd.clients.registry import ALL, CONNECTED
from memoryd.config import Config
from memoryd.diagnosis.checks.other_clients import judge_other_clients, read_other_clients
from memoryd.diagnosis.checks.other_tools import judge_other_tools, read_other_tools
from memoryd.diagnosis.facts import World
from memoryd.jobs.ingest import Ingester
from memoryd.projects import Project
from memoryd.state import projects
from tests.clients.databases import GooseDatabase, OpencodeDatabase
from tests.clients.homes import Codex, GeminiCli
from tests.clients.other_homes import make_repository

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database


LABELS = ("user_prompt_submit", "session_start", "pre_tool_use", "stop", "pre_compact", "session_end")


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
        ("hooks", "note", "Codex gets no memories: memoryd is not in its settings"),
        ("unknown_lines", "note", "Codex: 3 lines of a kind that this memoryd does not know"),
        ("transcripts", "ok", "Gemini CLI: 1 session"),
        ("hooks", "note", "Gemini CLI gets no memories: memoryd is not in its settings"),
    ]
    assert "deletes some at its next start" in checks[3].text


def test_sessions_that_codex_has_compressed_are_counted(paths: Paths) -> None:
    codex = Codex()
    path = codex.write(Path(paths.home), codex.head())
    path.with_name(path.name.replace("2026", "2025") + ".zst").write_bytes(b"(\xb5/\xfd")
    checks = judge_other_clients(read_other_clients(World(paths, Config(), 1.0)))
    told = [check.text for check in checks if check.name == "transcripts"]
    assert [text.partition(",")[0] for text in told] == ["Codex: 1 session", "Codex has compressed 1 old session"]


def test_a_database_of_a_newer_client_is_named_and_the_rest_of_it_counts(paths: Paths) -> None:
    opencode = OpencodeDatabase(Path(paths.home))
    opencode.session()
    opencode.writer.execute("INSERT INTO session_message VALUES ('m', 's', 'user', '{}')")
    goose = GooseDatabase(Path(paths.home))
    goose.writer.execute("ALTER TABLE sessions RENAME COLUMN working_dir TO place")
    checks = list(judge_other_clients(read_other_clients(World(paths, Config(), time.time()))))
    told = "has tables that this memoryd does not know"
    assert [(check.verdict, check.text.partition(";")[0].partition(", the newest")[0]) for check in checks] == [
        ("ok", "opencode: 1 session"),
        ("note", "opencode gets no memories: memoryd is not in its settings"),
        ("note", f"opencode: ~/.local/share/opencode/opencode.db {told}"),
        ("ok", "goose: 0 sessions"),
        ("note", f"goose: ~/.local/share/goose/sessions/sessions.db {told}"),
    ]
    opencode.close()
    goose.close()


def test_aider_is_found_in_the_projects_that_are_known(paths: Paths, database: Database) -> None:
    root = Path(paths.home, "acme")
    make_repository(root)
    with database.transaction():
        projects.project_id_of(database, Project(str(root), "acme", f"{root}-memory"), 1.0)
    world = World(paths, Config(), time.time())
    assert [check.name for check in judge_other_clients(read_other_clients(world))] == ["client"]
    (root / ".aider.chat.history.md").write_text("\n# aider chat started at 2026-10-18 09:00:00\n")
    (check,) = judge_other_clients(read_other_clients(world))
    assert check.text.startswith("aider: 1 session")


def test_a_client_with_memories_of_its_own_is_named(paths: Paths) -> None:
    for place in (".gemini/tmp/acme/memory", ".qwen/projects/-code-acme/memory", ".qwen/memories"):
        Path(paths.home, place).mkdir(parents=True)
    facts = read_other_tools(World(paths, Config(), 1.0))
    told = [check.text for check in judge_other_tools(facts) if check.name == "other_tools"]
    assert told == [
        "Gemini CLI was or is used here (~/.gemini/tmp/acme/memory)",
        "Qwen Code was or is used here (~/.qwen/memories, ~/.qwen/projects/-code-acme/memory)",
    ]


def test_hooks_that_codex_does_not_trust_are_a_problem_until_it_does(paths: Paths) -> None:
    """The hashes are those that Codex itself made of such hooks."""
    codex = Codex()
    codex.write(Path(paths.home), codex.head())
    client = CONNECTED[0]
    for piece in client.pieces(paths, sys.executable):
        put_in(piece, note_of(client.name, piece, follow=False))

    def verdicts() -> list[tuple[str, str]]:
        checks = judge_other_clients(read_other_clients(World(paths, Config(), 1.0)))
        return [(check.verdict, check.fix) for check in checks if check.name == "hooks"]

    assert verdicts() == [("problem", "codex")]
    hooks, config = (piece.file for piece in client.pieces(paths, sys.executable))
    noted = "".join(
        f'[hooks.state."{hooks}:{label}:0:0"]\ntrusted_hash = "{_hash(event.name, group)}"\n'
        for event, label in zip(CodexClient.events, LABELS, strict=True)
        for group in [CodexClient().hook_group(event, sys.executable)]
    )
    Path(config).write_text(f"{Path(config).read_text()}\n[hooks.state]\n{noted}")
    assert verdicts() == [("ok", "")]
    Path(config).write_text(Path(config).read_text().replace("sha256:", "sha256:0", 1))
    assert verdicts() == [("problem", "codex")]
    group = {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo hi", "timeout": 5}]}
    assert _hash("PreToolUse", group) == "sha256:b98dab5eee824a2bcfee70e81c0883e7226870b4c205cfe7fcd34b86d81322e0"
