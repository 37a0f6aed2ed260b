"""What the assistant's tool calls in a Claude Code transcript set out to do."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from memoryd.transcripts.shell import written_by

_WRITING_TOOLS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_IS_ERROR = re.compile(rb'"is_error"\s*:\s*true').search


def saved_by(line: bytes, memory_dir: str) -> dict[str, str]:
    """The files of the memory directory that the assistant set out to change with this line, by the id of the call.

    The directory is looked for by its last two names: a client may reach it through a symlink or by `~`.
    """
    names = memory_dir.rstrip("/").rsplit("/", 2)[-2:]
    if not all(any(spelled in line for spelled in _in_json(name)) for name in names):
        return {}
    found = {}
    for call in _blocks(line, "tool_use"):
        asked = call.get("input")
        if not isinstance(asked, dict):
            continue
        written: list[str] = []
        if call.get("name") in _WRITING_TOOLS:
            written = [str(asked.get("file_path") or asked.get("notebook_path") or "")]
        elif call.get("name") == "Bash":
            written = written_by(str(asked.get("command", "")))
        inside = [name for path in written if (name := _below(path, "/".join(names)))]
        if inside:
            found[str(call.get("id"))] = inside[0]
    return found


def failed_calls(line: bytes) -> list[str]:
    """The calls that this line says were refused or failed. A command that ran, however it ended, may have written."""
    if _IS_ERROR(line) is None:
        return []
    return [
        str(result.get("tool_use_id"))
        for result in _blocks(line, "tool_result")
        if result.get("is_error") is True and not str(result.get("content")).startswith("Exit code")
    ]


_TELLING = ("command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description", "prompt")
"""What a call is about stands in the first of these that its input has."""


def calls_in(line: bytes) -> list[str]:
    """Each call of a line in a few words, as in `Bash: npm test`; what the tools answered is not among it."""
    if b'"tool_use"' not in line:
        return []
    found = []
    for call in _blocks(line, "tool_use"):
        asked = call.get("input")
        about = next((str(asked[key]) for key in _TELLING if asked.get(key)), "") if isinstance(asked, dict) else ""
        found.append(f"{call.get('name')}: {' '.join(about.split())}" if about else str(call.get("name")))
    return found


def _blocks(line: bytes, kind: str) -> list[dict[str, Any]]:
    """The blocks of one kind in a line of the main agent's conversation."""
    try:
        entry = json.loads(line)
        is_other = entry.get("isSidechain") or entry.get("agentId") or entry.get("teamName")
        blocks = [] if is_other else entry["message"]["content"]
        return [block for block in blocks if block.get("type") == kind]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return []


def _below(path: str, tail: str) -> str:
    """What stands in a path behind the directory that ends so; empty where it is not below it."""
    _, found, name = f"/{os.path.normpath(path)}".rpartition(f"/{tail}/")
    return name if found else ""


def _in_json(text: str) -> tuple[bytes, bytes]:
    """How a text may be spelled inside a JSON string."""
    plain = json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape")
    return plain, json.dumps(text)[1:-1].encode()
