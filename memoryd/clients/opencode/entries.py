"""Entries of an opencode session: a line, which is a message with its parts, to what counts."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import msgspec

from memoryd.clients.opencode.rows import UNDECODABLE, UNKNOWN, OpencodeLine
from memoryd.clients.own_recall import without_recall
from memoryd.model import Prompt, Reply, Results, ToolCall, TurnEnd

if TYPE_CHECKING:
    from collections import Counter

    from memoryd.model import Entry

_decode = msgspec.json.Decoder(OpencodeLine).decode
_KNOWN_PARTS = frozenset({"text", "tool", "compaction", "subtask"})
_GOES_ON = frozenset({"tool-calls", "unknown"})
"""How a message ends that opencode itself follows up with the next one."""
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


def entries_of(line: bytes, damage: Counter[str]) -> tuple[Entry, ...]:
    try:
        message = _decode(line)
    except UNDECODABLE:
        damage["unreadable"] += bool(line.strip())
        return ()
    for part in message.parts:
        if (
            part.type == UNKNOWN
            or (part.type == "text" and part.text is None)
            or (part.type == "tool" and not part.name)
        ):
            damage["unknown_shape"] += 1
        elif part.type not in _KNOWN_PARTS:
            damage["unknown_type"] += 1
    if message.role == "user":
        return _prompt(message)
    if message.role == "assistant":
        return () if message.is_summary else _reply(message)
    damage["unknown_shape" if message.role == UNKNOWN else "unknown_type"] += 1
    return ()


def _prompt(message: OpencodeLine) -> tuple[Entry, ...]:
    texts = [part.said for part in message.parts if part.said]
    said = "\n".join(filter(None, (without_recall(_unquoted(text)) for text in texts)))
    if not said:
        return ()
    # A fork copies messages under new ids and keeps their times: those and the words tell that they are the same.
    what = "\0".join((str(message.at), *texts)).encode("utf-8", "surrogatepass")
    content = "opencode:" + hashlib.blake2b(what, digest_size=16).hexdigest()
    ids = (message.id, *((message.repeats,) if message.repeats else ()), content)
    return (Prompt(ids, message.session, message.cwd, message.at / 1000, said),)


def _unquoted(text: str) -> str:
    """`opencode run "two words"` stores the words with the quotation marks that a shell would need."""
    quoted = _QUOTED.fullmatch(text)
    return quoted[1].replace('\\"', '"') if quoted and " " in quoted[1] else text


def _reply(message: OpencodeLine) -> tuple[Entry, ...]:
    texts = []
    calls = []
    failed = []
    last = ""
    for part in message.parts:
        if part.said:
            texts.append(part.said)
            last = "text"
        elif part.type == "tool" and part.name:
            calls.append(ToolCall(part.id or "", part.name, part.input))
            last = "tool"
            if part.status == "error":
                failed.append(part.id or "")
    stop_reason = None if message.finish is None else "tool_use" if message.finish in _GOES_ON else "end_turn"
    entries: list[Entry] = []
    if texts or calls or message.finish:
        reply = Reply(
            message.cwd, tuple(texts), tuple(calls), last == "text", stop_reason, message.session, message.at / 1000
        )
        entries.append(reply)
    # A tool that still runs in a message that is complete was abandoned.
    if calls:
        entries.append(Results(tuple(call.id for call in calls), tuple(failed)))
    if bytes(message.error) != b"null":
        entries.append(TurnEnd("interrupted"))
    return tuple(entries)
