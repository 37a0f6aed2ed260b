"""Reply of a Messages endpoint: bytes to one whole reply, or the reason why there is none. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_BYTES = 8 << 20
"""A longer answer is none: 128,000 tokens, each in an event of its own, are less."""

_MOST_TOKENS = 10**9
"""No request has more; the ledger could not take any number."""

_KEPT = {
    "text": ("text",),
    "tool_use": ("id", "name", "input"),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
}
"""The blocks that we send back, and the fields of each that the API accepts in a request."""
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
"""What the API does not accept in the names and ids of calls; servers of other makers do."""
_DELTAS = {
    "text_delta": ("text", "text"),
    "input_json_delta": ("partial_json", "partial_json"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}


class BrokenReplyError(Exception):
    """The endpoint's answer ends too early, or is no message at all."""


class StreamError(Exception):
    """The endpoint broke off its answer with an error of its own."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message or kind)


class Usage(NamedTuple):
    """Tokens, as the endpoint counts them; a local one says nothing of caches."""

    input: int = 0
    """Neither read from a cache nor written to one."""
    cache_read: int = 0
    cache_created: int = 0
    long_cache_created: int = 0
    """The part of what was written that is kept for an hour."""
    output: int = 0

    @property
    def prompt(self) -> int:
        return self.input + self.cache_read + self.cache_created


class ModelReply(NamedTuple):
    """One message of the model, whole."""

    content: tuple[dict[str, Any], ...]
    """Blocks as they may be sent back."""
    stop_reason: str | None
    usage: Usage
    broken: tuple[str, ...] = ()
    """Ids of calls whose input is no JSON object."""
    dropped: tuple[str, ...] = ()
    """Types of blocks that we do not know, left out."""
    cleared_tokens: int = 0
    """Of the prompt, which the endpoint left out before the model read it, because we had asked for that."""
    model: str = ""
    """Who answered, by its full name."""

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [block for block in self.content if block["type"] == "tool_use"]


def reply_from(chunks: Iterable[bytes], content_type: str) -> ModelReply:
    """Read an answer to its end, streamed or not. Raises BrokenReplyError or StreamError."""
    if "event-stream" in content_type:
        return reply_of_events(_events(chunks))
    data = b""
    for chunk in chunks:
        data += chunk
        if len(data) > MOST_BYTES:
            raise BrokenReplyError("it does not end")
    message = _object(data)
    if message.get("type") == "error":
        raise _error(message)
    return _reply(message, _list(message.get("content")), _usage(message))


def reply_of_events(events: Iterator[dict[str, Any]]) -> ModelReply:
    """The message that events of a stream come to. Raises BrokenReplyError or StreamError."""
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    for event in events:
        kind = event.get("type")
        if kind == "error":
            raise _error(event)
        if kind == "message_start":
            message = _mapping(event.get("message"))
            usage = dict(_mapping(message.get("usage")))
        elif kind == "content_block_start":
            blocks[_index(event)] = dict(_mapping(event.get("content_block")))
        elif kind == "content_block_delta":
            _extend(blocks.setdefault(_index(event), {}), _mapping(event.get("delta")))
        elif kind == "message_delta":
            message = {**message, **_mapping(event.get("delta"))}
            if "context_management" in event:
                message["context_management"] = event["context_management"]
            # Counts here are totals; those that are left out, or zero for want of better, stand as they were.
            usage |= {key: value for key, value in _mapping(event.get("usage")).items() if value}
        elif kind == "message_stop":
            return _reply(message, [blocks[index] for index in sorted(blocks)], _usage({"usage": usage}))
    raise BrokenReplyError("it breaks off")


def _events(chunks: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Server-sent events; the type stands in their data, so that is all we look at."""
    rest = b""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > MOST_BYTES:
            raise BrokenReplyError("it does not end")
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data:") and (data := line[5:].strip()) not in (b"", b"[DONE]"):
                yield _object(data)


def _extend(block: dict[str, Any], delta: dict[str, Any]) -> None:
    source, target = _DELTAS.get(str(delta.get("type")), ("", ""))
    if isinstance(piece := delta.get(source), str):
        block[target] = str(block.get(target) or "") + piece


def _reply(message: dict[str, Any], blocks: list[Any], usage: Usage) -> ModelReply:
    content: list[dict[str, Any]] = []
    broken: list[str] = []
    dropped: list[str] = []
    ids: set[str] = set()
    for block in map(_mapping, blocks):
        kind = _text(str(block.get("type")))
        if kind not in _KEPT:
            dropped.append(kind[:40])
            continue
        if kind == "tool_use":
            call, is_whole = _call(block, ids)
            content.append(call)
            broken += [] if is_whole else [call["id"]]
        # What is empty, or a thought that nobody signed, may not be sent back.
        elif all(isinstance(block.get(field), str) and block[field].strip() for field in _KEPT[kind]):
            content.append({"type": kind} | {field: _text(block[field]) for field in _KEPT[kind]})
    stop_reason = message.get("stop_reason")
    return ModelReply(
        tuple(content),
        stop_reason if isinstance(stop_reason, str) else None,
        usage,
        tuple(broken),
        tuple(dropped),
        _cleared_tokens(message),
        _text(message.get("model"))[:100],
    )


def _call(block: dict[str, Any], ids: set[str]) -> tuple[dict[str, Any], bool]:
    """A tool call with an id of its own, and whether its input is whole: a piece of JSON is never completed."""
    given = block.get("input")
    if isinstance(streamed := block.get("partial_json"), str) and streamed:
        try:
            given = json.loads(_text(streamed))
        except (ValueError, RecursionError):
            given = None
    number = _NO_NAME.sub("_", _text(block.get("id"))) or f"call_{len(ids)}"
    while number in ids:
        number += "_"
    ids.add(number)
    is_whole = isinstance(given, dict) and _can_be_sent(given)
    name = (_NO_NAME.sub("_", _text(block.get("name"))) or "unknown")[:64]
    return {"type": "tool_use", "id": number, "name": name, "input": given if is_whole else {}}, is_whole


def _can_be_sent(given: dict[str, Any]) -> bool:
    """Whether it is JSON to everybody. Python also reads NaN and half a letter, and then cannot send them back."""
    try:
        json.dumps(given, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def _usage(message: dict[str, Any]) -> Usage:
    usage = _mapping(message.get("usage"))
    created = _tokens(usage, "cache_creation_input_tokens")
    return Usage(
        _tokens(usage, "input_tokens"),
        _tokens(usage, "cache_read_input_tokens"),
        created,
        min(_tokens(_mapping(usage.get("cache_creation")), "ephemeral_1h_input_tokens"), created),
        _tokens(usage, "output_tokens"),
    )


def _cleared_tokens(message: dict[str, Any]) -> int:
    edits = _list(_mapping(message.get("context_management")).get("applied_edits"))
    return sum(_tokens(edit, "cleared_input_tokens") for edit in map(_mapping, edits))


def _tokens(place: dict[str, Any], key: str) -> int:
    value = place.get(key)
    return min(value, _MOST_TOKENS) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _error(event: dict[str, Any]) -> StreamError:
    error = _mapping(event.get("error"))
    return StreamError(_text(str(error.get("type") or "error")), _text(str(error.get("message") or "")))


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BrokenReplyError("it is not JSON") from error
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise BrokenReplyError("it is no message")
    return value


def _text(value: Any) -> str:
    """A string that can be encoded: halves of a letter that a stream has split are joined, lone ones replaced."""
    text = value if isinstance(value, str) else ""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _index(event: dict[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0


# --- kept in the ledger -----------------------------------------------------------------------------------------------


def packed(reply: ModelReply) -> bytes:
    return json.dumps(reply._replace(usage=tuple(reply.usage))._asdict()).encode()  # type: ignore[arg-type]


def unpacked(data: bytes) -> ModelReply:
    kept = json.loads(data)
    return ModelReply(
        tuple(kept["content"]),
        kept["stop_reason"],
        Usage(*kept["usage"]),
        tuple(kept["broken"]),
        tuple(kept["dropped"]),
        kept.get("cleared_tokens", 0),  # of a reply that an older memoryd has kept
        kept.get("model", ""),
    )
