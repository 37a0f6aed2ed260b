"""Entries of a Qwen Code session: a line to the entries that count.

Records say where they come from. Telemetry repeats answers, also those of the client's own memory agent, and a compression
repeats the history: both are `system` records, and left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from memoryd.clients.damaged_lines import UNDECODABLE, LineShape, repaired
from memoryd.clients.head import text_at
from memoryd.clients.own_recall import without_recall
from memoryd.clock import parse_iso
from memoryd.model import Prompt, Reply, Results, ToolCall

if TYPE_CHECKING:
    from collections import Counter

    from memoryd.clients.base import Decoder
    from memoryd.model import Entry

_NOTHING = msgspec.Raw(b"null")


class _FunctionCall(msgspec.Struct, gc=False):
    id: str | None = None
    name: str = ""
    args: msgspec.Raw = _NOTHING


class _Part(msgspec.Struct, gc=False):
    text: str | None = None
    thought: bool | None = None
    functionCall: _FunctionCall | None = None  # noqa: N815 - the client's names, here and below
    functionResponse: Any = None  # noqa: N815


class _Message(msgspec.Struct, gc=False):
    role: str | None = None
    parts: list[_Part] | None = None


class _Shown(msgspec.Struct, gc=False):
    displayText: str | None = None  # noqa: N815


class _Result(msgspec.Struct, gc=False):
    status: str | None = None


class _Record(msgspec.Struct, gc=False):
    uuid: str = ""
    sessionId: str = ""  # noqa: N815
    timestamp: str | None = None
    type: str = ""
    subtype: str | None = None
    provenance: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None  # noqa: N815
    message: _Message | None = None
    systemPayload: msgspec.Raw = _NOTHING  # noqa: N815
    toolCallResult: _Result | None = None  # noqa: N815
    agentId: str | None = None  # noqa: N815
    isSidechain: bool | None = None  # noqa: N815
    forkedFrom: Any = None  # noqa: N815


_decode = msgspec.json.Decoder(_Record).decode
_shown = msgspec.json.Decoder(_Shown).decode
_SHAPE = LineShape(
    _decode,
    re.compile(rb'"(?:user|assistant|tool_result)"').search,
    frozenset({"uuid", "sessionId", "timestamp", "type"}),
    lambda value: value.get("type") in ("user", "assistant", "tool_result"),
)
_ADDED = re.compile(r"\s*<(?:qwen:[a-z-]+|system-reminder)\b")


def decoder_of(_path: str) -> Decoder:
    def entries_of(line: bytes, damage: Counter[str]) -> tuple[Entry, ...]:
        try:
            entry = _understood(_decode(line), damage)
        except UNDECODABLE:
            records = repaired(line, damage, _SHAPE)
            return tuple(entry for record in records if (entry := _understood(record, damage)) is not None)
        return () if entry is None else (entry,)

    return entries_of


def _understood(record: _Record, damage: Counter[str]) -> Entry | None:
    if record.isSidechain or record.agentId or record.type == "system":
        return None
    parts = (record.message.parts if record.message else None) or []
    if record.type == "user":
        is_typed = record.provenance in (None, "real_user") and not record.subtype
        return _prompt(record, parts) if is_typed and record.uuid else None
    if record.type == "assistant":
        texts = tuple(part.text for part in parts if part.text and not part.thought)
        calls = tuple(
            ToolCall(part.functionCall.id or "", part.functionCall.name, part.functionCall.args)
            for part in parts
            if part.functionCall is not None
        )
        is_answer = bool(texts) and not calls
        cwd = record.cwd or ""
        return Reply(cwd, texts, calls, is_answer, None, record.sessionId, parse_iso(record.timestamp))
    if record.type == "tool_result":
        ids = tuple(text_at(part.functionResponse, "id") for part in parts if part.functionResponse is not None)
        status = record.toolCallResult.status if record.toolCallResult else None
        return Results(ids, ids if status in ("error", "cancelled") else ())
    damage["unknown_type"] += 1
    return None


def _prompt(record: _Record, parts: list[_Part]) -> Prompt | None:
    try:
        shown = _shown(record.systemPayload).displayText if record.systemPayload is not _NOTHING else None
    except UNDECODABLE:
        shown = None
    texts = [shown] if shown is not None else [part.text or "" for part in parts]
    said = "\n".join(words for text in texts if not _ADDED.match(text) and (words := without_recall(text)))
    if not said:
        return None
    forked_from = record.forkedFrom if isinstance(record.forkedFrom, str) else text_at(record.forkedFrom, "messageUuid")
    ids = (f"qwen:{record.uuid}", *([f"qwen:{forked_from}"] if forked_from else ()))
    at = parse_iso(record.timestamp)
    return Prompt(ids, record.sessionId, record.cwd or "", at, said, record.gitBranch or "")
