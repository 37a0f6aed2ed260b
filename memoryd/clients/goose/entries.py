"""Entries of a goose session: a line, which is a message, to what counts."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from memoryd.clients.goose.rows import UNDECODABLE, UNKNOWN, GooseLine
from memoryd.clients.own_recall import without_recall
from memoryd.model import Prompt, Reply, Results, ToolCall

if TYPE_CHECKING:
    from collections import Counter

    from memoryd.model import Entry

_decode = msgspec.json.Decoder(GooseLine).decode
_BULK = frozenset(
    {
        *("image", "document", "audio", "thinking", "redactedThinking", "reasoning", "systemNotification"),
        *("toolConfirmationRequest", "actionRequired", "frontendToolRequest", "contextLengthExceeded"),
        *("conversationCompacted", "summarizationRequested"),
    }
)


def entries_of(line: bytes, damage: Counter[str]) -> tuple[Entry, ...]:
    try:
        message = _decode(line)
    except UNDECODABLE:
        damage["unreadable"] += bool(line.strip())
        return ()
    for content in message.content:
        if content.type == UNKNOWN or (content.type == "text" and content.text is None):
            damage["unknown_shape"] += 1
        elif content.type not in _BULK and content.type not in ("text", "toolRequest", "toolResponse"):
            damage["unknown_type"] += 1
    if message.role == "user":
        answers = [content for content in message.content if content.type == "toolResponse"]
        if answers:
            failed = tuple(content.id or "" for content in answers if content.has_failed)
            return (Results(tuple(content.id or "" for content in answers), failed),)
        return () if message.is_hidden else _prompt(message)
    if message.role == "assistant":
        return () if message.is_hidden else _reply(message)
    damage["unknown_type"] += 1
    return ()


def _prompt(message: GooseLine) -> tuple[Entry, ...]:
    texts = [content.text for content in message.content if content.type == "text" and content.text]
    said = "\n".join(filter(None, map(without_recall, texts)))
    if not said:
        return ()
    # A copied session keeps times and words, and may have other ids. Seconds alone are coarse, so the directory counts too.
    what = "\0".join((message.cwd, str(message.at), *texts)).encode("utf-8", "surrogatepass")
    content_id = "goose:" + hashlib.blake2b(what, digest_size=16).hexdigest()
    ids = (message.id, content_id) if message.id else (content_id,)
    return (Prompt(ids, message.session, message.cwd, float(message.at), said),)


def _reply(message: GooseLine) -> tuple[Entry, ...]:
    texts = tuple(content.text for content in message.content if content.type == "text" and content.text)
    calls = tuple(
        ToolCall(content.id or "", content.name or "", content.input)
        for content in message.content
        if content.type == "toolRequest"
    )
    if not texts and not calls:
        return ()
    is_last_text = [content.type for content in message.content if content.type in ("text", "toolRequest")][
        -1
    ] == "text"
    stop_reason = "tool_use" if calls else "end_turn"
    return (Reply(message.cwd, texts, calls, is_last_text, stop_reason, message.session, float(message.at)),)
