"""Whether memoryd's files are the user's own, private, and where they should be."""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.doctor.check import Check, readable_database
from memoryd.state import report
from memoryd.words import short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.doctor.check import Name, World

MOST_DIRECTORIES = 50
"""Of so many memory directories, the most recently used ones, the rights are looked at."""


Kind = Literal["missing", "file", "directory", "symlink", "other"]


class Place(NamedTuple):
    """Something on the disk, without following a link in its place."""

    path: str
    kind: Kind = "missing"
    mode: int = 0
    owner: int = 0
    is_usable: bool = True
    """It can be read and written, and a directory entered."""
    error: str = ""
    """Why it cannot even be looked at."""


class Facts(NamedTuple):
    home: str
    user: int
    home_owner: int
    config: Place
    state: Place
    """The directory."""
    private: tuple[Place, ...]
    """The files in it."""
    memory: tuple[Place, ...]
    memory_left_out: int = 0


def look(world: World) -> Facts:
    paths = world.paths
    with readable_database(paths) as database:
        memory = [one.memory_dir for one in report.dreamers(database)] if database else []
    files = (paths.database, f"{paths.database}-wal", f"{paths.database}-shm", paths.log_file, paths.daemon_lock)
    return Facts(
        paths.home,
        os.getuid(),
        os.stat(paths.home).st_uid,
        look_at(paths.config_file, follow=True),
        look_at(paths.state_dir),
        tuple(map(look_at, files)),
        tuple(look_at(path, follow=True) for path in memory[:MOST_DIRECTORIES]),
        max(0, len(memory) - MOST_DIRECTORIES),
    )


def look_at(path: str, *, follow: bool = False) -> Place:
    try:
        status = os.stat(path, follow_symlinks=follow)
    except (FileNotFoundError, NotADirectoryError):
        return Place(path)
    except OSError as error:
        return Place(path, error=error.strerror or str(error))
    kinds: dict[int, Kind] = {
        stat.S_IFREG: "file",
        stat.S_IFDIR: "directory",
        stat.S_IFLNK: "symlink",
    }
    is_directory = stat.S_ISDIR(status.st_mode)
    wanted = os.R_OK | os.W_OK | (os.X_OK if is_directory else 0)
    kind = kinds.get(stat.S_IFMT(status.st_mode), "other")
    return Place(path, kind, stat.S_IMODE(status.st_mode), status.st_uid, os.access(path, wanted))


def judge(facts: Facts) -> Iterator[Check]:
    if facts.user == 0 and facts.home_owner != 0:
        yield Check(
            "owner",
            "problem",
            f"You are root in the home of another user ({facts.home}): what memoryd makes now that user cannot use",
            "run memoryd without sudo",
        )
    yield from _judge_config(facts)
    yield from _judge_state(facts)
    yield from _judge_memory(facts)


def _judge_config(facts: Facts) -> Iterator[Check]:
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


def _judge_state(facts: Facts) -> Iterator[Check]:
    state, name = facts.state, short(facts.state.path, facts.home)
    if state.kind == "missing" and not state.error:
        yield Check("state_files", "ok", f"{name} is made at the first start")
        return
    bad = list(_judge_private(state, facts))
    hidden = [place for place in facts.private if bad and place.error]  # by what is wrong with the directory
    bad += [one for place in facts.private if place not in hidden for one in _judge_private(place, facts)]
    yield from bad
    if not bad:
        yield Check("state_files", "ok", f"{name} and what is in it can be read by you alone")


def _judge_private(place: Place, facts: Facts) -> Iterator[Check]:
    """A directory or file that nobody but the user may have a hand in."""
    is_state = place is facts.state
    name, quoted = short(place.path, facts.home), shlex.quote(place.path)
    if place.error:
        yield Check("state_files", "problem", f"{name} cannot be looked at: {place.error}", f"ls -ld {quoted}")
    elif place.kind == "missing":
        return
    elif place.kind != ("directory" if is_state else "file"):
        what = "a symlink" if place.kind == "symlink" else "no " + ("directory" if is_state else "regular file")
        yield Check("state_files", "problem", f"{name} is {what}, and is not used", f"mv {quoted} {quoted}.aside")
    elif place.owner != facts.user:
        yield _foreign("state_files", place, facts)
    elif place.mode & 0o077:
        text = f"{name} is open to others ({place.mode:04o})"
        yield Check("state_files", "problem", text, f"chmod {700 if is_state else 600} {quoted}")
    elif not place.is_usable:
        yield Check("state_files", "problem", f"{name} cannot be written", f"chmod u+rw{'x' * is_state} {quoted}")


def _judge_memory(facts: Facts) -> Iterator[Check]:
    bad = [one for place in facts.memory for one in _judge_memory_dir(place, facts)]
    yield from bad
    made = sum(place.kind == "directory" for place in facts.memory)
    if not bad and made:
        more = f"; {facts.memory_left_out:,} more were not looked at" if facts.memory_left_out else ""
        which = "the memory directory" if made == 1 else f"{made:,} memory directories"
        yield Check("memory_dirs", "ok", f"{which} can be written by you alone{more}")


def _judge_memory_dir(place: Place, facts: Facts) -> Iterator[Check]:
    name, quoted = short(place.path, facts.home), shlex.quote(place.path)
    if place.error:
        yield Check("memory_dirs", "problem", f"{name} cannot be looked at: {place.error}", f"ls -ld {quoted}")
    elif place.kind == "missing":
        return  # made when there is something to keep
    elif place.kind != "directory":
        yield Check("memory_dirs", "problem", f"{name} is no directory", f"mv {quoted} {quoted}.aside")
    elif place.owner != facts.user:
        yield _foreign("memory_dirs", place, facts)
    elif place.mode & 0o022:
        text = f"{name} can be written by others, who could make your agent believe things"
        yield Check("memory_dirs", "problem", text, f"chmod go-w {quoted}")
    elif not place.is_usable:
        yield Check("memory_dirs", "problem", f"{name} cannot be written", f"chmod u+rwx {quoted}")


def _foreign(name: Name, place: Place, facts: Facts) -> Check:
    return Check(
        name,
        "problem",
        f"{short(place.path, facts.home)} belongs to another user ({place.owner})",
        f"sudo chown -R {facts.user} {shlex.quote(place.path)}",
    )
