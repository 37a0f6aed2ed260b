"""Whether the clock can be believed: nothing that is recorded can lie ahead of now."""

from __future__ import annotations

import heapq
import sys
from typing import TYPE_CHECKING, NamedTuple

from memoryd.doctor.check import Check, readable_database
from memoryd.state import health
from memoryd.transcripts.claude_code import is_session
from memoryd.transcripts.scan import inventory
from memoryd.words import ago, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.doctor.check import World

SLACK_SECONDS = 300.0
EARLIEST = 1_767_225_600.0
"""The first day of 2026: memoryd is younger."""


class Facts(NamedTuple):
    now: float
    recorded: tuple[tuple[str, float], ...]
    """What was recorded or written last, and when."""
    platform: str


def look(world: World) -> Facts:
    with readable_database(world.paths) as database:
        recorded = health.newest_times(database) if database else []
    found = inventory(world.paths.transcripts_root, is_session).found
    for one in heapq.nlargest(1, found, key=lambda each: each.mtime_ns):
        recorded.append((f"transcript ({short(one.path, world.paths.home)})", one.mtime_ns / 1e9))
    return Facts(world.now, tuple(recorded), sys.platform)


def judge(facts: Facts) -> Iterator[Check]:
    is_mac = facts.platform == "darwin"
    fix = "sudo sntp -sS time.apple.com" if is_mac else "timedatectl set-ntp true"
    ahead = [(what, at) for what, at in facts.recorded if at > facts.now + SLACK_SECONDS]
    if facts.now < EARLIEST:
        yield Check("clock", "problem", "the clock is years behind: it stands before memoryd was made", fix)
    elif ahead:
        what, at = max(ahead, key=lambda one: one[1])
        text = f"the clock is wrong, or was: the last {what} is {ago(at - facts.now)} ahead of it"
        yield Check("clock", "problem", text, fix)
    else:
        yield Check("clock", "ok", "nothing that is recorded lies in the future")
