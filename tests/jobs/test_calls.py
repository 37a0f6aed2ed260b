"""Requests of a job: tried again where that helps, paid for within the caps, never paid for twice, and stopped in time."""

from __future__ import annotations

import os
import re
import socketserver
import threading
from contextlib import suppress
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.backoff import REQUEST
from memoryd.clock import SystemClock, day_of
from memoryd.config import Budget
from memoryd.engines.model.budget import BudgetedCalls, DayCapError, DollarCaps, RunCapError
from memoryd.engines.model.client import TRIES, Client, EndpointError, _retry_after
from memoryd.engines.model.cost import most_usd, usd_of
from memoryd.engines.model.credentials import NAME, Account
from memoryd.engines.model.prices import PRICES, Price
from memoryd.engines.model.reply import Usage
from memoryd.engines.model.tools import SCHEMAS
from memoryd.errors import EngineRestsError, EngineStoppedError
from memoryd.jobs.due import due
from memoryd.state import engine_holds, jobs, model_calls
from memoryd.state.engine_holds import Hold
from memoryd.state.model_calls import Spent
from tests.jobs.model_answers import (
    NOTHING,
    RULE,
    RULE_MD,
    content,
    failures,
    held,
    in_turn,
    is_due,
    run_due,
    spent,
    with_model,
    writes,
)
from tests.jobs.model_workspace import ToldClock
from tests.jobs.workspace import NOW
from tests.keeping_model import usage_of
from tests.messages_server import (
    Drop,
    Garbage,
    Hang,
    MessagesServer,
    Reply,
    SlowHead,
    Status,
    StreamError,
    Trickle,
    call,
    text,
)
from tests.transcript import Session, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.conftest import PassingTime
    from tests.jobs.model_workspace import ModelWorkspace
    from tests.messages_server import Answer, Request

pytestmark = pytest.mark.usefixtures("loaded_sdk")

HAIKU = PRICES["claude-haiku-5-5"]
DONE = ("succeeded_no_output", ())
SPEAKING: dict[str, Any] = {
    "model": "m",
    "max_tokens": 10,
    "tools": list(SCHEMAS),
    "system": [text("be brief")],
    "messages": [{"role": "user", "content": [text("hello")]}],
}
MANAGED: dict[str, Any] = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}


def busy(code: int = 429, headers: dict[str, str] | None = None) -> Status:
    return Status(code, "overloaded_error", "Overloaded", headers or {})


def billed(*requests: Request) -> float:
    """What the server charged, in USD."""
    usages = [request.usage for request in requests if request.usage]
    return sum(
        usd_of(
            HAIKU,
            Usage(
                usage["input_tokens"],
                usage["cache_read_input_tokens"],
                usage["cache_creation_input_tokens"],
                usage["cache_creation"]["ephemeral_1h_input_tokens"],
                usage["output_tokens"],
            ),
        )
        for usage in usages
    )


# --- tried again ------------------------------------------------------------------------------------------------------


def test_who_is_asked_to_wait_waits_and_asks_again(database: Database, paths: Paths) -> None:
    with with_model(database, paths, in_turn(busy(429, {"retry-after": "2"}))) as model_workspace:
        model_workspace.say("hello")
        assert model_workspace.work() == [DONE]
        assert model_workspace.clock.pauses == [2.0]
        assert len(model_workspace.server.requests) == 2
        assert held(model_workspace) is None
        assert failures(model_workspace) == [0]


@pytest.mark.parametrize("header", ["-5", "nan", "inf", "-inf", "soon", "", "Mon, 99 Foo", "0", "1e-3"])
def test_a_time_to_wait_that_makes_no_sense_is_our_own(database: Database, paths: Paths, header: str) -> None:
    with with_model(database, paths, in_turn(busy(429, {"retry-after": header}))) as model_workspace:
        model_workspace.say("hello")
        assert model_workspace.work() == [DONE]
        (pause,) = model_workspace.clock.pauses
        assert 1 <= pause <= 2


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("61", 61.0),
        ("1e12", 3600.0),
        ("Fri, 31 Dec 2999 23:59:59 GMT", 3600.0),
        (formatdate(NOW + 600, usegmt=True), 600.0),
    ],
)
def test_who_wants_us_to_wait_longer_is_left_alone_as_long(
    database: Database, paths: Paths, header: str, seconds: float
) -> None:
    """Up to an hour, and no process waits for it."""
    with with_model(database, paths, in_turn(busy(429, {"retry-after": header}))) as model_workspace:
        model_workspace.say("hello")
        with pytest.raises(EngineRestsError):
            model_workspace.work()
        assert model_workspace.clock.pauses == []
        hold = held(model_workspace)
        assert hold is not None
        assert hold.until == NOW + seconds
        model_workspace.clock.at = NOW + seconds
        assert model_workspace.work() == [DONE]


def test_a_date_to_wait_for_is_understood(database: Database, paths: Paths) -> None:
    with with_model(
        database, paths, in_turn(busy(503, {"retry-after": formatdate(NOW + 10, usegmt=True)}))
    ) as model_workspace:
        model_workspace.say("hello")
        assert model_workspace.work() == [DONE]
        assert model_workspace.clock.pauses == [10.0]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        ("7.5", 7.5),
        (" 7 ", 7.0),
        ("1_0", 10.0),  # Python reads it so; it does no harm
        (formatdate(NOW - 10, usegmt=True), None),
        ("Fri, 31 Dec 99999 23:59:59 GMT", None),
        ("9" * 400, None),
    ],
)
def test_what_a_header_says_about_waiting(header: str | None, seconds: float | None) -> None:
    assert _retry_after(header, NOW) == seconds


@pytest.mark.parametrize("code", [408, 409, 429, 502, 503, 504, 520, 529])
def test_trouble_at_the_endpoint_is_no_fault_of_the_session(database: Database, paths: Paths, code: int) -> None:
    with with_model(database, paths, busy(code)) as model_workspace:
        model_workspace.say("hello")
        model_workspace.say("hello", session=Session("two"))
        with pytest.raises(EngineRestsError) as caught:
            model_workspace.work()
        assert caught.value.exit_code == 75
        assert len(model_workspace.server.requests) == TRIES
        first, second, third = model_workspace.clock.pauses
        assert 1 <= first <= 2 <= second <= 4 <= third <= 8
        sentence = f'The model\'s endpoint, {model_workspace.server.url}, has trouble: status {code}: "Overloaded".'
        assert (str(caught.value), caught.value.fix) == (sentence, "memoryd retry")
        assert held(model_workspace) == Hold(
            "engine_busy", sentence, "", model_workspace.clock.at + 60, model_workspace.clock.at
        )
        assert (failures(model_workspace), model_workspace.outcomes(), model_workspace.jobs()) == (
            [0, 0],
            [None, None],
            [("failed", sentence)],
        )
        assert spent(model_workspace) == Spent(calls=4)
        assert not is_due(model_workspace)
        model_workspace.clock.at += 60
        assert is_due(model_workspace)


def test_who_met_trouble_at_the_endpoint_goes_last(database: Database, paths: Paths) -> None:
    """What is wrong may be about its words all the same: the others have their turn first."""
    with with_model(database, paths, in_turn(*[busy(529)] * TRIES)) as model_workspace:
        first, second = model_workspace.say("hello"), model_workspace.say("hello", session=Session("two"))
        with pytest.raises(EngineRestsError):
            model_workspace.work()

        def waiting() -> list[str]:
            found = due(database, paths, model_workspace.config, model_workspace.clock.now())
            return sorted(session.session_id for sessions in found.values() for session in sessions)

        model_workspace.clock.at += 60
        assert waiting() == [second.id]
        model_workspace.clock.at += 60
        assert waiting() == sorted([first.id, second.id])
        assert model_workspace.work() == [DONE, DONE]


def test_a_session_that_has_trouble_while_others_fare_well_is_to_blame_itself(database: Database, paths: Paths) -> None:
    """The first time nobody can tell; from then on it counts against it, until its breaker opens."""

    def answer(request: Request) -> Answer:
        return busy(500) if b"poison" in request.raw else NOTHING

    with with_model(database, paths, answer) as model_workspace:
        model_workspace.say("poison")
        counted = []
        for number in range(4):
            model_workspace.say("hello", session=Session(number))
            for _ in range(40):  # the daemon, minute by minute
                model_workspace.clock.at += 60
                with suppress(EngineRestsError):
                    run_due(model_workspace)
            counted.append(failures(model_workspace)[0])
        assert counted[0] in (0, 1)
        assert counted[-1] == 3
        assert model_workspace.outcomes() == [None, *["succeeded_no_output"] * 4]
        assert spent(model_workspace).unsettled_usd == 0


@pytest.mark.parametrize("code", [500, 529])
def test_as_long_as_nobody_is_answered_no_session_is_to_blame(database: Database, paths: Paths, code: int) -> None:
    with with_model(database, paths, busy(code)) as model_workspace:
        model_workspace.say("hello")
        model_workspace.say("hello", session=Session("two"))
        for _ in range(4):
            with pytest.raises(EngineRestsError, match=f'status {code}: "Overloaded"'):
                model_workspace.work()
        assert (failures(model_workspace), model_workspace.outcomes()) == ([0, 0], [None, None])


def test_an_endpoint_that_is_not_there_costs_nothing(database: Database, paths: Paths) -> None:
    with with_model(database, paths, NOTHING) as model_workspace:
        model_workspace.server.stop()
        model_workspace.say("hello")
        with pytest.raises(EngineRestsError, match="has trouble: it cannot be reached"):
            model_workspace.work()
        assert len(model_workspace.clock.pauses) == TRIES - 1
        assert spent(model_workspace) == Spent(calls=4)
        assert (failures(model_workspace), model_workspace.outcomes()) == ([0], [None])


@pytest.mark.parametrize("after_bytes", [0, 1, 300, 900])
def test_a_connection_that_breaks_is_asked_again_and_may_have_cost(
    database: Database, paths: Paths, after_bytes: int
) -> None:
    with with_model(database, paths, in_turn(Drop(Reply(writes()), after_bytes), Reply(writes()))) as model_workspace:
        model_workspace.say(RULE)
        assert model_workspace.work() == [("succeeded", (RULE_MD,))]
        dropped, *answered = model_workspace.server.requests
        assert len(answered) == 1
        total = spent(model_workspace)
        assert total.usd == pytest.approx(total.unsettled_usd + billed(*answered, *model_workspace.server.reviews))
        assert total.unsettled_usd > billed(dropped) > 0


@pytest.mark.parametrize("after_events", [0, 2, 5])
def test_a_stream_that_ends_in_an_error_is_asked_again(database: Database, paths: Paths, after_events: int) -> None:
    with with_model(
        database, paths, in_turn(StreamError(Reply(writes()), after_events), Reply(writes()))
    ) as model_workspace:
        model_workspace.say(RULE)
        assert model_workspace.work() == [("succeeded", (RULE_MD,))]
        assert len(model_workspace.server.requests) == 2
        assert spent(model_workspace).unsettled_usd > 0


def test_a_stream_that_always_ends_in_an_error_is_trouble_at_the_endpoint(database: Database, paths: Paths) -> None:
    with with_model(database, paths, StreamError(Reply(writes()), 4)) as model_workspace:
        model_workspace.say(RULE)
        with pytest.raises(EngineRestsError, match='it broke off: "the model failed'):
            model_workspace.work()
        assert (model_workspace.memories(), failures(model_workspace), model_workspace.outcomes()) == ({}, [0], [None])


@pytest.mark.parametrize(
    "garbage",
    [
        Garbage(b"<!doctype html><h1>Welcome to nginx</h1>", "text/html"),
        Garbage(b'{"type": "message", "content": [{"type": "te'),
        Garbage(b'{"type": "message", "content"'),
        Garbage(b"", "text/event-stream"),
        Garbage(b"data: {]\n\n", "text/event-stream"),
        Garbage(b"\x00\xff" * 100, "application/octet-stream"),
        Garbage(b"null"),
    ],
)
def test_an_answer_that_is_none_is_asked_for_again_and_then_given_up(
    database: Database, paths: Paths, garbage: Garbage
) -> None:
    with with_model(database, paths, garbage) as model_workspace:
        model_workspace.say(RULE)
        with pytest.raises(EngineRestsError, match="its answer cannot be used: "):
            model_workspace.work()
        assert len(model_workspace.server.requests) == TRIES
        assert (model_workspace.memories(), failures(model_workspace), model_workspace.outcomes()) == ({}, [0], [None])
        total = spent(model_workspace)
        is_charged = "json" in garbage.content_type or "event-stream" in garbage.content_type
        assert total.usd == total.unsettled_usd
        assert bool(total.usd) == is_charged  # the page of some other server costs nothing


def test_an_answer_that_is_none_only_once_does_no_harm(database: Database, paths: Paths) -> None:
    with with_model(database, paths, in_turn(Garbage(b"<html>", "text/html"), Reply(writes()))) as model_workspace:
        model_workspace.say(RULE)
        assert model_workspace.work() == [("succeeded", (RULE_MD,))]


# --- in time ----------------------------------------------------------------------------------------------------------


def timed_calls() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "memoryd-timed-call"]


@pytest.mark.parametrize("answer", [SlowHead, Trickle, lambda _, gate: Hang(gate)])
def test_an_endpoint_that_takes_its_time_is_given_up_when_the_run_has_taken_its_own(
    database: Database,
    paths: Paths,
    passing_time: PassingTime,
    answer: Callable[[Reply, threading.Event], Answer],
) -> None:
    """The transport is content with a byte now and then, also within the headers. The gate is closed until it gave up."""
    gate = threading.Event()

    def answer_late(_: Request) -> Answer:
        passing_time.skip()
        model_workspace.clock.at += 3600.0
        return answer(Reply(writes()), gate)

    with with_model(database, paths, answer_late) as model_workspace:
        model_workspace.say(RULE)
        with pytest.raises(EngineRestsError, match="it does not answer in time"):
            model_workspace.work()
        assert len(model_workspace.server.requests) == 1
        assert (model_workspace.clock.pauses, failures(model_workspace)) == ([], [0])
        assert (model_workspace.memories(), model_workspace.outcomes()) == ({}, [None])
        assert spent(model_workspace).unsettled_usd > 0
        gate.set()


def test_a_request_that_was_given_up_ends_and_the_next_one_gets_a_new_connection(passing_time: PassingTime) -> None:
    """Whoever waits has gone on by then; the thread that is left finds its connection closed with the next byte."""
    gate = threading.Event()

    def answer(request: Request) -> Answer:
        if request.number > 0:
            return NOTHING
        passing_time.skip()
        return SlowHead(NOTHING, gate)

    with MessagesServer(answer) as server:
        client = Client(lambda: Account(server.url, "test-key"), SystemClock().now)
        try:
            with pytest.raises(EndpointError, match="it does not answer in time") as caught:
                client.send(dict(SPEAKING), SystemClock().now() + 60)
            assert caught.value.is_charged
            for thread in timed_calls():
                thread.join(60)
                assert not thread.is_alive()
            for _ in range(2):
                assert client.send(dict(SPEAKING), SystemClock().now() + 60).content == (text("nothing"),)
        finally:
            client.close()
        assert (len(server.requests), server.violations) == (3, [])


def test_a_deadline_that_is_over_sends_nothing() -> None:
    with MessagesServer(lambda _: NOTHING) as server:
        client = Client(lambda: Account(server.url, "test-key"), lambda: 60.0)
        with pytest.raises(EndpointError) as caught:
            client.send(dict(SPEAKING), 60.0)
        assert not caught.value.is_charged
        assert server.requests == []


class _SlowServer(socketserver.ThreadingTCPServer):
    passing_time: PassingTime


class _SlowAnswer(socketserver.BaseRequestHandler):
    """Answers byte by byte, behind what `at_once` says, for as long as somebody listens; the time is over by then."""

    server: _SlowServer
    at_once = b""

    def handle(self) -> None:
        self.request.recv(65_536)
        self.server.passing_time.skip()
        with suppress(OSError):
            self.request.sendall(self.at_once)
            while not threading.Event().wait(0.01):
                self.request.sendall(b"1\r\nx\r\n" if self.at_once.endswith(b"\r\n\r\n") else b"x")


class _SlowHeaders(_SlowAnswer):
    at_once = b"HTTP/1.1 200 OK\r\nx-long: "


class _SlowRefusal(_SlowAnswer):
    at_once = b"HTTP/1.1 500 No\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("handler", [_SlowHeaders, _SlowRefusal])
@pytest.mark.parametrize("ask", [lambda client, at: client.send(dict(SPEAKING), at), Client.models])
def test_headers_and_errors_that_trickle_are_given_up_in_time(
    handler: type[_SlowAnswer], ask: Callable[[Client, float], object], passing_time: PassingTime
) -> None:
    with _SlowServer(("127.0.0.1", 0), handler) as server:
        server.passing_time = passing_time
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        client = Client(lambda: Account(url, "k"), SystemClock().now)
        try:
            with pytest.raises(EndpointError, match="it does not answer in time"):
                ask(client, SystemClock().now() + 60)
        finally:
            client.close()
            server.shutdown()
            thread.join()


def test_nobody_waits_beyond_the_end_of_the_run(database: Database, paths: Paths) -> None:
    with with_model(database, paths, busy(429, {"retry-after": "50"}), longest_run_seconds=120) as model_workspace:
        model_workspace.say("hello")
        with pytest.raises(EngineRestsError):
            model_workspace.work()
        assert model_workspace.clock.pauses == [50.0, 50.0]
        assert model_workspace.clock.at <= NOW + 120
        assert REQUEST.longest_seconds < 120


def test_a_run_that_takes_too_long_ends_before_its_next_request(database: Database, paths: Paths) -> None:
    """And the answers that it has paid for are used when it is tried again."""

    class Slow(ToldClock):
        def now(self) -> float:
            (answered,) = database.query("SELECT count(*) FROM steps WHERE reply IS NOT NULL")[0]
            return NOW + 301.0 * int(answered)

    with with_model(
        database, paths, in_turn(Reply(call("Glob", {"pattern": "*.md"})), Reply(writes()))
    ) as model_workspace:
        model_workspace.clock = Slow()
        model_workspace.say(RULE)
        (outcome,) = model_workspace.run()
        assert (outcome.outcome, outcome.detail) == ("failed", "it took too long")
        assert len(model_workspace.server.requests) == 1
        assert model_workspace.work() == [("succeeded", (RULE_MD,))]
        assert [len(request.body["messages"]) for request in model_workspace.server.requests] == [1, 3]


# --- engines that stop ------------------------------------------------------------------------------------------------

STOPS = [
    (Status(401, "authentication_error", "invalid x-api-key"), "refuses the API key"),
    (Status(402, "billing_error", "no card"), "wants to be paid first"),
    (Status(403, "permission_error", "not yours"), "does not allow this key to use the model"),
    (Status(404, "not_found_error", "model: x"), "does not know the model or the address"),
    (
        Status(400, "invalid_request_error", "Your credit balance is too low to access the API"),
        "wants to be paid first",
    ),
]


@pytest.mark.parametrize(("status", "why"), STOPS)
def test_an_engine_that_is_refused_stops_for_all_sessions(
    database: Database, paths: Paths, status: Status, why: str
) -> None:
    with with_model(database, paths, status) as model_workspace:
        model_workspace.say("hello")
        model_workspace.say("hello", session=Session("two"))
        with pytest.raises(EngineStoppedError) as caught:
            model_workspace.work()
        assert caught.value.exit_code == 77
        assert caught.value.sentence == f'{model_workspace.server.url} {why}. It says: "{status.message}"'
        assert caught.value.fix.endswith("memoryd retry")
        assert (len(model_workspace.server.requests), model_workspace.clock.pauses) == (1, [])
        assert held(model_workspace) == Hold("engine_stopped", caught.value.sentence, caught.value.fix, None, NOW)
        assert (failures(model_workspace), model_workspace.outcomes()) == ([0, 0], [None, None])
        assert model_workspace.jobs() == [("failed", caught.value.sentence)]
        assert spent(model_workspace) == Spent(calls=1)
        model_workspace.clock.at += 10 * 86_400
        assert not is_due(model_workspace)


def stopped(model_workspace: ModelWorkspace) -> None:
    model_workspace.say("hello")
    with pytest.raises(EngineStoppedError):
        model_workspace.work()
    assert not is_due(model_workspace)


def test_a_stopped_engine_is_tried_again_when_the_config_changes(database: Database, paths: Paths) -> None:
    with with_model(database, paths, in_turn(STOPS[0][0])) as model_workspace:
        stopped(model_workspace)
        os.makedirs(os.path.dirname(paths.config_file))
        Path(paths.config_file).write_text("nonsense\n")  # which cannot be used: the settings from before hold
        assert not is_due(model_workspace)
        model_workspace.config = model_workspace.config._replace(engine="anthropic")
        assert is_due(model_workspace)
        assert model_workspace.work() == [DONE]
        assert database.query("SELECT * FROM holds") == []


def test_a_stopped_engine_is_tried_again_when_the_key_changes(database: Database, paths: Paths, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.touch(0o600)
    key.write_text("wrong-key\n")
    with with_model(database, paths, NOTHING, api_key_variable="", api_key_file=str(key)) as model_workspace:
        stopped(model_workspace)
        key.write_text("test-key\n")
        assert is_due(model_workspace)
        assert model_workspace.work() == [DONE]
        assert [request.headers["authorization"] for request in model_workspace.server.requests] == [
            "Bearer wrong-key",
            "Bearer test-key",
        ]


def test_a_stopped_engine_is_tried_again_when_somebody_says_so(database: Database, paths: Paths) -> None:
    with with_model(database, paths, in_turn(STOPS[0][0])) as model_workspace:
        stopped(model_workspace)
        engine_holds.lift(database, NAME)
        assert is_due(model_workspace)
        assert model_workspace.work() == [DONE]


@pytest.mark.parametrize(
    "settings",
    [{"api_key_variable": "UNSET"}, {"api_key_file": "/no/such/key"}, {"extraction_model": "unknown-model"}],
)
def test_settings_that_cannot_work_stop_the_engine_before_anything_is_sent(
    database: Database, paths: Paths, settings: dict[str, Any]
) -> None:
    if "extraction_model" in settings:
        settings = settings | {"base_url": "https://gateway.example"}
    with with_model(database, paths, NOTHING, **settings) as model_workspace:
        stopped(model_workspace)
        assert (model_workspace.server.requests, failures(model_workspace)) == ([], [0])
        hold = held(model_workspace)
        assert hold is not None
        assert hold.reason == "engine_stopped"


def test_what_an_endpoint_says_is_told_without_secrets_and_in_one_line(database: Database, paths: Paths) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    status = Status(401, "authentication_error", f"bad\n\tkey {token} " + "x" * 900)
    with with_model(database, paths, status) as model_workspace:
        model_workspace.say("hello")
        with pytest.raises(EngineStoppedError) as caught:
            model_workspace.work()
        assert 'It says: "bad key [redacted: ' in caught.value.sentence
        assert token not in caught.value.sentence
        assert len(caught.value.sentence) < 400


# --- engines that rest ------------------------------------------------------------------------------------------------


def test_an_engine_rests_longer_after_every_failure_and_a_success_ends_it(database: Database, paths: Paths) -> None:
    trouble = [True]
    with with_model(database, paths, lambda _: busy(529) if trouble else NOTHING) as model_workspace:
        model_workspace.say("hello")
        delays = []
        for _ in range(9):
            with pytest.raises(EngineRestsError):
                model_workspace.work()
            hold = held(model_workspace)
            assert hold is not None
            assert hold.until is not None
            delays.append(hold.until - model_workspace.clock.at)
            model_workspace.clock.at = hold.until
            assert held(model_workspace) is None
        assert delays == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
        trouble.clear()
        assert model_workspace.work() == [DONE]
        assert database.query("SELECT * FROM holds") == []
        model_workspace.say("again", session=Session("two"))
        trouble.append(True)
        with pytest.raises(EngineRestsError):
            model_workspace.work()
        hold = held(model_workspace)
        assert hold is not None
        assert hold.until == model_workspace.clock.at + 60


def test_a_clock_that_was_set_back_ends_a_rest(database: Database, paths: Paths) -> None:
    with with_model(database, paths, busy(529)) as model_workspace:
        model_workspace.say("hello")
        with pytest.raises(EngineRestsError):
            model_workspace.work()
        model_workspace.clock.at = NOW - 1
        assert held(model_workspace) is None


def test_no_session_is_lost_over_all_this(database: Database, paths: Paths) -> None:
    """Whatever goes wrong and however often, each turn is done once in the end."""
    troubles: list[Answer] = [busy(529), busy(500), Drop(NOTHING, 40), Garbage(b"<html>"), STOPS[0][0], busy(503)]
    answers = in_turn(*(trouble for trouble in troubles for _ in range(TRIES)))
    with with_model(database, paths, answers) as model_workspace:
        for name in range(3):
            model_workspace.say(f"hello {name}", "and more", session=Session(name))
        for _ in range(40):
            model_workspace.clock.at += 7200
            try:
                model_workspace.run()
            except (EngineRestsError, EngineStoppedError):
                continue
        assert model_workspace.outcomes() == ["succeeded_no_output"] * 6
        shown = b"".join(request.raw for request in model_workspace.server.answered)
        assert [len(re.findall(f"hello {name}".encode(), shown)) for name in range(3)] == [1, 1, 1]


# --- money ------------------------------------------------------------------------------------------------------------


def measured(model_workspace: ModelWorkspace) -> tuple[float, float]:
    """What a request about one short turn reserves, and what it costs in the end."""
    model_workspace.say("hello", session=Session("measured"))
    assert model_workspace.work() == [DONE]
    row = model_workspace.database.query("SELECT reserved_usd, settled_usd FROM steps")[0]
    model_workspace.database.execute("UPDATE steps SET sent_at = 0")  # long ago
    model_workspace.server.requests.clear()
    return row[0], row[1]


def allow(model_workspace: ModelWorkspace, budget: Budget) -> None:
    model_workspace.config = model_workspace.config._replace(budget=budget)


def test_a_day_that_could_become_too_dear_sends_nothing(database: Database, paths: Paths) -> None:
    with with_model(database, paths, NOTHING, budget=Budget(usd_per_day=0.0001)) as model_workspace:
        model_workspace.say("hello")
        model_workspace.say("hello", session=Session("two"))
        with pytest.raises(DayCapError) as caught:
            model_workspace.work()
        assert caught.value.exit_code == 75
        assert re.fullmatch(
            r"One request may cost 0\.\d+ USD, which is more than the 0\.0001 USD of a day\.", caught.value.sentence
        )
        assert (model_workspace.server.requests, spent(model_workspace)) == ([], Spent())
        assert held(model_workspace) == Hold(
            "budget_reached", caught.value.sentence, caught.value.fix, day_of(NOW)[1], NOW
        )
        assert (failures(model_workspace), model_workspace.outcomes()) == ([0, 0], [None, None])


def test_a_day_that_is_too_dear_ends_when_it_turns(database: Database, paths: Paths) -> None:
    with with_model(database, paths, NOTHING, has_cache=False) as model_workspace:
        reserved, settled = measured(model_workspace)
        allow(model_workspace, Budget(usd_per_day=reserved + settled / 2))
        for name in ("a", "b"):
            model_workspace.say("hello", session=Session(name))
        with pytest.raises(DayCapError, match="The day's budget is used up: "):
            model_workspace.work()
        assert len(model_workspace.server.requests) == 1
        assert not is_due(model_workspace)
        model_workspace.clock.at = day_of(NOW)[1] - 1
        assert not is_due(model_workspace)
        with pytest.raises(DayCapError):
            model_workspace.work()
        model_workspace.clock.at = day_of(NOW)[1]
        assert is_due(model_workspace)
        assert model_workspace.work() == [DONE]
        assert len(model_workspace.server.requests) == 2


def test_a_day_that_is_too_dear_ends_when_the_config_changes(database: Database, paths: Paths) -> None:
    with with_model(database, paths, NOTHING, budget=Budget(usd_per_day=0.0001)) as model_workspace:
        model_workspace.say("hello")
        with pytest.raises(DayCapError):
            model_workspace.work()
        model_workspace.config = model_workspace.config._replace(budget=Budget(usd_per_day=2))
        assert is_due(model_workspace)


def test_what_is_settled_takes_the_place_of_what_was_reserved(database: Database, paths: Paths) -> None:
    with with_model(database, paths, NOTHING, has_cache=False) as model_workspace:
        reserved, settled = measured(model_workspace)
        assert 0 < settled < reserved
        allow(model_workspace, Budget(usd_per_day=reserved + 2 * settled + 1e-6))
        for name in ("a", "b", "c", "d"):
            model_workspace.say("hello", session=Session(name))
        with pytest.raises(DayCapError):
            model_workspace.work()
        assert len(model_workspace.server.requests) == 3


def test_what_was_sent_and_never_answered_counts_as_reserved(database: Database, paths: Paths) -> None:
    answers: list[Answer] = [NOTHING]
    with with_model(database, paths, lambda _: answers[-1], has_cache=False) as model_workspace:
        reserved, _ = measured(model_workspace)
        allow(model_workspace, Budget(usd_per_day=reserved * 1.5))
        answers.append(Drop(NOTHING, 40))
        model_workspace.say("hello")
        with pytest.raises(DayCapError):
            model_workspace.work()
        assert len(model_workspace.server.requests) == 1
        total = spent(model_workspace)
        assert total.unsettled_usd == pytest.approx(reserved, rel=0.01)


def test_a_cap_that_leaves_no_room_for_a_run_stops_the_engine(database: Database, paths: Paths) -> None:
    with with_model(database, paths, NOTHING, budget=Budget(usd_per_run=0.0001)) as model_workspace:
        model_workspace.say("hello")
        with pytest.raises(EngineStoppedError) as caught:
            model_workspace.work()
        assert caught.value.sentence == "A run may cost 0.0001 USD, which is too little for claude-haiku-5-5."
        assert caught.value.fix == "raise budget.usd_per_run in the config"
        assert (model_workspace.server.requests, failures(model_workspace)) == ([], [0])


def calls_for(model_workspace: ModelWorkspace, client: Client, budget: Budget) -> BudgetedCalls:
    """The requests of a job that has just begun."""
    session = model_workspace.say("hello")
    (row,) = model_workspace.database.query("SELECT id FROM transcripts")
    job = jobs.claim(model_workspace.database, str(model_workspace.memory), row["id"], session.id, NOW)
    assert job is not None
    return BudgetedCalls(
        model_workspace.database,
        job.id,
        str(model_workspace.memory),
        client,
        HAIKU,
        DollarCaps(budget),
        model_workspace.clock,
        NOW + 300,
        "extract 1",
    )


def asking(words: str) -> dict[str, Any]:
    return SPEAKING | {"messages": [{"role": "user", "content": [text(words)]}]}


def test_a_run_ends_before_the_request_that_could_be_too_dear(database: Database, paths: Paths) -> None:
    with with_model(database, paths, NOTHING, has_cache=False) as model_workspace:
        client = Client(lambda: Account(model_workspace.server.url, "test-key"), model_workspace.clock.now)
        most = most_usd(HAIKU, asking("one"))
        calls = calls_for(model_workspace, client, Budget(usd_per_run=most * 1.2))
        calls.ask(asking("one"))
        with pytest.raises(RunCapError, match=r"that budget\.usd_per_run allows"):
            calls.ask(asking("two"))
        assert calls.ask(asking("one")).content == (text("nothing"),)  # it is paid for, and kept
        client.close()
        assert len(model_workspace.server.requests) == 1


def test_trouble_that_made_a_run_too_dear_is_what_is_told(database: Database, paths: Paths) -> None:
    """What was sent and not answered may have been charged for, so that another try is beyond the cap."""
    with with_model(database, paths, Drop(NOTHING, 40), has_cache=False) as model_workspace:
        client = Client(lambda: Account(model_workspace.server.url, "test-key"), model_workspace.clock.now)
        most = most_usd(HAIKU, asking("one"))
        calls = calls_for(model_workspace, client, Budget(usd_per_run=most * 2.5))
        with pytest.raises(EndpointError, match="the connection broke"):
            calls.ask(asking("one"))
        client.close()
        assert len(model_workspace.server.requests) == 2
        assert spent(model_workspace).unsettled_usd == pytest.approx(2 * most)


def test_what_costs_nothing_is_never_capped(database: Database, paths: Paths) -> None:
    budget = Budget(0.0, 0.0, prices={"claude-haiku-5-5": Price(0.0, 0.0)})
    with with_model(database, paths, in_turn(Reply(writes())), budget=budget) as model_workspace:
        model_workspace.say(RULE)
        assert model_workspace.work() == [("succeeded", (RULE_MD,))]
        assert spent(model_workspace).usd == 0.0


def test_a_budget_of_nothing_sends_nothing(database: Database, paths: Paths) -> None:
    with with_model(database, paths, NOTHING, budget=Budget(usd_per_day=0.0)) as model_workspace:
        model_workspace.say("hello")
        with pytest.raises(DayCapError):
            model_workspace.work()
        assert model_workspace.server.requests == []


def test_usage_by_day_project_and_job_adds_up_to_what_was_billed(database: Database, paths: Paths) -> None:
    with with_model(
        database, paths, in_turn(Reply(call("Glob", {"pattern": "*"})), NOTHING, Reply(writes()))
    ) as model_workspace:
        model_workspace.say("hello")
        model_workspace.work()
        model_workspace.say(RULE, session=Session("two"))
        model_workspace.work()
        model_workspace.clock.at = day_of(NOW)[1] + 5
        model_workspace.say("hello", session=Session("three"))
        model_workspace.work()
        other = Session("four", cwd="/code/other")
        write(paths.transcripts_root, other, other.turn("hello"), "-code-other")
        model_workspace.ingester.ingest(NOW)
        model_workspace.work()
        asked = model_workspace.server.requests
        requests = [*asked[:3], *model_workspace.server.reviews, *asked[3:]]
        assert (len(asked), len(requests)) == (5, 6)
        rows = model_calls.usage(database)
        days = [row[0] for row in database.query("SELECT date(?, 'unixepoch', 'localtime')", (NOW,))]
        assert [(row.day, row.project, row.job, row.model, row.spent.calls) for row in rows] == [
            (days[0], "/code/acme", "extract", "claude-haiku-5-5", 4),
            (rows[1].day, "/code/acme", "extract", "claude-haiku-5-5", 1),
            (rows[1].day, "/code/other", "extract", "claude-haiku-5-5", 1),
        ]
        assert rows[1].day > days[0]
        total = spent(model_workspace)
        counted = usage_of(requests)
        assert total._replace(usd=0.0) == Spent(
            6,
            counted["input_tokens"],
            counted["cache_read_input_tokens"],
            counted["cache_creation_input_tokens"],
            counted["output_tokens"],
        )
        assert total.usd == pytest.approx(billed(*requests))
        assert [row.spent.usd for row in rows] == pytest.approx(
            [billed(*requests[:4]), billed(requests[4]), billed(requests[5])]
        )
        assert model_calls.usage(database, day_of(NOW)[1]) == rows[1:]
        assert model_calls.spent_between(database, *day_of(NOW)) == pytest.approx(billed(*requests[:4]))
        assert model_calls.spent_between(database, *day_of(day_of(NOW)[1])) == pytest.approx(billed(*requests[4:]))


def test_history_is_accounted_for_as_backfill(database: Database, paths: Paths) -> None:
    with with_model(database, paths, NOTHING) as model_workspace:
        model_workspace.say("hello")
        database.execute("UPDATE turns SET is_history = 1")
        assert model_workspace.work() == []
        assert model_workspace.work(history_too=True) == [DONE]
        assert [(row.job, row.spent.calls) for row in model_calls.usage(database)] == [("backfill", 1)]


# --- what was paid for ------------------------------------------------------------------------------------------------


def test_an_answer_that_was_paid_for_is_not_asked_for_again(database: Database, paths: Paths) -> None:
    answers = in_turn(Reply(call("Glob", {"pattern": "*"})), *[busy(529)] * TRIES, Reply(writes()))
    with with_model(database, paths, answers) as model_workspace:
        model_workspace.say(RULE)
        with pytest.raises(EngineRestsError):
            model_workspace.work()
        assert model_workspace.work() == [("succeeded", (RULE_MD,))]
        assert [len(request.body["messages"]) for request in model_workspace.server.requests] == [1, 3, 3, 3, 3, 3]
        sent = [*model_workspace.server.requests, *model_workspace.server.reviews]
        assert spent(model_workspace).usd == pytest.approx(billed(*sent))
        assert database.query("SELECT 1 FROM steps WHERE reply IS NOT NULL") == []


def test_an_answer_is_kept_only_until_its_job_is_closed(database: Database, paths: Paths) -> None:
    """The same words in the same session again are another question."""
    with with_model(database, paths, NOTHING) as model_workspace:
        model_workspace.say("hello")
        model_workspace.work()
        database.execute("UPDATE turns SET outcome = NULL")
        model_workspace.work()
        first, second = model_workspace.server.requests
        assert first.raw == second.raw


def test_another_directory_does_not_see_the_answers_of_this_one(database: Database, paths: Paths) -> None:
    with with_model(database, paths, NOTHING) as model_workspace:
        model_workspace.say("hello")
        model_workspace.work()
        (row,) = database.query("SELECT request, job_id FROM steps")
        database.execute("UPDATE steps SET reply = x'00'")
        assert model_calls.answer_to(database, row["request"], str(model_workspace.memory)) is not None
        assert model_calls.answer_to(database, row["request"], "/elsewhere") is None


def test_a_reply_that_leads_to_a_request_which_is_refused_is_asked_for_again(database: Database, paths: Paths) -> None:
    refused = Status(400, "invalid_request_error", "messages.1.content.0: no")
    with with_model(database, paths, in_turn(Reply(call("Glob", {"pattern": "*"})), refused)) as model_workspace:
        model_workspace.say("hello")
        assert model_workspace.work() == [("failed", ())]
        assert model_workspace.work() == [DONE]
        assert [len(request.body["messages"]) for request in model_workspace.server.requests] == [1, 3, 1]


def test_a_request_that_is_refused_is_a_failure_of_its_session_alone(database: Database, paths: Paths) -> None:
    refused = Status(400, "invalid_request_error", "max_tokens: must be less")
    with with_model(database, paths, in_turn(NOTHING, refused)) as model_workspace:
        for name in range(3):
            model_workspace.say("hello", session=Session(name))
        assert model_workspace.work() == [DONE, ("failed", ()), DONE]
        assert (len(model_workspace.server.requests), held(model_workspace), failures(model_workspace)) == (
            3,
            None,
            [0, 1, 0],
        )
        assert model_workspace.jobs()[1] == ("failed", 'the endpoint refuses the request: "max_tokens: must be less"')
        assert spent(model_workspace).usd == pytest.approx(billed(*model_workspace.server.requests))


def test_an_endpoint_that_has_never_answered_and_refuses_our_request_stops_the_engine(
    database: Database, paths: Paths
) -> None:
    """It is not made for us: what is wrong is wrong for every session."""
    refused = Status(400, "invalid_request_error", "tools: not supported")
    with with_model(database, paths, refused) as model_workspace:
        model_workspace.say("hello")
        with pytest.raises(EngineStoppedError) as caught:
            model_workspace.work()
        assert (
            caught.value.sentence
            == f'{model_workspace.server.url} refuses our requests. It says: "tools: not supported"'
        )
        assert (failures(model_workspace), model_workspace.outcomes(), spent(model_workspace)) == (
            [0],
            [None],
            Spent(calls=1),
        )


# --- endpoints of other kinds -----------------------------------------------------------------------------------------


def test_a_model_on_this_machine_needs_no_key_has_no_price_and_no_cache(database: Database, paths: Paths) -> None:
    with (
        MessagesServer(in_turn(Reply(writes())), keys=("none",), has_cache=False) as server,
        with_model(
            database,
            paths,
            NOTHING,
            engine="anthropic",
            api_key_variable="",
            base_url=f"{server.url}/v1/",
            extraction_model="qwen3:8b",
            context_window_tokens=32_768,
            budget=Budget(usd_per_day=0.0, usd_per_run=0.0),
        ) as model_workspace,
    ):
        model_workspace.say(RULE)
        assert model_workspace.work() == [("succeeded", (RULE_MD,))]
        assert server.violations == []
        assert model_workspace.server.requests == []
        sent = [*server.requests, *server.reviews]
        assert [
            (request.headers["authorization"], request.headers["x-api-key"], request.body["model"]) for request in sent
        ] == [("Bearer none", "none", "qwen3:8b")] * 2
        counted = usage_of(sent)
        assert spent(model_workspace) == Spent(2, counted["input_tokens"], 0, 0, counted["output_tokens"])


def refusing(name: str, *answers: Answer) -> Callable[[Request], Answer]:
    """An endpoint that does not know one of the fields."""
    answer = in_turn(*answers)

    def say(request: Request) -> Answer:
        if f'"{name}":'.encode() in request.raw:
            return Status(400, "invalid_request_error", f"messages.0.content.0.{name}: Extra inputs are not permitted")
        return answer(request)

    return say


def test_an_endpoint_that_does_not_know_breakpoints_is_asked_without(database: Database, paths: Paths) -> None:
    words = 'please keep "cache_control": out of the reviews'
    new = content("Keep cache_control out of the reviews.")
    answer = refusing("cache_control", Reply(writes("out of the reviews", written=new)))
    with with_model(database, paths, answer) as model_workspace:
        model_workspace.say(words)
        assert model_workspace.work() == [("succeeded", (RULE_MD,))]
        assert [b'"cache_control":{' in request.raw for request in model_workspace.server.requests] == [True, False]
        assert words in model_workspace.server.requests[1].body["messages"][0]["content"][-1]["text"]
        assert spent(model_workspace).calls == 2


def test_an_endpoint_that_does_not_know_context_management_is_asked_without() -> None:
    system = [text("be brief") | {"cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    request = SPEAKING | MANAGED | {"system": system}
    with MessagesServer(lambda _: NOTHING, has_cache=False) as server:
        client = Client(lambda: Account(server.url, "test-key"), lambda: 0.0)
        for _ in range(2):
            assert client.send(request, 60.0).content == (text("nothing"),)
        client.close()
        assert ["context_management" in sent.body for sent in server.requests] == [True, False, False]
        assert all("cache_control" in sent.body["system"][0] for sent in server.requests)
        assert server.violations == []


def test_an_endpoint_that_knows_context_management_is_sent_it_with_its_beta() -> None:
    request = SPEAKING | MANAGED
    with MessagesServer(lambda _: NOTHING) as server:
        client = Client(lambda: Account(server.url, "test-key"), lambda: 0.0)
        client.send(request, 60.0)
        client.close()
        (asked,) = server.requests
        assert asked.headers["anthropic-beta"] == "context-management-2025-06-27"
        assert asked.body["context_management"] == request["context_management"]
        assert server.violations == []
