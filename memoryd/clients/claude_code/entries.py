"""Entries of a Claude Code transcript: a line to the entries that count.

Most bytes of a transcript are not conversation. Decoding is typed: what no field below asks for is skipped and never
becomes an object, which is faster than looking for the type in the bytes first (`make bench` shows both). A line that
does not decode is repaired where its damage is known from real files, counted in any case, and never fatal.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import msgspec

from memoryd.clients.claude_code.injected_text import words_in_block, words_in_string
from memoryd.clients.damaged_lines import UNDECODABLE, LineShape, repaired
from memoryd.clock import parse_iso
from memoryd.model import Interrupt, Prompt, Reply, Results, ToolCall

if TYPE_CHECKING:
    from collections import Counter

    from memoryd.model import Entry

_NOTHING = msgspec.Raw(b"null")


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    id: str | None = None
    name: Any = None
    input: msgspec.Raw = _NOTHING
    tool_use_id: str | None = None
    is_error: Any = None
    content: msgspec.Raw = _NOTHING


class _Message(msgspec.Struct, gc=False):
    role: str | None = None
    content: str | list[_Block] | None = None
    stop_reason: str | None = None


class _Origin(msgspec.Struct, gc=False):
    kind: str | None = None


class _Attachment(msgspec.Struct, gc=False):
    type: str = ""
    prompt: str | list[_Block] | None = None
    commandMode: str | None = None  # noqa: N815 - the client's name
    origin: _Origin | None = None
    source_uuid: str | None = None


class _Fork(msgspec.Struct, gc=False):
    messageUuid: str | None = None  # noqa: N815 - the client's name


class _Entry(msgspec.Struct, gc=False):
    type: str = ""
    uuid: str | None = None
    sessionId: str | None = None  # noqa: N815 - the client's names, here and below
    cwd: str | None = None
    gitBranch: str | None = None  # noqa: N815
    timestamp: str | None = None
    message: _Message | None = None
    attachment: _Attachment | None = None
    isMeta: bool | None = None  # noqa: N815
    isSidechain: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    isVisibleInTranscriptOnly: bool | None = None  # noqa: N815
    agentId: str | None = None  # noqa: N815
    teamName: str | None = None  # noqa: N815
    forkedFrom: _Fork | None = None  # noqa: N815
    origin: _Origin | None = None
    toolUseResult: msgspec.Raw = _NOTHING  # noqa: N815


_decode = msgspec.json.Decoder(_Entry).decode
_may_count = re.compile(rb'"(?:user|assistant|queued_command)"').search

_INTERRUPT = re.compile(r"\s*\[Request interrupted by user")


def entries_of(line: bytes, damage: Counter[str]) -> tuple[Entry, ...]:
    """The entries that one line holds: none for bulk and meta lines, more than one where a newline is missing.

    `damage` counts what had to be repaired or left out: `nul`, `utf8`, `joined`, `spliced` (repaired), `unreadable`,
    `unknown_shape` (left out).
    """
    try:
        entry = _understand(_decode(line))
    except UNDECODABLE:
        return tuple(filter(None, map(_understand, repaired(line, damage, _SHAPE))))
    return () if entry is None else (entry,)


def _understand(raw: _Entry) -> Entry | None:
    """What a decoded line means, or None where it does not count."""
    if raw.isSidechain or raw.isMeta or raw.agentId or raw.teamName:
        return None
    if raw.type == "assistant":
        return _reply(raw)
    if raw.type == "user":
        if raw.isCompactSummary or raw.isVisibleInTranscriptOnly or raw.message is None:
            return None
        content = raw.message.content
        if isinstance(content, list):
            results = [block for block in content if block.type == "tool_result"]
            if results:
                errors = [block for block in results if block.is_error is True]
                return Results(
                    tuple([block.tool_use_id or "" for block in results]),
                    tuple([block.tool_use_id or "" for block in errors if _has_failed(block)]),
                    tuple([block.tool_use_id or "" for block in errors]),
                    tuple([block.content for block in results]),
                )
        if bytes(raw.toolUseResult) != b"null":  # the same once more, structured: only a tool's result has it
            return Results(())
        return _prompt(raw, content) if raw.message.role in (None, "user") and _is_human(raw.origin) else None
    if raw.type == "attachment" and raw.attachment is not None and raw.attachment.type == "queued_command":
        # Typed while the assistant was at work. Notifications of background tasks come the same way.
        queued = raw.attachment
        is_user = queued.commandMode in (None, "prompt") and _is_human(queued.origin) and _is_human(raw.origin)
        return _prompt(raw, queued.prompt) if is_user else None
    return None


def _is_human(origin: _Origin | None) -> bool:
    """Older clients write no origin."""
    return origin is None or origin.kind == "human"


def _reply(raw: _Entry) -> Reply | None:
    if raw.message is None:
        return None
    content = raw.message.content
    session_id, said_at = raw.sessionId or "", parse_iso(raw.timestamp)
    if isinstance(content, str):
        return Reply(raw.cwd or "", (content,), (), True, raw.message.stop_reason, session_id, said_at)
    texts = []
    calls = []
    last = ""
    for block in content or ():
        if block.type == "text":
            texts.append(block.text or "")
            last = "text"
        elif block.type == "tool_use":
            calls.append(ToolCall(block.id or "", str(block.name), block.input))
            last = "tool_use"
    return Reply(
        raw.cwd or "", tuple(texts), tuple(calls), last == "text", raw.message.stop_reason, session_id, said_at
    )


def _has_failed(result: _Block) -> bool:
    """Whether a call that ended with an error changed nothing. A command that ran, however it ended, may have written."""
    return not bytes(result.content).startswith(b'"Exit code')


def _prompt(raw: _Entry, content: str | list[_Block] | None) -> Prompt | Interrupt | None:
    if isinstance(content, list):
        texts = [block.text or "" for block in content if block.type == "text"]
    else:
        texts = [content or ""]
    if any(map(_INTERRUPT.match, texts)):
        return Interrupt()
    words = words_in_block if isinstance(content, list) else words_in_string
    said = "\n".join(filter(None, map(words, texts)))
    if not said:
        return None
    copied_from = (
        raw.forkedFrom.messageUuid if raw.forkedFrom else None,
        raw.attachment.source_uuid if raw.attachment else None,
    )
    own_id = raw.uuid or _id_of_content(raw, "\n".join(texts))
    ids = (own_id, *(other for other in copied_from if other and other != own_id))
    return Prompt(ids, raw.sessionId or "", raw.cwd or "", parse_iso(raw.timestamp), said, raw.gitBranch or "")


def _id_of_content(raw: _Entry, text: str) -> str:
    """An id for a message that has none: the same text at the same time in the same session is one message.

    The text as it was written, whatever of it is the user's: the id must not change with how that is told.
    """
    what = "\0".join((raw.sessionId or "", raw.timestamp or "", text)).encode("utf-8", "surrogatepass")
    return "content:" + hashlib.blake2b(what, digest_size=16).hexdigest()


def _should_count(value: dict[str, Any]) -> bool:
    return value.get("type") in ("user", "assistant") or "queued_command" in str(value.get("attachment"))[:200]


_SHAPE = LineShape(_decode, _may_count, frozenset({"type", "uuid", "sessionId", "timestamp"}), _should_count)
