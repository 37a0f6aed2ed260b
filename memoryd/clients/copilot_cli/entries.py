"""Entries of a Copilot CLI session: an event to the entries that count.

Of a user's message `content` was typed; `transformedContent`, which the model gets, carries the date and what hooks added.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import msgspec

from memoryd.clients.damaged_lines import UNDECODABLE, LineShape, repaired
from memoryd.clients.head import first_object, text_at
from memoryd.clients.own_recall import without_recall
from memoryd.clock import parse_iso
from memoryd.model import Prompt, Reply, Results, ToolCall, TurnEnd

if TYPE_CHECKING:
    from collections import Counter

    from memoryd.clients.base import Decoder
    from memoryd.model import Entry

_NOTHING = msgspec.Raw(b"null")


class _Request(msgspec.Struct, gc=False):
    toolCallId: str = ""  # noqa: N815 - the client's names, here and below
    name: str = ""
    arguments: msgspec.Raw = _NOTHING


class _Data(msgspec.Struct, gc=False):
    content: str | None = None
    messageId: str | None = None  # noqa: N815
    toolRequests: list[_Request] | None = None  # noqa: N815
    toolCallId: str | None = None  # noqa: N815
    success: bool | None = None
    parentToolCallId: str | None = None  # noqa: N815


class _Event(msgspec.Struct, gc=False):
    type: str = ""
    id: str | None = None
    timestamp: str | None = None
    data: msgspec.Raw = _NOTHING


_decode = msgspec.json.Decoder(_Event).decode
_data = msgspec.json.Decoder(_Data).decode
_COUNT = frozenset({"user.message", "assistant.message", "tool.execution_complete"})
_KINDS = frozenset({"session", "hook", "tool", "assistant", "system", "subagent", "skill", "abort"})
"""The part before the dot of types that are known. Of the user's there is only one, which counts."""
_SHAPE = LineShape(
    _decode,
    re.compile(rb'"(?:user\.message|assistant\.message|tool\.execution_complete)"').search,
    frozenset({"type", "data", "id", "timestamp"}),
    lambda value: value.get("type") in _COUNT,
)


def decoder_of(path: str) -> Decoder:
    session_id = os.path.basename(os.path.dirname(path))
    cwd = text_at(first_object(path), "data", "context", "cwd")

    def entries_of(line: bytes, damage: Counter[str]) -> tuple[Entry, ...]:
        try:
            events = [_decode(line)]
        except UNDECODABLE:
            events = repaired(line, damage, _SHAPE)
        entries = (_understood(event, session_id, cwd, damage) for event in events)
        return tuple([entry for entry in entries if entry is not None])

    return entries_of


def _understood(event: _Event, session_id: str, cwd: str, damage: Counter[str]) -> Entry | None:
    if event.type in ("session.error", "session.shutdown"):
        return TurnEnd()
    if event.type == "abort":
        return TurnEnd("interrupted")
    if event.type not in _COUNT:
        if event.type and event.type.partition(".")[0] not in _KINDS:
            damage["unknown_type"] += 1
        return None
    try:
        data = _data(event.data)
    except UNDECODABLE:
        damage["unknown_shape"] += 1
        return None
    if data.parentToolCallId:
        return None  # of a sub-agent
    at = parse_iso(event.timestamp)
    if event.type == "user.message":
        said = without_recall(data.content or "")
        ids = tuple(f"copilot:{given}" for given in (data.messageId, event.id) if given)
        return Prompt(ids, session_id, cwd, at, said) if said and ids else None
    if event.type == "assistant.message":
        calls = tuple(ToolCall(call.toolCallId, call.name, call.arguments) for call in data.toolRequests or ())
        texts = (data.content,) if data.content else ()
        is_answer = bool(texts) and not calls
        return Reply(cwd, texts, calls, is_answer, "end_turn" if is_answer else "tool_use", session_id, at)
    call_id = data.toolCallId or ""
    return Results((call_id,), () if data.success is not False else (call_id,))
