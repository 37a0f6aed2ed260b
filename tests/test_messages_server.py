"""The server that stands in for the Messages API: it speaks to the real SDK, misses no breach, and bills like the API."""

from __future__ import annotations

import copy
import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import anthropic
import pytest

from tests.messages_server import (
    Drop,
    MessagesServer,
    Reply,
    Status,
    call,
    last_text,
    raw_block,
    text,
    thinking,
    tool_results,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.messages_server import Answer, Request

PATIENCE_SECONDS = 180
HEADERS = {"content-type": "application/json", "anthropic-version": "2026-10-21", "authorization": "Bearer test-key"}
BETA = {"anthropic-beta": "something-else, context-management-2025-06-27"}
CONTEXT = {"edits": [{"type": "clear_tool_uses_20250919"}]}
ASKED: dict[str, Any] = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Grüß dich"}]}
FULL = Reply(
    thinking("Was wäre, wenn …"),
    text("Größe: 5 µm"),
    call("Read", {"path": "a/ü.md", "lines": [1, 2]}),
    call("Stop", {}),
)
READ = {"name": "Read", "description": "reads", "input_schema": {"type": "object", "properties": {}}}
WRITE = {"name": "Write", "description": "writes", "input_schema": {"type": "object"}}
SHORT, LONG = {"type": "ephemeral", "ttl": "5m"}, {"type": "ephemeral", "ttl": "1h"}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def always(answer: Answer) -> Callable[[Request], Answer]:
    return lambda _: answer


def post(server: MessagesServer, body: Any, headers: dict[str, str] = HEADERS, path: str = "/v1/messages") -> Any:
    """The answer of a client that sends what it is told: status and JSON."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
    try:
        connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def sdk(
    server: MessagesServer, key: str = "test-key", timeout: float | anthropic.Timeout = PATIENCE_SECONDS
) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url, api_key=key, max_retries=0, timeout=timeout)


def ask(client: anthropic.Anthropic, *, streamed: bool, **changes: Any) -> Any:
    if not streamed:
        return client.messages.create(**(ASKED | changes))
    with client.messages.stream(**(ASKED | changes)) as stream:
        return stream.get_final_message()


# --- what the SDK makes of the answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [False, True])
def test_the_sdk_reads_what_was_answered(streamed: bool) -> None:
    with MessagesServer(always(FULL)) as server, sdk(server) as client:
        message = ask(client, streamed=streamed)
        assert server.violations == []
        assert server.answered == server.requests
    assert (message.id, message.model, message.stop_reason) == ("msg_0000", "m", "tool_use")
    thought, said, read, stop = message.content
    assert (thought.thinking, thought.signature) == ("Was wäre, wenn …", "signature_0000_0")
    assert said.text == "Größe: 5 µm"
    assert (read.id, read.name, read.input) == ("toolu_0000_2", "Read", {"path": "a/ü.md", "lines": [1, 2]})
    assert (stop.id, stop.name, stop.input) == ("toolu_0000_3", "Stop", {})
    assert message.usage.to_dict() == server.requests[0].usage


def test_output_is_counted_in_bytes() -> None:
    with MessagesServer(always(Reply(text("ü" * 1000))), bytes_per_token=100) as server:
        _, message = post(server, ASKED)
    assert message["usage"]["output_tokens"] == 20
    with MessagesServer(always(Reply(text(".")))) as server:
        assert post(server, ASKED)[1]["usage"]["output_tokens"] >= 1


@pytest.mark.parametrize("streamed", [False, True])
def test_a_conversation_with_tools_and_thoughts(streamed: bool) -> None:
    """What the SDK sends back of its own blocks is no breach."""

    def answer(request: Request) -> Answer:
        if not tool_results(request):
            return Reply(thinking("hm"), text("I look."), call("Read", {"path": "x"}), call("Write", {"path": "y"}))
        first, second = tool_results(request)
        return Reply(text(f"{first['content']}, {second['content']}: {last_text(request)}"))

    with MessagesServer(answer) as server, sdk(server) as client:
        first = ask(client, streamed=streamed, tools=[READ, WRITE])
        results: list[dict[str, Any]] = [
            {"type": "tool_result", "tool_use_id": block.id, "content": block.name}
            for block in first.content
            if block.type == "tool_use"
        ]
        told = {"role": "user", "content": [*results, text("go"), text("on")]}
        messages = [*ASKED["messages"], {"role": "assistant", "content": first.content}, told]
        second = ask(client, streamed=streamed, tools=[READ, WRITE], messages=messages)
        assert server.violations == []
    assert second.content[0].text == "Read, Write: go\non"
    assert second.stop_reason == "end_turn"


# --- what is recorded -------------------------------------------------------------------------------------------------


def test_a_request_is_kept_as_it_came() -> None:
    words = "nonce-0000000b nonce-0000000a nonce-0000000b nonce-xyz"
    raw = json.dumps(ASKED | {"messages": [{"role": "user", "content": words}]}, indent=3).encode()
    with MessagesServer(always(Reply(text("ok")))) as server:
        post(server, raw, HEADERS | {"X-Extra": "Yes"})
        (request,) = server.requests
    assert (request.number, request.raw, request.body) == (0, raw, json.loads(raw))
    assert request.headers["x-extra"] == "Yes"
    assert request.nonces == ["nonce-0000000b", "nonce-0000000a"]


def test_many_at_once_each_get_their_own_answer() -> None:
    with MessagesServer(lambda request: Reply(text(last_text(request)))) as server:
        bodies = [ASKED | {"messages": [{"role": "user", "content": f"number {number}"}]} for number in range(16)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda body: post(server, body)[1]["content"][0]["text"], bodies))
        assert answers == [f"number {number}" for number in range(16)]
        assert [request.number for request in server.requests] == list(range(16))
        assert len(server.answered) == 16


def test_a_connection_is_kept() -> None:
    with MessagesServer(always(Reply(text("ok")))) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
        sockets = []
        for body in (b"{", json.dumps(ASKED), json.dumps(ASKED | {"stream": True}), json.dumps(ASKED)):
            connection.request("POST", "/v1/messages", body, HEADERS)
            connection.getresponse().read()
            sockets.append(connection.sock)
        connection.close()
        assert len(set(sockets)) == 1


def test_an_answer_function_that_fails_is_seen() -> None:
    def answer(_: Request) -> Answer:
        raise AssertionError("not what I expected")

    with MessagesServer(answer) as server:
        assert post(server, ASKED)[0] == 500
    assert server.violations == [
        "request 0: the answer function failed: AssertionError('not what I expected')",
    ]


def test_a_client_that_dies_while_it_asks_is_no_breach() -> None:
    with MessagesServer(always(Reply(text("ok")))) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
        connection.request("POST", "/v1/messages", b"{", HEADERS | {"content-length": "1000"})
        connection.close()
    assert (server.requests, server.violations) == ([], [])


# --- breaches ---------------------------------------------------------------------------------------------------------

GONE = object()


def whole() -> dict[str, Any]:
    """A request that uses whatever is allowed."""
    calls = [{"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {}} for number in (1, 2)]
    results: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "x"},
        {"type": "tool_result", "tool_use_id": "t2", "content": [text("y")], "is_error": True},
    ]
    return {
        "model": "m",
        "max_tokens": 1,
        "stream": False,
        "tools": [READ, WRITE | {"cache_control": LONG}],
        "system": [text("Be brief."), text("Be kind.") | {"cache_control": LONG}],
        "messages": [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": [text("I read."), *calls]},
            {"role": "user", "content": [*results, text("go on") | {"cache_control": {"type": "ephemeral"}}]},
        ],
        "cache_control": SHORT,
        "context_management": CONTEXT,
    }


def changed(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The body with another value at a path like `messages.0.role`; a `+` at its end adds to a list."""
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place: Any = json.loads(json.dumps(body))  # a copy that shares nothing within itself either
    body = place
    for step in way:
        place = place[step]
    if value is GONE:
        del place[last]
    elif last == "+":
        place.append(value)
    else:
        place[last] = value
    return body


def test_what_is_allowed() -> None:
    with MessagesServer(always(Reply(text("ok")))) as server:
        assert post(server, whole(), HEADERS | BETA)[0] == 200
        assert post(server, changed(whole(), "system", "Be brief."), HEADERS | BETA)[0] == 200
        assert post(server, changed(ASKED, "cache_control", SHORT))[0] == 200
        assert post(server, ASKED, {**HEADERS, "authorization": "", "x-api-key": "test-key"}, "/v1/messages?beta=true")
        assert server.violations == []
        assert len(server.answered) == 4


THIRD = "messages.2.content"
BREACHES: list[tuple[str, Any, str]] = [
    ("temperature", 1.0, "body: temperature: Extra inputs are not permitted"),
    ("model", GONE, "body: model: Field required"),
    ("max_tokens", GONE, "body: max_tokens: Field required"),
    ("messages", GONE, "body: messages: Field required"),
    ("model", "", "model: must be a name"),
    ("model", 1, "model: must be a name"),
    ("max_tokens", 0, "max_tokens: must be a number above 0"),
    ("max_tokens", True, "max_tokens: must be a number above 0"),
    ("max_tokens", "1", "max_tokens: must be a number above 0"),
    ("stream", "yes", "stream: must be true or false"),
    ("messages", [], "messages: must be a non-empty list"),
    ("messages", "hello", "messages: must be a non-empty list"),
    ("messages.0", "hello", "messages.0: must be an object"),
    ("messages.0.role", "assistant", "messages.0: role must be user, not 'assistant'"),
    ("messages.0.role", "system", "messages.0: role must be user, not 'system'"),
    ("messages.1.role", "user", "messages.1: role must be assistant, not 'user'"),
    ("messages.2.role", "assistant", "messages.2: role must be user, not 'assistant'"),
    ("messages.0.name", "x", "messages.0: name: Extra inputs are not permitted"),
    ("messages.0.content", GONE, "messages.0: content: Field required"),
    ("messages.0.content", [], "messages.0: content must be a string or a non-empty list"),
    ("messages.0.content", 5, "messages.0: content must be a string or a non-empty list"),
    ("messages.0.content", "", "messages.0.content.0: text must be a string that is not empty"),
    ("messages.0.content", [text(" \n")], "messages.0.content.0: text must be a string that is not empty"),
    ("messages.0.content", [text("x") | {"text": 5}], "messages.0.content.0: text must be a string that is not empty"),
    ("messages.0.content", [{"type": "hologram"}], "messages.0.content.0: not a known block type"),
    ("messages.0.content", [{"type": []}], "messages.0.content.0: not a known block type"),
    ("messages.0.content", ["x"], "messages.0.content.0: not a known block type"),
    ("messages.0.content", [{"type": "text"}], "messages.0.content.0: text: Field required"),
    ("messages.0.content", [text("x") | {"id": 1}], "messages.0.content.0: id: Extra inputs are not permitted"),
    (f"{THIRD}.+", call("Read", {}), f"{THIRD}.3: tool_use cannot be sent as user"),
    ("messages.1.content.0", {"type": "tool_result"}, "messages.1.content.0: tool_result cannot be sent as assistant"),
    ("messages.1.content.1.id", GONE, "messages.1.content.1: id: Field required"),
    ("messages.1.content.1.id", 5, "messages.1.content.1: id must be a string"),
    ("messages.1.content.1.name", "Fly", "messages.1.content.1: no such tool: 'Fly'"),
    ("messages.1.content.1.name", [], "messages.1.content.1: no such tool: []"),
    ("messages.1.content.1.input", "{}", "messages.1.content.1: input must be an object"),
    ("messages.1.content.2.id", "t1", "messages.1: tool_use ids must be unique"),
    (f"{THIRD}.0.id", "t1", f"{THIRD}.0: id: Extra inputs are not permitted"),
    (f"{THIRD}.0.tool_use_id", 5, f"{THIRD}.0: tool_use_id must be a string"),
    (f"{THIRD}.0.is_error", "no", f"{THIRD}.0: is_error must be true or false"),
    (f"{THIRD}.0.content", 5, f"{THIRD}.0: content must be a string or a list of text blocks"),
    (f"{THIRD}.1.content.0", text(""), f"{THIRD}.1.content: text must be a string that is not empty"),
    (f"{THIRD}.1.content.0.type", "image", f"{THIRD}.1.content: only text is permitted"),
    (f"{THIRD}.1.content.0.cache_control", SHORT, f"{THIRD}.1.content: cache_control: Extra inputs are not permitted"),
    (f"{THIRD}.1", GONE, "messages.2: tool_use without a tool_result right after it"),
    (f"{THIRD}.1.tool_use_id", "t1", "messages.2: tool_use without a tool_result right after it"),
    (
        f"{THIRD}.+",
        {"type": "tool_result", "tool_use_id": "t2"},
        "messages.2: more than one tool_result for a tool_use",
    ),
    (
        f"{THIRD}.+",
        {"type": "tool_result", "tool_use_id": "t3"},
        "messages.2: tool_result without a tool_use right before it",
    ),
    ("messages.+", {"role": "assistant", "content": "So"}, "messages: the conversation must end with a user message"),
    (
        "messages.1.content.0",
        {"type": "thinking", "thinking": "x"},
        "messages.1.content.0: signature: Field required",
    ),
    (
        "messages.1.content.0",
        {"type": "thinking", "thinking": "x", "signature": []},
        "messages.1.content.0: signature must be a string",
    ),
    (
        "messages.1.content.0",
        {"type": "thinking", "thinking": "x", "signature": "forged"},
        "messages.1.content.0: thinking blocks cannot be modified",
    ),
    (
        "messages.1.content.0",
        {"type": "redacted_thinking", "data": "forged"},
        "messages.1.content.0: redacted_thinking blocks cannot be modified",
    ),
    ("tools", {}, "tools: must be a list"),
    ("tools.0.description", GONE, "tools.0: description: Field required"),
    ("tools.0.description", "", "tools.0: description must be a text"),
    ("tools.0.name", "a name", "tools.0: not a name"),
    ("tools.0.colour", "red", "tools.0: colour: Extra inputs are not permitted"),
    ("tools.0.input_schema", {"type": "string"}, "tools.0: input_schema must be an object"),
    ("tools.0.input_schema", "object", "tools.0: input_schema must be an object"),
    ("tools.0.cache_control", {}, "tools.0: cache_control: type: Field required"),
    ("tools.+", READ, "tools: names must be unique"),
    ("system", 5, "system: must be a string or a list of text blocks"),
    ("system.0.type", "image", "system.0: only text is permitted"),
    ("system.0.name", "x", "system.0: name: Extra inputs are not permitted"),
    ("system.0", text(""), "system.0: text must be a string that is not empty"),
    ("system.0.cache_control", {}, "system.0: cache_control: type: Field required"),
    ("system.1.cache_control", {"type": "lasting"}, "system.1: cache_control: type must be ephemeral"),
    ("system.1.cache_control.ttl", "2h", "system.1: cache_control: ttl must be 5m or 1h"),
    ("system.1.cache_control.scope", "me", "system.1: cache_control: scope: Extra inputs are not permitted"),
    (f"{THIRD}.2.cache_control", "yes", f"{THIRD}.2: cache_control: must be an object"),
    ("cache_control", {}, "cache_control: cache_control: type: Field required"),
    (f"{THIRD}.2.cache_control", None, f"{THIRD}.2: cache_control: must be an object"),
    ("tools.1.cache_control", SHORT, "cache_control: ttl 1h must not come after ttl 5m"),
]


@pytest.mark.parametrize(("path", "value", "message"), BREACHES)
def test_a_breach_is_refused_and_noted(path: str, value: Any, message: str) -> None:
    with MessagesServer(always(Reply(text("ok")))) as server:
        status, answer = post(server, changed(whole(), path, value), HEADERS | BETA)
    assert server.violations == [f"request 0: {message}"]
    assert (status, answer["error"]) == (400, {"type": "invalid_request_error", "message": message})
    assert (len(server.requests), server.answered, server.requests[0].usage) == (1, [], {})


def test_results_stand_before_text() -> None:
    body = whole()
    body["messages"][2]["content"].reverse()
    with MessagesServer(always(Reply(text("ok")))) as server:
        post(server, body, HEADERS | BETA)
    assert server.violations == ["request 0: messages.2: tool_result blocks must stand before the text"]


def test_a_call_is_answered_in_the_very_next_message() -> None:
    body = whole()
    body["messages"][2:2] = [{"role": "user", "content": "wait"}, {"role": "assistant", "content": "I wait."}]
    with MessagesServer(always(Reply(text("ok")))) as server:
        post(server, body, HEADERS | BETA)
    assert server.violations == ["request 0: messages.2: tool_use without a tool_result right after it"]


def test_an_id_is_not_used_twice_in_a_conversation() -> None:
    body = whole()
    again = copy.deepcopy(body["messages"][1:])
    del again[1]["content"][2]["cache_control"]
    body["messages"] += again
    with MessagesServer(always(Reply(text("ok")))) as server:
        post(server, body, HEADERS | BETA)
    assert server.violations == ["request 0: messages.3: tool_use ids must be unique"]


def test_four_breakpoints_are_enough() -> None:
    blocks = [text(f"{number}") | {"cache_control": SHORT} for number in range(5)]
    with MessagesServer(always(Reply(text("ok")))) as server:
        post(server, ASKED | {"messages": [{"role": "user", "content": blocks[:4]}]})
        post(server, ASKED | {"messages": [{"role": "user", "content": blocks}]})
        post(
            server,
            ASKED | {"messages": [{"role": "user", "content": [*blocks[:4], text("x")]}], "cache_control": SHORT},
        )
    refused = "cache_control: 5 breakpoints, at most 4 are allowed"
    assert server.violations == [f"request 1: {refused}", f"request 2: {refused}"]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b'{"model": "\xff"}', "not valid JSON"),
        (b'{"model": NaN}', "not valid JSON"),
        (b'{"model": "\\ud800"}', "not valid JSON"),  # half of a pair, from a text that was cut
        (b"[]", "not a JSON object"),
    ],
)
def test_the_body_is_json(raw: bytes, message: str) -> None:
    with MessagesServer(always(Reply(text("ok")))) as server:
        assert post(server, raw)[0] == 400
    (violation,) = server.violations
    assert message in violation
    assert server.requests[0].body == {}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("anthropic-version", None, "anthropic-version: header is required"),
        ("content-type", None, "content-type: must be application/json"),
        ("content-type", "text/plain", "content-type: must be application/json"),
        ("authorization", None, "authorization: header is required"),
    ],
)
def test_headers(name: str, value: str | None, message: str) -> None:
    headers = {key: kept for key, kept in (HEADERS | {name: value}).items() if kept is not None}
    with MessagesServer(always(Reply(text("ok")))) as server:
        assert post(server, ASKED, headers)[0] == 400
    assert server.violations == [f"request 0: {message}"]


def test_a_wrong_key_is_no_breach() -> None:
    with MessagesServer(always(Reply(text("ok"))), keys=("one", "two")) as server:
        with sdk(server, key="three") as client, pytest.raises(anthropic.AuthenticationError):
            ask(client, streamed=False)
        for key in ("one", "two"):
            with sdk(server, key=key) as client:
                ask(client, streamed=False)
        assert post(server, ASKED, HEADERS | {"authorization": "one"})[0] == 401
        assert post(server, ASKED, HEADERS | {"authorization": "", "x-api-key": "three"})[0] == 401
    assert (len(server.requests), len(server.answered), server.violations) == (5, 2, [])


def test_another_path() -> None:
    with MessagesServer(always(Reply(text("ok")))) as server, sdk(server) as client:
        assert post(server, ASKED, path="/v1/v1/messages")[0] == 404
        with pytest.raises(anthropic.NotFoundError):
            client.models.retrieve("m")
    assert server.requests == []
    assert [violation.partition(":")[0] for violation in server.violations] == [
        "POST /v1/v1/messages",
        "GET /v1/models/m",
    ]


def test_it_lists_its_models_if_it_has_any() -> None:
    nothing = always(Reply(text("ok")))
    with MessagesServer(nothing) as server, sdk(server) as client, pytest.raises(anthropic.NotFoundError):
        client.models.list()
    models = [{"id": "m", "max_input_tokens": 8192}]
    with MessagesServer(nothing, models=models) as listing, sdk(listing) as client:
        assert [(model.id, model.max_input_tokens) for model in client.models.list()] == [("m", 8192)]
    assert [*server.violations, *listing.violations] == []


def test_context_management_needs_its_beta() -> None:
    with MessagesServer(always(Reply(text("ok")))) as server:
        assert post(server, ASKED | {"context_management": CONTEXT}, HEADERS | BETA)[0] == 200
        assert server.violations == []
        post(server, ASKED | {"context_management": CONTEXT}, HEADERS)
        post(server, ASKED | {"context_management": CONTEXT}, HEADERS | {"anthropic-beta": "other"})
    refused = "context_management: Extra inputs are not permitted"
    assert server.violations == [f"request 1: {refused}", f"request 2: {refused}"]


def test_thoughts_are_cleared_before_results_or_not_at_all() -> None:
    edits = [{"type": "clear_tool_uses_20250919"}, {"type": "clear_thinking_20251015"}]
    with MessagesServer(always(Reply(text("yes")))) as server:
        assert post(server, ASKED | {"context_management": {"edits": edits}}, HEADERS | BETA)[0] == 400
        assert post(server, ASKED | {"context_management": {"edits": edits[::-1]}}, HEADERS | BETA)[0] == 200
        assert post(server, ASKED | {"context_management": {"edits": [{"type": "forget"}]}}, HEADERS | BETA)[0] == 400
    assert server.violations == [
        "request 0: context_management.edits: clear_thinking_20251015 must be the first",
        "request 2: context_management.edits: not a known type",
    ]


def test_what_is_cleared_is_neither_billed_nor_kept_in_the_cache() -> None:
    """The oldest results from a threshold on, and thoughts of earlier turns; the answer says how much went."""
    said: list[dict[str, Any]] = [{"role": "user", "content": [text("begin")]}]
    for number in range(4):
        used = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {}}
        said += [
            {"role": "assistant", "content": [used]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": "x" * 4000}]},
        ]
    edits: list[dict[str, Any]] = [
        {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}},
        {
            "type": "clear_tool_uses_20250919",
            "trigger": {"type": "input_tokens", "value": 3000},
            "keep": {"type": "tool_uses", "value": 1},
            "clear_at_least": {"type": "input_tokens", "value": 2000},
        },
    ]
    with MessagesServer(always(Reply(text("yes")))) as server:
        asked = ASKED | {"tools": [READ], "messages": said}
        _, whole = post(server, asked, HEADERS)
        _, less = post(server, asked | {"context_management": {"edits": edits}}, HEADERS | BETA)
        edits[1]["clear_at_least"]["value"] = 5000
        _, too_little = post(server, asked | {"context_management": {"edits": edits}}, HEADERS | BETA)
    assert server.violations == []
    ((cleared,), none) = (one["context_management"]["applied_edits"] for one in (less, too_little))
    assert cleared["type"] == "clear_tool_uses_20250919"
    assert 2900 < cleared["cleared_input_tokens"] < 3000
    assert whole["usage"]["input_tokens"] - less["usage"]["input_tokens"] == cleared["cleared_input_tokens"]
    assert (none, "context_management" in whole) == ([], False)


def test_the_sdk_sends_context_management() -> None:
    with MessagesServer(always(Reply(text("ok")))) as server, sdk(server) as client:
        more: dict[str, Any] = {"context_management": CONTEXT, "betas": ["context-management-2025-06-27"]}
        client.beta.messages.create(**ASKED, **more)
    assert (len(server.answered), server.violations) == (1, [])


@pytest.mark.parametrize("tools", [[WRITE, READ], [READ], [READ, WRITE | {"description": "writes more"}], []])
def test_tools_stay_the_same_for_a_system_text(tools: list[dict[str, Any]]) -> None:
    body = ASKED | {"system": [text("Be brief.")]}
    with MessagesServer(always(Reply(text("ok")))) as server:
        post(server, body | {"tools": [READ, WRITE]})
        post(server, body | {"tools": [READ, WRITE | {"cache_control": SHORT}]})
        post(server, body | {"tools": tools, "system": "Be long."})
        assert server.violations == []
        assert post(server, body | {"tools": tools, "system": "Be brief."})[0] == 400
    assert server.violations == ["request 3: tools: other tools, or in another order, than before"]


@pytest.mark.parametrize(
    ("change", "violations"),
    [
        ({}, []),
        ({"thinking": "hmm"}, ["request 1: messages.1.content.0: thinking blocks cannot be modified"]),
        ({"signature": "s"}, ["request 1: messages.1.content.0: thinking blocks cannot be modified"]),
        ({"cache_control": SHORT}, ["request 1: messages.1.content.0: cache_control: Extra inputs are not permitted"]),
    ],
)
def test_thoughts_come_back_unchanged(change: dict[str, Any], violations: list[str]) -> None:
    hidden = raw_block({"type": "redacted_thinking", "data": "sealed"})
    with MessagesServer(always(Reply(thinking("hm"), hidden, text("ok")))) as server:
        content = post(server, ASKED)[1]["content"]
        content[0] |= change
        told = [{"role": "assistant", "content": content}, {"role": "user", "content": "and?"}]
        post(server, ASKED | {"messages": [*ASKED["messages"], *told]})
    assert server.violations == violations


# --- the cache --------------------------------------------------------------------------------------------------------


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Meter:
    """A server with one byte a token and prefixes of 100 tokens, and what it bills."""

    def __init__(self, server: MessagesServer, clock: Clock) -> None:
        self.server, self.clock = server, clock

    def bill(self, *blocks: dict[str, Any], **changes: Any) -> tuple[int, int, int]:
        """Tokens that were read, those that were written, and those without cache."""
        return self.bill_raw(json.dumps(ASKED | {"messages": [{"role": "user", "content": blocks}]} | changes).encode())

    def bill_raw(self, raw: bytes) -> tuple[int, int, int]:
        status, message = post(self.server, raw)
        assert (status, self.server.violations) == (200, [])
        usage = message["usage"]
        assert usage == self.server.requests[-1].usage
        assert usage["cache_creation_input_tokens"] == sum(usage["cache_creation"].values())
        return usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"], usage["input_tokens"]


@pytest.fixture
def meter() -> Iterator[Meter]:
    clock, answer = Clock(), always(Reply(text("ok")))
    with MessagesServer(answer, clock=clock, bytes_per_token=1, cache_minimum_tokens=100) as server:
        yield Meter(server, clock)


def block(words: str, size: int = 100, **more: Any) -> dict[str, Any]:
    """A text block that counts as so many bytes."""
    return text(words.ljust(size - len('"type":"text","text":""'), ".")) | more


def marked(words: str, size: int = 100, lifetime: str = "5m") -> dict[str, Any]:
    return block(words, size, cache_control={"type": "ephemeral", "ttl": lifetime})


def test_without_a_breakpoint_nothing_is_cached(meter: Meter) -> None:
    assert meter.bill(block("a"), block("b")) == (0, 0, 200)
    assert meter.bill(block("a"), marked("b")) == (0, 200, 0)


def test_what_was_written_is_read(meter: Meter) -> None:
    assert meter.bill(block("a"), marked("b"), block("c", 70)) == (0, 200, 70)
    assert meter.bill(block("a"), marked("b"), block("d", 80)) == (200, 0, 80)


def test_a_breakpoint_that_moves_on_writes_only_what_is_new(meter: Meter) -> None:
    assert meter.bill(block("a"), marked("b")) == (0, 200, 0)
    assert meter.bill(block("a"), block("b"), marked("c"), block("d")) == (200, 100, 100)
    assert meter.bill(block("a"), block("b"), block("c"), marked("d")) == (300, 100, 0)


def test_only_a_prefix_that_ends_at_a_breakpoint_was_written(meter: Meter) -> None:
    assert meter.bill(block("a"), marked("b")) == (0, 200, 0)
    assert meter.bill(marked("a"), block("c")) == (0, 100, 100)


def test_a_change_before_the_breakpoint_breaks_the_prefix(meter: Meter) -> None:
    assert meter.bill(block("a"), marked("b")) == (0, 200, 0)
    assert meter.bill(block("x"), marked("b")) == (0, 200, 0)


def test_the_longest_prefix_is_read(meter: Meter) -> None:
    assert meter.bill(marked("a"), marked("b"), marked("c")) == (0, 300, 0)
    assert meter.bill(marked("a"), marked("b"), marked("x")) == (200, 100, 0)


@pytest.mark.parametrize(("lifetime", "seconds"), [("5m", 300), ("1h", 3600)])
def test_a_prefix_lives_on_from_its_last_use(meter: Meter, lifetime: str, seconds: int) -> None:
    assert meter.bill(marked("a", lifetime=lifetime)) == (0, 100, 0)
    for _ in range(3):
        meter.clock.now += seconds - 1
        assert meter.bill(marked("a", lifetime=lifetime)) == (100, 0, 0)
    meter.clock.now += seconds
    assert meter.bill(marked("a", lifetime=lifetime)) == (0, 100, 0)


def test_a_prefix_that_was_found_by_looking_back_was_used(meter: Meter) -> None:
    meter.bill(marked("a"))
    meter.clock.now += 299
    assert meter.bill(block("a"), marked("b")) == (100, 100, 0)
    meter.clock.now += 299
    assert meter.bill(block("a"), marked("c")) == (100, 100, 0)


def test_a_read_does_not_change_the_lifetime(meter: Meter) -> None:
    meter.bill(marked("a", lifetime="5m"))
    assert meter.bill(marked("a", lifetime="1h")) == (100, 0, 0)
    meter.clock.now += 300
    assert meter.bill(marked("a", lifetime="1h")) == (0, 100, 0)


def test_writes_are_billed_by_lifetime(meter: Meter) -> None:
    assert meter.bill(marked("a", 150, "1h"), block("b"), marked("c", 130, "5m"), block("d", 70)) == (0, 380, 70)
    written = meter.server.requests[0].usage["cache_creation"]
    assert written == {"ephemeral_1h_input_tokens": 150, "ephemeral_5m_input_tokens": 230}
    assert meter.bill(marked("a", 150, "1h"), marked("x", lifetime="1h")) == (150, 100, 0)
    written = meter.server.requests[1].usage["cache_creation"]
    assert written == {"ephemeral_1h_input_tokens": 100, "ephemeral_5m_input_tokens": 0}


def test_five_minutes_are_the_default(meter: Meter) -> None:
    brief = block("a", cache_control={"type": "ephemeral"})
    meter.bill(brief)
    assert meter.server.requests[0].usage["cache_creation"]["ephemeral_5m_input_tokens"] == 100
    meter.clock.now += 300
    assert meter.bill(brief) == (0, 100, 0)


def test_a_prefix_below_the_minimum_is_not_cached(meter: Meter) -> None:
    assert meter.bill(marked("a", 99)) == (0, 0, 99)
    assert meter.bill(marked("a", 99)) == (0, 0, 99)
    assert meter.bill(marked("a", 99), marked("b", 50)) == (0, 149, 0)
    assert meter.bill(marked("a", 99), marked("c", 50)) == (0, 149, 0)
    assert meter.bill(marked("a", 100)) == (0, 100, 0)


def test_the_default_minimum_counts_four_bytes_a_token() -> None:
    with MessagesServer(always(Reply(text("ok")))) as server:
        meter = Meter(server, Clock())
        assert meter.bill(marked("a", 2047), block("b", 100)) == (0, 0, 536)
        assert meter.bill(marked("a", 2048), block("b", 103)) == (0, 512, 25)
        assert meter.bill(marked("a", 2048), block("b", 103)) == (512, 0, 25)


def test_another_order_of_keys_breaks_the_prefix(meter: Meter) -> None:
    turned = dict(reversed(marked("a").items()))
    assert meter.bill(marked("a")) == (0, 100, 0)
    assert meter.bill(turned) == (0, 100, 0)
    message = {"content": [marked("a")], "role": "user"}
    assert meter.bill_raw(json.dumps(ASKED | {"messages": [message]}).encode()) == (0, 100, 0)


def test_another_notation_breaks_the_prefix(meter: Meter) -> None:
    body = ASKED | {"messages": [{"role": "user", "content": [marked("ü", 120)]}]}
    escaped, _, _ = meter.bill_raw(json.dumps(body).encode())
    plain, _, _ = meter.bill_raw(json.dumps(body, ensure_ascii=False).encode())
    assert (escaped, plain) == (0, 0)


def test_space_around_blocks_does_not(meter: Meter) -> None:
    body = ASKED | {"system": [block("s")], "messages": [{"role": "user", "content": [block("a"), marked("b")]}]}
    assert meter.bill_raw(json.dumps(body, indent=2).encode()) == (0, 300, 0)
    assert meter.bill_raw(json.dumps(dict(reversed(body.items())), separators=(",", ":")).encode()) == (300, 0, 0)


def test_a_model_has_its_own_cache(meter: Meter) -> None:
    assert meter.bill(marked("a")) == (0, 100, 0)
    assert meter.bill(marked("a"), model="n") == (0, 100, 0)
    assert meter.bill(marked("a")) == (100, 0, 0)


def test_the_speaker_is_part_of_the_prefix(meter: Meter) -> None:
    first = [{"role": "user", "content": [block("a"), marked("b")]}]
    other = [{"role": "user", "content": [block("a")]}, {"role": "assistant", "content": [marked("b")]}]
    assert meter.bill(messages=first) == (0, 200, 0)
    assert meter.bill(messages=[*other, {"role": "user", "content": [block("c")]}]) == (0, 200, 100)


def test_tools_come_before_system_and_system_before_messages(meter: Meter) -> None:
    tool = READ | {"description": "d" * 100}
    size = len(json.dumps(tool, separators=(",", ":"))) - 2
    body = ASKED | {"tools": [tool], "system": [marked("s")], "messages": [{"role": "user", "content": [marked("a")]}]}
    raw = json.dumps(body, separators=(",", ":")).encode()
    assert meter.bill_raw(raw) == (0, size + 200, 0)
    body |= {"messages": [{"role": "user", "content": [marked("b")]}]}
    assert meter.bill_raw(json.dumps(body, separators=(",", ":")).encode()) == (size + 100, 100, 0)
    body |= {"system": [marked("t")]}
    assert meter.bill_raw(json.dumps(body, separators=(",", ":")).encode()) == (0, size + 200, 0)
    body |= {"tools": [tool | {"cache_control": LONG}], "system": [marked("u")]}
    assert meter.bill_raw(json.dumps(body, separators=(",", ":")).encode()) == (0, size + 200, 0)
    body |= {"system": [marked("v")]}
    assert meter.bill_raw(json.dumps(body, separators=(",", ":")).encode()) == (size, 200, 0)


def test_strings_are_counted_too(meter: Meter) -> None:
    assert meter.bill(messages=[{"role": "user", "content": "a" * 98}], system="s" * 48) == (0, 0, 150)


@pytest.mark.parametrize(("between", "read"), [(18, 100), (19, 0)])
def test_the_look_back_is_20_blocks(meter: Meter, between: int, read: int) -> None:
    """The block with the breakpoint is the first of them."""
    new = [block(f"{number}") for number in range(between)]
    meter.bill(marked("a"))
    assert meter.bill(block("a"), *new, marked("z"))[0] == read


def test_a_breakpoint_in_between_carries_the_look_back_on(meter: Meter) -> None:
    new = [block(f"{number}") for number in range(30)]
    meter.bill(marked("a"))
    assert meter.bill(block("a"), *new[:15], marked("m"), *new[15:], marked("z")) == (100, 3200, 0)


def test_the_automatic_breakpoint_is_at_the_end(meter: Meter) -> None:
    assert meter.bill(block("a"), block("b"), cache_control=LONG) == (0, 200, 0)
    assert meter.bill(block("a"), block("b"), block("c"), cache_control=LONG) == (200, 100, 0)
    assert meter.server.requests[0].usage["cache_creation"]["ephemeral_1h_input_tokens"] == 200


def test_a_request_that_failed_writes_nothing() -> None:
    answers: list[Answer] = [Status(529, "overloaded_error", "no"), Reply(text("ok")), Reply(text("ok"))]
    with MessagesServer(lambda _: answers.pop(0), bytes_per_token=1, cache_minimum_tokens=100) as server:
        meter = Meter(server, Clock())
        body = ASKED | {"messages": [{"role": "user", "content": [marked("a")]}]}
        assert post(server, body)[0] == 529
        assert meter.bill(marked("a")) == (0, 100, 0)
        assert meter.bill(marked("a")) == (100, 0, 0)


def test_a_message_that_was_dropped_is_billed() -> None:
    answers: list[Answer] = [Drop(Reply(text("ok")), after_bytes=1), Reply(text("ok"))]
    with MessagesServer(lambda _: answers.pop(0), bytes_per_token=1, cache_minimum_tokens=100) as server:
        body = ASKED | {"messages": [{"role": "user", "content": [marked("a")]}]}
        with pytest.raises(http.client.IncompleteRead):
            post(server, body)
        assert server.requests[0].usage["cache_creation_input_tokens"] == 100
        assert Meter(server, Clock()).bill(marked("a")) == (100, 0, 0)


def test_a_local_server_has_no_cache() -> None:
    with MessagesServer(always(Reply(text("ok"))), has_cache=False, bytes_per_token=1) as server:
        for _ in range(2):
            _, message = post(server, ASKED | {"messages": [{"role": "user", "content": [marked("a"), block("b")]}]})
            assert message["usage"] == {"input_tokens": 200, "output_tokens": len(json.dumps(text("ok")))}
        status, answer = post(server, ASKED | {"context_management": CONTEXT}, HEADERS | BETA)
        assert (status, answer["error"]["message"]) == (400, "context_management: Extra inputs are not permitted")
        with sdk(server) as client:
            assert ask(client, streamed=True).usage.cache_read_input_tokens is None
        assert server.violations == []
