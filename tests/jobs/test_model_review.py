"""Review of what a model writes: sent back twice at most, then held; asked of the model again, paid for once, and switched."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Budget
from memoryd.engines.model.budget import DayCapError
from memoryd.engines.model.client import TRIES
from memoryd.engines.model.prices import PRICES, Price
from memoryd.errors import EngineRestsError, EngineStoppedError
from memoryd.memory.document import body_of
from memoryd.review.meaning import NOT_REVIEWED
from memoryd.state import history, inbox, model_calls
from tests.jobs.model_answers import (
    NOTHING,
    RULE,
    RULE_MD,
    content,
    failures,
    held,
    in_turn,
    remarks,
    spent,
    with_model,
    writes,
)
from tests.keeping_model import keeping_model
from tests.messages_server import Drop, Garbage, Reply, Status, call, judged, last_text, text
from tests.transcript import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.jobs.model_workspace import ModelWorkspace
    from tests.messages_server import Answer, Request

pytestmark = pytest.mark.usefixtures("loaded_sdk")

SAVED = ("succeeded", (RULE_MD,))
DONE = ("succeeded_no_output", ())
PROBLEM = "Nobody gave that reason: leave it out."
INVENTED = "Keep every review under 400 changed lines.\n\n**Why:** the team is new."
OTHER = "Keep every review under 400 changed lines.\n\n**Why:** the team is small."
THIRD = "Keep every review under 400 changed lines.\n\n**Why:** the team is tired."


def says_no(request: Request) -> Reply:
    return judged(request, verdict="repair", problem=PROBLEM, carried=False)


def no_to(wrong: str) -> Callable[[Request], Reply]:
    """A reviewer who says no to each change that holds these words."""

    def reviewer(request: Request) -> Reply:
        shown = re.split(r'<change id="\d+"', last_text(request))[1:]
        answers = [(says_no if wrong in change else judged)(request) for change in shown]
        changes = [json.loads(reply.blocks[0]["text"])["changes"][place] for place, reply in enumerate(answers)]
        return Reply(text(json.dumps({"changes": changes})))

    return reviewer


def version(body: str) -> Reply:
    return Reply(writes(written=content(body)))


def reasons(model_workspace: ModelWorkspace) -> list[str]:
    return [row.held.reason for row in inbox.waiting(model_workspace.database)]


def lengths(model_workspace: ModelWorkspace) -> list[int]:
    return [len(request.body["messages"]) for request in model_workspace.server.requests]


# --- repair -----------------------------------------------------------------------------------------------------------


def test_a_verdict_goes_back_with_its_sentence_and_the_second_version_is_accepted(
    database: Database, paths: Paths
) -> None:
    answers = in_turn(version(INVENTED), Reply(writes()))
    with with_model(database, paths, answers, reviewer=no_to("the team is")) as model_workspace:
        model_workspace.say(RULE)
        assert model_workspace.work() == [SAVED]
        assert model_workspace.bodies() == ["Keep every review under 400 changed lines."]
        assert lengths(model_workspace) == [1, 3]
        told = last_text(model_workspace.server.requests[1])
        assert f"- {RULE_MD}: {PROBLEM}" in told
        assert "the last time" not in told
        assert (len(model_workspace.server.reviews), reasons(model_workspace)) == (2, [])


def test_a_third_version_that_is_still_wrong_is_held(database: Database, paths: Paths) -> None:
    answers = in_turn(version(INVENTED), version(OTHER), version(THIRD), Reply(writes()))
    with with_model(database, paths, answers, reviewer=says_no) as model_workspace:
        model_workspace.say(RULE)
        (outcome,) = model_workspace.run()
        assert (outcome.outcome, outcome.held) == ("succeeded_no_output", 1)
        assert lengths(model_workspace) == [1, 3, 5]
        assert "This is the last time that you can." in last_text(model_workspace.server.requests[2])
        assert len(model_workspace.server.reviews) == 3  # what was judged is not asked about again before the commit
        (row,) = inbox.waiting(database)
        assert (row.held.reason, row.first.name) == (PROBLEM, RULE_MD)
        assert body_of(row.first.after or b"").strip() == THIRD
        assert [quoted.quote for _, quoted in row.group.evidence] == [RULE]
        assert (model_workspace.files(), model_workspace.outcomes()) == ([], ["succeeded_no_output"])


def test_a_second_version_rests_on_its_own_quote_alone(database: Database, paths: Paths) -> None:
    """The words that the first one was turned down for are no evidence of what was kept."""
    better = writes("so keep reviews under 400 changed lines")
    answers = in_turn(Reply(writes("the build is slow today", written=content(INVENTED))), Reply(better))
    with with_model(database, paths, answers, reviewer=no_to("the team is")) as model_workspace:
        model_workspace.say("the build is slow today, so keep reviews under 400 changed lines")
        assert model_workspace.work() == [SAVED]
        kept = history.evidence_of(database, str(model_workspace.memory), RULE_MD)
        assert [piece.quote for piece in kept] == ["so keep reviews under 400 changed lines"]


def test_an_author_who_takes_a_change_back_leaves_nothing_behind(database: Database, paths: Paths) -> None:
    answers = in_turn(version(INVENTED), Reply(writes(written="")))
    with with_model(database, paths, answers, reviewer=says_no) as model_workspace:
        model_workspace.say(RULE)
        assert model_workspace.work() == [DONE]
        assert (lengths(model_workspace), len(model_workspace.server.reviews)) == ([1, 3], 1)
        assert (reasons(model_workspace), model_workspace.files()) == ([], [])


def test_an_author_who_leaves_everything_as_it_is_is_not_told_twice(database: Database, paths: Paths) -> None:
    with with_model(database, paths, in_turn(version(INVENTED)), reviewer=says_no) as model_workspace:
        model_workspace.say(RULE)
        assert model_workspace.work() == [DONE]
        assert (lengths(model_workspace), len(model_workspace.server.reviews)) == ([1, 3], 1)
        assert reasons(model_workspace) == [PROBLEM]


def test_what_was_accepted_is_written_beside_what_is_held_and_is_not_asked_about_again(
    database: Database, paths: Paths
) -> None:
    mocks = "never mock the database in tests"
    both = Reply(
        writes(written=content(INVENTED)), writes(mocks, "feedback_mocks.md", content("Never mock the database."))
    )

    with with_model(database, paths, in_turn(both, version(OTHER)), reviewer=no_to("the team is")) as model_workspace:
        model_workspace.say(RULE, mocks)
        (outcome,) = model_workspace.run()
        assert (outcome.saved, outcome.held) == (("feedback_mocks.md",), 1)
        assert ["Never mock" in last_text(review) for review in model_workspace.server.reviews] == [True, False]
        assert model_workspace.outcomes() == ["succeeded", "succeeded"]


def test_what_only_the_user_can_tell_is_held_at_once(database: Database, paths: Paths) -> None:
    def reviewer(request: Request) -> Reply:
        return judged(request, verdict="hold", problem="It may be a joke.", meant=False)

    with with_model(database, paths, in_turn(Reply(writes())), reviewer=reviewer) as model_workspace:
        model_workspace.say(RULE)
        assert model_workspace.work() == [DONE]
        assert (lengths(model_workspace), reasons(model_workspace)) == ([1], ["It may be a joke."])


# --- how much is asked ------------------------------------------------------------------------------------------------


def test_an_extraction_without_updates_is_one_request_and_its_review(database: Database, paths: Paths) -> None:
    with with_model(database, paths, keeping_model) as model_workspace:
        model_workspace.say("please keep nonce-00000001 as the name of queue 5.", "and keep nonce-00000002 in mind.")
        assert [outcome.outcome for outcome in model_workspace.run()] == ["succeeded"]
        assert (len(model_workspace.server.requests), len(model_workspace.server.reviews)) == (1, 1)


@pytest.mark.parametrize(
    "answer",
    [NOTHING, Reply(writes("nobody ever said such a thing")), Reply(call("Read", {"file_path": "none.md"}))],
)
def test_nothing_is_reviewed_where_nothing_changes(database: Database, paths: Paths, answer: Reply) -> None:
    with with_model(database, paths, in_turn(answer)) as model_workspace:
        model_workspace.say(RULE)
        assert model_workspace.work() == [DONE]
        assert model_workspace.server.reviews == []


def test_review_has_a_model_and_a_price_of_its_own_and_is_settled(database: Database, paths: Paths) -> None:
    budget = Budget(usd_per_run=1.0, prices={"judge-9": Price(7.0, 70.0)})
    with with_model(
        database, paths, in_turn(Reply(writes())), budget=budget, review_model="judge-9", has_cache=False
    ) as model_workspace:
        model_workspace.say(RULE)
        assert model_workspace.work() == [SAVED]
        (review,) = model_workspace.server.reviews
        assert review.body["model"] == "judge-9"
        assert "tools" not in review.body
        rows = {row.model: row for row in model_calls.usage(database)}
        assert sorted(rows) == ["claude-haiku-5-5", "judge-9"]
        assert {row.job for row in rows.values()} == {"extract"}
        used = review.usage["input_tokens"] * 7.0 + review.usage["output_tokens"] * 70.0
        assert rows["judge-9"].spent.usd == pytest.approx(used / 1e6)
        assert PRICES["claude-haiku-5-5"] != Price(7.0, 70.0)
        (row,) = database.query("SELECT prompt, reserved_usd, settled_usd FROM steps WHERE model = 'judge-9'")
        assert row["prompt"].startswith("review ")
        assert row["reserved_usd"] > row["settled_usd"] > 0


def test_a_review_that_could_be_too_dear_for_the_day_is_not_sent(database: Database, paths: Paths) -> None:
    budget = Budget(usd_per_day=0.5, prices={"judge-9": Price(700.0, 7000.0)})
    with with_model(
        database, paths, in_turn(Reply(writes())), budget=budget, review_model="judge-9"
    ) as model_workspace:
        model_workspace.say(RULE)
        with pytest.raises(DayCapError):
            model_workspace.work()
        assert (model_workspace.server.reviews, model_workspace.outcomes()) == ([], [None])
        assert model_workspace.files() == []


# --- answers that are of no use ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "useless",
    [
        Reply(text("It looks fine to me.")),
        Reply(text('{"changes": []}')),
        Reply(text('{"changes": [{"id": 7, "verdict": "accept"}]}')),
        Reply(text('{"changes": [{"id": 1, "verdict": "fine"}]}')),
        Reply(text('{"changes": [{"id": 1'), stop_reason="max_tokens"),
        Reply(stop_reason="refusal"),
        Reply(),
    ],
)
def test_an_answer_of_no_use_is_asked_for_once_more_then_the_change_is_held_and_the_turn_is_read(
    database: Database, paths: Paths, useless: Reply
) -> None:
    with with_model(database, paths, in_turn(Reply(writes())), reviewer=lambda _: useless) as model_workspace:
        model_workspace.say(RULE)
        (outcome,) = model_workspace.run()
        assert (outcome.outcome, outcome.held) == ("succeeded_no_output", 1)
        assert len(model_workspace.server.reviews) == 2
        assert reasons(model_workspace) == [NOT_REVIEWED]
        assert (model_workspace.outcomes(), failures(model_workspace)) == (["succeeded_no_output"], [0])
        assert (model_workspace.work(), model_workspace.files()) == ([], [])
        assert spent(model_workspace).calls == 3


def test_an_answer_that_is_of_use_the_second_time_counts(database: Database, paths: Paths) -> None:
    def reviewer(request: Request) -> Reply:
        return judged(request) if request.number else Reply(text("Well."))

    with with_model(database, paths, in_turn(Reply(writes())), reviewer=reviewer) as model_workspace:
        model_workspace.say(RULE)
        assert model_workspace.work() == [SAVED]
        assert len(model_workspace.server.reviews) == 2


# --- trouble while it is asked ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trouble", "tries"),
    [
        (Status(529, "overloaded_error", "Overloaded"), TRIES),
        (Status(429, "rate_limit_error", "slow down", {"retry-after": "900"}), 1),
        (Drop(NOTHING, 40), TRIES),
        (Garbage(b"<html>", "text/html"), TRIES),
    ],
)
def test_trouble_in_review_leaves_the_job_waiting_and_nothing_is_paid_twice(
    database: Database, paths: Paths, trouble: Answer, tries: int
) -> None:
    left = [trouble] * tries

    def reviewer(request: Request) -> Answer:
        return left.pop() if left else judged(request)

    with with_model(database, paths, in_turn(Reply(writes())), reviewer=reviewer) as model_workspace:
        model_workspace.say(RULE)
        with pytest.raises(EngineRestsError):
            model_workspace.work()
        assert (model_workspace.outcomes(), failures(model_workspace), model_workspace.files()) == ([None], [0], [])
        assert inbox.number_waiting(database) == 0
        hold = held(model_workspace)
        assert hold is not None
        assert hold.until is not None
        model_workspace.clock.at = hold.until
        assert model_workspace.work() == [SAVED]
        assert lengths(model_workspace) == [1]  # the author's reply comes out of the ledger
        assert len(model_workspace.server.reviews) == tries + 1
        assert database.query("SELECT 1 FROM steps WHERE reply IS NOT NULL") == []


def test_verdicts_that_were_paid_for_are_not_asked_for_again_when_the_repair_meets_trouble(
    database: Database, paths: Paths
) -> None:
    busy = Status(529, "overloaded_error", "Overloaded")
    answers = in_turn(version(INVENTED), *[busy] * TRIES, Reply(writes()))
    with with_model(database, paths, answers, reviewer=no_to("the team is")) as model_workspace:
        model_workspace.say(RULE)
        with pytest.raises(EngineRestsError):
            model_workspace.work()
        assert model_workspace.work() == [SAVED]
        assert lengths(model_workspace) == [1, *[3] * TRIES, 3]
        assert len(model_workspace.server.reviews) == 2


def test_a_reviewing_model_that_the_key_may_not_use_stops_the_engine(database: Database, paths: Paths) -> None:
    def reviewer(_: Request) -> Answer:
        return Status(403, "permission_error", "not yours")

    with with_model(database, paths, in_turn(Reply(writes())), reviewer=reviewer) as model_workspace:
        model_workspace.say(RULE)
        with pytest.raises(EngineStoppedError):
            model_workspace.work()
        assert (model_workspace.outcomes(), model_workspace.files()) == ([None], [])


# --- what the user wants to be asked ----------------------------------------------------------------------------------


def test_with_review_of_all_nothing_is_written_unasked(database: Database, paths: Paths) -> None:
    with with_model(database, paths, in_turn(Reply(writes()))) as model_workspace:
        model_workspace.config = model_workspace.config._replace(review="all")
        model_workspace.say(RULE)
        (outcome,) = model_workspace.run()
        assert (outcome.outcome, outcome.held) == ("succeeded_no_output", 1)
        assert reasons(model_workspace) == ['Nothing is written unasked: review = "all".']
        assert (model_workspace.files(), len(model_workspace.server.reviews)) == ([], 1)


def test_with_review_off_what_is_doubtful_is_dropped_and_listed_and_what_is_accepted_is_written(
    database: Database, paths: Paths
) -> None:
    answers = in_turn(version(INVENTED), NOTHING, Reply(writes("hello there, please be brief", "user_brief.md", BRIEF)))
    with with_model(database, paths, answers, reviewer=no_to("the team is")) as model_workspace:
        model_workspace.config = model_workspace.config._replace(review="off")
        model_workspace.say(RULE)
        assert model_workspace.work() == [DONE]
        assert (reasons(model_workspace), model_workspace.files()) == ([], [])
        (row,) = inbox.closed(database)
        assert (row.outcome, row.reason, row.names) == ("dropped", PROBLEM, (RULE_MD,))
        model_workspace.say("hello there, please be brief", session=Session("two"))
        assert model_workspace.work() == [("succeeded", ("user_brief.md",))]
        assert remarks(model_workspace) == []


BRIEF = content("Please be brief.")
