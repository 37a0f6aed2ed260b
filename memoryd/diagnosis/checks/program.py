"""Program and machine: versions, libraries, a file system on which SQLite can work, and the clock."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from importlib import metadata
from typing import TYPE_CHECKING, NamedTuple

from memoryd import __version__
from memoryd.clients.registry import all_sessions
from memoryd.diagnosis.checks import machine
from memoryd.diagnosis.problems import Check
from memoryd.formatting import ago, short
from memoryd.state import queries
from memoryd.state.database import SQLITE_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.diagnosis.facts import World

LEAST_SQLITE = (3, 37)
"""The first with STRICT tables."""
SYSTEMS = ("linux", "darwin")
SHARED_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afpfs", "webdav", "9p", "afs", "ceph", "glusterfs", "lustre"}
    | {"beegfs", "gpfs", "ocfs2", "gfs2", "vboxsf", "prl_fs", "fuse.sshfs", "fuse.glusterfs", "fuse.rclone"}
    | {"fuse.s3fs", "fuse.davfs2", "fuse.vmhgfs-fuse"}
)
"""Where the memory that SQLite's log needs is not shared, or locks do not hold."""
CLOCK_SLACK_SECONDS = 300.0
EARLIEST = 1_767_225_600.0
"""The first day of 2026: memoryd is younger."""
_UPGRADE = "pip install --upgrade memoryd"


class Library(NamedTuple):
    name: str
    required: str
    """`<3,>=2`."""
    installed: str | None


class ProgramFacts(NamedTuple):
    version: str
    python: str
    system: str
    """`Linux 6.1.0 x86_64`."""
    platform: str
    sqlite: str
    libraries: tuple[Library, ...] | None
    """None: memoryd was not installed, so nothing says what it needs."""
    state_dir: str
    file_system: str
    home: str


def read_program(world: World) -> ProgramFacts:
    try:
        libraries = tuple(_libraries(metadata.requires("memoryd") or []))
    except metadata.PackageNotFoundError:
        libraries = None
    system = platform.uname()
    return ProgramFacts(
        __version__,
        platform.python_version(),
        f"{system.system} {system.release} {system.machine}",
        sys.platform,
        SQLITE_VERSION,
        libraries,
        world.paths.state_dir,
        machine.file_system_of(world.paths.state_dir),
        world.paths.home,
    )


def _libraries(requirements: list[str]) -> Iterator[Library]:
    for requirement in requirements:
        needed, _, marker = requirement.partition(";")
        if "extra" in marker:
            continue
        name, required = re.findall(r"^\s*([\w.-]+)\s*(.*?)\s*$", needed)[0]
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed = None
        yield Library(name, required.strip("()"), installed)


def judge_program(facts: ProgramFacts) -> Iterator[Check]:
    who = f"memoryd {facts.version}, Python {facts.python}, {facts.system}"
    if facts.platform in SYSTEMS:
        yield Check("program", "ok", who)
    else:
        yield Check("program", "note", f"{who}: nobody has tried memoryd on this system")
    if _numbers(facts.sqlite) >= LEAST_SQLITE:
        yield Check("sqlite", "ok", f"SQLite {facts.sqlite}")
    else:
        least = ".".join(map(str, LEAST_SQLITE))
        text = f"Python comes with SQLite {facts.sqlite}; memoryd needs {least} or later"
        fix = "install a Python that is built with a newer SQLite, for example: uv python install"
        yield Check("sqlite", "problem", text, fix)
    yield from _judge_libraries(facts.libraries)
    yield from _judge_file_system(facts)


def _judge_libraries(libraries: tuple[Library, ...] | None) -> Iterator[Check]:
    if libraries is None:
        yield Check("libraries", "note", "memoryd runs from its source, so nobody knows what libraries it needs")
        return
    bad = [library for library in libraries if not _fits(library.installed, library.required)]
    for name, required, installed in bad:
        has = "is missing" if installed is None else f"is {installed}"
        yield Check("libraries", "problem", f"{name} {has}; memoryd needs {name}{required}", _UPGRADE)
    if not bad:
        versions = ", ".join(f"{library.name} {library.installed}" for library in libraries)
        yield Check("libraries", "ok", f"libraries: {versions}")


def _fits(installed: str | None, required: str) -> bool:
    """Whether a version lies in its bounds, by their numbers; of the two kinds that pyproject.toml uses."""
    if installed is None:
        return False
    has = _numbers(installed)
    for sign, bound in re.findall(r"(>=|<)\s*([\d.]+)", required):
        wanted = _numbers(bound)
        width = max(len(has), len(wanted))
        mine, other = (numbers + (0,) * (width - len(numbers)) for numbers in (has, wanted))
        if (mine < other) if sign == ">=" else (mine >= other):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    """`3.11.7rc1` as (3, 11, 7)."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def _judge_file_system(facts: ProgramFacts) -> Iterator[Check]:
    kind, place = facts.file_system, short(facts.state_dir, facts.home)
    move = f"export XDG_STATE_HOME=/a/local/disk, and move {shlex.quote(os.path.basename(facts.state_dir))} there"
    if kind in SHARED_FILE_SYSTEMS:
        yield Check("file_system", "problem", f"{place} is on {kind}, where SQLite cannot work reliably", move)
    elif kind.startswith("fuse."):
        yield Check("file_system", "note", f"{place} is on {kind}; if it is not a local disk, SQLite is not safe there")
    else:
        yield Check("file_system", "ok", f"{place} is on a local file system" + (f" ({kind})" if kind else ""))


class ClockFacts(NamedTuple):
    now: float
    recorded: tuple[tuple[str, float], ...]
    """What was recorded or written last, and when."""
    platform: str


def read_clock(world: World) -> ClockFacts:
    with world.database() as database:
        recorded = queries.newest_times(database) if database else []
    found = [found for _, found in all_sessions(world.paths)]
    if found:
        newest = max(found, key=lambda transcript: transcript.mtime_ns)
        recorded.append((f"transcript ({short(newest.path, world.paths.home)})", newest.mtime_ns / 1e9))
    return ClockFacts(world.now, tuple(recorded), sys.platform)


def judge_clock(facts: ClockFacts) -> Iterator[Check]:
    fix = "sudo sntp -sS time.apple.com" if facts.platform == "darwin" else "timedatectl set-ntp true"
    ahead = [(what, at) for what, at in facts.recorded if at > facts.now + CLOCK_SLACK_SECONDS]
    if facts.now < EARLIEST:
        yield Check("clock", "problem", "the clock is years behind: it stands before memoryd was made", fix)
    elif ahead:
        what, at = max(ahead, key=lambda record: record[1])
        text = f"the clock is wrong, or was: the last {what} is {ago(at - facts.now)} ahead of it"
        yield Check("clock", "problem", text, fix)
    else:
        yield Check("clock", "ok", "nothing that is recorded lies in the future")
