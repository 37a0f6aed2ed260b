"""Tool calls: what they do, and which files of a directory they change, whatever its client calls its tools."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from typing import TYPE_CHECKING

from memoryd.clients.tool_actions import action_of

if TYPE_CHECKING:
    from memoryd.model import ToolCall

_WRITING = frozenset({"write", "edit", "multiedit", "notebookedit", "write_file", "replace", "create"})
"""Tools that change the file that they are given, whatever else they are given."""
_TELLING = ("pattern", "url", "query", "description", "prompt")
"""What a call that has neither a path nor a command is about stands in the first of these that its input has."""


def summarize_call(call: ToolCall) -> str:
    """A call in a few words, as in `Bash: npm test`; what the tool answered is not among it."""
    action = action_of(call)
    about = action.command or next(iter(action.files), "") or _first_of(call)
    return f"{call.name}: {' '.join(about.split())}" if about else call.name


def _first_of(call: ToolCall) -> str:
    try:
        given = json.loads(bytes(call.given))
    except (ValueError, RecursionError):
        return ""
    given = given if isinstance(given, dict) else {}
    return next((str(given[key]) for key in _TELLING if given.get(key)), "")


def written_below(call: ToolCall, directory: str) -> list[str]:
    """The files of a directory that a call sets out to change, by their names below it.

    The directory is looked for by its last two names: a client may reach it through a symlink or by `~`.
    """
    names = _last_names(directory)
    data = bytes(call.given)
    if not all(any(spelled in data for spelled in _in_json(name)) for name in names):
        return []
    action = action_of(call)
    written = action.files if action.kind in ("change", "run") or call.name.lower() in _WRITING else ()
    return [name for path in written if (name := _below(path, "/".join(names)))]


def _last_names(directory: str) -> list[str]:
    return directory.rstrip("/").rsplit("/", 2)[-2:]


def _below(path: str, tail: str) -> str:
    """What stands in a path behind the directory that ends so; empty where it is not below it."""
    _, found, name = f"/{os.path.normpath(path)}".rpartition(f"/{tail}/")
    return name if found else ""


@lru_cache(maxsize=8)
def _in_json(text: str) -> tuple[bytes, bytes]:
    """How a text may be spelled inside a JSON string."""
    plain = json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape")
    return plain, json.dumps(text)[1:-1].encode()
