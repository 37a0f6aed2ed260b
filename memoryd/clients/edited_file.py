"""Settings file of a client, edited in one step: killed anywhere, it is the old one or the new one, whole.

1. read the file, without following a link
2. make its new text
3. keep what the caller wants to be kept of it
4. write the new text beside it, look whether the file is still as it was read, rename; if not, from 1
"""

from __future__ import annotations

import errno
import os
import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoryd.clients.json_entries import UnusableError
from memoryd.clients.replaced_file import read, read_only_part, replace, text_of
from memoryd.clients.settings import SettingsChange
from memoryd.errors import BusyError, ClientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoryd.clients.replaced_file import FileFound

_TRIES = 3
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def edit(
    path: str,
    change: Callable[[str | None], str | None],
    *,
    again: str,
    keep: Callable[[bytes | None], str] = lambda _: "",
) -> SettingsChange:
    """Give a file the text that `change` makes of it; None stands for no file.

    `keep` is called with what is about to be replaced, and returns where it is kept; `again` is the command that tries this
    again. Raises ClientError, BusyError.
    """
    for _ in range(_TRIES):
        with sentences(path):
            found = read(path)
            after = change(text_of(found.data))
        data = after.encode() if after is not None else None
        backup = ""
        if data != found.data:
            _refuse_what_is_read_only(path, found)
            backup = keep(found.data)
            with sentences(path):
                if not replace(path, found, data):
                    continue
        return SettingsChange(path, found.data, data, backup)
    raise BusyError(f"{path} is being changed by somebody else again and again.", again)


def target_of(path: str, *, follow: bool, fix: str) -> str:
    """The file to change. A link is a decision of the user's, who says whether it is to be followed. Raises ClientError."""
    if not os.path.islink(path):
        return path
    leads_to = os.path.realpath(path)
    if not follow:
        raise ClientError(f"{path} is a link to {leads_to}, which may be shared with other machines.", fix)
    return leads_to


def _refuse_what_is_read_only(path: str, found: FileFound) -> None:
    part = read_only_part(path, found)
    if part == path:
        raise ClientError(f"{path} is read-only, so it stays as it is.", f"chmod u+w {shlex.quote(path)}")
    if part:
        raise ClientError(f"{part} is read-only, so nothing can be put into it.", f"chmod u+wx {shlex.quote(part)}")


@contextmanager
def sentences(path: str) -> Iterator[None]:
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
