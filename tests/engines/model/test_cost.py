"""Money: what a request may cost at most is never less than what it is billed with, and every kind of token has its price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.config import Budget
from memoryd.engines.model import agent
from memoryd.engines.model.client import Client
from memoryd.engines.model.cost import most_usd, usd_of
from memoryd.engines.model.credentials import Account
from memoryd.engines.model.extraction_brief import brief_of, shared_by_runs
from memoryd.engines.model.prices import PRICES, Price
from memoryd.engines.model.reply import Usage
from memoryd.engines.model.tools import ToolBox
from memoryd.model import Exchange, UserMessage
from tests.messages_server import MessagesServer, Reply, call, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.messages_server import Request

HAIKU = PRICES["claude-haiku-5-5"]
PLAIN = Price(2.0, 10.0)
MILLION = 1_000_000


# --- afterwards -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        (Usage(), 0.0),
        (Usage(input=MILLION), 2.0),
        (Usage(output=MILLION), 10.0),
        (Usage(cache_read=MILLION), 0.2),
        (Usage(cache_created=MILLION), 2.5),
        (Usage(cache_created=MILLION, long_cache_created=MILLION), 4.0),
        (Usage(cache_created=MILLION, long_cache_created=MILLION // 2), 3.25),
        (Usage(MILLION, MILLION, MILLION, 0, MILLION), 14.7),
    ],
)
def test_every_kind_of_token_has_its_price(usage: Usage, usd: float) -> None:
    assert usd_of(PRICES["claude-sonnet-5-5"], usage) == pytest.approx(usd)


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        (Usage(cache_read=MILLION), 2.0),
        (Usage(cache_created=MILLION), 2.5),
        (Usage(cache_created=MILLION, long_cache_created=MILLION), 4.0),
    ],
)
def test_where_prices_of_the_cache_are_missing_reading_saves_nothing_and_writing_costs_more(
    usage: Usage, usd: float
) -> None:
    assert usd_of(PLAIN, usage) == pytest.approx(usd)


def test_a_price_of_zero_is_a_price() -> None:
    free_reads = PLAIN._replace(cache_read=0.0, cache_write=0.0, long_cache_write=0.0)
    assert usd_of(free_reads, Usage(0, MILLION, MILLION, 5, 0)) == 0.0
    assert most_usd(Price(0.0, 0.0), request("words")) == 0.0


@pytest.mark.parametrize(
    ("usage", "factor"),
    [
        (Usage(input=100_000), 1),
        (Usage(input=100_001), 5),
        (Usage(input=1, cache_read=50_000, cache_created=50_000), 5),
        (Usage(cache_read=50_000, cache_created=50_000, output=8_000), 1),
        (Usage(output=900_000), 1),
    ],
)
def test_above_100_000_tokens_of_prompt_everything_costs_five_times_as_much(usage: Usage, factor: int) -> None:
    """Cached or not; what the model answers does not count towards it, but costs more as well."""
    assert usd_of(HAIKU, usage) == pytest.approx(factor * usd_of(HAIKU._replace(above_tokens=0), usage))


def test_a_model_without_a_price_costs_nothing() -> None:
    assert usd_of(None, Usage(MILLION, MILLION, MILLION, MILLION, MILLION)) == 0.0
    assert most_usd(None, request("words")) == 0.0


_TOKENS = st.integers(0, 2_000_000)


@given(st.builds(Usage, _TOKENS, _TOKENS, _TOKENS, _TOKENS, _TOKENS), st.sampled_from([*PRICES.values(), PLAIN]))
def test_more_tokens_never_cost_less(usage: Usage, price: Price) -> None:
    usage = usage._replace(long_cache_created=min(usage.long_cache_created, usage.cache_created))
    for field in ("input", "cache_read", "cache_created", "output"):
        more = usage._replace(**{field: getattr(usage, field) + 1})
        assert usd_of(price, more) >= usd_of(price, usage)


# --- the table --------------------------------------------------------------------------------------------------------


def test_a_dated_name_costs_what_the_plain_one_does() -> None:
    assert Budget().price_of("claude-haiku-5-5-20261001") == HAIKU
    assert Budget().price_of("claude-haiku-5-5") == HAIKU


@pytest.mark.parametrize(
    "name", ["", "qwen3:8b", "claude-haiku", "claude-haiku-5-5-latest", "claude-haiku-5-5-19991001"]
)
def test_other_names_have_no_price(name: str) -> None:
    assert Budget().price_of(name) is None


def test_the_config_has_the_last_word_and_a_dated_price_goes_before_a_plain_one() -> None:
    plain, dated = Price(7.0, 8.0), Price(9.0, 10.0)
    budget = Budget(prices={"claude-haiku-5-5": plain, "claude-haiku-5-5-20261001": dated})
    names = ("claude-haiku-5-5", "claude-haiku-5-5-20261001", "claude-haiku-5-5-20270101")
    assert [budget.price_of(name) for name in names] == [plain, dated, plain]


def test_every_price_that_is_known_is_whole() -> None:
    for name, price in PRICES.items():
        assert price.cache_read is not None, name
        assert price.cache_write is not None, name
        assert price.long_cache_write is not None, name
        assert price.cache_read < price.input < price.cache_write < price.long_cache_write < price.output, name


# --- beforehand -------------------------------------------------------------------------------------------------------


def request(words: str, max_tokens: int = 1_000) -> dict[str, Any]:
    return {"system": [], "tools": [], "messages": [{"role": "u", "content": words}], "max_tokens": max_tokens}


def test_the_longest_reply_is_part_of_what_it_may_cost() -> None:
    assert most_usd(PLAIN, request("", 1_000)) == pytest.approx(0.010, abs=1e-4)


def test_all_of_the_prompt_may_be_written_to_the_dearest_cache() -> None:
    """40,000 bytes are 10,000 tokens, which may well be 16,000; an hour of cache costs twice the price of input."""
    assert most_usd(PLAIN, request("x" * 40_000, 0)) == pytest.approx(16_000 * 4.0 / MILLION, rel=2e-3)
    dear = PLAIN._replace(cache_write=9.0)
    assert most_usd(dear, request("x" * 40_000, 0)) == pytest.approx(16_000 * 9.0 / MILLION, rel=2e-3)


def test_the_step_in_the_price_is_reserved_for_before_it_is_reached() -> None:
    below, above = request("x" * 249_000), request("x" * 251_000)  # at the worst 99,620 and 100,420 tokens
    assert most_usd(HAIKU, above) > 4 * most_usd(HAIKU, below)


class Billed(NamedTuple):
    server: MessagesServer
    client: Client
    box: ToolBox


@pytest.fixture(scope="module", params=[True, False], ids=["with a cache", "without"])
def billed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Billed]:
    """A server whose model reads a few times, as the words it is shown say, and answers as long as it may."""
    place: Path = tmp_path_factory.mktemp("view")
    (place / "a.md").write_text('---\nname: a\n---\nSome "words"\nabout\tall.\n' * 20)

    def answer(asked: Request) -> Reply:
        turn, rounds = len(asked.body["messages"]) // 2, asked.raw.count(b"round")
        if turn < min(rounds, 4):
            return Reply(*[call("Read", {"file_path": "a.md"})] * (rounds - turn))
        return Reply(text("done"), output_tokens=asked.body["max_tokens"])

    with MessagesServer(answer, has_cache=request.param) as server, ToolBox(str(place), lambda _: None) as box:
        client = Client(lambda: Account(server.url, "test-key"), lambda: 0.0)
        yield Billed(server, client, box)
        client.close()


_WORDS = st.sampled_from(
    [
        "the",
        "deploy",
        "is",
        'says "no"',
        "C:\\temp\\x",
        "\n",
        "\n\n",
        "übergröße",
        "使用制表符",
        "round",
        "{}",
        "a" * 300,
    ]
)
_TEXTS = st.lists(_WORDS, max_size=60).map(" ".join)
_EXCHANGES = st.builds(
    lambda said, answer, reply, calls: Exchange(UserMessage("s", "m", 1.0, said, answer, reply=reply), tuple(calls)),
    _TEXTS,
    _TEXTS,
    _TEXTS,
    st.lists(_TEXTS, max_size=8),
)
_OPTIONAL_PRICE = st.none() | st.floats(0, 20)
_PRICES = st.sampled_from(list(PRICES.values())) | st.builds(
    Price,
    st.floats(0, 10),
    st.floats(0, 50),
    _OPTIONAL_PRICE,
    _OPTIONAL_PRICE,
    _OPTIONAL_PRICE,
    st.sampled_from([0, 2_000, 100_000]),
    st.floats(1, 5),
)


@settings(max_examples=20)
@given(st.lists(_EXCHANGES, min_size=1, max_size=4), st.lists(_TEXTS, max_size=3), _PRICES)
def test_no_request_is_billed_with_more_than_was_reserved(
    billed: Billed, exchanges: list[Exchange], texts: list[str], price: Price
) -> None:
    asked: list[tuple[float, float]] = []

    def ask(request: dict[str, Any]) -> Any:
        most = most_usd(price, request)
        reply = billed.client.send(request, 60.0)
        asked.append((usd_of(price, reply.usage), most))
        return reply

    limits = agent.RunLimits(5, 500, 80_000, 400_000, 60.0)
    manifest = [f"- [user] a.md (2026-10-30T12:00:00Z): {one}" for one in texts]
    brief = brief_of(exchanges, shared_by_runs(manifest, texts, limits))
    agent.AgentRun(brief, "m", billed.box, ask, limits, lambda: 0.0, lambda *_: None).to_the_end()
    assert asked
    assert [(usd, most) for usd, most in asked if usd > most] == []
    assert billed.server.violations == []
