"""What Claude Code is doing: its version, whether its transcripts come and are understood, when it deletes them."""

from __future__ import annotations

import heapq
import json
import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients import claude_code_settings
from memoryd.doctor.check import Check, readable_database
from memoryd.instance import running_instance
from memoryd.state import health, report
from memoryd.state.health import Unworked
from memoryd.transcripts.claude_code import is_session
from memoryd.transcripts.scan import inventory
from memoryd.words import ago, count, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.clients.claude_code_settings import Switch
    from memoryd.doctor.check import World

NEWEST = 5
"""So many transcripts are opened for the version."""
TAIL_BYTES = 256 << 10
SOON_DAYS = 3.0
_DAY_SECONDS = 86_400.0


class Facts(NamedTuple):
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
    waiting: Unworked = Unworked()
    history: Unworked = Unworked()
    deleted_turns: int = 0
    is_running: bool = False
    broken_settings: tuple[str, ...] = ()


def look(world: World) -> Facts:
    settings = claude_code_settings.read(world.paths, world.environment)
    found = inventory(world.paths.transcripts_root, is_session).found
    newest = heapq.nlargest(NEWEST, found, key=lambda one: one.mtime_ns)
    facts = Facts(
        world.now,
        world.paths.home,
        shutil.which("claude", path=world.environment.get("PATH")) or "",
        next((version for one in newest if (version := _version_in(one.path))), ""),
        len(found),
        newest[0].mtime_ns / 1e9 if newest else None,
        0,
        settings.writes_transcripts,
        settings.cleanup_days,
        settings.cleanup_by,
        is_running=running_instance(world.paths) is not None,
        broken_settings=settings.broken,
    )
    with readable_database(world.paths) as database:
        if database is None:
            return facts
        return facts._replace(
            unknown_lines=sum(one.lines.get("unknown_shape", 0) for one in report.damaged(database)),
            waiting=health.unworked(database, history=False),
            history=health.unworked(database, history=True),
            deleted_turns=health.deleted_unworked(database),
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


def judge(facts: Facts) -> Iterator[Check]:
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


def _judge_transcripts(facts: Facts) -> Check:
    if facts.writes_transcripts.is_on is False:
        text = f"Claude Code writes no transcripts ({facts.writes_transcripts.by}): there is nothing to remember"
        key, _, place = facts.writes_transcripts.by.partition(" in ")
        fix = f"${{EDITOR:-vi}} {shlex.quote(place)}" if os.path.isabs(place) else f"unset {key}"
        return Check("transcripts", "problem", text, fix)
    if facts.newest_at is None:
        return Check("transcripts", "note", "no transcript yet: talk to Claude Code, and run memoryd doctor again")
    age = ago(facts.now - facts.newest_at)
    return Check("transcripts", "ok", f"{count(facts.transcripts, 'transcript')}, the newest {age} old")


def _judge_deletion(facts: Facts) -> Iterator[Check]:
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


def _days_left(facts: Facts, unworked: Unworked) -> float | None:
    if unworked.oldest_at is None:
        return None
    return facts.cleanup_days - (facts.now - unworked.oldest_at) / _DAY_SECONDS


def _left(days: float) -> str:
    return f"goes in {ago(days * _DAY_SECONDS)}" if days > 0 else "may go at any moment"
