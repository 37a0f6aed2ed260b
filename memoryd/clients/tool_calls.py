"""Tool calls: what they do, and which files of a directory they change, by the names that a client has for its tools."""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.clients.written_paths import written_by

if TYPE_CHECKING:
    from memoryd.model import ToolCall

_COMMANDS = ("command", "cmd")
_PATHS = ("file_path", "notebook_path", "path", "absolute_path", "file_name")
_TELLING = (*_COMMANDS, *_PATHS, "pattern", "url", "query", "description", "prompt")
"""What a call is about stands in the first of these that its input has."""


class ToolNames(NamedTuple):
    """The names of a client's tools that change files."""

    writing: frozenset[str]
    """Those that are given a path."""
    shells: frozenset[str]
    """Those that are given a command."""
    patching: frozenset[str] = frozenset()
    """Those that are given a patch, in which a line `*** Update File: PATH` stands before each file's changes."""


def summarize_call(call: ToolCall) -> str:
    """A call in a few words, as in `Bash: npm test`; what the tool answered is not among it."""
    given = _given(call)
    about = next((str(given[key]) for key in _TELLING if given.get(key)), "")
    return f"{call.name}: {' '.join(about.split())}" if about else call.name


def written_below(call: ToolCall, directory: str, tools: ToolNames) -> list[str]:
    """The files of a directory that a call sets out to change, by their names below it.

    The directory is looked for by its last two names: a client may reach it through a symlink or by `~`.
    """
    names = _last_names(directory)
    data = bytes(call.given)
    if not all(any(spelled in data for spelled in _in_json(name)) for name in names):
        return []
    given = _given(call)
    written: list[str] = []
    commands = [command for key in _COMMANDS if isinstance(command := given.get(key), str)]
    if call.name in tools.writing:
        written = [path for key in _PATHS if isinstance(path := given.get(key), str)]
    elif call.name in tools.shells:
        written = [path for command in commands for path in written_by(command)]
    elif call.name in tools.patching:
        written = _PATCHED.findall(str(given.get("patch", "")))
    return [name for path in written if (name := _below(path, "/".join(names)))]


def _given(call: ToolCall) -> dict[str, Any]:
    """What a call was given. Some clients write it as a string that holds JSON, and a patch as a plain string."""
    given: Any = bytes(call.given)
    for _ in range(2):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError, TypeError):
            break
        if not isinstance(given, str):
            break
    if isinstance(given, str):
        return {"patch": given}
    if not isinstance(given, dict):
        return {}
    command = next((given[key] for key in _COMMANDS if isinstance(given.get(key), list)), None)
    return {**given, "command": " ".join(map(str, command[-1:]))} if command else given


_PATCHED = re.compile(r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$")


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
