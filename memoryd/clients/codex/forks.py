"""Forks of Codex sessions that copy the history: older versions write it again, with new times and without ids.

A fork names the session that it was made from. Its first messages that are word for word those of that session, in the same
order, are the same messages. Newer versions copy nothing: they refer to the other file.
"""

from __future__ import annotations

import json
import os
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from memoryd.clients.head import first_object, text_at
from memoryd.sources.scan import SessionPlace, inventory
from memoryd.sources.session import NotATranscriptError, SessionFile

if TYPE_CHECKING:
    from collections.abc import Iterator

_ARCHIVE = "archived_sessions"
_MOST_COPIED = 10_000
_typed = re.compile(rb'"type" ?: ?"user_message"').search


def originals_of(path: str, meta: dict[str, Any]) -> dict[str, str]:
    """The ids of copied messages, each with that of the message it was copied from; empty where nothing was copied."""
    parent = text_at(meta, "forked_from_id")
    if not parent or isinstance(meta.get("history_base"), dict):
        return {}
    source = _path_of(parent, path)
    if not source:
        return {}
    from memoryd.clients.codex.entries import id_of_content  # noqa: PLC0415 - which asks for this module

    own, session_id = text_at(meta, "id"), text_at(first_object(source), "payload", "id")
    pairs = {}
    for (at, text), (original_at, original) in zip(_typed_in(path), _typed_in(source), strict=False):
        if text != original:
            break
        pairs[id_of_content(own, at, text)] = id_of_content(session_id, original_at, original)
    return pairs


def _path_of(session_id: str, beside: str) -> str:
    """The file of a session; rollouts lie in folders by year, month and day, archived ones in one folder."""
    folder = os.path.dirname(beside)
    is_archived = os.path.basename(folder) == _ARCHIVE
    home = os.path.normpath(os.path.join(folder, ".." if is_archived else "../../../.."))
    places = (
        SessionPlace(os.path.join(home, "sessions"), ("[0-9]*",) * 3),
        SessionPlace(os.path.join(home, _ARCHIVE), ()),
    )
    for place in places:
        found = inventory(place, lambda name: session_id in name and name.endswith(".jsonl")).found
        if found:
            return found[0].path
    return ""


def _typed_in(path: str) -> Iterator[tuple[str, str]]:
    """Time and text of what was typed, in order."""
    try:
        with SessionFile(path) as session:
            for line in islice((line for line in session.lines(0) if line.data and _typed(line.data)), _MOST_COPIED):
                value = json.loads(line.data or b"")
                yield text_at(value, "timestamp"), text_at(value, "payload", "message")
    except (OSError, NotATranscriptError, ValueError, RecursionError):
        return
