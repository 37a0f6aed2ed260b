"""Claude Code: its version, whether its transcripts are understood, when it deletes them, and memoryd's hooks in it."""

from __future__ import annotations

import heapq
import json
import os
import re
import shlex
import shutil
import sys
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.claude_code import ClaudeCodeClient, settings_file
from memoryd.clients.claude_code.plugin import hook_states
from memoryd.clients.claude_code.settings import read_settings
from memoryd.clients.registry import all_sessions
from memoryd.clients.settings import Switch
from memoryd.diagnosis.problems import Check
from memoryd.errors import ClientError
from memoryd.formatting import ago, count, short
from memoryd.state import queries
from memoryd.state.queries import UnreadTurns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.clients.settings import HooksState
    from memoryd.diagnosis.facts import World
    from memoryd.diagnosis.problems import Verdict

NEWEST = 5
"""How many transcripts are opened for the version."""
TAIL_BYTES = 256 << 10
SOON_DAYS = 3.0
_DAY_SECONDS = 86_400.0


class ClientFacts(NamedTuple):
    now: float
    home: str
    binary: str
    version: str
    transcripts: int
    newest_at: float | None
    unknown_lines: int
    writes_transcripts: Switch
    cleanup_days: float
    cleanup_by: str
    waiting: UnreadTurns = UnreadTurns()
    history: UnreadTurns = UnreadTurns()
    deleted_turns: int = 0
    is_running: bool = False
    broken_settings: tuple[str, ...] = ()


def read_client(world: World) -> ClientFacts:
    settings = read_settings(world.paths, world.environment)
    found = [found for client, found in all_sessions(world.paths) if client.name == ClaudeCodeClient.name]
    newest = heapq.nlargest(NEWEST, found, key=lambda transcript: transcript.mtime_ns)
    facts = ClientFacts(
        world.now,
        world.paths.home,
        shutil.which("claude", path=world.environment.get("PATH")) or "",
        next(filter(None, (_version_in(transcript.path) for transcript in newest)), ""),
        len(found),
        newest[0].mtime_ns / 1e9 if newest else None,
        0,
        settings.writes_transcripts,
        settings.cleanup_days,
        settings.cleanup_by,
        is_running=world.running is not None,
        broken_settings=settings.broken,
    )
    with world.database() as database:
        if database is None:
            return facts
        return facts._replace(
            unknown_lines=sum(
                damage.lines.get("unknown_shape", 0)
                for damage in queries.damaged(database)
                if damage.client == ClaudeCodeClient.name
            ),
            waiting=queries.unworked(database, history=False),
            history=queries.unworked(database, history=True),
            deleted_turns=queries.deleted_unworked(database),
        )


def _version_in(path: str) -> str:
    """The client's version in the last entry of a transcript that names one."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).splitlines()
    except OSError:
        return ""
    for line in reversed(lines):
        if b'"version"' not in line:
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        version = entry.get("version") if isinstance(entry, dict) else None
        if isinstance(version, str) and re.fullmatch(r"\d[\w.+-]{0,40}", version):
            return version
    return ""


def judge_client(facts: ClientFacts) -> Iterator[Check]:
    version = f"Claude Code {facts.version}" if facts.version else "Claude Code"
    where = f" ({short(facts.binary, facts.home)})" if facts.binary else ""
    if facts.version or facts.binary:
        yield Check("client", "ok", f"{version}{where}")
    else:
        yield Check("client", "note", "Claude Code is not in your PATH, and there are no transcripts of it")
    yield _judge_transcripts(facts)
    if facts.unknown_lines:
        text = f"{count(facts.unknown_lines, 'line')} of transcripts have a shape that this memoryd does not know"
        yield Check("unknown_lines", "note", f"{text}: {version} may be newer", "pip install --upgrade memoryd")
    yield from _judge_deletion(facts)
    for path in facts.broken_settings:
        text = f"{short(path, facts.home)} is not JSON: Claude Code does not use it either"
        yield Check("client_settings", "note", text, f"python3 -m json.tool {shlex.quote(path)}")


def _judge_transcripts(facts: ClientFacts) -> Check:
    if facts.writes_transcripts.is_on is False:
        text = f"Claude Code writes no transcripts ({facts.writes_transcripts.by}): there is nothing to remember"
        key, _, place = facts.writes_transcripts.by.partition(" in ")
        fix = f"${{EDITOR:-vi}} {shlex.quote(place)}" if os.path.isabs(place) else f"unset {key}"
        return Check("transcripts", "problem", text, fix)
    if facts.newest_at is None:
        return Check("transcripts", "note", "no transcript yet: talk to Claude Code, and run memoryd doctor again")
    age = ago(facts.now - facts.newest_at)
    return Check("transcripts", "ok", f"{count(facts.transcripts, 'transcript')}, the newest {age} old")


def _judge_deletion(facts: ClientFacts) -> Iterator[Check]:
    """Claude Code deletes by the time of the last write; what nobody has read by then is gone."""
    period = f"Claude Code deletes transcripts after {facts.cleanup_days:g} days"
    period += f" (cleanupPeriodDays in {short(facts.cleanup_by, facts.home)})" if facts.cleanup_by else ""
    waiting, history = _days_left(facts, facts.waiting), _days_left(facts, facts.history)
    if waiting is not None and waiting < SOON_DAYS and not facts.is_running:
        text = f"{period}; not read yet: {count(facts.waiting.turns, 'turn')}, the first {_left(waiting)}"
        yield Check("deletion", "problem", text, "memoryd extract-now")
    elif history is not None and history < SOON_DAYS:
        text = f"{period}; history not read: {count(facts.history.turns, 'turn')}, the first {_left(history)}"
        yield Check("deletion", "note", text, "memoryd backfill")
    else:
        yield Check("deletion", "ok", f"{period}; nothing unread is near that")
    if facts.deleted_turns:
        yield Check("deletion", "note", f"deleted before they were read: {count(facts.deleted_turns, 'turn')}")


def _days_left(facts: ClientFacts, unworked: UnreadTurns) -> float | None:
    if unworked.oldest_at is None:
        return None
    return facts.cleanup_days - (facts.now - unworked.oldest_at) / _DAY_SECONDS


def _left(days: float) -> str:
    return f"goes in {ago(days * _DAY_SECONDS)}" if days > 0 else "may go at any moment"


class HookFacts(NamedTuple):
    home: str
    found: Sequence[HooksState]
    off: Switch = Switch(None)
    """What keeps the client from running the user's hooks."""
    old: Sequence[str] = ()
    """Events for which the settings still have a hook of an older memoryd."""
    error: ClientError | None = None
    """Why nobody can say whether they do."""


def read_hooks(world: World) -> HookFacts:
    home, off = world.paths.home, read_settings(world.paths, world.environment).hooks_off
    facts = HookFacts(home, hook_states(world.paths, world.environment, sys.executable), off)
    try:
        return facts._replace(old=settings_file.old_hooks(world.paths))
    except ClientError as error:
        return facts._replace(error=error)


def judge_hooks(facts: HookFacts) -> Iterator[Check]:
    verdict, text = _hooks_verdict(facts)
    yield Check("hooks", verdict, text, "" if verdict == "ok" else "memoryd setup")
    if facts.error is not None:
        yield Check("hooks", "note", facts.error.sentence, facts.error.fix)
    if facts.old:
        text = f"an older memoryd's hooks are still in the settings of Claude Code: {', '.join(facts.old)}"
        yield Check("hooks", "problem", text, "memoryd setup")
    if facts.off.is_on and any(hook.state != "missing" for hook in facts.found):
        key, _, place = facts.off.by.partition(" in ")
        yield Check("hooks", "note", f"Claude Code does not run them: {key} in {short(place, facts.home)}")


def _hooks_verdict(facts: HookFacts) -> tuple[Verdict, str]:
    present = [hook for hook in facts.found if hook.state != "missing"]
    if not present:
        return "note", "no hooks in Claude Code: a prompt gets nothing of what is remembered"
    if gone := [hook.python for hook in present if not hook.python_exists]:
        return "problem", f"the hooks in Claude Code do nothing: {short(gone[0], facts.home) or 'their Python'} is gone"
    if any(hook.state == "outdated" for hook in present):
        return "problem", "the hooks in Claude Code are of another Python or an older memoryd than this one"
    if missing := [hook.event for hook in facts.found if hook.state == "missing"]:
        return "note", f"not all hooks are in Claude Code, missing: {', '.join(missing)}"
    return "ok", "Claude Code has the hooks of this memoryd"
