"""What comes over the wire: a whole reply or a reason why there is none, whatever an endpoint sends, and in what pieces."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.engines.model.reply import (
    MOST_BYTES,
    BrokenReplyError,
    ModelReply,
    StreamError,
    Usage,
    packed,
    reply_from,
    unpacked,
)

EVENTS, JSON = "text/event-stream; charset=utf-8", "application/json"
STOP = {"type": "message_stop"}
COUNTS: dict[str, Any] = {
    "input_tokens": 9,
    "cache_read_input_tokens": 20,
    "cache_creation_input_tokens": 30,
    "cache_creation": {"ephemeral_1h_input_tokens": 10, "ephemeral_5m_input_tokens": 20},
    "output_tokens": 7,
}
CONTENT: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "Was wäre, wenn …", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "b3BhcXVl"},
    {"type": "text", "text": 'Größe: 5 µm,\n"quoted"\u2028😀'},
    {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "ü.md", "limit": 3}},
    {"type": "tool_use", "id": "toolu_2", "name": "Write", "input": {}},
]
WHOLE = ModelReply(tuple(CONTENT), "tool_use", Usage(9, 20, 30, 10, 7))


def message(*content: Any, **changes: Any) -> dict[str, Any]:
    return {"type": "message", "content": list(content), "stop_reason": "tool_use", "usage": COUNTS} | changes


def halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def deltas(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How a block begins in a stream, and how it goes on."""
    match block["type"]:
        case "text":
            return block | {"text": ""}, [{"type": "text_delta", "text": part} for part in halves(block["text"])]
        case "thinking":
            thought = [{"type": "thinking_delta", "thinking": part} for part in halves(block["thinking"])]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return block | {"thinking": "", "signature": ""}, [*thought, signed]
        case "tool_use" if block["input"]:
            parts = ["", *halves(json.dumps(block["input"]))]
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]
    return block, []


def events(whole: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"type": "message_start", "message": whole | {"content": [], "stop_reason": None}}]
    for index, block in enumerate(whole["content"]):
        start, rest = deltas(block)
        found.append({"type": "content_block_start", "index": index, "content_block": start})
        found += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in rest]
        found.append({"type": "content_block_stop", "index": index})
    ended = {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"]}, "usage": {"output_tokens": 7}}
    return [*found, ended, STOP]


def sent(*told: dict[str, Any]) -> bytes:
    return b"".join(
        f"event: {event.get('type')}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode() for event in told
    )


def read(*told: dict[str, Any]) -> ModelReply:
    return reply_from([sent(*told)], EVENTS)


def plain(whole: dict[str, Any]) -> ModelReply:
    return reply_from([json.dumps(whole).encode()], JSON)


STREAM = sent(*events(message(*CONTENT)))


# --- in pieces --------------------------------------------------------------------------------------------------------


def test_a_stream_says_what_a_whole_message_says() -> None:
    assert reply_from([STREAM], EVENTS) == plain(message(*CONTENT)) == WHOLE


@given(st.lists(st.integers(0, len(STREAM)), max_size=40))
def test_it_does_not_matter_where_the_chunks_are_split(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    chunks = [STREAM[start:end] for start, end in pairwise(places)]
    assert reply_from(chunks, EVENTS) == WHOLE


def test_a_stream_byte_by_byte_is_the_same() -> None:
    assert reply_from((STREAM[place : place + 1] for place in range(len(STREAM))), EVENTS) == WHOLE


def test_a_message_byte_by_byte_is_the_same() -> None:
    data = json.dumps(message(*CONTENT)).encode()
    assert reply_from((data[place : place + 1] for place in range(len(data))), JSON) == WHOLE


@pytest.mark.parametrize("spelled", [b"\r\n", b"\n"])
@pytest.mark.parametrize("prefix", [b"data: ", b"data:", b"data:   "])
def test_lines_may_be_spelled_as_the_standard_allows(spelled: bytes, prefix: bytes) -> None:
    assert reply_from([STREAM.replace(b"data: ", prefix).replace(b"\n", spelled)], EVENTS) == WHOLE


def test_comments_pings_and_the_mark_of_other_servers_are_passed_over() -> None:
    noise = b': keep-alive\n\nevent: ping\ndata: {"type": "ping"}\n\nid: 7\nretry: 10\ndata:\n\ndata: [DONE]\n\n'
    assert reply_from([noise + STREAM.replace(b"event: content", noise + b"event: content")], EVENTS) == WHOLE


def test_a_stream_that_is_cut_anywhere_before_its_end_is_broken() -> None:
    """Nothing of a reply counts that is not whole: not one of its calls may be run."""
    end = STREAM.index(b"}", STREAM.index(b'"message_stop"'))
    for cut in range(end + 2):  # the closing brace, and the newline that ends the line
        with pytest.raises(BrokenReplyError):
            reply_from([STREAM[:cut]], EVENTS)
    assert reply_from([STREAM[: end + 2]], EVENTS) == WHOLE


def test_a_message_that_is_cut_anywhere_is_broken() -> None:
    data = json.dumps(message(*CONTENT)).encode()
    for cut in range(len(data)):
        with pytest.raises(BrokenReplyError):
            reply_from([data[:cut]], JSON)


def test_what_follows_the_end_is_not_read() -> None:
    def chunks() -> Any:
        yield STREAM
        raise AssertionError("the stream was over")

    assert reply_from(chunks(), EVENTS) == WHOLE


@pytest.mark.parametrize("content_type", [EVENTS, JSON])
def test_an_answer_without_end_is_given_up(content_type: str) -> None:
    def chunks() -> Any:
        for _ in range(MOST_BYTES // 65_536 + 1):
            yield b"x" * 65_535 + b"\n"
        raise AssertionError("too much was read")

    with pytest.raises(BrokenReplyError, match="it does not end"):
        reply_from(chunks(), content_type)


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("position", range(len(events(message(*CONTENT)))))
def test_an_error_in_a_stream_ends_it_wherever_it_stands(position: int) -> None:
    told = events(message(*CONTENT))
    told.insert(position, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    with pytest.raises(StreamError, match=r"^Overloaded$"):
        read(*told)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"type": "api_error", "message": "Oh"}, "Oh"),
        ({"type": "api_error"}, "api_error"),
        ({}, "error"),
        (None, "error"),
        ("Oh", "error"),
        ({"type": 5, "message": ["x"]}, "['x']"),
    ],
)
def test_an_error_of_any_shape_is_one(error: Any, words: str) -> None:
    for answer in (sent({"type": "error", "error": error}), json.dumps({"type": "error", "error": error}).encode()):
        with pytest.raises(StreamError) as caught:
            reply_from([answer], EVENTS if answer.startswith(b"event") else JSON)
        assert str(caught.value) == words


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<!doctype html><title>Bad gateway</title>",
        b"null",
        b"[]",
        b'"message"',
        b"{}",
        b'{"type": null}',
        b'{"content": []}',
        b'{"type": "message", "content": [',
        b"\xff\xfe\x00",
        b'{"type": "message"}' * 2,
        b"[" * 100_000,
        b'{"type": "message", "usage": {"input_tokens": ' + b"9" * 5_000 + b"}}",
    ],
)
def test_what_is_no_message_is_broken(body: bytes) -> None:
    with pytest.raises(BrokenReplyError):
        reply_from([body], JSON)
    with pytest.raises(BrokenReplyError):
        reply_from([b"data: " + body.replace(b"\n", b" ") + b"\n\n"], EVENTS)


@given(st.binary(max_size=200), st.sampled_from([EVENTS, JSON, "text/html", ""]))
def test_bytes_of_any_kind_are_a_reply_or_a_reason(data: bytes, content_type: str) -> None:
    with pytest.raises((BrokenReplyError, StreamError)):
        reply_from([data], content_type)


_LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5)
_WORDS = st.sampled_from(
    ["type", "text", "tool_use", "thinking", "id", "name", "input", "index", "delta", "usage", "content"]
)
_ODD = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=4))
_KINDS = st.sampled_from(["message_start", "content_block_start", "content_block_delta", "message_delta", "news"])


@given(st.lists(st.tuples(_KINDS, st.dictionaries(_WORDS | st.just("message"), _ODD, max_size=5)), max_size=6))
def test_events_of_any_shape_lead_to_a_reply_that_can_be_sent_back(odd: list[tuple[str, dict[str, Any]]]) -> None:
    reply = read(*(fields | {"type": kind} for kind, fields in odd), STOP)
    check_can_be_sent_back(reply)


@given(st.dictionaries(_WORDS | st.sampled_from(["stop_reason"]), _ODD, max_size=6), st.lists(_ODD, max_size=4))
def test_messages_of_any_shape_lead_to_a_reply_that_can_be_sent_back(odd: dict[str, Any], content: list[Any]) -> None:
    check_can_be_sent_back(plain(odd | {"type": "message", "content": content}))


def check_can_be_sent_back(reply: ModelReply) -> None:
    fields = {
        "text": {"text": str},
        "tool_use": {"id": str, "name": str, "input": dict},
        "thinking": {"thinking": str, "signature": str},
        "redacted_thinking": {"data": str},
    }
    for block in reply.content:
        types = {name: type(value) for name, value in block.items() if name != "type"}
        assert types == fields[block["type"]], block
        assert block["type"] != "text" or block["text"].strip()
    json.dumps(reply.content, ensure_ascii=False, allow_nan=False).encode()  # as the SDK does
    ids = [call["id"] for call in reply.calls]
    assert len(set(ids)) == len(ids)
    assert set(reply.broken) <= set(ids)
    assert all(type(count) is int and count >= 0 for count in reply.usage)
    assert unpacked(packed(reply)) == reply


# --- what we do not know ----------------------------------------------------------------------------------------------


def test_unknown_blocks_are_left_out_and_named() -> None:
    odd = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    expected = ModelReply((CONTENT[2],), "tool_use", WHOLE.usage, dropped=("server_tool_use", "x" * 40))
    whole = message(odd, CONTENT[2], {"type": "x" * 99})
    assert plain(whole) == expected
    assert read(*events(whole)) == expected


def test_unknown_events_and_deltas_change_nothing() -> None:
    told = events(message(*CONTENT))
    odd: list[dict[str, Any]] = [
        {"type": "content_block_delta", "index": 2, "delta": {"type": "citations_delta", "citation": {}}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": None}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta"}},
        {"type": "content_block_delta", "index": 2},
        {"type": "progress", "index": 2, "delta": {"type": "text_delta", "text": "no"}},
    ]
    assert read(*told[:-2], *odd, *told[-2:]) == WHOLE


def test_a_text_without_letters_is_left_out() -> None:
    """The API refuses it in the next request."""
    assert plain(
        message({"type": "text", "text": ""}, {"type": "text", "text": " \n"}, {"type": "text"})
    ) == ModelReply((), "tool_use", WHOLE.usage)


@pytest.mark.parametrize("odd", [None, 5, [], {}, True])
def test_a_block_whose_fields_are_no_strings_is_left_out(odd: Any) -> None:
    """A local model's thought has no signature, and none that we make up would be taken."""
    blocks = [block | {field: odd} for block in CONTENT[:3] for field in block if field not in ("type", "thinking")]
    assert plain(message(*blocks)) == ModelReply((), "tool_use", WHOLE.usage)


def test_fields_that_a_request_may_not_hold_are_left_out() -> None:
    odd = [block | {"citations": None, "caller": {"type": "direct"}, "index": 3} for block in CONTENT]
    assert plain(message(*odd)) == WHOLE


def test_only_a_word_is_a_stop_reason() -> None:
    for given_reason, expected in (("pause_turn", "pause_turn"), (None, None), (5, None), ({}, None)):
        assert plain(message(stop_reason=given_reason)).stop_reason == expected


# --- tool calls -------------------------------------------------------------------------------------------------------


def streamed_call(*parts: str, **block: Any) -> ModelReply:
    start = {"type": "tool_use", "id": "t", "name": "Write", "input": {}} | block
    pieces = [{"type": "input_json_delta", "partial_json": part} for part in parts]
    return read(
        {"type": "content_block_start", "index": 0, "content_block": start},
        *({"type": "content_block_delta", "index": 0, "delta": piece} for piece in pieces),
        STOP,
    )


EMPTY = {"type": "tool_use", "id": "t", "name": "Write", "input": {}}
INPUT = json.dumps({"file_path": "a.md", "content": 'Grüße } " ]', "quote": "use tabs here"})


@pytest.mark.parametrize("cut", range(1, len(INPUT)))
def test_a_piece_of_an_input_is_never_completed(cut: int) -> None:
    """A memory that ends in the middle of a sentence would look like one."""
    reply = streamed_call(INPUT[: cut // 2], INPUT[cut // 2 : cut])
    assert (reply.content, reply.broken) == ((EMPTY,), ("t",))


def test_an_input_that_is_whole_is_taken() -> None:
    reply = streamed_call(*INPUT)
    assert (reply.content, reply.broken) == ((EMPTY | {"input": json.loads(INPUT)},), ())


def test_an_input_without_a_piece_is_the_one_at_the_start() -> None:
    assert streamed_call("", "", input={"a": 1}).content == (EMPTY | {"input": {"a": 1}},)
    assert streamed_call().broken == ()


@pytest.mark.parametrize("text", ["[]", "null", "5", '"a"', "{} {}", "[" * 100_000, '{"a": ' + "9" * 5_000 + "}"])
def test_an_input_that_is_no_object_is_broken(text: str) -> None:
    reply = streamed_call(text)
    assert (reply.content, reply.broken) == ((EMPTY,), ("t",))


@pytest.mark.parametrize("given_input", [None, [], "{}", 5, True])
def test_an_input_that_is_no_object_is_broken_without_a_stream_too(given_input: Any) -> None:
    reply = plain(message(EMPTY | {"input": given_input}))
    assert (reply.content, reply.broken) == ((EMPTY,), ("t",))


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": [Infinity]}', '{"a": "\\ud83d"}', '{"\\udfff": 1}'])
def test_an_input_that_could_not_be_sent_back_is_broken(text: str) -> None:
    """Every later request holds it, and none of them could be made."""
    reply = streamed_call(text)
    assert (reply.content, reply.broken) == ((EMPTY,), ("t",))
    reply = reply_from([json.dumps(message(EMPTY)).replace('"input": {}', f'"input": {text}').encode()], JSON)
    assert (reply.content, reply.broken) == ((EMPTY,), ("t",))


def test_a_pair_of_surrogates_that_a_stream_has_split_is_one_letter() -> None:
    told = events(message({"type": "text", "text": "ab"}))
    data = sent(*told).replace(b'"text": "a"', rb'"text": "\ud83d"').replace(b'"text": "b"', rb'"text": "\ude00!"')
    assert reply_from([data], EVENTS).content == ({"type": "text", "text": "😀!"},)


def test_half_a_pair_of_surrogates_is_replaced() -> None:
    reply = reply_from([rb'{"type": "message", "content": [{"type": "text", "text": "a\ud83d"}]}'], JSON)
    assert reply.content == ({"type": "text", "text": "a\ufffd"},)


def test_half_a_letter_in_names_and_errors_is_replaced_too() -> None:
    """They are sent back or written into the database."""
    odd = (
        rb'{"type": "message", "content": [{"type": "\ud83d"}, {"type": "tool_use", "id": "\ud83d", "name": "\ud83d"}]}'
    )
    reply = reply_from([odd], JSON)
    assert (reply.dropped, reply.broken) == (("\ufffd",), ("_",))
    assert reply.calls == [{"type": "tool_use", "id": "_", "name": "_", "input": {}}]
    with pytest.raises(StreamError, match="\ufffd"):
        reply_from([rb'{"type": "error", "error": {"message": "\ud83d"}}'], JSON)


def test_calls_without_an_id_or_with_the_same_one_get_their_own() -> None:
    """Each result has to name its call."""
    ids: list[Any] = ["t", "t", "t", None, "", "t_", "call_5"]
    reply = plain(message(*(EMPTY | {"id": number} for number in ids), {"type": "tool_use"}))
    numbers = [call["id"] for call in reply.calls]
    assert numbers[0] == "t"
    assert len(set(numbers)) == len(ids) + 1
    assert reply.broken == (numbers[-1],)
    assert reply.calls[-1]["name"] == "unknown"


def test_a_name_is_cut() -> None:
    assert plain(message(EMPTY | {"name": "n" * 99})).calls[0]["name"] == "n" * 64


# --- usage ------------------------------------------------------------------------------------------------------------


def used(usage: Any) -> Usage:
    return plain(message(usage=usage)).usage


@pytest.mark.parametrize("usage", [None, {}, [], "many", 5])
def test_without_usage_nothing_was_used(usage: Any) -> None:
    assert used(usage) == Usage()


@pytest.mark.parametrize("odd", [None, -1, 1.5, "12", True, [], {}])
def test_odd_counts_are_none(odd: Any) -> None:
    assert used(dict.fromkeys(COUNTS, odd)) == Usage()
    assert used(COUNTS | {"input_tokens": odd}) == Usage(0, 20, 30, 10, 7)
    assert used(COUNTS | {"cache_creation": odd}) == Usage(9, 20, 30, 0, 7)
    assert used(COUNTS | {"cache_creation": {"ephemeral_1h_input_tokens": odd}}) == Usage(9, 20, 30, 0, 7)


def test_what_is_kept_for_an_hour_is_a_part_of_what_was_written() -> None:
    assert used({"cache_creation": {"ephemeral_1h_input_tokens": 10}}) == Usage()
    assert used({"cache_creation_input_tokens": 4, "cache_creation": {"ephemeral_1h_input_tokens": 9}}) == Usage(
        cache_created=4, long_cache_created=4
    )


def test_a_count_beyond_reason_still_fits_into_the_ledger() -> None:
    assert used({"input_tokens": 10**30}).input < 2**40


def test_a_prompt_is_what_was_read_written_and_neither() -> None:
    assert WHOLE.usage.prompt == 59


def test_the_last_counts_of_a_stream_are_totals_and_the_others_stand() -> None:
    start = {"type": "message_start", "message": message(usage=COUNTS | {"output_tokens": 1})}
    late = {"input_tokens": None, "cache_read_input_tokens": 25, "output_tokens": 40}
    first = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 12}}
    last = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": late}
    assert read(start, first, last, STOP) == ModelReply((), "end_turn", Usage(9, 25, 30, 10, 40))


def test_a_stream_without_a_start_has_no_usage() -> None:
    assert read(STOP) == ModelReply((), None, Usage())


# --- kept in the ledger -----------------------------------------------------------------------------------------------

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
_CALLS = st.fixed_dictionaries(
    {
        "type": st.just("tool_use"),
        "id": st.text(),
        "name": st.text(),
        "input": st.dictionaries(st.text(), _JSON, max_size=3),
    }
)
_BLOCKS = _CALLS | st.fixed_dictionaries({"type": st.just("text"), "text": st.text()})
_TOKENS = st.integers(0, 10**9)
_REPLIES = st.builds(
    ModelReply,
    st.lists(_BLOCKS, max_size=4).map(tuple),
    st.none() | st.text(),
    st.builds(Usage, _TOKENS, _TOKENS, _TOKENS, _TOKENS, _TOKENS),
    st.lists(st.text(), max_size=3).map(tuple),
    st.lists(st.text(), max_size=3).map(tuple),
)


@given(_REPLIES)
def test_a_reply_out_of_the_ledger_is_the_one_that_was_put_in(reply: ModelReply) -> None:
    again = unpacked(packed(reply))
    assert again == reply
    assert isinstance(again.usage, Usage)
    assert again.calls == reply.calls
