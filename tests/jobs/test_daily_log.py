"""Daily-log mode: lines by day, memories by night; every fact in a memory, once, whatever the clock does."""

from __future__ import annotations

import os
import random
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from memoryd.config import Config
from memoryd.engines.offline import find
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.jobs.explain import explain
from memoryd.jobs.new_log_lines import new_lines
from memoryd.jobs.quotes_beside import quotes_beside
from memoryd.jobs.recall import recall
from memoryd.jobs.recall_matches import Request
from memoryd.language.evidence import evidence_of
from memoryd.memory.commit import commit
from memoryd.memory.daily_logs import log_line, log_name
from memoryd.memory.directory import open_directory
from memoryd.memory.document import body_of
from memoryd.model import AT_THE_END, Changeset, Due, FileChange, Group, UserMessage, Wait
from memoryd.state import history, inbox
from tests.jobs.daily_log_workspace import DailyLogWorkspace, facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.engines.base import Signal
    from memoryd.jobs.recall import RecallAnswer
    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import Proposal
    from memoryd.paths import Paths
    from memoryd.review.review import Review
    from memoryd.state.database import Database

BERLIN = ZoneInfo("Europe/Berlin")


def moment(text: str, zone: ZoneInfo = BERLIN, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()


@pytest.fixture(autouse=True)
def zone() -> Iterator[None]:
    """The machine is in Berlin, whose clocks change in the night of 25 October 2026 and of 28 March 2027."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.fixture
def place(database: Database, paths: Paths) -> DailyLogWorkspace:
    return DailyLogWorkspace(database, paths, at=moment("2026-10-18T09:00"))


@pytest.mark.torture
def test_a_month_of_daily_logs_is_distilled_night_by_night(place: DailyLogWorkspace, torture: bool) -> None:
    """Every fact is in one memory, once; some are told again on another day, some nights the machine is off."""
    chance = random.Random(23)
    told = facts(300 if torture else 60, seed=23)
    days: list[list[str]] = [[] for _ in range(30)]
    for fact in told:
        for day in chance.sample(range(30), chance.choice((1, 1, 2))):
            days[day] += [fact] * chance.choice((1, 2, 4, 6) if torture else (1, 1, 2))
    for one_day in days:
        chance.shuffle(one_day)
    is_off = set(chance.sample(range(1, 29), 5))
    said = dreams = 0
    known = ""
    for number, today in enumerate(days):
        midnight = datetime(2026, 10, 19, tzinfo=BERLIN) + timedelta(days=number)
        place.clock.at = (midnight + timedelta(hours=7)).timestamp()
        made_up = place.night()
        assert made_up <= (number - 1 in is_off), "a missed night is made up for once, and no other comes by day"
        dreams += made_up
        known = "\n".join(place.bodies())
        minutes = sorted(chance.choice((chance.randint(8 * 60, 23 * 60), 23 * 60 + 59)) for _ in today)
        for minute, fact in zip(minutes, today, strict=True):
            place.clock.at = max(place.clock.at + 1, (midnight + timedelta(minutes=minute)).timestamp())
            (done,) = place.say(f"Remember that {fact}.")
            is_known = fact in known
            assert done.outcome == ("succeeded_no_output" if is_known else "succeeded"), fact
            said += not is_known
        assert place.night() == 0, "before its time"
        if number not in is_off:
            place.clock.at = (midnight + timedelta(days=1, hours=3, minutes=30)).timestamp()
            dreams += place.night()
            known = "\n".join(place.bodies())
    lines = [line for log in place.logs().values() for line in log.splitlines()]
    bodies = place.bodies()
    print(f"{said} lines, {len(told)} facts, {dreams} dreams, {len(bodies)} memories")
    assert len(lines) == said
    assert {fact: sum(fact in body for body in bodies) for fact in told} == dict.fromkeys(told, 1)
    assert place.night() == 0
    assert dreams <= 30


# --- days, nights and clocks ------------------------------------------------------------------------------------------


def test_the_day_of_a_line_is_that_of_the_clock_on_the_wall(place: DailyLogWorkspace) -> None:
    """Midnight, the hour that comes twice, and a journey to New York, where it is still the day before."""
    for at, fact in zip(
        (
            moment("2026-10-24T23:59"),
            moment("2026-10-25T00:00"),
            moment("2026-10-25T02:30"),
            moment("2026-10-25T02:30", fold=1),
        ),
        facts(4, seed=1),
        strict=True,
    ):
        place.clock.at = at
        place.say(f"Remember that {fact}.")
    os.environ["TZ"] = "America/New_York"
    time.tzset()
    place.clock.at = moment("2026-10-26T02:00")
    place.say(f"Remember that {facts(5, seed=1)[4]}.")
    assert {day: [line[:8] for line in log.splitlines()] for day, log in place.logs().items()} == {
        "2026-10-24": ["- 23:59 "],
        "2026-10-25": ["- 00:00 ", "- 02:30 ", "- 02:30 ", "- 21:00 "],
    }
    assert place.dream().outcome == "succeeded"
    assert len(place.bodies()) == 5


@pytest.mark.parametrize(
    ("night", "day", "expected"),
    [
        ("02:30", "2026-10-25", "2026-10-25T02:30"),  # it comes twice: at the first
        ("02:30", "2027-03-28", "2027-03-28T03:30"),  # it is left out: an hour later
        ("00:00", "2026-10-25", "2026-10-25T00:00"),
        ("23:59", "2027-03-28", "2027-03-28T23:59"),
    ],
)
def test_each_calendar_day_has_one_night(place: DailyLogWorkspace, night: str, day: str, expected: str) -> None:
    """Also when the clocks change: asked twice an hour for three days, it comes once each day, at its time."""
    place.config = place.config._replace(dream=place.config.dream._replace(night=night))
    start = moment(f"{day}T00:00") - 24 * 3600
    place.clock.at = start - 7200
    told = facts(20, seed=2)
    came: list[float] = []
    while place.clock.at < start + 3 * 86_400:
        if place.clock.at % 14_400 == 0:
            place.say(f"Remember that {told.pop()}.")
        if place.night():
            came.append(place.clock.at)
        place.clock.at += 1800
    days = [datetime.fromtimestamp(at, BERLIN).date() for at in came]
    assert len(days) == len(set(days))
    assert any(0 <= at - moment(expected) < 1800 for at in came), [datetime.fromtimestamp(at, BERLIN) for at in came]


@pytest.mark.parametrize("jump", [-400 * 86_400.0, -3_600.0, 400 * 86_400.0])
@pytest.mark.parametrize("has_night", [False, True])
def test_a_clock_that_jumps_costs_no_line_and_no_night(place: DailyLogWorkspace, jump: float, has_night: bool) -> None:
    """Also where the last night was by the wrong clock."""
    first, second = facts(2, seed=3)
    place.clock.at = moment("2026-10-19T12:00")
    place.say(f"Remember that {first}.")
    if has_night:
        place.clock.at = moment("2026-10-20T04:00")
        assert place.night() == 1
    place.clock.at += jump
    place.say(f"Remember that {second}.")
    for _ in range(2 * 24):
        place.clock.at += 3600
        place.night()
    assert sorted(body.removeprefix("Remember that ").rstrip(".") for body in place.bodies()) == sorted((first, second))
    assert place.night() == 0


def test_a_night_without_new_lines_is_over_and_what_comes_by_day_waits_for_the_next(place: DailyLogWorkspace) -> None:
    place.say("please look at the parser")
    place.memory.mkdir()
    place.clock.at = moment("2026-10-20T03:30")
    decision = place.decision()
    assert isinstance(decision, Wait)
    assert decision.reason == "no_new_lines"
    place.clock.at = moment("2026-10-20T10:00")
    place.say(f"Remember that {facts(1, seed=4)[0]}.")
    decision = place.decision()
    assert isinstance(decision, Wait)
    assert (decision.reason, decision.until) == ("too_soon", moment("2026-10-21T03:30"))


# --- what a night makes of the lines ----------------------------------------------------------------------------------


def test_what_is_taken_back_or_told_anew_before_the_night_is_not_kept(place: DailyLogWorkspace) -> None:
    place.say("Remember that the crane in Kiel is rated at 100 bar.")
    place.clock.at += 60
    place.say("Remember that deploys of the shop go out on Tuesdays.")
    place.clock.at += 60
    place.say("Forget what I said about the crane in Kiel.")
    place.dream()
    assert place.bodies() == ["Remember that deploys of the shop go out on Tuesdays."]


def test_a_memory_is_changed_and_taken_back_at_night_as_extraction_would_have_done_it(
    place: DailyLogWorkspace,
) -> None:
    place.say("Remember that the crane in Kiel is rated at 100 bar.", "From now on, use pnpm instead of npm.")
    place.dream()
    assert len(place.bodies()) == 2
    place.clock.at += 86_400
    (done,) = place.say("Forget what I said about the crane in Kiel.")
    assert done.outcome == "succeeded"
    assert len(place.bodies()) == 2, "a log is all that changes by day"
    place.dream()
    assert place.bodies() == ["From now on, use pnpm instead of npm."]


def test_the_log_is_what_counts_an_edited_line_is_read_as_it_is_and_a_deleted_one_is_not(
    place: DailyLogWorkspace,
) -> None:
    place.say(*(f"Remember that the {thing} in Kiel is rated at 100 bar." for thing in ("crane", "kiln", "lathe")))
    (log,) = place.memory.rglob("logs/*/*/*.md")
    lines = log.read_text().splitlines(keepends=True)
    log.write_text(lines[0] + lines[2].replace("100", "250") + "- 12:00 user: remember that the loom is number 7.\n")
    place.clock.at += 120
    place.dream()
    told = " ".join(place.bodies())
    assert [word in told for word in ("crane", "kiln", "lathe in Kiel is rated at 250", "loom")] == [
        *(True, False, True, True)
    ]
    place.night()
    assert len(place.bodies()) == 3


def test_a_log_that_is_edited_above_what_was_read_does_not_bring_superseded_lines_back(
    place: DailyLogWorkspace,
) -> None:
    """The first line led to nothing, as the second told it anew before the night: no memory quotes it."""
    for day in ("Tuesdays", "Thursdays now", "Mondays now"):
        place.say(f"Deploys go out on {day}.")
        place.clock.at += 60
        if day != "Tuesdays":
            place.dream()
    assert place.bodies() == ["Deploys go out on Mondays now."]
    (log,) = place.memory.rglob("logs/*/*/*.md")
    log.write_text("# my day\n" + log.read_text() + "- 12:00 user: remember that the loom in Kiel is number 7.\n")
    place.clock.at += 120
    place.dream()
    assert sorted(place.bodies()) == [
        "Deploys go out on Mondays now.",
        "remember that the loom in Kiel is number 7.",
    ]


def test_a_superseded_line_of_the_user_s_own_does_not_come_back_with_an_edit(place: DailyLogWorkspace) -> None:
    log = place.memory / "logs" / "2026" / "10" / "2026-10-18.md"
    log.parent.mkdir(parents=True)
    log.write_text("- 09:00 user: from now on, use yarn.\n- 10:00 user: from now on, use pnpm instead of yarn.\n")
    os.utime(log, (place.clock.at, place.clock.at))
    place.clock.at += 120
    place.dream()
    before = place.bodies()
    assert len(before) == 1
    log.write_text("# my day\n" + log.read_text())
    place.clock.at += 120
    place.dream()
    assert place.bodies() == before


def test_a_memory_rests_on_the_words_and_not_on_the_line(place: DailyLogWorkspace) -> None:
    place.say("Remember that the crane in Kiel is rated at 100 bar.")
    (log,) = place.memory.rglob("logs/*/*/*.md")
    name = str(log.relative_to(place.memory))
    line = explain(place.database, place.paths, str(place.memory), name, 1)
    place.dream()
    (memory,) = (path.name for path in place.memory.glob("[a-z]*.md"))
    found = explain(place.database, place.paths, str(place.memory), memory)
    assert found.evidence == line.evidence
    assert found.evidence[0].session_id == place.session.id
    assert explain(place.database, place.paths, str(place.memory), name, 2).evidence == ()


def test_what_was_distilled_and_undone_does_not_come_back_and_undoing_the_line_leaves_the_memory(
    place: DailyLogWorkspace,
) -> None:
    place.say("Remember that the crane in Kiel is rated at 100 bar.")
    (appended,) = history.recent(place.database, str(place.memory))
    place.dream()
    place.undo(appended.id)
    (memory,) = (path.name for path in place.memory.glob("[a-z]*.md"))
    assert explain(place.database, place.paths, str(place.memory), memory).evidence
    place.undo()
    assert place.bodies() == []
    place.dream()
    assert place.bodies() == []


def test_a_line_that_another_engine_wrote_is_not_dropped_where_this_one_cannot_tell(place: DailyLogWorkspace) -> None:
    """Words in which this engine finds nothing: a model had found them. What its line says waits for a yes or no."""
    said = UserMessage("s", "m1", place.clock.at, "jo, passt")
    assert not any(find([said]))
    evidence = evidence_of(said, said.text)
    name = log_name(place.clock.at)
    line = FileChange(name, None, log_line(place.clock.at, "Migrations run in one change."), offset=AT_THE_END)
    group = Group((line,), "said", ((name, evidence),), said=(said,), type="feedback")
    place.memory.mkdir()
    with open_directory(str(place.memory)) as directory:
        commit(place.database, directory, Changeset("extract", "said", (group,), "s"), place.clock.at)
    place.dream()
    (row,) = inbox.waiting(place.database, str(place.memory))
    assert body_of(row.group.changes[0].after or b"").strip() == "Migrations run in one change."
    assert [piece.quote for _, piece in row.group.evidence] == [said.text]


def test_when_the_mode_is_switched_off_what_waits_is_distilled_at_once_and_nothing_is_lost(
    place: DailyLogWorkspace,
) -> None:
    place.say("Remember that the crane in Kiel is rated at 100 bar.")
    assert isinstance(place.decision(), Wait)
    place.config = Config()
    decision = place.decision()
    assert isinstance(decision, Due)
    assert decision.why == "1 line of daily logs to be distilled"
    assert place.night() == 1
    assert len(place.bodies()) == 1
    place.say("Remember that the kiln in Kiel is rated at 200 bar.")
    assert len(place.bodies()) == 2, "as any other project"


def test_ten_megabytes_of_logs_cost_what_is_new_in_them(place: DailyLogWorkspace) -> None:
    """Counted in bytes that are read: the logs of before are only looked at by their size."""
    place.memory.mkdir()
    for day in range(1, 29):
        log = place.memory / "logs" / "2026" / "09" / f"2026-09-{day:02}.md"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes((b"- 10:00 looked at the parser" + b" of the day and at nothing else" * 300 + b"\n") * 40)
    with open_directory(str(place.memory)) as directory:
        while True:
            new = new_lines(place.database, directory, 0.0, place.clock.at)
            if not new.lines:
                break
            commit(place.database, directory, Changeset("dream", "", (), log_cursors=new.cursors(())), place.clock.at)
        place.say("Remember that the crane in Kiel is rated at 100 bar.")
        with (place.memory / "logs" / "2026" / "09" / "2026-09-05.md").open("a") as log_file:
            log_file.write("- 23:00 user: always run make check\n")
        read: list[int] = []
        pread = os.pread

        def count(descriptor: int, size: int, offset: int) -> bytes:
            read.append(len(data := pread(descriptor, size, offset)))
            return data

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(os, "pread", count)
            new = new_lines(place.database, directory, 0.0, place.clock.at + 120)
    assert [line.said[0].text for line in new.lines] == [
        *("always run make check", "Remember that the crane in Kiel is rated at 100 bar.")
    ]
    assert sum(read) < 1_000


def test_what_was_said_today_is_recalled_from_the_log_until_a_memory_says_it(place: DailyLogWorkspace) -> None:
    place.say("Remember that the crane in Kiel is rated at 100 bar.")
    asked = Request("how much is the crane in Kiel rated at?")

    def recalled() -> RecallAnswer:
        return recall(place.paths, place.config, {}, place.clock, str(place.memory), asked)

    (log,) = place.logs()
    name = f"logs/2026/10/{log}.md"
    by_day = recalled()
    assert [memory.name for memory in by_day.memories] == [name]
    assert f"### {name} (daily log, today)\n> Remember that the crane" in by_day.text
    place.dream()
    (memory,) = recalled().memories
    assert memory.name.startswith("project_")
    place.undo()
    assert recalled().memories == ()


def quotes(place: DailyLogWorkspace) -> list[str]:
    """What recall has beside the memories."""
    return [quote.quote for quote in quotes_beside(place.database, str(place.memory))]


def test_a_line_is_recalled_as_it_stands_in_the_log_and_only_while_it_does(place: DailyLogWorkspace) -> None:
    place.say("Remember that the crane in Kiel is rated at 100 bar.", "Remember that the lathe in Kiel is number 7.")
    (log,) = place.memory.rglob("logs/*/*/*.md")
    log.write_text(
        "# my day\n" + log.read_text().replace("100 bar", "250 bar") + "- 12:00 user: the loom is number 3.\n"
    )
    now = ["Remember that the crane in Kiel is rated at 250 bar.", "Remember that the lathe in Kiel is number 7."]
    assert quotes(place) == [*now, "the loom is number 3."]
    asked = Request("what do you know of the crane in Kiel?", is_waited_for=True)
    text = recall(place.paths, place.config, {}, place.clock, str(place.memory), asked).text
    assert "250 bar" in text
    assert "100 bar" not in text
    log.unlink()
    assert quotes(place) == []
    assert place.dream().outcome == "succeeded_no_output"
    assert quotes(place) == []


def test_a_line_that_is_said_while_the_night_is_at_work_is_recalled_at_once(place: DailyLogWorkspace) -> None:
    place.say("Remember that the crane in Kiel is rated at 100 bar.")

    class TalkedTo(OfflineEngine):
        def dream(self, snapshot: Snapshot, signal: Signal, review: Review) -> Proposal:
            proposal = super().dream(snapshot, signal, review)
            place.say("Remember that the lathe in Kiel is number 7.")
            return proposal

    place.dream(TalkedTo())
    assert len(place.bodies()) == 1
    assert quotes(place) == ["Remember that the lathe in Kiel is number 7."]


@pytest.mark.parametrize(
    ("first", "later", "left"),
    [
        ("From now on, use tabs.", "Forget what I said about tabs.", []),
        ("Deploys go out on Tuesdays.", "Deploys go out on Thursdays now.", ["Deploys go out on Thursdays now."]),
        ("Remember that the crane is number 3.", "please look at the crane", ["Remember that the crane is number 3."]),
    ],
)
def test_what_is_taken_back_or_told_anew_is_not_recalled_until_the_night(
    place: DailyLogWorkspace, first: str, later: str, left: list[str]
) -> None:
    place.say(first)
    assert quotes(place) == [first]
    place.clock.at += 60
    place.say(later)
    assert quotes(place) == left


def test_rules_of_the_day_go_with_the_first_prompt_of_a_session(place: DailyLogWorkspace) -> None:
    """As rules in memories do where there are few: such a rule shares no word with the prompts that it is for."""
    place.say("From now on, always answer in German.")
    asked = Request("fix the flaky parser test", "a-session", is_waited_for=True)
    found = recall(place.paths, place.config, {}, place.clock, str(place.memory), asked)
    assert "> From now on, always answer in German." in found.text
