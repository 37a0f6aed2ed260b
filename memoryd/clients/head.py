"""Head of a session file: what only its first line says, read once for each file."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from memoryd.sources.session import NotATranscriptError, SessionFile

_MOST_BYTES = 4 << 20
"""A first line may carry all instructions of the client; a longer one is no head."""


def first_object(path: str) -> dict[str, Any]:
    """The first line of a file as JSON; empty where there is none, or no file."""
    with suppress(OSError, NotATranscriptError, ValueError, RecursionError), SessionFile(path) as session:
        for size in (1 << 16, _MOST_BYTES):
            line, newline, _ = session.head(size).partition(b"\n")
            if newline:
                value = json.loads(line)
                return value if isinstance(value, dict) else {}
    return {}


def text_at(value: Any, *keys: str) -> str:
    """The string at the end of these keys; empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
