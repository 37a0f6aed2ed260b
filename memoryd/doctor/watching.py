"""Whether the transcripts can be seen, and growth be reported by the system."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, NamedTuple

from memoryd.doctor import machine
from memoryd.doctor.check import Check
from memoryd.instance import running_instance
from memoryd.words import count, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.doctor.check import World

MOST_FOLDERS = 100_000
HEADROOM = 1_000
"""Folders that may come before anybody looks again."""
INSTANCES = 2
"""One for the transcripts, one for the wake file."""
_LIMITS = "/proc/sys/fs/inotify"


class Limits(NamedTuple):
    watches: int
    instances: int


class Facts(NamedTuple):
    home: str
    root: str
    error: str
    """Why it cannot be listed; `missing` where it is not there."""
    folders: int
    """Below it and itself: each needs a watch."""
    limits: Limits | None
    """None on a system that has none."""
    watches_of_others: int
    """Of this user's processes but the daemon: the limit is for all of them."""
    instances_of_others: int


def look(world: World) -> Facts:
    root = world.paths.transcripts_root
    error = ""
    try:
        os.scandir(root).close()
    except FileNotFoundError:
        error = "missing"
    except OSError as failure:
        error = failure.strerror or str(failure)
    running = running_instance(world.paths)
    daemon = running.pid if running else 0
    limits = _limits()
    others = [one for one in machine.inotify_use() if one.pid != daemon] if limits else []
    return Facts(
        world.paths.home,
        root,
        error,
        0 if error else _folders(root),
        limits,
        sum(one.watches for one in others),
        sum(one.instances for one in others),
    )


def _limits() -> Limits | None:
    try:
        return Limits(*(_number(os.path.join(_LIMITS, name)) for name in ("max_user_watches", "max_user_instances")))
    except (OSError, ValueError):
        return None


def _number(path: str) -> int:
    with open(path, encoding="ascii") as file:
        return int(file.read())


def _folders(root: str) -> int:
    """How many folders there are, up to a bound; links are not followed, as no watch does."""
    number, waiting = 0, [root]
    while waiting and number < MOST_FOLDERS:
        number += 1
        try:
            with os.scandir(waiting.pop()) as entries:
                waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
    return number


def judge(facts: Facts) -> Iterator[Check]:
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
    yield _judge_watches(facts, facts.limits.watches)
    yield _judge_instances(facts, facts.limits.instances)


def _judge_watches(facts: Facts, limit: int) -> Check:
    needed = facts.folders + 1 + HEADROOM
    told = f"{facts.folders:,} for the transcripts and {facts.watches_of_others:,} for other programs of yours, of {limit:,}"
    if needed + facts.watches_of_others <= limit:
        return Check("watches", "ok", f"watches: {told}")
    wanted = max(524_288, 2 * (needed + facts.watches_of_others))
    text = f"too few watches: {told}; without them growth is noticed only every minute"
    return Check("watches", "problem", text, _sysctl("max_user_watches", wanted))


def _judge_instances(facts: Facts, limit: int) -> Check:
    told = f"{INSTANCES} for memoryd and {facts.instances_of_others:,} for other programs of yours, of {limit:,}"
    if INSTANCES + facts.instances_of_others <= limit:
        return Check("watch_instances", "ok", f"watchers: {told}")
    text = f"too few watchers: {told}; without them growth is noticed only every minute"
    return Check("watch_instances", "problem", text, _sysctl("max_user_instances", max(1024, 2 * limit)))


def _sysctl(name: str, value: int) -> str:
    line = f"fs.inotify.{name}={value}"
    return f"echo {line} | sudo tee -a /etc/sysctl.d/60-memoryd.conf && sudo sysctl {line}"
