"""Claude Code and its hooks, as doctor sees them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clients.registry import ALL
from memoryd.clients.settings import HooksState, Switch
from memoryd.config import Config
from memoryd.diagnosis.checks import client
from memoryd.diagnosis.problems import Check
from memoryd.jobs.ingest import Ingester
from memoryd.state.queries import UnreadTurns
from tests.clients import old_hooks
from tests.diagnosis.checks.checking import DAY, NOW, the
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.clients.settings import State as HookState
    from memoryd.diagnosis.facts import World
    from memoryd.paths import Paths
    from memoryd.state.database import Database


def test_the_version_comes_from_the_newest_transcript(world: World, paths: Paths) -> None:
    for name, version, age in (("old", "2.1.1", 90), ("new", "2.1.325", 60)):
        session = Session(name)
        data = session.prompt(version=version) + b'{"version": 3}\nno json "version"\n'
        os.utime(write(paths.transcripts_root, session, data), (NOW - age, NOW - age))
    facts = client.read_client(world)
    assert (facts.version, facts.transcripts, facts.newest_at) == ("2.1.325", 2, NOW - 60)
    assert the("transcripts", client.judge_client(facts)).text == "2 transcripts, the newest 60 s old"


def seen(**more: Any) -> client.ClientFacts:
    return client.ClientFacts(NOW, "/home/me", "/bin/claude", "2.1", 9, NOW - 60, 0, Switch(True), 30.0, "")._replace(
        **more
    )


@pytest.mark.parametrize(
    ("facts", "verdict", "fix"),
    [
        (seen(), "ok", ""),
        (seen(waiting=UnreadTurns(3, NOW - 20 * DAY)), "ok", ""),
        (seen(waiting=UnreadTurns(3, NOW - 28 * DAY)), "problem", "memoryd extract-now"),
        (seen(waiting=UnreadTurns(3, NOW - 28 * DAY), is_running=True), "ok", ""),
        (seen(history=UnreadTurns(3, NOW - 31 * DAY)), "note", "memoryd backfill"),
        (seen(history=UnreadTurns(3, NOW - 5 * DAY), cleanup_days=7.0), "note", "memoryd backfill"),
    ],
)
def test_transcripts_that_are_about_to_be_deleted(facts: client.ClientFacts, verdict: str, fix: str) -> None:
    check = the("deletion", client.judge_client(facts))
    assert (check.verdict, check.fix) == (verdict, fix)


def test_turns_that_wait_are_found_in_the_database(world: World, paths: Paths, database: Database) -> None:
    path = write(paths.transcripts_root, session := Session(), session.turn())
    os.utime(path, (NOW - 28 * DAY, NOW - 28 * DAY))
    Ingester(ALL, database, paths, Config()).ingest(NOW)
    facts = client.read_client(world)
    assert (facts.waiting, facts.history) == (UnreadTurns(), UnreadTurns(1, NOW - 28 * DAY))
    path.unlink()
    Ingester(ALL, database, paths, Config()).ingest(NOW + 1)
    assert (client.read_client(world).history, client.read_client(world).deleted_turns) == (UnreadTurns(), 1)


def test_a_client_that_writes_no_transcripts_or_newer_ones() -> None:
    off = Switch(False, "CLAUDE_CODE_SKIP_PROMPT_HISTORY in the environment")
    check = the("transcripts", client.judge_client(seen(writes_transcripts=off)))
    assert (check.verdict, check.fix) == ("problem", "unset CLAUDE_CODE_SKIP_PROMPT_HISTORY")
    in_file = Switch(False, "CLAUDE_CODE_SKIP_PROMPT_HISTORY in /home/me/s.json")
    assert (
        the("transcripts", client.judge_client(seen(writes_transcripts=in_file))).fix == "${EDITOR:-vi} /home/me/s.json"
    )
    assert the("unknown_lines", client.judge_client(seen(unknown_lines=4))).verdict == "note"


def hooked(*states: HookState, python_exists: bool = True) -> client.HookFacts:
    command = "/home/me/p -P -m memoryd hook stop || true"
    return client.HookFacts(
        "/home/me", [HooksState("Stop", state, command, "/home/me/p", python_exists) for state in states]
    )


@pytest.mark.parametrize(
    ("facts", "verdict", "words"),
    [
        (hooked("installed"), "ok", "has the hooks of this memoryd"),
        (hooked("missing"), "note", "no hooks in Claude Code"),
        (hooked("installed", "missing"), "note", "missing: Stop"),
        (hooked("installed", "outdated"), "problem", "another Python"),
        (hooked("outdated", python_exists=False), "problem", "~/p is gone"),
        (hooked("installed", "missing", python_exists=False), "problem", "~/p is gone"),
    ],
)
def test_hooks_in_the_client(facts: client.HookFacts, verdict: str, words: str) -> None:
    check = the("hooks", client.judge_hooks(facts))
    assert (check.verdict, words in check.text) == (verdict, True)
    assert check.fix == ("" if verdict == "ok" else "memoryd setup")


def test_hooks_that_will_not_run_and_settings_that_cannot_be_read_are_notes(world: World, paths: Paths) -> None:
    off = Switch(True, "disableAllHooks in /home/me/s.json")
    _, note = client.judge_hooks(hooked("installed")._replace(off=off))
    assert note == Check("hooks", "note", "Claude Code does not run them: disableAllHooks in ~/s.json")
    Path(paths.claude_dir).mkdir()
    Path(paths.claude_settings).write_text("{")
    _, check = client.judge_hooks(client.read_hooks(world))
    assert (check.verdict, check.fix) == ("note", f"${{EDITOR:-vi}} {paths.claude_settings}")
    old_hooks.install(paths._replace(claude_dir=f"{paths.home}/work"), "/old/python")
    elsewhere = world._replace(paths=paths._replace(claude_dir=f"{paths.home}/work"))
    _, check = client.judge_hooks(client.read_hooks(elsewhere))
    assert (check.verdict, check.fix) == ("problem", "memoryd setup")
