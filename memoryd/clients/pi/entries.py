"""Entries of a session of pi: a line to the entries that count.

What extensions add has a type of its own. A fork copies entries with their ids and times. Ids have eight digits, so that the
time belongs to them.
"""

from __future__ import annotations

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


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = _NOTHING


class _Message(msgspec.Struct, gc=False):
    role: str = ""
    content: str | list[_Block] | None = None
    stopReason: str | None = None  # noqa: N815 - the client's names, here and below
    toolCallId: str | None = None  # noqa: N815
    isError: bool | None = None  # noqa: N815


class _Line(msgspec.Struct, gc=False):
    type: str = ""
    id: str | None = None
    timestamp: str | None = None
    message: _Message | None = None


_decode = msgspec.json.Decoder(_Line).decode
_TYPES = frozenset(
    [
        "session",
        "message",
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
    ]
)
_ROLES = frozenset({"user", "assistant", "toolResult", "system", "bashExecution", "custom"})
_SHAPE = LineShape(
    _decode,
    re.compile(rb'"message"').search,
    frozenset({"type", "id", "timestamp"}),
    lambda value: value.get("type") == "message",
)
_ENDS = frozenset({"error", "aborted", "length"})


def decoder_of(path: str) -> Decoder:
    head = first_object(path)
    session_id, cwd = text_at(head, "id"), text_at(head, "cwd")

    def entries_of(line: bytes, damage: Counter[str]) -> tuple[Entry, ...]:
        try:
            lines = [_decode(line)]
        except UNDECODABLE:
            lines = repaired(line, damage, _SHAPE)
        return tuple([entry for found in lines for entry in _understood(found, session_id, cwd, damage)])

    return entries_of


def _understood(line: _Line, session_id: str, cwd: str, damage: Counter[str]) -> list[Entry]:
    message = line.message
    if line.type != "message" or message is None:
        if line.type and line.type not in _TYPES:
            damage["unknown_type"] += 1
        return []
    blocks = [_Block("text", message.content)] if isinstance(message.content, str) else message.content or []
    texts = tuple(block.text for block in blocks if block.type == "text" and block.text)
    at = parse_iso(line.timestamp)
    if message.role == "user":
        said = "\n".join(filter(None, map(without_recall, texts)))
        message_id = f"pi:{line.id}:{line.timestamp}"
        return [Prompt((message_id,), session_id, cwd, at, said)] if said and line.id else []
    if message.role == "assistant":
        calls = tuple(
            ToolCall(block.id or "", block.name or "", block.arguments) for block in blocks if block.type == "toolCall"
        )
        stop_reason = {"stop": "end_turn", "toolUse": "tool_use"}.get(message.stopReason or "")
        reply = Reply(cwd, texts, calls, bool(texts) and not calls, stop_reason, session_id, at)
        if message.stopReason in _ENDS:
            return [reply, TurnEnd("interrupted" if message.stopReason == "aborted" else "end_turn")]
        return [reply]
    if message.role == "toolResult":
        call_id = message.toolCallId or ""
        return [Results((call_id,), (call_id,) if message.isError else ())]
    if message.role not in _ROLES:
        damage["unknown_type"] += 1
    return []
