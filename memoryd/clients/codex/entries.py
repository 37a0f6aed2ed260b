"""Entries of a Codex rollout: a line to the entries that count.

Every message stands in the file twice: as the item that the model gets, among environment notes, instructions, hook context
and notifications in the user's place, and as an event about what was typed and answered. Events are read, so that only what
was typed becomes a prompt and a compaction's summary no answer. They are `item_completed` since history is kept in pages, and
`user_message` and `agent_message` before. Calls of tools and their results are items.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import msgspec

from memoryd.clients.codex.forks import originals_of
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


class _Item(msgspec.Struct, gc=False):
    type: str = ""
    id: str | None = None
    content: msgspec.Raw = _NOTHING


class _Payload(msgspec.Struct, gc=False):
    type: str | None = None
    item: _Item | None = None
    message: Any = None
    name: Any = None
    call_id: str | None = None
    arguments: str | None = None
    input: msgspec.Raw = _NOTHING
    action: msgspec.Raw = _NOTHING
    output: msgspec.Raw = _NOTHING
    error: Any = None


class _Line(msgspec.Struct, gc=False):
    timestamp: str | None = None
    type: str = ""
    payload: _Payload | None = None


_decode = msgspec.json.Decoder(_Line).decode
_TYPES = frozenset(
    [
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "world_state",
        "token_usage_record",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "response_summary",
    ]
)
_ITEMS_OF_EVENTS = frozenset(
    [
        "UserMessage",
        "AgentMessage",
        "Reasoning",
        "Plan",
        "CommandExecution",
        "FileChange",
        "McpToolCall",
        "DynamicToolCall",
        "WebSearch",
        "ImageView",
        "ImageGeneration",
        "ContextCompaction",
        "HookPrompt",
        "EnteredReviewMode",
        "ExitedReviewMode",
        "CollabAgentToolCall",
        "SubAgentActivity",
        "Sleep",
    ]
)
_SHAPE = LineShape(
    _decode,
    re.compile(rb'"(?:event_msg|response_item)"').search,
    frozenset({"timestamp", "type", "payload"}),
    lambda value: value.get("type") in ("event_msg", "response_item"),
)
_INSTEAD = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|turn_aborted|subagent_notification|permissions|skill)\b"
    r"|# AGENTS\.md instructions for )"
)
"""Older versions wrote these as if they were typed."""
_IN_EDITOR = re.compile(r"\s*# Context from my IDE setup:.*\n## My request for Codex:\s*\n?", re.DOTALL)
_REFUSED = re.compile(rb'"(?:exec command rejected|patch rejected|rejected by user|aborted by user)')


def decoder_of(path: str) -> Decoder:
    head = first_object(path)
    source = head.get("payload")
    meta = source if isinstance(source, dict) else {}
    if is_sub_agent(meta):
        return lambda _line, _damage: ()
    session_id, cwd = text_at(meta, "id"), text_at(meta, "cwd")
    originals = originals_of(path, meta)

    def entries_of(line: bytes, damage: Counter[str]) -> tuple[Entry, ...]:
        try:
            lines = [_decode(line)]
        except UNDECODABLE:
            lines = repaired(line, damage, _SHAPE)
        entries = (_understood(entry, session_id, cwd, originals, damage) for entry in lines)
        return tuple([entry for entry in entries if entry is not None])

    return entries_of


def is_sub_agent(meta: dict[str, Any]) -> bool:
    """Whether a session belongs to an agent that another one started: nobody types there."""
    return meta.get("thread_source") == "subagent" or "subagent" in (
        meta["source"] if isinstance(meta.get("source"), dict) else ()
    )


def _understood(
    line: _Line, session_id: str, cwd: str, originals: dict[str, str], damage: Counter[str]
) -> Entry | None:
    payload = line.payload
    if payload is None or line.type not in ("event_msg", "response_item"):
        if line.type and line.type not in _TYPES:
            damage["unknown_type"] += 1
        return None
    if line.type == "response_item":
        return _call_or_result(payload, cwd, session_id, line.timestamp)
    kind, item = payload.type, payload.item
    if kind == "item_completed" and item is not None:
        if item.type == "UserMessage":
            return _prompt(item.id or "", _texts(item.content, damage), line, session_id, cwd, originals)
        if item.type == "AgentMessage":
            return Reply(cwd, _texts(item.content, damage), (), True, None, session_id, parse_iso(line.timestamp))
        if item.type not in _ITEMS_OF_EVENTS:
            damage["unknown_type"] += 1
    elif kind == "user_message" and isinstance(payload.message, str):
        return _prompt("", (payload.message,), line, session_id, cwd, originals)
    elif kind == "agent_message" and isinstance(payload.message, str):
        return Reply(cwd, (payload.message,), (), True, None, session_id, parse_iso(line.timestamp))
    elif kind in ("task_complete", "turn_complete"):
        return TurnEnd()
    elif kind == "turn_aborted":
        return TurnEnd("interrupted")
    elif kind in ("user_message", "agent_message", "item_completed"):
        damage["unknown_shape"] += 1
    return None


def _prompt(
    item_id: str, texts: tuple[str, ...], line: _Line, session_id: str, cwd: str, originals: dict[str, str]
) -> Prompt | None:
    text = "\n".join(texts)
    said = without_recall(_IN_EDITOR.sub("", text, count=1))
    if not said or _INSTEAD.match(said):
        return None
    own_id = f"codex:{item_id}" if item_id else id_of_content(session_id, line.timestamp or "", text)
    original = originals.get(own_id, "")
    ids = (own_id, original) if original else (own_id,)
    return Prompt(ids, session_id, cwd, parse_iso(line.timestamp), said)


def id_of_content(session_id: str, timestamp: str, text: str) -> str:
    """An id for a message that has none: the same text at the same time in the same session is one message."""
    what = f"{session_id}\0{timestamp}\0{text}".encode("utf-8", "surrogatepass")
    return "codex:content:" + hashlib.blake2b(what, digest_size=16).hexdigest()


def _texts(content: msgspec.Raw, damage: Counter[str]) -> tuple[str, ...]:
    try:
        pieces = msgspec.json.decode(content)
    except UNDECODABLE:
        pieces = None
    if isinstance(pieces, str):
        return (pieces,)
    if not isinstance(pieces, list):
        damage["unknown_shape"] += 1
        return ()
    return tuple(text for piece in pieces if (text := text_at(piece, "text")))


def _call_or_result(payload: _Payload, cwd: str, session_id: str, timestamp: str | None) -> Reply | Results | None:
    kind, call_id = payload.type, payload.call_id
    if call_id is None:
        return None
    if kind in ("function_call", "custom_tool_call", "local_shell_call"):
        given = payload.input if kind == "custom_tool_call" else payload.action
        if kind == "function_call":
            given = msgspec.Raw((payload.arguments or "null").encode("utf-8", "surrogatepass"))
        name = payload.name if isinstance(payload.name, str) else "local_shell"
        return Reply(cwd, (), (ToolCall(call_id, name, given),), False, None, session_id, parse_iso(timestamp))
    if kind in ("function_call_output", "custom_tool_call_output"):
        is_refused = _REFUSED.match(bytes(payload.output)) is not None
        return Results((call_id,), (call_id,) if is_refused else ())
    return None
