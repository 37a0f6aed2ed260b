"""The window: how much fits, what is left out first, and that calls and their results never part."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.config import Anthropic, Budget, Config
from memoryd.engines.model.context_window import (
    CLEARED,
    KEPT_RESULTS,
    prompt_limit,
    text_tokens,
    tokens_in,
    window_of,
    without_old_results,
    without_old_thoughts,
    without_oldest_rounds,
)
from memoryd.engines.model.extraction_brief import OUTPUT_TOKENS, limits_of
from memoryd.engines.model.prices import PRICES
from memoryd.errors import EngineStoppedError

Messages = list[dict[str, Any]]


def calling(number: int, calls: int, size: int = 400) -> Messages:
    """A round: what the model called, and what came of it."""
    ids = [f"t{number}_{index}" for index in range(calls)]
    asked = [{"type": "tool_use", "id": one, "name": "Read", "input": {"file_path": "a.md"}} for one in ids]
    answers = [{"type": "tool_result", "tool_use_id": one, "content": f"{one} " + "x" * size} for one in ids]
    return [{"role": "assistant", "content": asked}, {"role": "user", "content": answers}]


def conversation(*rounds: int, size: int = 400) -> Messages:
    """A task, and rounds of so many calls each."""
    task = {"role": "user", "content": [{"type": "text", "text": "shared"}, {"type": "text", "text": "task " * 40}]}
    return [task, *(message for number, calls in enumerate(rounds) for message in calling(number, calls, size))]


def results(messages: Messages) -> dict[str, str]:
    blocks = [block for message in messages for block in message["content"]]
    return {block["tool_use_id"]: block["content"] for block in blocks if block["type"] == "tool_result"}


def calls(messages: Messages) -> list[str]:
    return [block["id"] for message in messages for block in message["content"] if block["type"] == "tool_use"]


_ROUNDS = st.lists(st.integers(1, 9), max_size=7)


# --- how much fits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "configured", "answered", "window"),
    [
        ("qwen3:8b", 8_192, 32_768, 8_192),
        ("qwen3:8b", 0, 32_768, 32_768),
        ("qwen3:8b", 0, 0, 200_000),
        ("claude-sonnet-4-5[1m]", 0, 0, 1_000_000),
        ("claude-sonnet-4-5[1m]", 0, 500_000, 500_000),
        ("claude-sonnet-4-5[1m]", 300_000, 500_000, 300_000),
    ],
)
def test_the_window_is_what_the_config_says_else_the_model_else_its_name(
    model: str, configured: int, answered: int, window: int
) -> None:
    assert window_of(model, configured, answered) == window


@pytest.mark.parametrize(
    ("window", "limit"),
    [
        (2_000, 1_250),
        (8_192, 5_120),
        (32_768, 20_480),
        (80_000, 50_000),
        (104_000, 71_000),
        (200_000, 167_000),
        (1_000_000, 967_000),
    ],
)
def test_room_is_kept_for_the_output_and_a_margin(window: int, limit: int) -> None:
    """20,000 and 13,000 tokens; of a small window a quarter and an eighth, or nothing would be left."""
    assert prompt_limit(window) == limit


@given(st.integers(8_000, 1_000_000))
def test_prompt_and_reply_fit_into_any_window(window: int) -> None:
    limits = limits_of(Config(anthropic=Anthropic(context_window_tokens=window)), "m", None, 7.0)
    assert 0 < limits.output_tokens <= OUTPUT_TOKENS
    assert limits.prompt_tokens >= window // 2 or limits.prompt_tokens == 80_000
    assert limits.prompt_tokens + limits.output_tokens <= window
    assert limits.run_tokens == 5 * limits.prompt_tokens
    assert (limits.turns, limits.deadline) == (5, 7.0)


@given(st.integers(2_000, 999_992))
def test_a_larger_window_never_holds_less(window: int) -> None:
    assert prompt_limit(window) <= prompt_limit(window + 8)


def test_extraction_stays_below_the_step_in_the_price() -> None:
    assert limits_of(Config(), "claude-haiku-5-5", PRICES["claude-haiku-5-5"], 0.0).prompt_tokens == 80_000


def test_the_cap_of_a_run_bounds_the_prompt() -> None:
    """A dear model reads less at once; where the cap leaves no room for the brief, a person has to look."""
    dear = PRICES["claude-opus-5-5"]
    usual = limits_of(Config(budget=Budget(usd_per_run=1.0)), "claude-opus-5-5", dear, 0.0)
    assert 10_000 < usual.prompt_tokens < 80_000
    with pytest.raises(EngineStoppedError, match="which is too little for claude-opus-5-5") as caught:
        limits_of(Config(), "claude-opus-5-5", dear, 0.0)
    assert caught.value.fix == "raise budget.usd_per_run in the config"


# --- estimates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        ("", 0),
        ("abcd", 1),
        ("abcde", 2),
        ("ü" * 4, 2),
        ("\ud800", 1),
        (["abcd", ["abcd"]], 2),
        (None, 1),
        (5, 1),
        ({"type": "text", "text": "abcd"}, 1),
        ({"type": "text", "text": "abcd", "cache_control": {"type": "ephemeral", "ttl": "1h"}}, 1),
        ({"type": "tool_result", "tool_use_id": "t", "content": "abcd"}, 2),
        ({"role": "user", "content": [{"type": "text", "text": "abcd"}]}, 2),
        ({"type": "image", "source": {"type": "base64", "data": "x" * 400_000}}, 2_000),
        ({"type": "document", "source": {"type": "text", "data": "x"}}, 2_000),
        ({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image", "source": {}}]}, 2_001),
    ],
)
def test_four_bytes_are_a_token(value: Any, tokens: int) -> None:
    assert tokens_in(value) == tokens


def test_what_a_tool_is_called_with_counts_double() -> None:
    """It is JSON, of which tokens are short."""
    block = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "a.md"}}
    assert tokens_in(block) == 40
    assert tokens_in({"role": "assistant", "content": [block]}) == 40 + text_tokens("assistant")


@given(_ROUNDS)
def test_breakpoints_do_not_change_an_estimate(rounds: list[int]) -> None:
    messages = conversation(*rounds)
    marked = copy.deepcopy(messages)
    for message in marked:
        message["content"][-1]["cache_control"] = {"type": "ephemeral", "ttl": "5m"}
    tools = [len(message["content"]) for message in marked if message["content"][-1]["type"] == "tool_use"]
    assert tokens_in(messages) <= tokens_in(marked) <= tokens_in(messages) + 30 * len(tools)


# --- old results ------------------------------------------------------------------------------------------------------


@given(_ROUNDS)
def test_the_last_five_results_stay_and_all_others_are_cleared(rounds: list[int]) -> None:
    messages = conversation(*rounds)
    before = results(messages)
    kept = list(before)[-KEPT_RESULTS:]
    assert results(without_old_results(messages)) == {
        one: text if one in kept else CLEARED for one, text in before.items()
    }


@given(_ROUNDS)
def test_clearing_touches_nothing_but_results(rounds: list[int]) -> None:
    messages = conversation(*rounds)
    original = copy.deepcopy(messages)
    cleared = without_old_results(messages)
    assert messages == original
    assert calls(cleared) == calls(messages)
    assert [message["role"] for message in cleared] == [message["role"] for message in messages]
    assert cleared[0] == messages[0]


@given(_ROUNDS)
def test_clearing_twice_is_clearing_once(rounds: list[int]) -> None:
    """The same object says so: then the cache was not lost."""
    cleared = without_old_results(conversation(*rounds))
    assert without_old_results(cleared) is cleared


def test_nothing_is_cleared_before_there_are_more_than_five() -> None:
    messages = conversation(2, 3)
    assert without_old_results(messages) is messages


def test_what_was_cleared_stays_so_when_more_results_come() -> None:
    cleared = without_old_results(conversation(7))
    again = results(without_old_results([*cleared, *calling(9, 2)]))
    assert [one for one, text in again.items() if text != CLEARED] == ["t0_4", "t0_5", "t0_6", "t9_0", "t9_1"]


def test_a_message_of_plain_text_is_left_as_it_is() -> None:
    messages = [{"role": "user", "content": "task"}, *conversation(7)[1:]]
    assert without_old_results(messages)[0] == {"role": "user", "content": [{"type": "text", "text": "task"}]}


# --- old thoughts ---------------------------------------------------------------------------------------------------


def thinking_in(messages: Messages) -> list[int]:
    """The places of messages that hold a thought."""
    kinds = ("thinking", "redacted_thinking")
    return [place for place, said in enumerate(messages) if any(block["type"] in kinds for block in said["content"])]


def thoughtful(*rounds: int) -> Messages:
    messages = conversation(*rounds)
    for number, message in enumerate(messages):
        if message["role"] == "assistant":
            thought = {"type": "thinking", "thinking": f"hm {number}", "signature": "s"}
            message["content"] = [thought, {"type": "redacted_thinking", "data": "d"}, *message["content"]]
    return messages


@given(_ROUNDS)
def test_only_the_last_reply_keeps_its_thoughts(rounds: list[int]) -> None:
    messages = thoughtful(*rounds)
    original = copy.deepcopy(messages)
    cleared = without_old_thoughts(messages)
    assert messages == original
    assert thinking_in(cleared) == thinking_in(messages)[-1:]
    assert (calls(cleared), results(cleared)) == (calls(messages), results(messages))
    assert without_old_thoughts(cleared) is cleared


def test_a_reply_of_nothing_but_thoughts_stays() -> None:
    """A message may not be empty."""
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}
    messages = [*conversation(), thought, {"role": "user", "content": [{"type": "text", "text": "?"}]}, thought]
    assert without_old_thoughts(messages) is messages


# --- oldest rounds ----------------------------------------------------------------------------------------------------


@given(_ROUNDS, st.none() | st.integers(1, 400_000), st.none() | st.integers(1, 400_000), st.integers(0, 4_000))
def test_rounds_are_dropped_whole_and_from_the_oldest(
    rounds: list[int], tokens: int | None, limit: int | None, size: int
) -> None:
    messages = conversation(*rounds, size=size)
    shorter = without_oldest_rounds(messages, tokens, limit)
    if not rounds:
        assert shorter is None
        return
    assert shorter is not None
    assert shorter[0] == messages[0]
    assert shorter[1:] == messages[len(messages) - len(shorter) + 1 :]
    assert len(shorter) < len(messages)
    assert calls(shorter) == list(results(shorter))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=7), st.integers(1, 3_000), st.integers(1, 200_000))
def test_so_many_are_dropped_that_the_gap_is_covered(rounds: list[int], gap: int, limit: int) -> None:
    """Or all of them: the task itself is not cut here."""
    messages = conversation(*rounds)
    shorter = without_oldest_rounds(messages, limit + gap, limit)
    assert shorter is not None
    assert tokens_in(messages) - tokens_in(shorter) >= gap or shorter == messages[:1]


def test_no_more_is_dropped_than_covers_the_gap() -> None:
    messages = conversation(1, 1, 1, 1)
    a_round = tokens_in(messages[1:3])
    assert without_oldest_rounds(messages, 10_000 + a_round, 10_000) == [messages[0], *messages[3:]]
    assert without_oldest_rounds(messages, 10_001 + a_round, 10_000) == [messages[0], *messages[5:]]


@pytest.mark.parametrize(("tokens", "limit"), [(None, None), (None, 100), (100, None), (0, 0), (100, 100), (90, 100)])
def test_a_fifth_is_dropped_where_nobody_says_how_much(tokens: int | None, limit: int | None) -> None:
    messages = conversation(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
    assert without_oldest_rounds(messages, tokens, limit) == [messages[0], *messages[7:]]


def test_the_task_alone_cannot_be_made_shorter() -> None:
    assert without_oldest_rounds(conversation(), 9_000, 8_000) is None
