"""Breakpoints: never more than the API takes, and never one that loses what the request before left in the cache."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.engines.model import agent, reply
from memoryd.engines.model.client import Client
from memoryd.engines.model.credentials import Account
from memoryd.engines.model.prompt_cache import LONG, SHORT, lost_between, with_breakpoints
from memoryd.engines.model.reply import Usage
from memoryd.engines.model.tools import ToolBox
from tests.messages_server import MessagesServer, Reply, call, text, thinking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.messages_server import Block, Request

LIMITS = agent.RunLimits(8, 500, 80_000, 400_000, 60.0)
_ROUNDS = st.lists(st.integers(1, agent.MOST_CALLS + 2), max_size=6)
_SHARED = st.lists(st.text("abc ", min_size=1, max_size=30).map("<shared> {}".format), max_size=2).map(tuple)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolBox]:
    place = tmp_path_factory.mktemp("view")
    (place / "a.md").write_text("Some words.\n")
    with ToolBox(str(place), lambda _: None) as opened:
        yield opened


def requests_of(box: ToolBox, shared: tuple[str, ...], rounds: list[int], *, thoughtful: bool) -> list[dict[str, Any]]:
    """What an agent asks whose model reads a file so many times in each reply."""
    asked: list[dict[str, Any]] = []

    def ask(request: dict[str, Any]) -> reply.ModelReply:
        asked.append(json.loads(json.dumps(request)))
        turn = len(asked) - 1
        thought = [{"type": "thinking", "thinking": "hm", "signature": "s"}] if thoughtful else []
        number = rounds[turn] if turn < len(rounds) else 0
        ids = [f"t{turn}_{index}" for index in range(number)]
        reads = [{"type": "tool_use", "id": one, "name": "Read", "input": {"file_path": "a.md"}} for one in ids]
        return reply.ModelReply((*thought, *reads), "tool_use" if reads else "end_turn", Usage())

    brief = agent.Brief("the system", shared, "the task")
    agent.AgentRun(brief, "m", box, ask, LIMITS, lambda: 0.0, lambda *_: None).to_the_end()
    return asked


def blocks_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    """In the order in which the API joins them."""
    said = [block for message in request["messages"] for block in message["content"]]
    return [*request["tools"], *request["system"], *said]


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: unmarked(item) for key, item in value.items() if key != "cache_control"}
    return [unmarked(item) for item in value] if isinstance(value, list) else value


@given(shared=_SHARED, rounds=_ROUNDS, thoughtful=st.booleans())
def test_there_are_four_breakpoints_at_most_and_no_hour_behind_five_minutes(
    box: ToolBox, shared: tuple[str, ...], rounds: list[int], thoughtful: bool
) -> None:
    for request in requests_of(box, shared, rounds, thoughtful=thoughtful):
        lives = [block["cache_control"]["ttl"] for block in blocks_of(request) if "cache_control" in block]
        assert len(lives) <= 4
        assert lives == sorted(lives)  # "1h" < "5m"
        assert lives[-1] == "5m"
        assert blocks_of(request)[-1]["cache_control"] == SHORT
        assert request["system"][-1]["cache_control"] == LONG


@given(shared=_SHARED, rounds=_ROUNDS, thoughtful=st.booleans())
def test_each_request_begins_with_the_one_before_to_the_byte(
    box: ToolBox, shared: tuple[str, ...], rounds: list[int], thoughtful: bool
) -> None:
    told = [json.dumps(unmarked(blocks_of(one))) for one in requests_of(box, shared, rounds, thoughtful=thoughtful)]
    for before, after in pairwise(told):
        assert after.startswith(before.removesuffix("]") + ", ")


@given(shared=_SHARED, rounds=_ROUNDS)
def test_each_request_has_a_breakpoint_where_the_one_before_had_its_last(
    box: ToolBox, shared: tuple[str, ...], rounds: list[int]
) -> None:
    """A reply of many calls is longer than the API looks back."""
    asked = requests_of(box, shared, rounds, thoughtful=False)
    for before, after in pairwise(asked):
        assert "cache_control" in blocks_of(after)[len(blocks_of(before)) - 1]


def test_breakpoints_are_set_in_a_copy() -> None:
    messages = [{"role": "user", "content": [text("a"), text("b"), text("c")]}]
    assert with_breakpoints(messages) == [
        {
            "role": "user",
            "content": [
                text("a") | {"cache_control": LONG},
                text("b") | {"cache_control": LONG},
                text("c") | {"cache_control": SHORT},
            ],
        }
    ]
    assert messages == [{"role": "user", "content": [text("a"), text("b"), text("c")]}]


def test_later_only_the_last_of_what_is_shared_has_one() -> None:
    first = {"role": "user", "content": [text("a"), text("b"), text("c")]}
    said = {"role": "assistant", "content": [text("d")]}
    results = {"role": "user", "content": [text("e"), text("f")]}
    assert with_breakpoints([first, said, results]) == [
        {
            "role": "user",
            "content": [text("a"), text("b") | {"cache_control": LONG}, text("c") | {"cache_control": SHORT}],
        },
        said,
        {"role": "user", "content": [text("e"), text("f") | {"cache_control": SHORT}]},
    ]


# --- at a server that bills like the API ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[MessagesServer, Client]]:
    def answer(request: Request) -> Reply:
        turn, rounds = (
            len(request.body["messages"]) // 2,
            json.loads(request.body["messages"][0]["content"][-1]["text"]),
        )
        reads: list[Block] = [call("Read", {"file_path": "a.md"})] * (rounds[turn] if turn < len(rounds) else 0)
        return Reply(thinking("hm"), *(reads or [text("done")]))

    with MessagesServer(answer) as server:
        client = Client(lambda: Account(server.url, "test-key"), lambda: 0.0)
        yield server, client
        client.close()


@settings(max_examples=25)
@given(shared=_SHARED, rounds=_ROUNDS)
def test_everything_that_was_written_is_read_by_the_next_request(
    box: ToolBox, served: tuple[MessagesServer, Client], shared: tuple[str, ...], rounds: list[int]
) -> None:
    server, client = served
    begun = len(server.requests)
    notes: list[str] = []
    brief = agent.Brief("the system " * 200, shared, json.dumps(rounds))
    agent.AgentRun(
        brief, "m", box, lambda one: client.send(one, 60.0), LIMITS, lambda: 0.0, lambda *note: notes.append(note[0])
    ).to_the_end()
    assert (notes, server.violations) == ([], [])
    usages = [request.usage for request in server.requests[begun:]]
    assert len(usages) == len(rounds) + 1
    for before, after in pairwise(usages):
        written = before["cache_read_input_tokens"] + before["cache_creation_input_tokens"]
        assert after["cache_read_input_tokens"] == written
        assert before["input_tokens"] == 0


# --- a cache that was lost --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "is_lost"),
    [
        (Usage(), Usage(), False),
        (Usage(input=5_000), Usage(input=9_000), False),
        (Usage(cache_created=1_000), Usage(cache_read=1_000), False),
        (Usage(cache_created=1_000), Usage(cache_read=500), False),
        (Usage(cache_created=1_000), Usage(cache_read=499, cache_created=2_000), True),
        (Usage(cache_read=900, cache_created=100), Usage(), True),
    ],
)
def test_a_cache_is_lost_where_less_than_half_of_it_is_read(before: Usage, after: Usage, is_lost: bool) -> None:
    assert bool(lost_between(before, after)) == is_lost


def test_the_log_says_how_much_was_lost() -> None:
    assert (
        lost_between(Usage(cache_created=12_000), Usage(cache_read=1_000))
        == "1,000 of 12,000 tokens were read from the cache, and nothing announced it"
    )
