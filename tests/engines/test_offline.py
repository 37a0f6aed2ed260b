"""The embedded engine on whole conversations: what it keeps, what it leaves, what later words do to earlier ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from memoryd.engines.offline import Findings, find
from memoryd.engines.offline.scope import is_about_person
from memoryd.model import Evidence, StoredMemory, UserMessage

MONDAY = 1_792_404_000.0  # 2026-10-19, a Monday


def conversation(*messages: str | tuple[str, str]) -> list[UserMessage]:
    """Messages of one session, each with the answer that it follows."""
    said = []
    for number, message in enumerate(messages):
        text, answer = message if isinstance(message, tuple) else (message, "Done.")
        said.append(UserMessage("session", f"message-{number}", MONDAY + 60 * number, text, answer))
    return said


def kept(*messages: str | tuple[str, str]) -> list[tuple[str | None, str]]:
    """What is written or waits to be confirmed."""
    found = find(conversation(*messages))
    return [(one.type, one.body) for one in (*found.written, *found.unconfirmed) if one.reason == "learnt"]


def written(*messages: str) -> list[str]:
    return [one.body.strip() for one in find(conversation(*messages)).written]


def unconfirmed(*messages: str) -> list[str]:
    return [one.body.strip() for one in find(conversation(*messages)).unconfirmed]


@pytest.mark.parametrize(
    ("message", "kind", "words"),
    [
        (("no, please don't mock the mailer in these tests. we did that last year and the template bug reached every"
          " customer"), "feedback", ("mock the mailer", "template bug")),
        ("I'm a nurse by training and taught myself Python two years ago, so explain database things slowly",
         "user", ("I'm a nurse", "database")),
        ("we freeze the booking service from Thursday because the auditors are in the house, only hotfixes go out",
         "project", ("2026-10-22", "auditors")),
        ("if you need to know who is on call look at the Grafana board 'Night Workspace', nobody updates the wiki any more",
         "reference", ("Night Workspace",)),
        ("Der Export geht ab nächster Woche über das neue Portal, weil der alte FTP-Server abgeschaltet wird",
         "project", ("Portal", "FTP-Server")),
        ("以后提交信息都用英文写，海外同事也要看", "feedback", ("英文",)),  # noqa: RUF001
    ],
)  # fmt: skip
def test_a_fact_is_kept_with_its_type_reason_and_date(message: str, kind: str, words: tuple[str, ...]) -> None:
    ((found, body),) = kept(message)
    assert found == kind
    for word in words:
        assert word in body


@pytest.mark.parametrize(
    "message",
    [
        "can you look at the parser? it chokes on empty files",
        "rename it to Bucket and run the tests again",
        "perfect, ship it",
        "the button should always be disabled while the form is loading",
        "if we ever moved to Kubernetes I'd throw this away",
        "maybe the release is on Friday, not sure",
        "oh great, let's log the passwords too, what could possibly go wrong",
        "do we have a freeze coming up?",
        "use a set there instead of the list",
        "it went from 41 s to 6 s, lovely",
        "god I'm such an idiot with pointers",
        "why does this query hit every partition?",
        "改一下，再跑一遍测试",  # noqa: RUF001
        "commit, I'm off",
    ],
)
def test_what_is_no_fact_is_left(message: str) -> None:
    assert kept(message) == []


def test_a_rule_and_the_incident_behind_it_are_one_memory() -> None:
    found = kept(
        "ok do that. but never run the import against the live catalogue, use the copy. somebody did in May and wiped two"
        " thousand prices. then push"
    )
    assert [kind for kind, _ in found] == ["feedback"]
    assert found[0][1].startswith("but never run the import against the live catalogue, use the copy.")
    assert "wiped two thousand prices" in found[0][1].partition("**Why:**")[2]


def test_approval_keeps_what_it_approves_of() -> None:
    found = kept(("love it, go on explaining like that every time", "A promise is like a receipt you get at the till."))
    assert found == [] or "receipt" in found[0][1]


def test_a_later_date_stands_before_the_earlier_one() -> None:
    found = kept(
        "the checkout launch is on Friday and Dana from sales presents it to the board, so nothing risky until then",
        "ok next file",
        "Dana called: the checkout launch moved to the 30th because the training is not ready",
    )
    ((_, body),) = found
    assert body.startswith("Dana called: the checkout launch moved to the 30th (2026-10-30) (was, on 2026-10-19: the ")
    assert "2026-10-23" in body
    assert "**Why:** the training is not ready" in body


def test_two_long_facts_that_share_two_words_by_chance_stay_two() -> None:
    found = kept(
        "whenever a payment change looks slow, open https://graphs.example/d/pay-3, that is the board the night shift watches",
        "ok next file",
        "heads up, the payment vendor hands us to a new team next Monday, Ruth does the handover, so host names change then and"
        " writing them into the code now is a waste",
    )
    assert len(found) == 2
    assert not any("(was" in body for _, body in found)


def test_what_follows_a_rule_and_belongs_to_it_stays_with_it() -> None:
    ((_, body),) = kept(
        "never push images to the registry from a laptop. pushes go through the pipeline of the branch. someone pushed a local"
        " build in June and broke the shop for an hour"
    )
    assert "pipeline" in body
    assert "June" in body


@pytest.mark.parametrize(
    "taken_back",
    ["hmm no, scratch that", "scratch that please", "forget what I said about the tabs", "actually, i take that back"],
)
def test_what_is_taken_back_is_not_kept(taken_back: str) -> None:
    assert kept("from now on, use tabs everywhere", taken_back) == []


def test_only_the_message_before_is_taken_back_without_a_name() -> None:
    assert len(kept("from now on, use tabs everywhere", "run the tests", "scratch that")) == 1


def test_only_what_is_named_is_taken_back() -> None:
    found = kept("from now on, use tabs everywhere", "never push to main", "forget what I said about the tabs")
    assert [body for _, body in found] == ["never push to main\n"]


def a_memory(
    body: str, session: str = "session", *, is_ours: bool = True, kind: str = "feedback", name: str = "feedback_x.md"
) -> StoredMemory:
    evidence = Evidence(session, "earlier", body, "hash", MONDAY - 600)
    return StoredMemory(name, kind, body, body, is_ours, (evidence,))  # type: ignore[arg-type]


def test_a_number_or_a_negation_makes_it_another_fact() -> None:
    memories = [a_memory("Always squash commits before merging a branch.\n", is_ours=False)]
    (found,) = find(conversation("from now on don't squash commits before merging a branch"), lambda: memories).written
    assert found.reason == "learnt"


def test_a_memory_of_the_same_session_is_withdrawn() -> None:
    memories = [a_memory("Use tabs everywhere.\n"), a_memory("Older.\n", "another session")._replace(name="old.md")]
    (said,) = conversation("forget what I just said, please")
    said = said._replace(after=("earlier",))
    (withdrawal,) = find([said], lambda: memories[:1]).written
    assert (withdrawal.reason, withdrawal.files, withdrawal.body) == ("taken_back", ("feedback_x.md",), "")
    assert find([said._replace(after=("another",))], lambda: memories) == Findings()
    assert find([said], lambda: [a_memory("Use tabs.\n", is_ours=False)]) == Findings()


@pytest.mark.parametrize(
    "message",
    [
        "scratch that, let's do the header first",
        "forget that test, it's flaky anyway. continue with the parser",
        "ok forget that branch and start a new one from main",
        "ignore that, wrong window",
    ],
)
def test_what_is_about_the_task_takes_nothing_back(message: str) -> None:
    found = kept("never use lodash in this repo", "now please write the parser for the csv header", message)
    assert [body for _, body in found] == ["never use lodash in this repo\n"]


def test_what_is_named_is_taken_back_in_a_later_session_too() -> None:
    memories = [
        a_memory("Never use lodash in this repo.\n", "another session"),
        a_memory("Keep commits small.\n", "another session")._replace(name="other.md"),
    ]
    assert find(conversation("drop the lodash part, a plain loop will do"), lambda: memories).written == ()
    (withdrawal,) = find(conversation("forget what I said about lodash"), lambda: memories).written
    assert (withdrawal.reason, withdrawal.evidence[-1].quote) == ("taken_back", "forget what I said about lodash")


def test_what_an_instruction_file_says_is_not_repeated() -> None:
    rules = "# Rules\n- Run `make lint` before every commit\n- Never edit files below vendor/\n- British spelling in all texts"
    assert find(conversation("and always run make lint before you commit"), lambda: (), [rules]) == Findings()
    assert (
        find(conversation("always use British spelling in texts, never edit vendor files"), lambda: (), [rules])
        == Findings()
    )
    assert find(conversation("never deploy on a Friday, the on-call is thin"), lambda: (), [rules]) != Findings()


def test_the_shelf_is_read_only_where_something_was_found() -> None:
    def memories() -> list[StoredMemory]:
        raise AssertionError("nobody asked")

    assert find(conversation("please rename it", "thanks, run the tests"), memories) == Findings()


@pytest.mark.parametrize(
    "text",
    [
        "ok" * 10_000 + "x",
        "no " * 6000,
        "." * 20_000,
        "a" * 20_000,
        "I " * 10_000,
        "„" * 10_000,
        "never " * 3000,
        "，" * 20_000,  # noqa: RUF001
        "<a>" * 6000,
        "```" * 6000,
        "because " * 2500,
        "forget " * 2500,
        "\n" * 20_000,
        "- a\n" * 5000,
    ],
    ids=lambda text: text[:6].strip() or "newlines",
)
def test_strange_input_takes_no_time(text: str) -> None:
    """Nothing here backtracks: a regular expression that did would not come back at all."""
    messages = conversation(text, ("scratch that", text))
    assert find(messages) == find(messages)


def test_the_fact_beside_a_secret_is_kept_without_it() -> None:
    ((_, body),) = kept(
        "the admin password is [redacted: password], and from now on never deploy from the office network, the VPN cuts off"
    )
    assert "redacted" not in body
    assert "office network" in body
    assert kept("remember that the password for the vault is [redacted: password]") == []


# --- three drawers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_to_remember",
    [
        "remember we use pnpm",
        "from now on, use tabs",
        "merk dir: nie auf main pushen",
        "retiens que les montants sont en centimes",
        "recuerda que los importes van en céntimos",
        "记住用pnpm",
        "覚えておいて、金額は必ず整数で",
    ],
)
def test_an_explicit_request_is_written_as_it_was_said(request_to_remember: str) -> None:
    assert written(request_to_remember) == [request_to_remember]


@pytest.mark.parametrize("said", ["we ship on fridays now", "pnpm pls, not npm", "tabs pls, no spaces"])
def test_what_is_likely_and_was_said_once_is_kept_or_unconfirmed(said: str) -> None:
    found = find(conversation(said))
    assert [one.body.strip() for one in (*found.written, *found.unconfirmed)] == [said]


def waiting(body: str, session: str = "earlier session") -> StoredMemory:
    evidence = Evidence(session, "earlier", body, "hash", MONDAY - 90_000)
    return StoredMemory("project_x.md", "project", body, f"{body}\n", evidence=(evidence,), row_id=7)


def test_what_is_said_again_in_another_session_is_confirmed() -> None:
    said = conversation("pls use uv for the docs build")
    (memory,) = find(said, lambda: (), (), [waiting("use uv for the docs build, pip is slow")]).written
    assert (memory.body, memory.answers) == ("use uv for the docs build, pip is slow\n", (7,))
    assert [piece.session_id for piece in memory.evidence] == ["earlier session", "session"]


def test_what_is_said_again_in_the_same_session_confirms_nothing() -> None:
    found = find(
        conversation("pls use uv for the docs build"), lambda: (), (), [waiting("use uv for the docs build", "session")]
    )
    assert not any(memory.answers for memory in found.written)


def test_an_unconfirmed_memory_that_is_told_anew_or_taken_back_is_withdrawn() -> None:
    row = waiting("the weekly sync is on Mondays")
    assert find(conversation("remember the weekly sync is on Thursdays now"), lambda: (), (), [row]).withdrawn == {7}
    assert find(conversation("forget what I said about the weekly sync"), lambda: (), (), [row]).withdrawn == {7}
    assert find(conversation("never push to the main branch"), lambda: (), (), [row]).withdrawn == frozenset()


# --- change by the user's words ---------------------------------------------------------------------------------------


def test_a_value_that_is_replaced_by_name_is_swapped_in_text_title_and_name() -> None:
    memories = [a_memory("Use yarn for installs in the web folder.\n\n**Why:** yarn is fast\n", "another session")]
    (revised,) = find(conversation("from now on use pnpm instead of yarn for installs"), lambda: memories).written
    assert (revised.reason, revised.files) == ("updated", ("feedback_x.md",))
    assert revised.body == "Use pnpm for installs in the web folder.\n"
    assert revised.name == "use-pnpm-for-installs-in-the-web-folder"
    assert "yarn" not in revised.description


def test_the_same_subject_told_anew_replaces_the_memory_with_its_reason() -> None:
    memories = [a_memory("the weekly sync is on Mondays\n\n**Why:** sales is in then\n", "another", kind="project")]
    (revised,) = find(conversation("remember the weekly sync is on Thursdays now"), lambda: memories).written
    assert (revised.files, revised.body) == (("feedback_x.md",), "remember the weekly sync is on Thursdays now\n")


PIETER = "Gate hardware questions go to Pieter, he has the cabinet keys.\n"


def test_a_change_is_set_before_what_the_one_memory_said_that_it_is_about() -> None:
    memories = [a_memory(PIETER, "another", kind="project"), a_memory("Lock the cabinet at night.\n", "b", name="b.md")]
    (revised,) = find(conversation("remember gate hardware is with Saskia now"), lambda: memories).written
    assert (revised.reason, revised.files, revised.type) == ("updated", ("feedback_x.md",), "project")
    assert revised.body.startswith("remember gate hardware is with Saskia now (was, on ")
    assert PIETER.rstrip(".\n") in revised.body
    assert "Pieter" not in revised.description


def test_an_exception_is_set_behind_its_rule() -> None:
    memories = [a_memory("Never commit generated files.\n\n**Why:** diffs get unreadable\n", "another")]
    (revised,) = find(conversation("remember the generated client is the exception"), lambda: memories).written
    assert revised.body == (
        "Never commit generated files. remember the generated client is the exception\n"
        "\n**Why:** diffs get unreadable\n"
    )
    assert revised.name == "never-commit-generated-files"


def test_a_dream_asks_about_a_suspected_contradiction_and_changes_nothing() -> None:
    memories = [a_memory(PIETER, "another", kind="project")]
    found = find(conversation("remember gate hardware is with Saskia now"), lambda: memories, is_certain=True)
    assert [memory.files for memory in found.written] == [()]
    (asked,) = found.suspected
    assert (asked.files, asked.body) == (("feedback_x.md",), "")
    assert "Saskia" in asked.evidence[-1].quote


def test_a_change_that_may_be_about_two_memories_is_about_neither() -> None:
    memories = [
        a_memory(PIETER, "another"),
        a_memory("Gate hardware from Bolt comes in crates.\n", "b", name="b.md"),
    ]
    found = find(conversation("remember gate hardware is with Saskia now"), lambda: memories)
    assert [memory.files for memory in found.written] == [()]


LATER = [
    line.split("\t")
    for line in Path(__file__).with_name("later.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


def test_what_only_shares_words_with_a_memory_leaves_it_alone() -> None:
    """Of 90 tasks, questions and other facts one passes for a change; of 77 changes at least 35 are set beside the older."""
    amended: Counter[str] = Counter()
    for relation, earlier, later in LATER:
        memories = [a_memory(earlier, "old")]
        amended[relation] += any(revised.files for revised in find(conversation(later), memories.copy).written)
    assert len(LATER) == 247
    assert amended["other"] <= 1
    assert amended["change"] >= 35


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("no globals in the importer\n", "forget the global thing, we lost that one"),
        ("nur karl darf an die kasse\n", "vergiss das mit karl"),
        ("las facturas las firma Bruno\n", "lo de Bruno olvídalo, van solas"),
        ("les seuils c'est Odile qui décide\n", "oublie le truc d'Odile"),
        ("改表结构之前先问小郑\n", "小郑那条不用管了"),
        ("リリースノートは手で書く\n", "リリースノートの件は忘れて"),
    ],
)
def test_forget_the_thing_takes_back_the_one_memory_that_has_its_name(rule: str, sentence: str) -> None:
    memories = [a_memory(rule, "another"), a_memory("Lock the cabinet at night.\n", "b", name="b.md")]
    (gone,) = find(conversation(sentence), lambda: memories).written
    assert (gone.reason, gone.files, gone.body) == ("taken_back", ("feedback_x.md",), "")


def test_a_sentence_takes_back_the_request_right_before_it() -> None:
    assert kept("remember to always render the fog last. no scrap that, leave it as it is") == []


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("from now on, never log the customer names", "because the auditors found some in May", "auditors found"),
        ("merk dir: preise immer brutto anzeigen", "weil die kunden privatleute sind", "privatleute"),
    ],
)
def test_a_reason_in_the_next_message_is_the_why(first: str, second: str, reason: str) -> None:
    (body,) = written(first, second)
    assert body.startswith(first)
    assert reason in body.partition("**Why:**")[2]


def test_a_correction_in_the_next_message_joins_what_it_corrects() -> None:
    (body,) = written("from now on, always use spaces", "sorry, i meant tabs")
    assert body == "from now on, always use spaces. sorry, i meant tabs"


def test_a_recurring_day_gets_no_date() -> None:
    (body,) = written("remember that deploys go out every Tuesday")
    assert body == "remember that deploys go out every Tuesday"


def test_the_title_is_made_of_the_sentence_that_is_worth_keeping() -> None:
    said = "barrier 2 does not open. from now on, never restart the controller during loading"
    (memory,) = find(conversation(said)).written
    assert memory.name == "never-restart-the-controller-during"


@pytest.mark.parametrize(
    ("text", "is_global"),
    [
        ("I am a nurse by training.", True),
        ("I own the billing module here.", False),
        ("In this repo I am the release manager.", False),
        ("In all my projects I am the one who knows the least about this repo.", True),
        ("Je suis infirmière, et je ne connais React que depuis hier.", True),
        ("Hier bin ich für die Abrechnung zuständig.", False),
        ("I am the only one who can write to the mirror of this thing.", False),
    ],
)
def test_what_somebody_is_in_this_project_stays_there(text: str, is_global: bool) -> None:
    assert is_about_person(text, "user") is is_global


def test_feedback_about_the_person_is_that_also_beside_the_task_at_hand() -> None:
    wish, task = "Always answer me in French.", "The feed of the newsroom has been empty since Monday."
    assert [is_about_person(text, "feedback") for text in (wish, task, f"{wish} {task}")] == [True, False, True]
