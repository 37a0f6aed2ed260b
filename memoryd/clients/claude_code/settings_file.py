"""Claude Code's settings file: what older versions of memoryd put into it is taken out in one step. Nothing is put in.

By the note that was made of what stood there without our hooks; a backup of what was there is kept. Killed anywhere, the file is
the old one or the new one, whole. A note without hooks is harmless: it is only asked about entries of ours.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memoryd import atomic_file
from memoryd.clients.claude_code.hooks import Before, events_with_hooks, without_hooks
from memoryd.clients.edited_file import edit, sentences, target_of
from memoryd.clients.replaced_file import read, text_of

if TYPE_CHECKING:
    from memoryd.clients.settings import SettingsChange
    from memoryd.paths import Paths

CLIENT = "claude-code"
_BACKUPS = 5
_BACKUP = f"{CLIENT}-settings-"


def old_hooks(paths: Paths) -> tuple[str, ...]:
    """The events for which hooks are still there; a link is followed, for nothing is written. Raises ClientError."""
    path = os.path.realpath(paths.claude_settings)
    with sentences(path):
        return events_with_hooks(text_of(read(path).data) or "")


def remove(paths: Paths, now: float, *, follow: bool = False) -> SettingsChange:
    """Take the hooks out, and leave everything else as it is. Raises ClientError, BusyError."""
    path = target_of(paths.claude_settings, follow=follow, fix=f"memoryd hooks remove {CLIENT} --follow")
    changed = edit(
        path,
        lambda text: None if text is None else without_hooks(text, _noted(paths, path)),
        again="memoryd hooks remove",
        keep=lambda data: _back_up(paths, data or b"", now),
    )
    _forget(paths, path)
    return changed


# --- what is kept of it -----------------------------------------------------------------------------------------------


def _back_up(paths: Paths, data: bytes, now: float) -> str:
    """The file as it was, for a person; the newest few are kept."""
    folder = os.path.join(paths.state_dir, "backups")
    moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    path = os.path.join(folder, f"{_BACKUP}{moment}.json")
    with sentences(path):
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


def _forget(paths: Paths, path: str) -> None:
    place, notes = _note_file(paths), _notes(paths)
    if path not in notes:
        return
    del notes[path]
    with sentences(place):
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
