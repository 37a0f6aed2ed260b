"""Later words beside an earlier fact: what goes on with it, takes it back or ends it, in a session or in the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoryd.engines.offline import find
from memoryd.engines.offline.changes import Known
from memoryd.engines.offline.facts import StatedFact
from memoryd.engines.offline.later import spoken_of
from memoryd.language.parts import split_before
from memoryd.model import Evidence, StoredMemory, UserMessage
from memoryd.state import history, inbox
from tests.transcript import Session

if TYPE_CHECKING:
    from tests.jobs.workspace import Workspace

MONDAY = 1_792_404_000.0  # 2026-10-19, a Monday
DAY = 86_400.0


def conversation(*messages: str) -> list[UserMessage]:
    return [UserMessage("s", f"m{number}", MONDAY + 60 * number, text, "Done.") for number, text in enumerate(messages)]


def changes(older: str, newer: str) -> bool:
    """Whether a sentence of a week later is about what was told before."""
    return spoken_of(conversation(newer)[0], StatedFact((newer,)), [Known(older, "project", 7.0)], [False]) == 0


def written(*messages: str) -> list[str]:
    return [memory.body.strip() for memory in find(conversation(*messages)).written]


@pytest.mark.parametrize(
    ("request_", "later"),
    [
        ("remember: cellar prices are shown without tax", "re cellar prices, disregard that, forget i said it"),
        (
            "remember that choir practice is in the crypt",
            "hold on, drop what i told you, choir practice is at the school",
        ),
    ],
)
def test_what_is_taken_back_some_messages_later_is_dropped_where_one_fact_is_spoken_of(
    request_: str, later: str
) -> None:
    found = find(conversation(request_, "how long is the list", later))
    assert request_ not in "".join(memory.body for memory in (*found.written, *found.unconfirmed))


def test_what_may_be_taken_back_waits_for_the_user() -> None:
    """It may be about the task as well, so nothing is dropped."""
    said = "remember that the kiosk takes coins only"
    found = find(conversation(said, "ah no, forget that, the kiosk is closing"))
    assert (found.written, [memory.body.strip() for memory in found.unconfirmed]) == ((), [said])


def a_deadline(row_id: int = 0) -> StoredMemory:
    text = "the loft floor is sanded until Friday (2026-10-09), nobody may walk on it before"
    evidence = Evidence("earlier", "m", text, "hash", MONDAY - 14 * DAY)
    is_ours = not row_id
    return StoredMemory(
        "project_x.md", "project", text, f"{text}\n", is_ours, (evidence,), MONDAY - 14 * DAY, row_id=row_id
    )


def test_a_deadline_that_waits_is_withdrawn_when_its_day_has_passed() -> None:
    """Beside anything that is said later; a day that had passed when it was said tells since when something holds."""
    late = conversation("run the tests")
    assert find(late, lambda: (), (), [a_deadline(7)]).withdrawn == {7}
    early = [late[0]._replace(said_at=MONDAY - 12 * DAY)]
    assert find(early, lambda: (), (), [a_deadline(7)]).withdrawn == frozenset()
    since = a_deadline(7)._replace(written_at=MONDAY - DAY)
    assert find(late, lambda: (), (), [since]).withdrawn == frozenset()


def test_a_deadline_goes_by_the_words_that_end_it_when_its_day_has_passed() -> None:
    (gone,) = find(conversation("the ban on the loft floor is no longer on"), lambda: [a_deadline()]).written
    assert (gone.reason, gone.files, gone.body) == ("taken_back", ("project_x.md",), "")
    assert [words.quote for words in gone.evidence] == ["the ban on the loft floor is no longer on"]
    early = [conversation("the ban on the loft floor is no longer on")[0]._replace(said_at=MONDAY - 12 * DAY)]
    assert all(memory.body for memory in find(early, lambda: [a_deadline()]).written)


def test_a_sentence_that_only_adds_is_kept_with_the_one_before_it() -> None:
    said = "order the flour. and from now on every monday, the mill is closed on tuesdays"
    assert written(said) == [said]


def test_a_denial_that_tells_the_same_thing_otherwise_joins_it() -> None:
    first = "remember: posters are laminated before they leave"
    second = "no i meant the outdoor posters, only those are laminated"
    (body,) = written(first, second)
    assert body == f"{first}. {second}"
    assert written(first, "no, the other button") == [first]


def test_a_memory_that_is_told_anew_keeps_its_evidence_and_the_day_of_its_words(workspace: Workspace) -> None:
    """It has another name then. Without evidence the next change of it would be held: it would seem newer than the words."""
    for number, text in enumerate(
        (
            "remember: the harvest fair opens on March 3",
            "remember: the harvest fair opens on March 9 now",
            "remember: the harvest fair opens on March 12 now",
        )
    ):
        workspace.say(text, session=Session(f"{number}"))
        workspace.work()
    ((name, data),) = workspace.memories().items()
    assert b"March 12" in data
    assert b"March 9" not in data
    quotes = [piece.quote for piece in history.evidence_of(workspace.database, str(workspace.memory), name)]
    assert [quote.split("March ")[1].split()[0] for quote in quotes] == ["3", "9", "12"]
    said_at = max(piece.said_at or 0 for piece in history.evidence_of(workspace.database, str(workspace.memory), name))
    assert (workspace.memory / name).stat().st_mtime == pytest.approx(said_at)


@pytest.mark.parametrize(
    ("rule", "later"),
    [
        ("Never deploy on Fridays.", "The demo is on Fridays now."),
        ("Never push to main.", "Releases go to main now."),
        ("Deploys go out on Tuesdays.", "Standups are on Tuesdays now."),
        (
            "Use npm for installs, never run `npm publish`.",
            "Never run `git push --force-with-lease` instead of `git push --force`.",
        ),
        ("Use npm in the web folder.", "Use pnpm instead of npm in the api folder."),
        ("Use tabs in Go files.", "Use spaces instead of tabs in Python files."),
        ("From now on, send the newsletter with Mailo.", "From now on, for the invoices use Postbox instead of Mailo."),
    ],
)
def test_a_rule_stays_beside_later_words_about_another_subject(workspace: Workspace, rule: str, later: str) -> None:
    """A weekday, a branch, a tool or "never run" in both does not make them one subject."""
    for text in (rule, later):
        workspace.say(text, session=Session(text))
        workspace.run()
    assert rule in workspace.bodies()
    assert "" not in workspace.waiting()  # nobody is asked to take the rule back


@pytest.mark.parametrize("later", ["scratch that, use a map instead", "I changed my mind, use a dict now"])
def test_a_rule_of_common_words_is_not_changed_by_the_next_message_about_the_task(
    workspace: Workspace, later: str
) -> None:
    session = Session("s")
    for text in ("From now on use tabs.", later):
        workspace.say(text, session=session)
        workspace.run()
    assert (workspace.bodies(), workspace.waiting()) == (["From now on use tabs."], [])


def test_the_user_is_asked_where_the_same_rule_may_have_got_another_object(workspace: Workspace) -> None:
    rule, later = "Never run migrations by hand.", "Never run seeds by hand any more."
    for text in (rule, later):
        workspace.say(text, session=Session(text))
        workspace.run()
    assert workspace.bodies() == [rule, later]
    (row,) = inbox.waiting(workspace.database, str(workspace.memory))
    assert [change.after for change in row.group.changes] == [None]
    assert later in [piece.quote for _, piece in row.group.evidence]


@pytest.mark.parametrize("is_committed", [False, True])
def test_forget_that_right_behind_a_rule_asks_about_it(workspace: Workspace, *, is_committed: bool) -> None:
    """It may be about the answer, so nothing is dropped; it is not passed over either."""
    rule, session = "From now on, label every crate in Dutch.", Session("s")
    workspace.say(rule, session=session)
    if is_committed:
        workspace.run()
    workspace.say("hmm no, forget that", session=session)
    workspace.run()
    assert (workspace.bodies(), workspace.waiting()) == (([rule], [""]) if is_committed else ([], [rule]))


def test_an_exception_to_what_waits_does_not_confirm_it(workspace: Workspace) -> None:
    rule, exception = "Keep commits under 200 lines.", "Commits in the vendor folder may be larger than 200 lines."
    for text in (rule, exception):
        workspace.say(text, session=Session(text))
        workspace.run()
    assert sorted(workspace.bodies() + workspace.waiting()) == sorted((rule, exception))


@pytest.mark.parametrize(
    ("allowed", "is_about_it"),
    [
        ("pets are ok in the entrance area though", True),
        ("smoking is allowed on the terrace", True),
        ("the gate is fine again", False),
        ("rows 3 to 5 are ok like that", False),
    ],
)
def test_what_is_allowed_stands_behind_the_rule_that_forbids_it(allowed: str, *, is_about_it: bool) -> None:
    """It shares a word with a clause that says no; "every row is watered by hand" forbids nothing."""
    rule = "No pets in the greenhouse, every row is watered by hand, no smoking in the yard."
    memory = a_deadline()._replace(description=rule, body=f"{rule}\n", type="feedback")
    found = find(conversation(f"remember {allowed}"), lambda: [memory]).written
    assert [revised.body for revised in found if revised.files] == (
        [f"{rule} remember {allowed}\n"] if is_about_it else []
    )


def test_a_take_back_that_asks_not_to_be_saved_takes_back_the_message_before() -> None:
    first = "remember the loft is let until May"
    assert written(first, "scrap that everybody knows it, don't save it") == []
    assert written(first, "off the record: the tenant is broke, don't keep that") == [first]


def test_words_that_take_one_memory_back_and_keep_another_are_obeyed(workspace: Workspace) -> None:
    """Only the sentence that takes back is quoted: review held the removal, as the other one may mean another memory."""
    for text in (
        "remember: answers to guests are written in Dutch, half of them come from Ghent",
        "remember: the newsletter is written by hand",
    ):
        workspace.say(text, session=Session(text))
        workspace.run()
    workspace.say(
        "forget that newsletter rule. answers to guests stay in Dutch, they come from Ghent", session=Session("3")
    )
    workspace.run()
    assert workspace.bodies() == ["remember: answers to guests are written in Dutch, half of them come from Ghent"]


@pytest.mark.parametrize(
    ("older", "newer", "is_about_it"),
    [
        ("max draft in the model basin is 2.5 m/s", "real ferry is 7.5 m/s max now, new screws", False),
        ("remember: live calls are limited to 5 req/s", "live calls go up to 8 req/s now", True),
    ],
)
def test_a_unit_that_two_limits_share_is_not_what_they_are_about(older: str, newer: str, *, is_about_it: bool) -> None:
    assert changes(older, newer) is is_about_it


@pytest.mark.parametrize(
    "message",
    ["remember the door code? no scrap that, leave it", "これは毎回消したほうがいいですか？"],  # noqa: RUF001
)
def test_nobody_is_asked_about_a_question_or_a_take_back(message: str) -> None:
    found = find(conversation(message))
    assert (found.written, found.unconfirmed) == ((), ())


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("tenant 300 pays by card", "tenant 301 pays by invoice now"),
        ("eu-west-1 keeps backups for 30 days", "eu-west-2 keeps backups for 60 days now"),
        ("building 7 has no heating on weekends", "building 9 has heating on weekends again since monday"),
    ],
)
def test_two_things_with_numbers_of_their_own_stay_two(earlier: str, later: str) -> None:
    assert not changes(earlier, later)


def test_a_day_or_a_measure_of_the_same_thing_may_change() -> None:
    assert changes("code freeze is on dec 5", "code freeze is dec 12 now")
    assert changes("the upload limit is 5 mb", "upload limit is 8 mb now")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("the meeting with Acme is on 3 March", "the meeting with Globex is on 10 March"),
        (
            "the certificate of shop.example.com expires on May 3",
            "the certificate of blog.example.com expires on June 9",
        ),
        ("the worker queue in prod has 8 workers", "the worker queue in staging has 2 workers"),
        ("the flight to Rome is on Tuesday", "the flight to Oslo is on Thursday"),
        ("support for Python 3.9 ends in October", "support for Ubuntu 20.04 ends in April"),
        ("deploys of the web app go out on Tuesdays", "deploys of the api go out on Thursdays"),
        ("der Termin mit Lena ist am Montag", "der Termin mit Tom ist am Freitag"),
        ("la démo pour Siemens est lundi", "la démo pour Bosch est jeudi"),
    ],
)
@pytest.mark.parametrize("said_now", ["", " now"])
def test_facts_about_two_things_stay_two_however_alike(earlier: str, later: str, said_now: str) -> None:
    assert not changes(earlier, later + said_now)


def test_what_only_ends_something_is_set_behind_it_with_its_day() -> None:
    """Nothing that was said is lost, and the memory keeps its title: whoever reads it judges."""
    rule = "van 3 is at the garage with its gearbox, plan the rounds without it"
    memory = a_deadline()._replace(description=rule, body=f"{rule}\n", evidence=())
    said = UserMessage("s", "m", MONDAY, "got it back on saturday", "I left out van 3, it is at the garage.")
    (revised,) = find([said], lambda: [memory]).written
    assert revised.files == (memory.name,)
    assert revised.body == f"{rule} (later, on 2026-10-19: got it back on saturday)\n"


def test_a_memory_is_archived_when_its_own_end_has_passed() -> None:
    """By the day on which something is said; as a dream does it, with no quote."""
    freeze = "the booking service is frozen until 2026-10-09"
    memory = a_deadline()._replace(description=freeze, body=f"{freeze}\n")
    later = conversation("remember: labels are printed in the cellar")
    (_, archived) = find(later, lambda: [memory]).written
    assert (archived.reason, archived.files, archived.body, archived.evidence) == ("expired", (memory.name,), "", ())
    early = [later[0]._replace(said_at=MONDAY - 12 * DAY)]
    assert [one.reason for one in find(early, lambda: [memory]).written] == ["learnt"]


def test_words_about_somebody_who_is_not_named_wait() -> None:
    """Nobody could tell later who signs."""
    (body,) = [
        one.body.strip() for one in find(conversation("she signs off every release note from now on")).unconfirmed
    ]
    assert body == "she signs off every release note from now on"
    assert written("remember: Ines owns the ledger. she signs off every release note")[0].startswith("remember: Ines")


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        ("the database moves to Postgres 16 on 2026-10-12", "the database is slow again"),
        ("Lena takes over the billing team on 2026-10-12", "billing is fixed now"),
        ("the API v1 is switched off on 2026-10-12, only v2 after that", "switched off the monitor"),
    ],
)
def test_what_began_on_a_day_that_has_passed_is_not_taken_away_by_a_task(fact: str, sentence: str) -> None:
    memory = a_deadline()._replace(description=fact, body=f"{fact}\n")
    assert all(fact in revision.body for revision in find(conversation(sentence), lambda: [memory]).written)


def test_the_day_on_which_something_was_said_later_is_no_day_of_the_memory() -> None:
    body = "van 3 is at the garage with its gearbox (later, on 2026-10-12: got it back)"
    memory = a_deadline()._replace(description=body, body=f"{body}\n", written_at=MONDAY - 7 * DAY)
    again = conversation("the gearbox of van 3 is broken again since today")
    assert all(body.split(" (", maxsplit=1)[0] in revision.body for revision in find(again, lambda: [memory]).written)


@pytest.mark.parametrize(
    ("fact", "task"),
    [
        ("the header of the shop is blue", "make the header green instead of blue"),
        ("we test on Firefox", "test it on Chrome instead of Firefox"),
    ],
)
def test_a_task_with_two_values_overwrites_nothing(fact: str, task: str) -> None:
    memory = a_deadline()._replace(type="feedback", description=fact, body=f"{fact}\n")
    assert all(fact in revision.body for revision in find(conversation(task), lambda: [memory]).written)


def test_a_dream_that_is_to_be_certain_archives_nothing_by_words() -> None:
    late = conversation("the ban on the loft floor is off, walked over it")
    found = find(late, lambda: [a_deadline()], is_certain=True)
    assert not any(revision.evidence for revision in found.written)


def test_a_word_that_begins_like_one_for_somebody_is_none() -> None:
    rule = "Shell scripts always start with set -euo pipefail"
    found = find(conversation(f"rename the helper first. {rule}, from now on"))
    assert [one.body.strip() for one in (*found.written, *found.unconfirmed)] == [f"{rule}, from now on"]


def test_what_was_said_before_by_an_older_memoryd_stays_known() -> None:
    body = "code freeze is on dec 12 (2026-12-12) (Before, on 2026-10-01: code freeze is on dec 5 (2026-12-05))"
    memory = a_deadline()._replace(description=body.split(" (Before", maxsplit=1)[0], body=f"{body}\n")
    (revised,) = find(conversation("code freeze is dec 19 now"), lambda: [memory]).written
    assert revised.body.count("(was, on ") == 1
    assert revised.body.count("Before") == 0
    assert "dec 5" in revised.body


def test_a_reason_behind_a_change_takes_nothing_of_the_older_words_away() -> None:
    messages = (
        "code freeze is on dec 5 and the auditors sit in room 3",
        "ok next file",
        "code freeze is dec 12 now",
        "because the auditors need one more week",
    )
    found = find(conversation(*messages))
    assert "room 3" in "".join(one.body for one in (*found.written, *found.unconfirmed))


def test_what_a_person_wrote_in_brackets_is_no_mark_of_ours() -> None:
    body = "the release server is Ada (was: Bob) and it runs Debian"
    memory = a_deadline()._replace(description=body, body=f"{body}\n")
    (revised,) = find(conversation("the release server is Zoe now"), lambda: [memory]).written
    assert f"(was, on 2026-10-05: {body})" in revised.body


@pytest.mark.parametrize(
    ("fact", "parts"),
    [
        ("a", ("a", "")),
        ("a (was, on 2026-10-05: b (2026-10-01))", ("a", "b (2026-10-01)")),
        ("a (was, on 2026-10-05: b) (later, on 2026-10-07: gone)", ("a (later, on 2026-10-07: gone)", "b")),
        ("a (was, on 2026-10-05: b", ("a", "b")),
    ],
)
def test_what_was_said_before_is_told_from_what_holds(fact: str, parts: tuple[str, str]) -> None:
    assert split_before(fact) == parts


@pytest.mark.parametrize(
    ("fact", "other"),
    [
        ("android build uses gradle 8", "ios build uses xcode 16 since last week"),
        ("printer in room 2 is broken", "printer in the lobby is fixed now"),
        ("réunion avec Paul est le lundi", "réunion avec Marie est maintenant le jeudi"),
    ],
)
def test_what_is_told_of_another_thing_overwrites_nothing(fact: str, other: str) -> None:
    memory = a_deadline()._replace(description=fact, body=f"{fact}\n")
    assert all(
        fact in revision.body for revision in find(conversation(other), lambda: [memory]).written if revision.files
    )
