"""File watches: whether transcripts can be listed, and whether the system has enough watches to report their growth."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.diagnosis.checks import machine
from memoryd.diagnosis.problems import Check
from memoryd.formatting import count, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.diagnosis.facts import World

MOST_FOLDERS = 100_000
HEADROOM = 1_000
"""Folders that may come before anybody looks again."""
INSTANCES = 2
"""One for the transcripts, one for the wake file."""


class WatchLimits(NamedTuple):
    """The limits of inotify, by their names in /proc."""

    watches: int
    instances: int


class WatchFacts(NamedTuple):
    home: str
    root: str
    error: str
    """Why it cannot be listed; `missing` where it is not there."""
    folders: int
    """Below it and itself: each needs a watch."""
    limits: WatchLimits | None
    """None on a system that has none."""
    watches_of_others: int
    """Of this user's processes but the daemon: the limit is for all of them."""
    instances_of_others: int


def read_watches(world: World) -> WatchFacts:
    root, running, limits = world.paths.transcripts_root, world.running, _limits()
    error = ""
    try:
        os.scandir(root).close()
    except FileNotFoundError:
        error = "missing"
    except OSError as failure:
        error = failure.strerror or str(failure)
    daemon = running.pid if running else 0
    others = [used for used in machine.inotify_use() if used.pid != daemon] if limits else []
    watches, instances = sum(used.watches for used in others), sum(used.instances for used in others)
    return WatchFacts(world.paths.home, root, error, 0 if error else _folders(root), limits, watches, instances)


def _limits() -> WatchLimits | None:
    numbers = []
    with suppress(OSError, ValueError):
        for name in WatchLimits._fields:
            with open(f"/proc/sys/fs/inotify/max_user_{name}", encoding="ascii") as file:
                numbers.append(int(file.read()))
        return WatchLimits(*numbers)
    return None


def _folders(root: str) -> int:
    """How many folders there are, up to a bound; links are not followed, as no watch does."""
    number, waiting = 0, [root]
    while waiting and number < MOST_FOLDERS:
        number += 1
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return number


def judge_watches(facts: WatchFacts) -> Iterator[Check]:
    name = short(facts.root, facts.home)
    if facts.error == "missing":
        text = f"{name} is not there: Claude Code has not been used here, or keeps its files elsewhere"
        yield Check("transcripts_root", "note", text, "set claude_code.config_dir in the config if they are elsewhere")
    elif facts.error:
        fix = f"ls -ld {shlex.quote(facts.root)}"
        yield Check("transcripts_root", "problem", f"{name} cannot be read: {facts.error}", fix)
    else:
        yield Check("transcripts_root", "ok", f"{name} can be read: {count(facts.folders, 'folder')}")
    if facts.limits is None:
        yield Check("watches", "ok", "this system sets no limit on watches")
        return
    limit, others = facts.limits.watches, facts.watches_of_others
    needed = facts.folders + 1 + HEADROOM + others
    use = f"watches: {facts.folders:,} for the transcripts and {others:,} for other programs of yours, of {limit:,}"
    yield _judge_limit("watches", use, max(524_288, 2 * needed), is_enough=needed <= limit)
    limit, others = facts.limits.instances, facts.instances_of_others
    use = f"watchers: {INSTANCES} for memoryd and {others:,} for other programs of yours, of {limit:,}"
    yield _judge_limit("watch_instances", use, max(1024, 2 * limit), is_enough=INSTANCES + others <= limit)


def _judge_limit(check: Literal["watches", "watch_instances"], use: str, wanted: int, *, is_enough: bool) -> Check:
    if is_enough:
        return Check(check, "ok", use)
    line = f"fs.inotify.max_user_{check.removeprefix('watch_')}={wanted}"
    fix = f"echo {line} | sudo tee -a /etc/sysctl.d/60-memoryd.conf && sudo sysctl {line}"
    return Check(check, "problem", f"too few {use}; without them growth is noticed only every minute", fix)
