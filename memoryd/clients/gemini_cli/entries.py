"""Entries of a Gemini CLI session: a line to the entries that count.

A message is a line; an answer that calls tools is written a second time with their results. What is written again as a whole
(`$set.messages`: the session's context, the history at a resume or without a failed turn) is left out: every message stands
in a line of its own before that, with its true time.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from memoryd.clients.damaged_lines import UNDECODABLE, LineShape, repaired
from memoryd.clients.gemini_cli.documents import open_document
from memoryd.clients.gemini_cli.hook_context import without_hook_context
from memoryd.clients.head import first_object, text_at
from memoryd.clients.own_recall import without_recall
from memoryd.clock import parse_iso
from memoryd.model import Prompt, Reply, Results, ToolCall
from memoryd.sources.session import NotATranscriptError

if TYPE_CHECKING:
    from collections import Counter

    from memoryd.clients.base import Decoder
    from memoryd.model import Entry

_NOTHING = msgspec.Raw(b"null")


class _Call(msgspec.Struct, gc=False):
    id: str = ""
    name: str = ""
    args: msgspec.Raw = _NOTHING
    status: str | None = None


class _Part(msgspec.Struct, gc=False):
    text: str | None = None
    thought: bool | None = None
    functionResponse: Any = None  # noqa: N815 - the client's name


class _Line(msgspec.Struct, gc=False):
    id: str | None = None
    timestamp: str | None = None
    type: str | None = None
    content: str | list[_Part] | None = None
    toolCalls: list[_Call] | None = None  # noqa: N815 - the client's name
    sessionId: str | None = None  # noqa: N815


_decode = msgspec.json.Decoder(_Line).decode
_TYPES = frozenset({None, "user", "gemini", "info", "error", "warning"})
_SHAPE = LineShape(
    _decode,
    re.compile(rb'"(?:user|gemini)"').search,
    frozenset({"id", "timestamp", "type"}),
    lambda value: value.get("type") in ("user", "gemini"),
)
_CONTEXT = "<session_context>"


def decoder_of(path: str) -> Decoder:
    head = _head(path)
    if head.get("kind") not in (None, "main"):
        return lambda _line, _damage: ()  # of a sub-agent
    session_id, cwd = session_id_of(path, head), _cwd(path)

    def entries_of(line: bytes, damage: Counter[str]) -> tuple[Entry, ...]:
        try:
            lines = [_decode(line)]
        except UNDECODABLE:
            lines = repaired(line, damage, _SHAPE)
        return tuple([entry for message in lines for entry in _understood(message, session_id, cwd, damage)])

    return entries_of


def session_id_of(path: str, head: dict[str, Any] | None = None) -> str:
    """By the first line of a file; before that is written, the part of it in the name."""
    return text_at(_head(path) if head is None else head, "sessionId") or os.path.splitext(path)[0].rpartition("-")[2]


def _head(path: str) -> dict[str, Any]:
    if not path.endswith(".json"):
        return first_object(path)
    with suppress(OSError, NotATranscriptError), open_document(path) as document:
        head: dict[str, Any] = msgspec.json.decode(next(document.lines(0)).data or b"{}")
        return head
    return {}


def _cwd(path: str) -> str:
    """The project of a session: no line names it, a file in the folder above does."""
    marker = os.path.join(os.path.dirname(os.path.dirname(path)), ".project_root")
    with suppress(OSError, UnicodeDecodeError), open(marker, encoding="utf-8") as file:
        return file.read(4096).strip()
    return ""


def _understood(line: _Line, session_id: str, cwd: str, damage: Counter[str]) -> list[Entry]:
    if line.type == "user":
        return _from_user(line, session_id, cwd)
    if line.type == "gemini":
        return _from_model(line, session_id, cwd)
    if line.type not in _TYPES:
        damage["unknown_type"] += 1
    return []


def _from_user(line: _Line, session_id: str, cwd: str) -> list[Entry]:
    parts = [_Part(line.content)] if isinstance(line.content, str) else line.content or []
    if results := [part.functionResponse for part in parts if part.functionResponse is not None]:
        failed = [result for result in results if text_at(result, "response", "error")]
        return [Results(tuple(text_at(one, "id") for one in results), tuple(text_at(one, "id") for one in failed))]
    texts = [without_recall(without_hook_context(part.text or "")) for part in parts]
    said = "\n".join(text for text in texts if text and not text.startswith(_CONTEXT))
    # The id of the session's context is the same everywhere, that of what was typed is not.
    is_prompt = said and line.id
    return [Prompt((f"gemini:{line.id}",), session_id, cwd, parse_iso(line.timestamp), said)] if is_prompt else []


def _from_model(line: _Line, session_id: str, cwd: str) -> list[Entry]:
    calls = line.toolCalls or []
    if calls:  # its words stand in the line before
        asked = tuple(ToolCall(call.id, call.name, call.args) for call in calls)
        failed = tuple(call.id for call in calls if call.status in ("error", "cancelled"))
        done = tuple(call.id for call in calls if call.status in ("success", "error", "cancelled"))
        reply = Reply(cwd, (), asked, False, "tool_use", session_id, parse_iso(line.timestamp))
        return [reply, Results(done, failed)] if done else [reply]
    parts = [_Part(line.content)] if isinstance(line.content, str) else line.content or []
    texts = tuple(part.text for part in parts if part.text and not part.thought)
    return [Reply(cwd, texts, (), bool(texts), None, session_id, parse_iso(line.timestamp))]
