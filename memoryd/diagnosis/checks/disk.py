"""Free disk space, and what memoryd takes of it."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.daemon.health import LEAST_FREE_BYTES
from memoryd.diagnosis.problems import Check
from memoryd.formatting import ago, short, size
from memoryd.jobs.upkeep import excess, last_upkeep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.diagnosis.facts import World

LEAST_FREE_FILES = 2_000


class FreeSpace(NamedTuple):
    path: str
    place: str
    """The path itself, or the first folder above it that is there."""
    free_bytes: int
    free_files: int | None
    """None: the file system does not count them."""


class HistorySize(NamedTuple):
    """What is kept of former versions of memories."""

    bytes: int
    excess_bytes: int
    """What the next upkeep lets go."""
    upkept_at: float | None


class DiskFacts(NamedTuple):
    home: str
    now: float
    rooms: tuple[FreeSpace, ...]
    """Of each disk that memoryd writes to, once."""
    state_bytes: int
    """What its own directory holds, one level deep."""
    history: HistorySize | None


def read_disk(world: World) -> DiskFacts:
    paths, history = world.paths, None
    with world.database() as database:
        if database is not None:
            plan, last = excess(database, world.config, world.now), last_upkeep(database)
            history = HistorySize(plan.kept_bytes + plan.bytes, plan.bytes, last.at if last else None)
    rooms: dict[int, FreeSpace] = {}
    for path in (paths.state_dir, world.config.memory_root or paths.transcripts_root):
        place = _nearest(path)
        disk = os.statvfs(place)
        room = FreeSpace(path, place, disk.f_bavail * disk.f_frsize, disk.f_favail if disk.f_files else None)
        rooms.setdefault(os.stat(place).st_dev, room)
    return DiskFacts(paths.home, world.now, tuple(rooms.values()), _size_of(paths.state_dir), history)


def _nearest(path: str) -> str:
    while not os.path.exists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path


def _size_of(directory: str) -> int:
    with suppress(OSError), os.scandir(directory) as entries:
        return sum(entry.stat(follow_symlinks=False).st_size for entry in entries if entry.is_file())
    return 0


def judge_disk(facts: DiskFacts) -> Iterator[Check]:
    for room in facts.rooms:
        name, quoted = short(room.path, facts.home), shlex.quote(room.place)
        if room.free_bytes < LEAST_FREE_BYTES:
            text = f"the disk is nearly full: {size(room.free_bytes)} are left for {name}"
            yield Check("space", "problem", text, f"df -h {quoted}")
        elif room.free_files is not None and room.free_files < LEAST_FREE_FILES:
            text = f"the disk has room for only {room.free_files:,} more files in {name}"
            yield Check("space", "problem", text, f"df -i {quoted}")
        else:
            yield Check("space", "ok", f"{size(room.free_bytes)} are free for {name}")
    if facts.history is not None:
        history = facts.history
        text = f"memoryd takes {size(facts.state_bytes)}, {size(history.bytes)} of it to undo changes"
        text += f"; the next upkeep frees {size(history.excess_bytes)}" if history.excess_bytes else ""
        text += f"; the last upkeep was {ago(facts.now - history.upkept_at)} ago" if history.upkept_at else ""
        yield Check("history", "ok", text)
