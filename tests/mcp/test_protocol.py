"""The Model Context Protocol as a server: whatever comes in, what goes out is a line that the protocol allows, or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.mcp.protocol import MOST_LINE_BYTES, McpAnswer, McpCall, McpServer, McpTool, ServerIdentity

TOOL = McpTool(
    "echo", "Say it again.", {"type": "object", "properties": {"text": {"type": "string"}}}, is_read_only=True
)
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def echo(call: McpCall) -> McpAnswer | None:
    return McpAnswer((str(call.arguments.get("text", "")),))


def server(on_call: Any = echo) -> McpServer:
    return McpServer(ServerIdentity("memoryd", "1.0", "Use it."), [TOOL], on_call)


def line(method: str, params: Any = None, **more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}, **more}).encode() + b"\n"


def asked(served: McpServer, method: str, params: Any = None) -> Any:
    answer = json.loads(served.receive(line(method, params, id=7)))
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
    return answer.get("result", answer.get("error"))


def test_a_client_is_greeted_in_a_version_that_both_know() -> None:
    assert asked(server(), "initialize", HELLO) == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "memoryd", "version": "1.0"},
        "instructions": "Use it.",
    }
    assert asked(server(), "initialize", HELLO | {"protocolVersion": "2024-11-05"})["protocolVersion"] == "2024-11-05"
    assert asked(server(), "initialize", HELLO | {"protocolVersion": "1999"})["protocolVersion"] == "2025-11-25"


def test_the_tools_are_listed_and_called() -> None:
    served = server()
    (listed,) = asked(served, "tools/list")["tools"]
    assert listed == {
        "name": "echo",
        "description": "Say it again.",
        "inputSchema": TOOL.input_schema,
        "annotations": {"readOnlyHint": True},
    }
    called = asked(served, "tools/call", {"name": "echo", "arguments": {"text": "hé"}})
    assert called == {"content": [{"type": "text", "text": "hé"}], "isError": False}


def test_a_call_can_be_answered_later_and_only_once() -> None:
    calls: list[McpCall] = []
    served = server(calls.append)
    assert served.receive(line("tools/call", {"name": "echo", "_meta": {"n": 1}}, id="a")) == b""
    (call,) = calls
    assert call == McpCall("a", "echo", {}, {"n": 1})
    answer = json.loads(served.answer(call, McpAnswer(("no", "really"), is_error=True)))
    assert answer["result"] == {
        "content": [{"type": "text", "text": "no"}, {"type": "text", "text": "really"}],
        "isError": True,
    }
    assert served.answer(call, McpAnswer(("again",))) == b""


def test_who_no_longer_waits_is_not_answered() -> None:
    calls: list[McpCall] = []
    served = server(calls.append)
    served.receive(line("tools/call", {"name": "echo"}, id=3))
    assert served.receive(line("notifications/cancelled", {"requestId": 3})) == b""
    assert served.answer(calls[0], McpAnswer(("late",))) == b""


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"{\n", -32700),
        (b"[1]\n", -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 5}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "server/discover"}\n', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "rm"}}\n', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": 5}}\n', -32602),
    ],
)
def test_what_makes_no_sense_is_an_error_of_the_protocol(sent: bytes, code: int) -> None:
    assert json.loads(server().receive(sent))["error"]["code"] == code


@pytest.mark.parametrize(
    "sent", [line("notifications/initialized"), b"\n", b'{"jsonrpc": "2.0", "id": 4, "result": {}}\n']
)
def test_what_wants_no_answer_gets_none(sent: bytes) -> None:
    assert server().receive(sent) == b""


def test_a_line_without_an_end_is_not_kept() -> None:
    served = server()
    assert json.loads(served.receive(b"x" * (MOST_LINE_BYTES + 1)))["error"]["code"] == -32700
    assert served.receive(b"x" * 1000) == b""
    assert json.loads(served.receive(b"rest\n" + line("ping", id=1)))["result"] == {}


@given(
    st.lists(
        st.binary(max_size=60) | st.sampled_from([line("ping", id=1), line("tools/list", id="b"), b"\n"]), max_size=8
    )
)
def test_any_bytes_lead_to_whole_lines(pieces: list[bytes]) -> None:
    served = server()
    for piece in pieces:
        for answer in served.receive(piece).splitlines(keepends=True):
            assert answer.endswith(b"\n")
            assert json.loads(answer)["jsonrpc"] == "2.0"


@given(st.data())
def test_how_the_bytes_are_split_makes_no_difference(data: st.DataObject) -> None:
    sent = line("initialize", HELLO, id=0) + line("tools/call", {"name": "echo", "arguments": {"text": "x"}}, id=1)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=6)))
    whole, split = server(), server()
    pieces = [sent[start:end] for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    assert b"".join(map(split.receive, pieces)) == whole.receive(sent)
