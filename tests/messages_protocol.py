"""What a request of the Messages API must look like and what it costs, judged without the SDK that makes one.

The API is lenient in places where a client of ours has no reason to be: here a breach is a breach, so that a test finds
it before an invoice or a refusal does.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MOST_BREAKPOINTS = 4
LOOK_BACK = 20  # boundaries that are tried for each breakpoint, its own included
_THOUGHTS = ("thinking", "redacted_thinking")
CONTEXT_BETA = "context-management-2025-06-27"
LIFETIMES = {"5m": 300.0, "1h": 3600.0}

_REQUIRED = frozenset({"model", "max_tokens", "messages"})
_OPTIONAL = frozenset(
    {"system", "tools", "tool_choice", "stream", "stop_sequences", "metadata", "thinking", "output_config"}
    | {"service_tier", "speed", "container", "inference_geo", "diagnostics", "cache_control", "context_management"}
)
_TOOL = frozenset({"name", "description", "input_schema"})
_TOOL_OPTIONAL = frozenset({"cache_control", "type", "strict", "input_examples", "eager_input_streaming"})
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")

# Who may send a block of this type, its required fields, and the others.
_BLOCKS: dict[str, tuple[tuple[str, ...], frozenset[str], frozenset[str]]] = {
    "text": (("user", "assistant"), frozenset({"text"}), frozenset({"cache_control", "citations"})),
    "tool_use": (("assistant",), frozenset({"id", "name", "input"}), frozenset({"cache_control", "caller"})),
    "tool_result": (("user",), frozenset({"tool_use_id"}), frozenset({"cache_control", "content", "is_error"})),
    "thinking": (("assistant",), frozenset({"thinking", "signature"}), frozenset()),
    "redacted_thinking": (("assistant",), frozenset({"data"}), frozenset()),
}


class BreachError(Exception):
    """The client sent what it must not."""


def _need(condition: object, message: str) -> None:
    if not condition:
        raise BreachError(message)


# --- JSON as it was written -------------------------------------------------------------------------------------------

_decode = json.JSONDecoder().raw_decode
_SPACE = re.compile(r"[ \t\r\n]*")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def decoded(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw.decode(), parse_constant=_no_constant)
        json.dumps(body, ensure_ascii=False).encode()  # half a surrogate pair passes json.loads, but not the API
    except (ValueError, RecursionError) as error:
        raise BreachError(f"the request body is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise BreachError("the request body is not a JSON object")
    return body


def _values(text: str, *, keyed: bool) -> Iterator[tuple[str, str]]:
    """The values of an object, or of an array with empty keys, each as it was written."""

    def skip(at: int) -> int:
        found = _SPACE.match(text, at)
        return found.end() if found else at

    at = skip(skip(0) + 1)
    while text[at] not in "]}":
        key = ""
        if keyed:
            key, at = _decode(text, at)
            at = skip(skip(at) + 1)
        _, end = _decode(text, at)
        yield key, text[at:end]
        at = skip(end)
        at = skip(at + (text[at] == ","))


def _members(text: str) -> dict[str, str]:
    return dict(_values(text, keyed=True))


def _elements(text: str) -> list[str]:
    """The elements of an array; a string stands for one block."""
    return [value for _, value in _values(text, keyed=False)] if text.startswith("[") else [text]


@dataclass(frozen=True, slots=True)
class Piece:
    """One tool, system block or content block as the client serialised it, less its breakpoint."""

    place: str  # what it belongs to; part of its identity, as the same words by another speaker are another prompt
    text: str
    lifetime: str | None  # of the breakpoint that it carries


def _piece(place: str, text: str) -> Piece:
    if not text.startswith("{"):
        return Piece(place, text, None)
    members = _members(text)
    breakpoint_text = members.pop("cache_control", None)  # breakpoints move between requests
    lifetime = json.loads(breakpoint_text).get("ttl", "5m") if breakpoint_text else None
    return Piece(place, ",".join(f'"{key}":{value}' for key, value in members.items()), lifetime)


def pieces(raw: bytes) -> list[Piece]:
    """What the model reads, in the order in which the API joins it; only for a request without a breach."""
    body = _members(raw.decode())
    found = [_piece("tools", tool) for tool in _elements(body.get("tools", "[]"))]
    found += [_piece("system", block) for block in _elements(body.get("system", "[]"))]
    for number, text in enumerate(_elements(body["messages"])):
        message = _members(text)
        place = f"{number} {','.join(message)} {message['role']}"
        found += [_piece(place, block) for block in _elements(message["content"])]
    if "cache_control" in body and found[-1].lifetime is None:  # the automatic breakpoint
        found[-1] = replace(found[-1], lifetime=json.loads(body["cache_control"]).get("ttl", "5m"))
    return found


# --- the rules --------------------------------------------------------------------------------------------------------


class Protocol:
    """The rules; also those that need what was sent before."""

    def __init__(self) -> None:
        self.signed: dict[
            str, str
        ] = {}  # thoughts that were sent, by signature; the model must get them back unchanged
        self._tools: dict[str, list[str]] = {}  # by system text

    def check(self, headers: Mapping[str, str], raw: bytes, body: dict[str, Any]) -> None:
        _need("anthropic-version" in headers, "anthropic-version: header is required")
        _need(headers.get("content-type", "").startswith("application/json"), "content-type: must be application/json")
        _fields("body", body, _REQUIRED, _OPTIONAL)
        if "context_management" in body:
            betas = headers.get("anthropic-beta", "").replace(" ", "").split(",")
            _need(CONTEXT_BETA in betas, "context_management: Extra inputs are not permitted")
            _check_edits(body["context_management"])
        _need(isinstance(body["model"], str) and body["model"], "model: must be a name")
        _need(type(body["max_tokens"]) is int and body["max_tokens"] >= 1, "max_tokens: must be a number above 0")
        _need(isinstance(body.get("stream", False), bool), "stream: must be true or false")
        names = _tool_names(body.get("tools", []))
        system = _system_text(body.get("system", []))
        self._check_messages(body["messages"], names)
        if "cache_control" in body:
            _cache_control("cache_control", body["cache_control"])
        parts = pieces(raw)
        lifetimes = [piece.lifetime for piece in parts if piece.lifetime]
        _need(len(lifetimes) <= MOST_BREAKPOINTS, f"cache_control: {len(lifetimes)} breakpoints, at most 4 are allowed")
        _need(lifetimes == sorted(lifetimes), "cache_control: ttl 1h must not come after ttl 5m")  # "1h" < "5m"
        tools = [piece.text for piece in parts if piece.place == "tools"]
        _need(self._tools.setdefault(system, tools) == tools, "tools: other tools, or in another order, than before")

    def _check_messages(self, messages: Any, names: list[str]) -> None:
        _need(isinstance(messages, list) and messages, "messages: must be a non-empty list")
        pending: list[str] = []  # calls of the message before
        seen: set[str] = set()
        for number, message in enumerate(messages):
            place, due = f"messages.{number}", ("user", "assistant")[number % 2]
            _fields(place, message, frozenset({"role", "content"}), frozenset())
            _need(message["role"] == due, f"{place}: role must be {due}, not {message['role']!r}")
            blocks = message["content"]
            if isinstance(blocks, str):
                blocks = [{"type": "text", "text": blocks}]
            _need(isinstance(blocks, list) and blocks, f"{place}: content must be a string or a non-empty list")
            for index, block in enumerate(blocks):
                self._check_block(f"{place}.content.{index}", due, block, names)
            calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
            results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            leading = [block["type"] for block in blocks[: len(results)]]
            _need(len({*calls} - seen) == len(calls), f"{place}: tool_use ids must be unique")
            _need(set(pending) <= set(results), f"{place}: tool_use without a tool_result right after it")
            _need(set(results) <= set(pending), f"{place}: tool_result without a tool_use right before it")
            _need(len(set(results)) == len(results), f"{place}: more than one tool_result for a tool_use")
            _need(set(leading) <= {"tool_result"}, f"{place}: tool_result blocks must stand before the text")
            pending, seen = calls, seen | set(calls)
        _need(messages[-1]["role"] == "user", "messages: the conversation must end with a user message")

    def _check_block(self, place: str, role: str, block: Any, names: list[str]) -> None:
        _need(isinstance(block, dict) and block.get("type") in tuple(_BLOCKS), f"{place}: not a known block type")
        roles, required, optional = _BLOCKS[block["type"]]
        _need(role in roles, f"{place}: {block['type']} cannot be sent as {role}")
        _fields(place, block, required | {"type"}, optional)
        if "cache_control" in block:
            _cache_control(place, block["cache_control"])
        match block["type"]:
            case "text":
                _text(place, block["text"])
            case "tool_use":
                _need(block["name"] in names, f"{place}: no such tool: {block['name']!r}")
                _need(isinstance(block["id"], str), f"{place}: id must be a string")
                _need(isinstance(block["input"], dict), f"{place}: input must be an object")
            case "tool_result":
                _need(isinstance(block["tool_use_id"], str), f"{place}: tool_use_id must be a string")
                _need(isinstance(block.get("is_error", False), bool), f"{place}: is_error must be true or false")
                _tool_result_content(place, block.get("content", ""))
            case _:
                signature = block.get("signature", block.get("data"))
                _need(isinstance(signature, str), f"{place}: signature must be a string")
                unchanged = self.signed.get(signature) == block.get("thinking", "")
                _need(unchanged, f"{place}: {block['type']} blocks cannot be modified")


def _fields(place: str, value: Any, required: frozenset[str], optional: frozenset[str]) -> None:
    _need(isinstance(value, dict), f"{place}: must be an object")
    for field in sorted(required - value.keys()):
        raise BreachError(f"{place}: {field}: Field required")
    for field in sorted(value.keys() - required - optional):
        raise BreachError(f"{place}: {field}: Extra inputs are not permitted")


def _text(place: str, text: Any) -> None:
    _need(isinstance(text, str) and text.strip(), f"{place}: text must be a string that is not empty")


def _cache_control(place: str, value: Any) -> None:
    _fields(f"{place}: cache_control", value, frozenset({"type"}), frozenset({"ttl"}))
    _need(value["type"] == "ephemeral", f"{place}: cache_control: type must be ephemeral")
    _need(value.get("ttl", "5m") in tuple(LIFETIMES), f"{place}: cache_control: ttl must be 5m or 1h")


# --- what the endpoint clears before the model reads it ---------------------------------------------------------------

_EDITS = {
    "clear_thinking_20251015": frozenset({"keep"}),
    "clear_tool_uses_20250919": frozenset({"trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"}),
}
"""In the order in which they have to stand."""
_CLEARED = "[cleared by the endpoint]"


def _check_edits(given: Any) -> None:
    _fields("context_management", given, frozenset({"edits"}), frozenset())
    kinds = [edit.get("type") for edit in given["edits"]]
    _need(set(kinds) <= set(_EDITS) and len(set(kinds)) == len(kinds), "context_management.edits: not a known type")
    _need(kinds == sorted(kinds), "context_management.edits: clear_thinking_20251015 must be the first")
    for edit in given["edits"]:
        _fields("context_management.edits", edit, frozenset({"type"}), _EDITS[edit["type"]])


def as_the_model_reads(raw: bytes, bytes_per_token: int) -> tuple[bytes, list[dict[str, Any]]]:
    """A request after the edits that it asks for, and those that left something out; only for one without a breach."""
    body = json.loads(raw)
    applied = []
    for edit in body.get("context_management", {}).get("edits", ()):
        shorter = json.loads(json.dumps(body))
        before = _tokens_of(body, bytes_per_token)
        if edit.get("keep") == "all":
            continue
        if edit["type"] == "clear_thinking_20251015":
            _clear_thoughts(shorter["messages"], edit.get("keep", {}).get("value", 1))
        elif before > edit.get("trigger", {}).get("value", 100_000):
            _clear_results(shorter["messages"], edit.get("keep", {}).get("value", 3))
        cleared = before - _tokens_of(shorter, bytes_per_token)
        if cleared >= edit.get("clear_at_least", {}).get("value", 1):
            body = shorter
            applied.append({"type": edit["type"], "cleared_input_tokens": cleared})
    return (_written(body) if applied else raw), applied


def _written(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _tokens_of(body: dict[str, Any], bytes_per_token: int) -> int:
    return sum(len(piece.text.encode()) for piece in pieces(_written(body))) // bytes_per_token


def _clear_results(messages: list[dict[str, Any]], kept: int) -> None:
    blocks = [block for message in messages for block in message["content"] if isinstance(block, dict)]
    for block in [block for block in blocks if block["type"] == "tool_result"][:-kept]:
        block["content"] = _CLEARED


def _clear_thoughts(messages: list[dict[str, Any]], kept: int) -> None:
    """A turn is all that the assistant does between two messages of the user that are more than results."""
    turns = [
        message["role"] == "user" and any(block["type"] != "tool_result" for block in _blocks_of(message))
        for message in messages
    ]
    for number, message in enumerate(messages):
        if message["role"] == "assistant" and sum(turns[number:]) >= kept:
            message["content"] = [block for block in _blocks_of(message) if block["type"] not in _THOUGHTS]


def _blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _tool_names(tools: Any) -> list[str]:
    _need(isinstance(tools, list), "tools: must be a list")
    for index, tool in enumerate(tools):
        place = f"tools.{index}"
        _fields(place, tool, _TOOL, _TOOL_OPTIONAL)
        _need(isinstance(tool["name"], str) and _TOOL_NAME.fullmatch(tool["name"]), f"{place}: not a name")
        _need(isinstance(tool["description"], str) and tool["description"], f"{place}: description must be a text")
        schema = tool["input_schema"]
        _need(isinstance(schema, dict) and schema.get("type") == "object", f"{place}: input_schema must be an object")
        if "cache_control" in tool:
            _cache_control(place, tool["cache_control"])
    names = [tool["name"] for tool in tools]
    _need(len(set(names)) == len(names), "tools: names must be unique")
    return names


def _system_text(system: Any) -> str:
    if isinstance(system, str):
        return system
    _need(isinstance(system, list), "system: must be a string or a list of text blocks")
    for index, block in enumerate(system):
        place = f"system.{index}"
        _fields(place, block, frozenset({"type", "text"}), frozenset({"cache_control", "citations"}))
        _need(block["type"] == "text", f"{place}: only text is permitted")
        _text(place, block["text"])
        if "cache_control" in block:
            _cache_control(place, block["cache_control"])
    return "".join(block["text"] for block in system)


def _tool_result_content(place: str, content: Any) -> None:
    if isinstance(content, str):
        return
    _need(isinstance(content, list), f"{place}: content must be a string or a list of text blocks")
    for block in content:
        _fields(f"{place}.content", block, frozenset({"type", "text"}), frozenset())
        _need(block["type"] == "text", f"{place}.content: only text is permitted")
        _text(f"{place}.content", block["text"])


# --- what it costs ----------------------------------------------------------------------------------------------------


class PrefixCache:
    """Prefixes that are still warm.

    When it looks back, the API takes a run of tool blocks for one. Here each counts, so that what is read here is there.
    """

    def __init__(self, minimum: int, bytes_per_token: int, clock: Callable[[], float]) -> None:
        self._minimum, self._bytes_per_token, self._clock = minimum, bytes_per_token, clock
        self._warm: dict[str, tuple[str, float]] = {}  # lifetime and last use of a prefix, by its digest

    def bill(self, model: str, parts: list[Piece]) -> dict[str, Any]:
        now, size, digest = self._clock(), 0, hashlib.sha256(model.encode())
        digests, tokens = [], []
        for part in parts:
            data = part.text.encode()
            digest.update(b"%b\n%d\n%b" % (part.place.encode(), len(data), data))
            size += len(data)
            digests.append(digest.hexdigest())
            tokens.append(size // self._bytes_per_token)
        self._warm = {key: (life, at) for key, (life, at) in self._warm.items() if now < at + LIFETIMES[life]}
        enough = [count >= self._minimum for count in tokens]
        marked = {index: part.lifetime for index, part in enumerate(parts) if part.lifetime and enough[index]}
        tried = {index for last in marked for index in range(max(0, last + 1 - LOOK_BACK), last + 1)}
        found = max((index for index in tried if digests[index] in self._warm), default=None)
        read = done = tokens[found] if found is not None else 0
        created = dict.fromkeys(LIFETIMES, 0)
        for index, lifetime in marked.items():
            created[lifetime] += max(0, tokens[index] - done)
            done = max(done, tokens[index])
        used = [*marked] if found is None else [*marked, found]
        for index in used:
            lifetime, _ = self._warm.get(digests[index]) or (marked[index], now)
            self._warm[digests[index]] = (lifetime, now)
        return {
            "input_tokens": tokens[-1] - done,
            "cache_creation_input_tokens": sum(created.values()),
            "cache_read_input_tokens": read,
            "cache_creation": {f"ephemeral_{lifetime}_input_tokens": count for lifetime, count in created.items()},
        }
