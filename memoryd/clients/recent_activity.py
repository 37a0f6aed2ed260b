"""Recent activity of a session, from the end of its lines without decoding them."""

from __future__ import annotations

import json
import re

from memoryd.clients.base import RecentActivity

_LATELY_BYTES = 1 << 17
_LATELY = 10
"""So many calls of tools count as lately."""
_TOOL = re.compile(rb'"(?:name|toolName)" ?: ?"([A-Za-z0-9_.:-]{1,200})"')


def recent_activity(data: bytes, directory: str, is_call: re.Pattern[bytes], compacted: bytes) -> RecentActivity:
    """What the last bytes of a session tell: `is_call` finds a call of a tool in a line, with its name behind it, and
    `compacted` stands in the line that a compaction writes.
    """
    calls = [line for line in data[data.rfind(compacted) + 1 :].split(b"\n") if is_call.search(line)]
    place = re.escape(json.dumps(directory, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape"))
    named = re.compile(place + rb'/([^"/\\]{1,255}\.md)\\?"')
    files = frozenset(name.decode("utf-8", "replace") for line in calls for name in named.findall(line))
    return RecentActivity(_tools(data[-_LATELY_BYTES:], is_call), files)


def _tools(data: bytes, is_call: re.Pattern[bytes]) -> tuple[str, ...]:
    names = []
    for line in reversed(data.split(b"\n")):
        call = is_call.search(line)
        name = _TOOL.search(line, call.start()) if call else None
        if name:
            names.append(name[1].decode())
        if len(names) == _LATELY:
            break
    return tuple(dict.fromkeys(names))
