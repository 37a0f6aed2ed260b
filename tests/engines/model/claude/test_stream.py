"""What `claude` prints: whatever the lines, only whole messages of the model count."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.engines.model.budget import LimitReachedError
from memoryd.engines.model.claude.stream import (
    MOST_LINE_BYTES,
    ClaudeStream,
    Replied,
    RoundBegan,
    RoundEnded,
    TooLongError,
)
from memoryd.engines.model.claude.trouble import ClaudeError, error_of
from memoryd.engines.model.client import BadRequestError, PromptTooLongError
from memoryd.errors import EngineStoppedError

USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 1}


def printed(**message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def streamed(kind: str, **event: Any) -> bytes:
    return printed(type="stream_event", event={"type": kind, **event}, parent_tool_use_id=None)


def message(words: str = "hello", stop: str = "end_turn") -> bytes:
    block = {"type": "tool_use", "id": "t1", "name": "mcp__memoryd__Read", "input": {}}
    return b"".join(
        [
            streamed("message_start", message={"model": "claude-haiku-5-5", "usage": USAGE}),
            streamed("content_block_start", index=0, content_block={"type": "text", "text": ""}),
            streamed("content_block_delta", index=0, delta={"type": "text_delta", "text": words}),
            streamed("content_block_start", index=1, content_block=block),
            streamed("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": '{"a": 1}'}),
            streamed("message_delta", delta={"stop_reason": stop}, usage={"output_tokens": 40}),
            streamed("message_stop"),
        ]
    )


def test_a_message_is_whole_with_its_last_event() -> None:
    ((replied),) = ClaudeStream().receive(message())
    assert isinstance(replied, Replied)
    reply = replied.reply
    assert reply.content == (
        {"type": "text", "text": "hello"},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"a": 1}},
    )
    assert (reply.stop_reason, reply.model) == ("end_turn", "claude-haiku-5-5")
    assert (reply.usage.input, reply.usage.cache_read, reply.usage.output) == (10, 2, 40)


def test_a_stream_that_is_begun_again_counts_once() -> None:
    begun = message("half").split(b"\n")[0] + b"\n"
    ((replied),) = ClaudeStream().receive(begun + message("whole"))
    assert isinstance(replied, Replied)
    assert replied.reply.content[0]["text"] == "whole"


def test_a_round_begins_with_the_tools_and_ends_with_a_result() -> None:
    stream = ClaudeStream()
    begun = printed(type="system", subtype="init", tools=["Bash", "mcp__memoryd__Read", 5])
    failed = printed(type="assistant", message={"content": []}, error="rate_limit")
    events = list(stream.receive(begun + failed + printed(type="result", subtype="success", is_error=True, result="x")))
    assert events[0] == RoundBegan(("Read",))
    ended = events[1]
    assert isinstance(ended, RoundEnded)
    assert (ended.is_error, ended.kind) == (True, "rate_limit")


def test_a_line_without_an_end_is_an_error() -> None:
    with pytest.raises(TooLongError):
        list(ClaudeStream().receive(b"x" * (MOST_LINE_BYTES + 1)))


@given(st.lists(st.binary(max_size=80) | st.sampled_from([b"{}\n", b'{"type": "result"}\n', streamed("message_stop")])))
def test_any_bytes_are_passed_over(pieces: list[bytes]) -> None:
    stream = ClaudeStream()
    for piece in pieces:
        for event in stream.receive(piece):
            assert isinstance(event, RoundEnded | RoundBegan | Replied)


@given(st.data())
def test_how_the_bytes_are_split_makes_no_difference(data: st.DataObject) -> None:
    sent = message("one") + message("two")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=6)))
    stream = ClaudeStream()
    pieces = [sent[start:end] for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    events = [event for piece in pieces for event in stream.receive(piece)]
    assert events == list(ClaudeStream().receive(sent))


@pytest.mark.parametrize(
    ("kind", "result", "expected"),
    [
        ("rate_limit", {"api_error_status": 429, "result": "API Error: Request rejected (429)"}, LimitReachedError),
        ("", {"result": "You've hit your session limit · resets 3pm"}, LimitReachedError),
        ("", {"result": "5-hour limit reached ∙ resets 10pm"}, LimitReachedError),
        ("", {"result": "Claude AI usage limit reached|1790000000"}, LimitReachedError),
        ("authentication_failed", {"result": "Not logged in · Please run /login"}, "engine_logged_out"),
        ("", {"result": "OAuth token has expired"}, "engine_logged_out"),
        ("authentication_failed", {"api_error_status": 401, "result": "Invalid API key"}, "engine_logged_out"),
        ("billing_error", {"api_error_status": 400, "result": "Credit balance is too low"}, EngineStoppedError),
        ("", {"api_error_status": 404, "result": "There's an issue with the selected model"}, EngineStoppedError),
        ("invalid_request", {"api_error_status": 400, "result": "API Error: 400 tools.0"}, BadRequestError),
        ("", {"terminal_reason": "prompt_too_long", "result": "~210000 tokens (limit 200000)"}, PromptTooLongError),
        ("overloaded", {"api_error_status": 529, "result": "Overloaded"}, "engine_busy"),
        ("", {"result": "something that nobody has seen"}, "engine_busy"),
        ("", {"subtype": "error_during_execution"}, "engine_busy"),
    ],
)
def test_what_an_error_means(kind: str, result: dict[str, Any], expected: Any) -> None:
    error = error_of(result, kind, "haiku")
    if isinstance(expected, str):
        assert isinstance(error, ClaudeError)
        assert error.reason == expected
        assert error.sentence.endswith((".", '"'))
    else:
        assert isinstance(error, expected)


def test_what_claude_says_is_shown_without_secrets() -> None:
    error = error_of({"result": "bad key sk-ant-api03-" + "a1B2" * 20}, "", "haiku")
    assert "sk-ant-api03-a1B2" not in str(error)
