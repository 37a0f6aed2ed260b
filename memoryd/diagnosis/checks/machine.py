"""Processes and file systems of this machine. Bounded, and silent about what it may not see."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_PROCESSES = 4000
MOST_DESCRIPTORS = 50_000


class InotifyUse(NamedTuple):
    """Watches and watchers of a process."""

    pid: int
    instances: int
    watches: int


def file_system_of(path: str) -> str:
    """The type of the file system that a path lies on, as the system calls it; empty where it does not say."""
    import psutil  # noqa: PLC0415 - only here

    # Of two on one mount point the later one hides the other.
    mounts = {mount.mountpoint.rstrip("/") + "/": mount.fstype for mount in psutil.disk_partitions(all=True)}
    point = max(filter(f"{os.path.realpath(path)}/".startswith, mounts), key=len, default="")
    return mounts.get(point, "")


def processes() -> Iterator[tuple[int, str]]:
    """Every process by its number and name; what they were started with may hold secrets and is not looked at."""
    import psutil  # noqa: PLC0415

    for number, process in enumerate(psutil.process_iter(["name"])):
        if number >= MOST_PROCESSES:
            return
        yield process.pid, process.info["name"] or ""


def name_of(pid: int) -> str:
    import psutil  # noqa: PLC0415

    try:
        return psutil.Process(pid).name()
    except psutil.Error:
        return ""


def holders_of(path: str) -> list[tuple[int, str]]:
    """The user's processes that have a file open."""
    pids = {pid for pid, _, target in _descriptors() if target == path}
    return [(pid, name_of(pid)) for pid in sorted(pids) if pid != os.getpid()]


def inotify_use() -> list[InotifyUse]:
    """What the user's processes use of inotify."""
    used: dict[int, list[int]] = {}
    for pid, descriptor, target in _descriptors():
        if "inotify" not in target:
            continue
        with suppress(OSError), open(f"/proc/{pid}/fdinfo/{descriptor}", "rb") as file:
            used.setdefault(pid, []).append(sum(line.startswith(b"inotify ") for line in file))
    return [InotifyUse(pid, len(each), sum(each)) for pid, each in used.items()]


def _descriptors() -> Iterator[tuple[int, str, str]]:
    """Process, descriptor and what it leads to, of the user's processes; none on a system without /proc."""
    left = MOST_DESCRIPTORS
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return
    for pid in numbers[:MOST_PROCESSES]:
        try:
            if os.stat(f"/proc/{pid}").st_uid != os.getuid():
                continue
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue  # it ended, or is not ours to look into
        for name in names:
            left -= 1
            if left < 0:
                return
            with suppress(OSError):
                yield pid, name, os.readlink(f"/proc/{pid}/fd/{name}")
