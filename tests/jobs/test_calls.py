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

from memoryd.clock import day_of
from memoryd.config import Budget
from memoryd.engines.anthropic.account import NAME, Account
from memoryd.engines.anthropic.client import Client, EndpointError, _retry_after
from memoryd.engines.anthropic.cost import most_usd, usd_of
from memoryd.engines.anthropic.tools import SCHEMAS
from memoryd.engines.anthropic.wire import Usage
from memoryd.errors import EngineRestsError, EngineStoppedError
from memoryd.jobs.calls import LONGEST_PAUSE_SECONDS, TRIES, Calls, DayCapError, RunCapError
from memoryd.jobs.work import due
from memoryd.prices import PRICES, Price
from memoryd.state import holds, jobs, steps
from memoryd.state.holds import Hold
from memoryd.state.steps import Spent
from tests.jobs.desk import NOW
from tests.jobs.hired import (
    NOTHING,
    RULE,
    RULE_MD,
    Ticking,
    content,
    failures,
    held,
    hired,
    in_turn,
    is_due,
    run_due,
    spent,
    writes,
)
from tests.jobs.office import ToldClock
from tests.messages_server import Drop, Garbage, Hang, MessagesServer, Reply, Status, StreamError, Trickle, call, text
from tests.sample import Session, write
from tests.scribe import usage_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.jobs.office import Office
    from tests.messages_server import Answer, Request

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
    usages = [one.usage for one in requests if one.usage]
    return sum(
        usd_of(
            HAIKU,
            Usage(
                one["input_tokens"],
                one["cache_read_input_tokens"],
                one["cache_creation_input_tokens"],
                one["cache_creation"]["ephemeral_1h_input_tokens"],
                one["output_tokens"],
            ),
        )
        for one in usages
    )


# --- tried again ------------------------------------------------------------------------------------------------------


def test_who_is_asked_to_wait_waits_and_asks_again(database: Database, paths: Paths) -> None:
    with hired(database, paths, in_turn(busy(429, {"retry-after": "2"}))) as office:
        office.say("hello")
        assert office.work() == [DONE]
        assert office.clock.pauses == [2.0]
        assert len(office.server.requests) == 2
        assert held(office) is None
        assert failures(office) == [0]


@pytest.mark.parametrize("header", ["-5", "nan", "inf", "-inf", "soon", "", "Mon, 99 Foo", "0", "1e-3"])
def test_a_time_to_wait_that_makes_no_sense_is_our_own(database: Database, paths: Paths, header: str) -> None:
    with hired(database, paths, in_turn(busy(429, {"retry-after": header}))) as office:
        office.say("hello")
        assert office.work() == [DONE]
        (pause,) = office.clock.pauses
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
    with hired(database, paths, in_turn(busy(429, {"retry-after": header}))) as office:
        office.say("hello")
        with pytest.raises(EngineRestsError):
            office.work()
        assert office.clock.pauses == []
        hold = held(office)
        assert hold is not None
        assert hold.until == NOW + seconds
        office.clock.at = NOW + seconds
        assert office.work() == [DONE]


def test_a_date_to_wait_for_is_understood(database: Database, paths: Paths) -> None:
    with hired(database, paths, in_turn(busy(503, {"retry-after": formatdate(NOW + 10, usegmt=True)}))) as office:
        office.say("hello")
        assert office.work() == [DONE]
        assert office.clock.pauses == [10.0]


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
    with hired(database, paths, busy(code)) as office:
        office.say("hello")
        office.say("hello", session=Session("two"))
        with pytest.raises(EngineRestsError) as caught:
            office.work()
        assert caught.value.exit_code == 75
        assert len(office.server.requests) == TRIES
        first, second, third = office.clock.pauses
        assert 1 <= first <= 2 <= second <= 4 <= third <= 8
        sentence = f'The model\'s endpoint, {office.server.url}, has trouble: status {code}: "Overloaded".'
        assert (str(caught.value), caught.value.fix) == (sentence, "memoryd retry")
        assert held(office) == Hold("engine_busy", sentence, "", office.clock.at + 60, office.clock.at)
        assert (failures(office), office.outcomes(), office.jobs()) == ([0, 0], [None, None], [("failed", sentence)])
        assert spent(office) == Spent(calls=4)
        assert not is_due(office)
        office.clock.at += 60
        assert is_due(office)


def test_who_met_trouble_at_the_endpoint_goes_last(database: Database, paths: Paths) -> None:
    """What is wrong may be about its words all the same: the others have their turn first."""
    with hired(database, paths, in_turn(*[busy(529)] * TRIES)) as office:
        first, second = office.say("hello"), office.say("hello", session=Session("two"))
        with pytest.raises(EngineRestsError):
            office.work()

        def waiting() -> list[str]:
            found = due(database, paths, office.config, office.clock.now())
            return sorted(one.session_id for sessions in found.values() for one in sessions)

        office.clock.at += 60
        assert waiting() == [second.id]
        office.clock.at += 60
        assert waiting() == sorted([first.id, second.id])
        assert office.work() == [DONE, DONE]


def test_a_session_that_has_trouble_while_others_fare_well_is_to_blame_itself(database: Database, paths: Paths) -> None:
    """The first time nobody can tell; from then on it counts against it, until its breaker opens."""

    def answer(request: Request) -> Answer:
        return busy(500) if b"poison" in request.raw else NOTHING

    with hired(database, paths, answer) as office:
        office.say("poison")
        counted = []
        for number in range(4):
            office.say("hello", session=Session(number))
            for _ in range(40):  # the daemon, minute by minute
                office.clock.at += 60
                with suppress(EngineRestsError):
                    run_due(office)
            counted.append(failures(office)[0])
        assert counted[0] in (0, 1)
        assert counted[-1] == 3
        assert office.outcomes() == [None, *["succeeded_no_output"] * 4]
        assert spent(office).unsettled_usd == 0


@pytest.mark.parametrize("code", [500, 529])
def test_as_long_as_nobody_is_answered_no_session_is_to_blame(database: Database, paths: Paths, code: int) -> None:
    with hired(database, paths, busy(code)) as office:
        office.say("hello")
        office.say("hello", session=Session("two"))
        for _ in range(4):
            with pytest.raises(EngineRestsError, match=f'status {code}: "Overloaded"'):
                office.work()
        assert (failures(office), office.outcomes()) == ([0, 0], [None, None])


def test_an_endpoint_that_is_not_there_costs_nothing(database: Database, paths: Paths) -> None:
    with hired(database, paths, NOTHING) as office:
        office.server.stop()
        office.say("hello")
        with pytest.raises(EngineRestsError, match="has trouble: it cannot be reached"):
            office.work()
        assert len(office.clock.pauses) == TRIES - 1
        assert spent(office) == Spent(calls=4)
        assert (failures(office), office.outcomes()) == ([0], [None])


@pytest.mark.parametrize("after_bytes", [0, 1, 300, 900])
def test_a_connection_that_breaks_is_asked_again_and_may_have_cost(
    database: Database, paths: Paths, after_bytes: int
) -> None:
    with hired(database, paths, in_turn(Drop(Reply(writes()), after_bytes), Reply(writes()))) as office:
        office.say(RULE)
        assert office.work() == [("succeeded", (RULE_MD,))]
        dropped, *answered = office.server.requests
        assert len(answered) == 2
        total = spent(office)
        assert total.usd == pytest.approx(total.unsettled_usd + billed(*answered))
        assert total.unsettled_usd > billed(dropped) > 0


@pytest.mark.parametrize("after_events", [0, 2, 5])
def test_a_stream_that_ends_in_an_error_is_asked_again(database: Database, paths: Paths, after_events: int) -> None:
    with hired(database, paths, in_turn(StreamError(Reply(writes()), after_events), Reply(writes()))) as office:
        office.say(RULE)
        assert office.work() == [("succeeded", (RULE_MD,))]
        assert len(office.server.requests) == 3
        assert spent(office).unsettled_usd > 0


def test_a_stream_that_always_ends_in_an_error_is_trouble_at_the_endpoint(database: Database, paths: Paths) -> None:
    with hired(database, paths, StreamError(Reply(writes()), 4)) as office:
        office.say(RULE)
        with pytest.raises(EngineRestsError, match='it broke off: "the model failed'):
            office.work()
        assert (office.memories(), failures(office), office.outcomes()) == ({}, [0], [None])


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
    with hired(database, paths, garbage) as office:
        office.say(RULE)
        with pytest.raises(EngineRestsError, match="its answer cannot be used: "):
            office.work()
        assert len(office.server.requests) == TRIES
        assert (office.memories(), failures(office), office.outcomes()) == ({}, [0], [None])
        total = spent(office)
        is_charged = "json" in garbage.content_type or "event-stream" in garbage.content_type
        assert total.usd == total.unsettled_usd
        assert bool(total.usd) == is_charged  # the page of some other server costs nothing


def test_an_answer_that_is_none_only_once_does_no_harm(database: Database, paths: Paths) -> None:
    with hired(database, paths, in_turn(Garbage(b"<html>", "text/html"), Reply(writes()))) as office:
        office.say(RULE)
        assert office.work() == [("succeeded", (RULE_MD,))]


# --- in time ----------------------------------------------------------------------------------------------------------


def test_an_answer_that_trickles_is_given_up_when_the_run_has_taken_its_time(database: Database, paths: Paths) -> None:
    """The transport is content with a byte now and then."""
    gate = threading.Event()
    with hired(database, paths, Trickle(Reply(writes()), gate)) as office:
        office.clock = Ticking(40)
        office.say(RULE)
        with pytest.raises(EngineRestsError, match="it answers too slowly"):
            office.work()
        gate.set()
        assert len(office.server.requests) == 1
        assert (office.memories(), failures(office), office.outcomes()) == ({}, [0], [None])
        assert spent(office).unsettled_usd > 0


def test_an_endpoint_that_says_nothing_is_given_up_when_the_run_has_taken_its_time(
    database: Database, paths: Paths
) -> None:
    gate = threading.Event()
    with hired(database, paths, Hang(gate), longest_run_seconds=0.5) as office:
        office.say(RULE)
        with pytest.raises(EngineRestsError, match="it does not answer in time"):
            office.work()
        gate.set()
        assert len(office.server.requests) == 1
        assert (office.clock.pauses, failures(office)) == ([], [0])


class _SlowRefusal(socketserver.BaseRequestHandler):
    """An error whose body comes byte by byte."""

    def handle(self) -> None:
        self.request.recv(65_536)
        self.request.sendall(b"HTTP/1.1 500 No\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n")
        with suppress(OSError):
            for _ in range(30):
                self.request.sendall(b"1\r\nx\r\n")
                threading.Event().wait(0.01)
            self.request.sendall(b"0\r\n\r\n")


def test_an_error_that_trickles_is_given_up_in_time() -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _SlowRefusal) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        client = Client(Account(f"http://127.0.0.1:{server.server_address[1]}", "k"), Ticking(40).now)
        try:
            with pytest.raises(EndpointError, match="it answers too slowly"):
                client.send(dict(SPEAKING), NOW + 300)
        finally:
            client.close()
            server.shutdown()
            thread.join()


def test_nobody_waits_beyond_the_end_of_the_run(database: Database, paths: Paths) -> None:
    with hired(database, paths, busy(429, {"retry-after": "50"}), longest_run_seconds=120) as office:
        office.say("hello")
        with pytest.raises(EngineRestsError):
            office.work()
        assert office.clock.pauses == [50.0, 50.0]
        assert office.clock.at <= NOW + 120
        assert LONGEST_PAUSE_SECONDS < 120


def test_a_run_that_takes_too_long_ends_before_its_next_request(database: Database, paths: Paths) -> None:
    """And the answers that it has paid for are used when it is tried again."""

    class Slow(ToldClock):
        def now(self) -> float:
            (answered,) = database.query("SELECT count(*) FROM steps WHERE reply IS NOT NULL")[0]
            return NOW + 301.0 * int(answered)

    with hired(database, paths, in_turn(Reply(call("Glob", {"pattern": "*.md"})), Reply(writes()))) as office:
        office.clock = Slow()
        office.say(RULE)
        (outcome,) = office.run()
        assert (outcome.outcome, outcome.detail) == ("failed", "it took too long")
        assert len(office.server.requests) == 1
        office.run()
        assert len(office.server.requests) == 2
        assert office.work() == [("succeeded", (RULE_MD,))]
        assert [len(request.body["messages"]) for request in office.server.requests] == [1, 3, 5]


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
    with hired(database, paths, status) as office:
        office.say("hello")
        office.say("hello", session=Session("two"))
        with pytest.raises(EngineStoppedError) as caught:
            office.work()
        assert caught.value.exit_code == 77
        assert caught.value.sentence == f'{office.server.url} {why}. It says: "{status.message}"'
        assert caught.value.fix.endswith("memoryd retry")
        assert (len(office.server.requests), office.clock.pauses) == (1, [])
        assert held(office) == Hold("engine_stopped", caught.value.sentence, caught.value.fix, None, NOW)
        assert (failures(office), office.outcomes()) == ([0, 0], [None, None])
        assert office.jobs() == [("failed", caught.value.sentence)]
        assert spent(office) == Spent(calls=1)
        office.clock.at += 10 * 86_400
        assert not is_due(office)


def stopped(office: Office) -> None:
    office.say("hello")
    with pytest.raises(EngineStoppedError):
        office.work()
    assert not is_due(office)


def test_a_stopped_engine_is_tried_again_when_the_config_changes(database: Database, paths: Paths) -> None:
    with hired(database, paths, in_turn(STOPS[0][0])) as office:
        stopped(office)
        os.makedirs(os.path.dirname(paths.config_file))
        Path(paths.config_file).write_text("nonsense\n")  # which cannot be used: the settings from before hold
        assert not is_due(office)
        office.config = office.config._replace(engine="anthropic")
        assert is_due(office)
        assert office.work() == [DONE]
        assert database.query("SELECT * FROM holds") == []


def test_a_stopped_engine_is_tried_again_when_the_key_changes(database: Database, paths: Paths, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.touch(0o600)
    key.write_text("wrong-key\n")
    with hired(database, paths, NOTHING, api_key_variable="", api_key_file=str(key)) as office:
        stopped(office)
        key.write_text("test-key\n")
        assert is_due(office)
        assert office.work() == [DONE]
        assert [request.headers["authorization"] for request in office.server.requests] == [
            "Bearer wrong-key",
            "Bearer test-key",
        ]


def test_a_stopped_engine_is_tried_again_when_somebody_says_so(database: Database, paths: Paths) -> None:
    with hired(database, paths, in_turn(STOPS[0][0])) as office:
        stopped(office)
        holds.lift(database, NAME)
        assert is_due(office)
        assert office.work() == [DONE]


@pytest.mark.parametrize(
    "settings",
    [{"api_key_variable": "UNSET"}, {"api_key_file": "/no/such/key"}, {"extraction_model": "unknown-model"}],
)
def test_settings_that_cannot_work_stop_the_engine_before_anything_is_sent(
    database: Database, paths: Paths, settings: dict[str, Any]
) -> None:
    if "extraction_model" in settings:
        settings = settings | {"base_url": "https://gateway.example"}
    with hired(database, paths, NOTHING, **settings) as office:
        stopped(office)
        assert (office.server.requests, failures(office)) == ([], [0])
        hold = held(office)
        assert hold is not None
        assert hold.reason == "engine_stopped"


def test_what_an_endpoint_says_is_told_without_secrets_and_in_one_line(database: Database, paths: Paths) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    status = Status(401, "authentication_error", f"bad\n\tkey {token} " + "x" * 900)
    with hired(database, paths, status) as office:
        office.say("hello")
        with pytest.raises(EngineStoppedError) as caught:
            office.work()
        assert 'It says: "bad key [redacted: ' in caught.value.sentence
        assert token not in caught.value.sentence
        assert len(caught.value.sentence) < 400


# --- engines that rest ------------------------------------------------------------------------------------------------


def test_an_engine_rests_longer_after_every_failure_and_a_success_ends_it(database: Database, paths: Paths) -> None:
    trouble = [True]
    with hired(database, paths, lambda _: busy(529) if trouble else NOTHING) as office:
        office.say("hello")
        delays = []
        for _ in range(9):
            with pytest.raises(EngineRestsError):
                office.work()
            hold = held(office)
            assert hold is not None
            assert hold.until is not None
            delays.append(hold.until - office.clock.at)
            office.clock.at = hold.until
            assert held(office) is None
        assert delays == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
        trouble.clear()
        assert office.work() == [DONE]
        assert database.query("SELECT * FROM holds") == []
        office.say("again", session=Session("two"))
        trouble.append(True)
        with pytest.raises(EngineRestsError):
            office.work()
        hold = held(office)
        assert hold is not None
        assert hold.until == office.clock.at + 60


def test_a_clock_that_was_set_back_ends_a_rest(database: Database, paths: Paths) -> None:
    with hired(database, paths, busy(529)) as office:
        office.say("hello")
        with pytest.raises(EngineRestsError):
            office.work()
        office.clock.at = NOW - 1
        assert held(office) is None


def test_no_session_is_lost_over_all_this(database: Database, paths: Paths) -> None:
    """Whatever goes wrong and however often, each turn is done once in the end."""
    troubles: list[Answer] = [busy(529), busy(500), Drop(NOTHING, 40), Garbage(b"<html>"), STOPS[0][0], busy(503)]
    answers = in_turn(*(one for one in troubles for _ in range(TRIES)))
    with hired(database, paths, answers) as office:
        for name in range(3):
            office.say(f"hello {name}", "and more", session=Session(name))
        for _ in range(40):
            office.clock.at += 7200
            try:
                office.run()
            except (EngineRestsError, EngineStoppedError):
                continue
        assert office.outcomes() == ["succeeded_no_output"] * 6
        shown = b"".join(request.raw for request in office.server.answered)
        assert [len(re.findall(f"hello {name}".encode(), shown)) for name in range(3)] == [1, 1, 1]


# --- money ------------------------------------------------------------------------------------------------------------


def measured(office: Office) -> tuple[float, float]:
    """What a request about one short turn reserves, and what it costs in the end."""
    office.say("hello", session=Session("measured"))
    assert office.work() == [DONE]
    row = office.database.query("SELECT reserved_usd, settled_usd FROM steps")[0]
    office.database.execute("UPDATE steps SET sent_at = 0")  # long ago
    office.server.requests.clear()
    return row[0], row[1]


def allow(office: Office, budget: Budget) -> None:
    office.config = office.config._replace(budget=budget)


def test_a_day_that_could_become_too_dear_sends_nothing(database: Database, paths: Paths) -> None:
    with hired(database, paths, NOTHING, budget=Budget(usd_per_day=0.0001)) as office:
        office.say("hello")
        office.say("hello", session=Session("two"))
        with pytest.raises(DayCapError) as caught:
            office.work()
        assert caught.value.exit_code == 75
        assert re.fullmatch(
            r"One request may cost 0\.\d+ USD, which is more than the 0\.0001 USD of a day\.", caught.value.sentence
        )
        assert (office.server.requests, spent(office)) == ([], Spent())
        assert held(office) == Hold("budget_reached", caught.value.sentence, caught.value.fix, day_of(NOW)[1], NOW)
        assert (failures(office), office.outcomes()) == ([0, 0], [None, None])


def test_a_day_that_is_too_dear_ends_when_it_turns(database: Database, paths: Paths) -> None:
    with hired(database, paths, NOTHING, has_cache=False) as office:
        reserved, settled = measured(office)
        allow(office, Budget(usd_per_day=reserved + settled / 2))
        for name in ("a", "b"):
            office.say("hello", session=Session(name))
        with pytest.raises(DayCapError, match="The day's budget is used up: "):
            office.work()
        assert len(office.server.requests) == 1
        assert not is_due(office)
        office.clock.at = day_of(NOW)[1] - 1
        assert not is_due(office)
        with pytest.raises(DayCapError):
            office.work()
        office.clock.at = day_of(NOW)[1]
        assert is_due(office)
        assert office.work() == [DONE]
        assert len(office.server.requests) == 2


def test_a_day_that_is_too_dear_ends_when_the_config_changes(database: Database, paths: Paths) -> None:
    with hired(database, paths, NOTHING, budget=Budget(usd_per_day=0.0001)) as office:
        office.say("hello")
        with pytest.raises(DayCapError):
            office.work()
        office.config = office.config._replace(budget=Budget(usd_per_day=2))
        assert is_due(office)


def test_what_is_settled_takes_the_place_of_what_was_reserved(database: Database, paths: Paths) -> None:
    with hired(database, paths, NOTHING, has_cache=False) as office:
        reserved, settled = measured(office)
        assert 0 < settled < reserved
        allow(office, Budget(usd_per_day=reserved + 2 * settled + 1e-6))
        for name in ("a", "b", "c", "d"):
            office.say("hello", session=Session(name))
        with pytest.raises(DayCapError):
            office.work()
        assert len(office.server.requests) == 3


def test_what_was_sent_and_never_answered_counts_as_reserved(database: Database, paths: Paths) -> None:
    answers: list[Answer] = [NOTHING]
    with hired(database, paths, lambda _: answers[-1], has_cache=False) as office:
        reserved, _ = measured(office)
        allow(office, Budget(usd_per_day=reserved * 1.5))
        answers.append(Drop(NOTHING, 40))
        office.say("hello")
        with pytest.raises(DayCapError):
            office.work()
        assert len(office.server.requests) == 1
        total = spent(office)
        assert total.unsettled_usd == pytest.approx(reserved, rel=0.01)


def test_a_cap_that_leaves_no_room_for_a_run_stops_the_engine(database: Database, paths: Paths) -> None:
    with hired(database, paths, NOTHING, budget=Budget(usd_per_run=0.0001)) as office:
        office.say("hello")
        with pytest.raises(EngineStoppedError) as caught:
            office.work()
        assert caught.value.sentence == "A run may cost 0.0001 USD, which is too little for claude-haiku-5-5."
        assert caught.value.fix == "raise budget.usd_per_run in the config"
        assert (office.server.requests, failures(office)) == ([], [0])


def calls_for(office: Office, client: Client, budget: Budget) -> Calls:
    """The requests of a job that has just begun."""
    session = office.say("hello")
    (row,) = office.database.query("SELECT id FROM transcripts")
    job = jobs.claim(office.database, str(office.memory), row["id"], session.id, NOW)
    assert job is not None
    return Calls(
        office.database, job.id, str(office.memory), client, HAIKU, budget, office.clock, NOW + 300, "extract 1"
    )


def asking(words: str) -> dict[str, Any]:
    return SPEAKING | {"messages": [{"role": "user", "content": [text(words)]}]}


def test_a_run_ends_before_the_request_that_could_be_too_dear(database: Database, paths: Paths) -> None:
    with hired(database, paths, NOTHING, has_cache=False) as office:
        client = Client(Account(office.server.url, "test-key"), office.clock.now)
        most = most_usd(HAIKU, asking("one"))
        calls = calls_for(office, client, Budget(usd_per_run=most * 1.2))
        calls.ask(asking("one"))
        with pytest.raises(RunCapError, match=r"that budget\.usd_per_run allows"):
            calls.ask(asking("two"))
        assert calls.ask(asking("one")).content == (text("nothing"),)  # it is paid for, and kept
        client.close()
        assert len(office.server.requests) == 1


def test_trouble_that_made_a_run_too_dear_is_what_is_told(database: Database, paths: Paths) -> None:
    """What was sent and not answered may have been charged for, so that another try is beyond the cap."""
    with hired(database, paths, Drop(NOTHING, 40), has_cache=False) as office:
        client = Client(Account(office.server.url, "test-key"), office.clock.now)
        most = most_usd(HAIKU, asking("one"))
        calls = calls_for(office, client, Budget(usd_per_run=most * 2.5))
        with pytest.raises(EndpointError, match="the connection broke"):
            calls.ask(asking("one"))
        client.close()
        assert len(office.server.requests) == 2
        assert spent(office).unsettled_usd == pytest.approx(2 * most)


def test_what_costs_nothing_is_never_capped(database: Database, paths: Paths) -> None:
    budget = Budget(0.0, 0.0, prices={"claude-haiku-5-5": Price(0.0, 0.0)})
    with hired(database, paths, in_turn(Reply(writes())), budget=budget) as office:
        office.say(RULE)
        assert office.work() == [("succeeded", (RULE_MD,))]
        assert spent(office).usd == 0.0


def test_a_budget_of_nothing_sends_nothing(database: Database, paths: Paths) -> None:
    with hired(database, paths, NOTHING, budget=Budget(usd_per_day=0.0)) as office:
        office.say("hello")
        with pytest.raises(DayCapError):
            office.work()
        assert office.server.requests == []


def test_usage_by_day_project_and_job_adds_up_to_what_was_billed(database: Database, paths: Paths) -> None:
    with hired(database, paths, in_turn(Reply(call("Glob", {"pattern": "*"})), NOTHING, Reply(writes()))) as office:
        office.say("hello")
        office.work()
        office.say(RULE, session=Session("two"))
        office.work()
        office.clock.at = day_of(NOW)[1] + 5
        office.say("hello", session=Session("three"))
        office.work()
        other = Session("four", cwd="/code/other")
        write(paths.transcripts_root, other, other.turn("hello"), "-code-other")
        office.sweeper.sweep(NOW)
        office.work()
        requests = office.server.requests
        assert len(requests) == 6
        rows = steps.usage(database)
        days = [row[0] for row in database.query("SELECT date(?, 'unixepoch', 'localtime')", (NOW,))]
        assert [(row.day, row.project, row.job, row.model, row.spent.calls) for row in rows] == [
            (days[0], "/code/acme", "extract", "claude-haiku-5-5", 4),
            (rows[1].day, "/code/acme", "extract", "claude-haiku-5-5", 1),
            (rows[1].day, "/code/other", "extract", "claude-haiku-5-5", 1),
        ]
        assert rows[1].day > days[0]
        total = spent(office)
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
        assert steps.usage(database, day_of(NOW)[1]) == rows[1:]
        assert steps.spent_between(database, *day_of(NOW)) == pytest.approx(billed(*requests[:4]))
        assert steps.spent_between(database, *day_of(day_of(NOW)[1])) == pytest.approx(billed(*requests[4:]))


def test_history_is_accounted_for_as_backfill(database: Database, paths: Paths) -> None:
    with hired(database, paths, NOTHING) as office:
        office.say("hello")
        database.execute("UPDATE turns SET is_history = 1")
        assert office.work() == []
        assert office.work(history_too=True) == [DONE]
        assert [(row.job, row.spent.calls) for row in steps.usage(database)] == [("backfill", 1)]


# --- what was paid for ------------------------------------------------------------------------------------------------


def test_an_answer_that_was_paid_for_is_not_asked_for_again(database: Database, paths: Paths) -> None:
    answers = in_turn(Reply(call("Glob", {"pattern": "*"})), *[busy(529)] * TRIES, Reply(writes()))
    with hired(database, paths, answers) as office:
        office.say(RULE)
        with pytest.raises(EngineRestsError):
            office.work()
        assert office.work() == [("succeeded", (RULE_MD,))]
        assert [len(one.body["messages"]) for one in office.server.requests] == [1, 3, 3, 3, 3, 3, 5]
        assert spent(office).usd == pytest.approx(billed(*office.server.requests))
        assert database.query("SELECT 1 FROM steps WHERE reply IS NOT NULL") == []


def test_an_answer_is_kept_only_until_its_job_is_closed(database: Database, paths: Paths) -> None:
    """The same words in the same session again are another question."""
    with hired(database, paths, NOTHING) as office:
        office.say("hello")
        office.work()
        database.execute("UPDATE turns SET outcome = NULL")
        office.work()
        first, second = office.server.requests
        assert first.raw == second.raw


def test_another_directory_does_not_see_the_answers_of_this_one(database: Database, paths: Paths) -> None:
    with hired(database, paths, NOTHING) as office:
        office.say("hello")
        office.work()
        (row,) = database.query("SELECT request, job_id FROM steps")
        database.execute("UPDATE steps SET reply = x'00'")
        assert steps.answer_to(database, row["request"], str(office.memory)) is not None
        assert steps.answer_to(database, row["request"], "/elsewhere") is None


def test_a_reply_that_leads_to_a_request_which_is_refused_is_asked_for_again(database: Database, paths: Paths) -> None:
    refused = Status(400, "invalid_request_error", "messages.1.content.0: no")
    with hired(database, paths, in_turn(Reply(call("Glob", {"pattern": "*"})), refused)) as office:
        office.say("hello")
        assert office.work() == [("failed", ())]
        assert office.work() == [DONE]
        assert [len(one.body["messages"]) for one in office.server.requests] == [1, 3, 1]


def test_a_request_that_is_refused_is_a_failure_of_its_session_alone(database: Database, paths: Paths) -> None:
    refused = Status(400, "invalid_request_error", "max_tokens: must be less")
    with hired(database, paths, in_turn(NOTHING, refused)) as office:
        for name in range(3):
            office.say("hello", session=Session(name))
        assert office.work() == [DONE, ("failed", ()), DONE]
        assert (len(office.server.requests), held(office), failures(office)) == (3, None, [0, 1, 0])
        assert office.jobs()[1] == ("failed", 'the endpoint refuses the request: "max_tokens: must be less"')
        assert spent(office).usd == pytest.approx(billed(*office.server.requests))


def test_an_endpoint_that_has_never_answered_and_refuses_our_request_stops_the_engine(
    database: Database, paths: Paths
) -> None:
    """It is not made for us: what is wrong is wrong for every session."""
    refused = Status(400, "invalid_request_error", "tools: not supported")
    with hired(database, paths, refused) as office:
        office.say("hello")
        with pytest.raises(EngineStoppedError) as caught:
            office.work()
        assert caught.value.sentence == f'{office.server.url} refuses our requests. It says: "tools: not supported"'
        assert (failures(office), office.outcomes(), spent(office)) == ([0], [None], Spent(calls=1))


# --- endpoints of other kinds -----------------------------------------------------------------------------------------


def test_a_model_on_this_machine_needs_no_key_has_no_price_and_no_cache(database: Database, paths: Paths) -> None:
    with (
        MessagesServer(in_turn(Reply(writes())), keys=("none",), has_cache=False) as server,
        hired(
            database,
            paths,
            NOTHING,
            engine="anthropic",
            api_key_variable="",
            base_url=f"{server.url}/v1/",
            extraction_model="qwen3:8b",
            context_window_tokens=32_768,
            budget=Budget(usd_per_day=0.0, usd_per_run=0.0),
        ) as office,
    ):
        office.say(RULE)
        assert office.work() == [("succeeded", (RULE_MD,))]
        assert server.violations == []
        assert office.server.requests == []
        assert [(one.headers["authorization"], one.headers["x-api-key"]) for one in server.requests] == [
            ("Bearer none", "none")
        ] * 2
        counted = usage_of(server.requests)
        assert spent(office) == Spent(2, counted["input_tokens"], 0, 0, counted["output_tokens"])


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
    with hired(database, paths, answer) as office:
        office.say(words)
        assert office.work() == [("succeeded", (RULE_MD,))]
        assert [b'"cache_control":{' in one.raw for one in office.server.requests] == [True, False, False]
        assert words in office.server.requests[1].body["messages"][0]["content"][-1]["text"]
        assert spent(office).calls == 2


def test_an_endpoint_that_does_not_know_context_management_is_asked_without() -> None:
    system = [text("be brief") | {"cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    request = SPEAKING | MANAGED | {"system": system}
    with MessagesServer(lambda _: NOTHING, has_cache=False) as server:
        client = Client(Account(server.url, "test-key"), lambda: 0.0)
        for _ in range(2):
            assert client.send(request, 60.0).content == (text("nothing"),)
        client.close()
        assert ["context_management" in one.body for one in server.requests] == [True, False, False]
        assert all("cache_control" in one.body["system"][0] for one in server.requests)
        assert server.violations == []


def test_an_endpoint_that_knows_context_management_is_sent_it_with_its_beta() -> None:
    request = SPEAKING | MANAGED
    with MessagesServer(lambda _: NOTHING) as server:
        client = Client(Account(server.url, "test-key"), lambda: 0.0)
        client.send(request, 60.0)
        client.close()
        (asked,) = server.requests
        assert asked.headers["anthropic-beta"] == "context-management-2025-06-27"
        assert asked.body["context_management"] == request["context_management"]
        assert server.violations == []
