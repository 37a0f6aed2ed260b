"""Config and files of memoryd: what is switched off, and who owns, reads and writes what it keeps."""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.config.schema import Features
from memoryd.diagnosis.facts import read_config_error
from memoryd.diagnosis.problems import Check
from memoryd.formatting import short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.diagnosis.facts import World
    from memoryd.diagnosis.problems import Name
    from memoryd.errors import ConfigError

MOST_DIRECTORIES = 50
"""How many memory directories are looked at, the most recently used ones."""

Kind = Literal["missing", "file", "directory", "symlink", "other"]
_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}


class ConfigFacts(NamedTuple):
    path: str
    home: str
    exists: bool
    error: ConfigError | None = None
    off: tuple[str, ...] = ()
    off_by_environment: tuple[str, ...] = ()


def read_config(world: World) -> ConfigFacts:
    paths = world.paths
    usual = Features()._asdict()
    off = tuple(name for name, is_on in world.config.features._asdict().items() if usual[name] and not is_on)
    by_environment = tuple(name for name in off if name in paths.switched_off)
    exists = os.path.lexists(paths.config_file)
    return ConfigFacts(paths.config_file, paths.home, exists, read_config_error(paths), off, by_environment)


def judge_config(facts: ConfigFacts) -> Iterator[Check]:
    name = short(facts.path, facts.home)
    if facts.error is not None:
        text = f"{facts.error.sentence} Meanwhile the settings from before hold, or the defaults"
        yield Check("config", "problem", text, facts.error.fix)
    elif facts.exists:
        yield Check("config", "ok", f"{name} can be used")
    else:
        yield Check("config", "ok", f"there is no {name}; the defaults hold")
    for feature in facts.off:
        if feature in facts.off_by_environment:
            text, fix = f"{feature} is switched off in the environment", f"unset MEMORYD_DISABLE_{feature.upper()}"
        else:
            text, fix = f"{feature} is switched off", f"set features.{feature} = true in {name}"
        yield Check("switches", "note", text, fix)


class CheckedPath(NamedTuple):
    """Something on the disk, without following a link in its place."""

    path: str
    kind: Kind = "missing"
    mode: int = 0
    owner: int = 0
    is_usable: bool = True
    """It can be read and written, and a directory entered."""
    error: str = ""
    """Why it cannot even be looked at."""


class FileFacts(NamedTuple):
    home: str
    user: int
    home_owner: int
    config: CheckedPath
    state: CheckedPath
    """The directory."""
    private: tuple[CheckedPath, ...]
    """The files in it."""
    memory: tuple[CheckedPath, ...]
    memory_left_out: int = 0
    unreadable: tuple[str, ...] = ()
    """Memories that are there and cannot be read."""


def read_files(world: World) -> FileFacts:
    paths, memory = world.paths, world.memory_dirs()
    memory = [place for place in dict.fromkeys((paths.global_dir, *memory)) if place]
    files = (paths.database, f"{paths.database}-wal", f"{paths.database}-shm", paths.log_file, paths.daemon_lock)
    return FileFacts(
        paths.home,
        os.getuid(),
        os.stat(paths.home).st_uid,
        _read_path(paths.config_file, follow=True),
        _read_path(paths.state_dir),
        tuple(map(_read_path, files)),
        tuple(map(_read_memory_dir, memory[:MOST_DIRECTORIES])),
        max(0, len(memory) - MOST_DIRECTORIES),
        tuple(path for folder in memory[:MOST_DIRECTORIES] for path in _unreadable_in(folder)),
    )


def _unreadable_in(folder: str) -> list[str]:
    """Memories of a directory that cannot be read; links are not followed. Empty where the directory itself cannot be."""
    try:
        with os.scandir(folder) as entries:
            files = [
                entry.path for entry in entries if entry.name.endswith(".md") and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []
    return sorted(path for path in files if not os.access(path, os.R_OK, effective_ids=True))


def _read_memory_dir(path: str) -> CheckedPath:
    """It may be a link to a directory; one that leads nowhere is in its place."""
    found = _read_path(path, follow=True)
    is_dangling = found.kind == "missing" and os.path.islink(path)
    return found._replace(kind="symlink") if is_dangling else found


def _read_path(path: str, *, follow: bool = False) -> CheckedPath:
    try:
        status = os.stat(path, follow_symlinks=follow)
    except (FileNotFoundError, NotADirectoryError):
        return CheckedPath(path)
    except OSError as error:
        return CheckedPath(path, error=error.strerror or str(error))
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
    wanted = os.R_OK | os.W_OK | (os.X_OK if kind == "directory" else 0)
    return CheckedPath(path, kind, stat.S_IMODE(status.st_mode), status.st_uid, os.access(path, wanted))


def judge_files(facts: FileFacts) -> Iterator[Check]:
    if facts.user == 0 and facts.home_owner != 0:
        text = f"You are root in the home of another user ({facts.home}): what memoryd makes now that user cannot use"
        yield Check("owner", "problem", text, "run memoryd without sudo")
    yield from _judge_config_file(facts)
    yield from _judge_state(facts)
    yield from _judge_memory(facts)


def _judge_config_file(facts: FileFacts) -> Iterator[Check]:
    place, name = facts.config, short(facts.config.path, facts.home)
    if place.error or place.kind == "missing":
        return  # whether it can be read is told by who reads it
    if place.owner not in (facts.user, 0):
        yield _foreign("config_file", place, facts)
    elif place.mode & 0o022:
        text = f"{name} can be written by others, who could have memoryd run commands"
        yield Check("config_file", "problem", text, f"chmod go-w {shlex.quote(place.path)}")
    else:
        yield Check("config_file", "ok", f"{name} can be written by you alone")


def _judge_state(facts: FileFacts) -> Iterator[Check]:
    state, name = facts.state, short(facts.state.path, facts.home)
    if state.kind == "missing" and not state.error:
        yield Check("state_files", "ok", f"{name} is made at the first start")
        return
    bad = list(_judge_private(state, "directory", facts))
    hidden = [place for place in facts.private if bad and place.error]  # by what is wrong with the directory
    for place in facts.private:
        if place not in hidden:
            bad += _judge_private(place, "file", facts)
    yield from bad or [Check("state_files", "ok", f"{name} and what is in it can be read by you alone")]


def _judge_private(place: CheckedPath, kind: Kind, facts: FileFacts) -> Iterator[Check]:
    """A directory or file that nobody but the user may read or write."""
    name, quoted = short(place.path, facts.home), shlex.quote(place.path)
    if place.kind not in ("missing", kind):
        what = "a symlink" if place.kind == "symlink" else f"no {'regular ' if kind == 'file' else ''}{kind}"
        yield Check("state_files", "problem", f"{name} is {what}, and is not used", f"mv {quoted} {quoted}.aside")
    elif place.owner == facts.user and place.mode & 0o077:
        text, mode = f"{name} is open to others ({place.mode:04o})", 700 if kind == "directory" else 600
        yield Check("state_files", "problem", text, f"chmod {mode} {quoted}")
    else:
        yield from _judge_access("state_files", place, facts)


def _judge_memory(facts: FileFacts) -> Iterator[Check]:
    bad = [check for place in facts.memory for check in _judge_memory_dir(place, facts)]
    bad += [
        Check(
            "memory_dirs",
            "problem",
            f"{short(path, facts.home)} cannot be read, so nobody is told what it says",
            f"chmod u+r {shlex.quote(path)}",
        )
        for path in facts.unreadable
    ]
    yield from bad
    made = sum(place.kind == "directory" for place in facts.memory)
    if not bad and made:
        more = f"; {facts.memory_left_out:,} more were not looked at" if facts.memory_left_out else ""
        which = "the memory directory" if made == 1 else f"{made:,} memory directories"
        yield Check("memory_dirs", "ok", f"{which} can be written by you alone{more}")


def _judge_memory_dir(place: CheckedPath, facts: FileFacts) -> Iterator[Check]:
    name, quoted = short(place.path, facts.home), shlex.quote(place.path)
    if place.kind not in ("missing", "directory"):
        what = "a link to what is not there" if place.kind == "symlink" else "no directory"
        yield Check("memory_dirs", "problem", f"{name} is {what}", f"mv {quoted} {quoted}.aside")
    elif place.owner == facts.user and place.mode & 0o022:
        text = f"{name} can be written by others, who could make your agent believe things"
        yield Check("memory_dirs", "problem", text, f"chmod go-w {quoted}")
    else:
        yield from _judge_access("memory_dirs", place, facts)


def _judge_access(check: Name, place: CheckedPath, facts: FileFacts) -> Iterator[Check]:
    """Whether the user can use what is there; what is missing is made when there is something to keep."""
    name, quoted = short(place.path, facts.home), shlex.quote(place.path)
    if place.error:
        yield Check(check, "problem", f"{name} cannot be looked at: {place.error}", f"ls -ld {quoted}")
    elif place.kind != "missing" and place.owner != facts.user:
        yield _foreign(check, place, facts)
    elif not place.is_usable:
        rights = "u+rwx" if place.kind == "directory" else "u+rw"
        yield Check(check, "problem", f"{name} cannot be written", f"chmod {rights} {quoted}")


def _foreign(check: Name, place: CheckedPath, facts: FileFacts) -> Check:
    text = f"{short(place.path, facts.home)} belongs to another user ({place.owner})"
    return Check(check, "problem", text, f"sudo chown -R {facts.user} {shlex.quote(place.path)}")
