"""What a session did lately, told from the end of its transcript without decoding it: a hook has milliseconds for that."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import NamedTuple

_TAIL_BYTES = 4 << 20
_LATELY_BYTES = 1 << 17
_LATELY = 10
"""So many calls of tools count as lately."""
_CALL = re.compile(rb'"type" ?: ?"tool_use"')
_TOOL = re.compile(rb'"name" ?: ?"([A-Za-z0-9_.:-]{1,200})"')
_BOUNDARY = b'"compact_boundary"'


class Glimpse(NamedTuple):
    tools: tuple[str, ...] = ()
    """Those that were called lately, the last one first."""
    files: frozenset[str] = frozenset()
    """The files of the directory asked for that tools were called with since the session was last compacted."""


def glimpse_of(path: str, directory: str) -> Glimpse:
    data = tail_of(path)
    calls = [line for line in data[data.rfind(_BOUNDARY) + 1 :].split(b"\n") if _CALL.search(line)]
    place = re.escape(json.dumps(directory, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape"))
    named = re.compile(place + rb'/([^"/\\]{1,255}\.md)"')
    files = frozenset(name.decode("utf-8", "replace") for line in calls for name in named.findall(line))
    return Glimpse(_tools(data[-_LATELY_BYTES:]), files)


def _tools(data: bytes) -> tuple[str, ...]:
    names = []
    for line in reversed(data.split(b"\n")):
        call = _CALL.search(line)
        name = _TOOL.search(line, call.start()) if call else None
        if name:
            names.append(name[1].decode())
        if len(names) == _LATELY:
            break
    return tuple(dict.fromkeys(names))


def tail_of(path: str) -> bytes:
    """The last megabytes of a transcript; empty where none can be read: it may be written only later."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return b""
            file.seek(max(0, status.st_size - _TAIL_BYTES))
            return file.read(_TAIL_BYTES)
    except (OSError, ValueError):
        return b""
