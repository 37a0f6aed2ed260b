"""Recent activity of a Claude Code session, from the end of its transcript without decoding it."""

from __future__ import annotations

import json
import re

from memoryd.clients.base import RecentActivity

_LATELY_BYTES = 1 << 17
_LATELY = 10
"""So many calls of tools count as lately."""
_CALL = re.compile(rb'"type" ?: ?"tool_use"')
_TOOL = re.compile(rb'"name" ?: ?"([A-Za-z0-9_.:-]{1,200})"')
_BOUNDARY = b'"compact_boundary"'


def recent_activity(data: bytes, directory: str) -> RecentActivity:
    calls = [line for line in data[data.rfind(_BOUNDARY) + 1 :].split(b"\n") if _CALL.search(line)]
    place = re.escape(json.dumps(directory, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape"))
    named = re.compile(place + rb'/([^"/\\]{1,255}\.md)"')
    files = frozenset(name.decode("utf-8", "replace") for line in calls for name in named.findall(line))
    return RecentActivity(_tools(data[-_LATELY_BYTES:]), files)


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
