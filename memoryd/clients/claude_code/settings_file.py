"""Settings file of Claude Code, changed in one step; the only module that writes a file of the client.

1. read the file, without following a link that nobody mentioned
2. edit its text (`hooks`, pure)
3. keep what was there: a backup, and a note of what stood there without our hooks
4. write the new text beside it, look whether the file is still as it was read, rename; if not, from 1
5. when the hooks are out, forget the note

Killed anywhere, the file is the old one or the new one, whole. A note without hooks is harmless: it is only asked about
entries of ours, and the next install writes another.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import stat
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from memoryd import atomic_file
from memoryd.clients.claude_code.hooks import Before, UnusableError, state_of_hooks, with_hooks, without_hooks
from memoryd.clients.settings import SettingsChange
from memoryd.errors import BusyError, ClientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memoryd.clients.settings import HooksState
    from memoryd.paths import Paths

CLIENT = "claude-code"
_MOST_BYTES = 16 << 20
_TRIES = 3
_BACKUPS = 5
_BACKUP = f"{CLIENT}-settings-"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class _Found(NamedTuple):
    data: bytes | None
    status: os.stat_result | None


def look(paths: Paths, environment: Mapping[str, str], python: str) -> list[HooksState]:
    """How it is with each hook; a link is followed, for nothing is written. Raises ClientError."""
    path, search = os.path.realpath(paths.claude_settings), environment.get("PATH")
    with _sentences(path):
        found = state_of_hooks(_text(_read(path).data) or "", python)
    return [hook._replace(python_exists=shutil.which(hook.python, path=search) is not None) for hook in found]


def install(paths: Paths, python: str, now: float, *, follow: bool = False) -> SettingsChange:
    """Put the hooks in, or bring them up to date. Raises ClientError, BusyError."""

    def edit(text: str | None, before: Before | None) -> tuple[str, Before]:
        return with_hooks(text or "", python), Before(None if text is None else without_hooks(text, before))

    return _change(paths, now, "install", edit, follow=follow)


def remove(paths: Paths, now: float, *, follow: bool = False) -> SettingsChange:
    """Take the hooks out, and leave everything else as it is. Raises ClientError, BusyError."""

    def edit(text: str | None, before: Before | None) -> tuple[str | None, None]:
        return None if text is None else without_hooks(text, before), None

    changed = _change(paths, now, "remove", edit, follow=follow)
    _forget(paths, changed.path)
    return changed


def _change(
    paths: Paths,
    now: float,
    action: str,
    edit: Callable[[str | None, Before | None], tuple[str | None, Before | None]],
    *,
    follow: bool,
) -> SettingsChange:
    """`edit` gets the text and what is known to have stood there without hooks, and returns both anew."""
    path = _target(paths, action, follow=follow)
    for _ in range(_TRIES):
        with _sentences(path):
            found = _read(path)
            text, before = edit(_text(found.data), _noted(paths, path))
        after = text.encode() if text is not None else None
        if after == found.data:
            return SettingsChange(path, found.data, after)
        _refuse_what_is_read_only(path, found)
        backup = _back_up(paths, found.data, now) if found.data is not None else ""
        if before is not None:
            _note(paths, path, before)
        with _sentences(path):
            if _replace(path, found, after):
                return SettingsChange(path, found.data, after, backup)
    raise BusyError(f"{path} is being changed by somebody else again and again.", f"memoryd hooks {action}")


# --- the file ---------------------------------------------------------------------------------------------------------


def _target(paths: Paths, action: str, *, follow: bool) -> str:
    """The file to change. A link is a decision of the user's, who says whether it is to be followed."""
    path = paths.claude_settings
    if not os.path.islink(path):
        return path
    leads_to = os.path.realpath(path)
    if not follow:
        raise ClientError(
            f"{path} is a link to {leads_to}, which may be shared with other machines.",
            f"memoryd hooks {action} {CLIENT} --follow",
        )
    return leads_to


def _read(path: str) -> _Found:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return _Found(None, None)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise UnusableError("is no regular file")
    with open(descriptor, "rb") as file:
        if status.st_size > _MOST_BYTES:
            raise UnusableError(f"is larger than {_MOST_BYTES >> 20} MB")
        return _Found(file.read(), status)


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError as error:
        raise UnusableError("is not UTF-8") from error


def _refuse_what_is_read_only(path: str, found: _Found) -> None:
    """A rename would pass over what a user has protected."""
    folder = os.path.dirname(path)
    if found.status is not None and not os.access(path, os.W_OK):
        raise ClientError(f"{path} is read-only, so it stays as it is.", f"chmod u+w {shlex.quote(path)}")
    if os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
        raise ClientError(f"{folder} is read-only, so nothing can be put into it.", f"chmod u+wx {shlex.quote(folder)}")


def _replace(path: str, found: _Found, after: bytes | None) -> bool:
    """Put the new text in place, or take the file away; False: it is no longer what was read, and nothing was done."""
    if after is None:
        if _read(path).data != found.data:
            return False
        os.remove(path)
        return True
    folder, name = os.path.split(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    _clear(folder, name)
    fresh = os.path.join(folder, f".{name}.memoryd-{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            if found.status is not None:
                _dress(descriptor, found.status)
            file.write(after)
            file.flush()
            os.fsync(descriptor)
        if _read(path).data != found.data:  # between this line and the next lies all that a change may be lost in
            os.remove(fresh)
            return False
        os.replace(fresh, path)
    except BaseException:
        with suppress(OSError):
            os.remove(fresh)
        raise
    return True


def _dress(descriptor: int, like: os.stat_result) -> None:
    """With the rights of the old file, and its owner where root does this."""
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (like.st_uid, like.st_gid):
        with suppress(PermissionError):  # a group that the user is not in
            os.fchown(descriptor, like.st_uid, like.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(like.st_mode))


def _clear(folder: str, name: str) -> None:
    """Remove what processes left that were killed in the middle of this."""
    for left in os.listdir(folder):
        match = re.fullmatch(rf"\.{re.escape(name)}\.memoryd-(\d+)", left)
        if match and not _is_another_alive(int(match[1])):
            with suppress(OSError):
                os.remove(os.path.join(folder, left))


def _is_another_alive(pid: int) -> bool:
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


# --- what is kept of it -----------------------------------------------------------------------------------------------


def _back_up(paths: Paths, data: bytes, now: float) -> str:
    """The file as it was, for a person; the newest few are kept."""
    folder = os.path.join(paths.state_dir, "backups")
    moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    path = os.path.join(folder, f"{_BACKUP}{moment}.json")
    with _sentences(path):
        os.makedirs(paths.state_dir, mode=0o700, exist_ok=True)
        atomic_file.write(path, data)
        names = sorted(name for name in os.listdir(folder) if name.startswith(_BACKUP))
        for name in names[:-_BACKUPS]:
            os.remove(os.path.join(folder, name))
    return path


def _noted(paths: Paths, path: str) -> Before | None:
    """What stood in the file without our hooks; None where that is not known."""
    notes = _notes(paths)
    return Before(notes[path]) if path in notes else None


def _note(paths: Paths, path: str, before: Before) -> None:
    place = _note_file(paths)
    with _sentences(place):
        os.makedirs(paths.state_dir, mode=0o700, exist_ok=True)
        atomic_file.write(place, json.dumps({**_notes(paths), path: before.text}).encode())


def _forget(paths: Paths, path: str) -> None:
    place, notes = _note_file(paths), _notes(paths)
    if path not in notes:
        return
    del notes[path]
    with _sentences(place):
        if notes:
            atomic_file.write(place, json.dumps(notes).encode())
        else:
            os.remove(place)


def _notes(paths: Paths) -> dict[str, str | None]:
    """By path: a user may have several config directories of the client. What is damaged is not known."""
    try:
        notes = json.loads(atomic_file.read(_note_file(paths)))
    except (OSError, ValueError, RecursionError):
        return {}
    known = notes.items() if isinstance(notes, dict) else ()
    return {path: text for path, text in known if text is None or isinstance(text, str)}


def _note_file(paths: Paths) -> str:
    return os.path.join(paths.state_dir, "hooks", f"{CLIENT}.json")


@contextmanager
def _sentences(path: str) -> Iterator[None]:
    """What goes wrong with a file, told with the command that helps."""
    quoted = shlex.quote(path)
    try:
        yield
    except UnusableError as error:
        raise ClientError(f"{path} {error}, so it stays as it is.", f"${{EDITOR:-vi}} {quoted}") from error
    except PermissionError as error:
        fix = f"chmod u+rw {quoted}" if os.path.lexists(path) else f"ls -ld {shlex.quote(os.path.dirname(path))}"
        raise ClientError(f"You may not read or write {path}.", fix) from error
    except OSError as error:
        fix = f"df -h {shlex.quote(os.path.dirname(path))}" if error.errno in _NO_ROOM else f"ls -ld {quoted}"
        raise ClientError(f"{path} cannot be used: {error.strerror}.", fix) from error
