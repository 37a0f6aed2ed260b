"""The embedded engine on whole conversations: what it keeps, what it leaves, what later words do to earlier ones."""

from __future__ import annotations

import pytest

from memoryd.engines.offline import find
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
    return [(one.type, one.body) for one in find(conversation(*messages)) if one.reason == "learnt"]


@pytest.mark.parametrize(
    ("message", "kind", "words"),
    [
        (("no, please don't mock the mailer in these tests. we did that last year and the template bug reached every"
          " customer"), "feedback", ("mock the mailer", "**Why:**", "template bug")),
        ("I'm a nurse by training and taught myself Python two years ago, so explain database things slowly",
         "user", ("The user is a nurse", "database")),
        ("we freeze the booking service from Thursday because the auditors are in the house, only hotfixes go out",
         "project", ("2026-10-22", "auditors")),
        ("if you need to know who is on call look at the Grafana board 'Night Workspace', nobody updates the wiki any more",
         "reference", ("Night Workspace",)),
        (("Der Export geht ab nächster Woche über das neue Portal, weil der alte FTP-Server abgeschaltet wird. Frau Aydin"
          " gibt jede Änderung daran frei."), "project", ("Aydin", "FTP-Server")),
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
    assert found[0][1].startswith("Never run the import against the live catalogue, use the copy.")
    assert "wiped two thousand prices" in found[0][1].partition("**Why:**")[2]


def test_approval_keeps_what_it_approves_of() -> None:
    found = kept(("love it, go on explaining like that every time", "A promise is like a receipt you get at the till."))
    assert found == [] or "receipt" in found[0][1]


def test_a_later_date_stands_beside_the_earlier_one() -> None:
    found = kept(
        "the checkout launch is on Friday and Dana from sales presents it to the board, so nothing risky until then",
        "ok next file",
        "Dana called: the checkout launch moved to the 30th because the training is not ready",
    )
    assert len(found) == 2
    assert "2026-10-23" in found[0][1]
    assert "2026-10-30" in found[1][1]


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
    assert [body for _, body in found] == ["Never push to main.\n"]


def a_memory(body: str, session: str = "session", *, is_ours: bool = True, kind: str = "feedback") -> StoredMemory:
    evidence = Evidence(session, "earlier", body, "hash", MONDAY - 600)
    return StoredMemory("feedback_x.md", kind, body, body, is_ours, (evidence,))  # type: ignore[arg-type]


def test_a_number_or_a_negation_makes_it_another_fact() -> None:
    memories = [a_memory("Always squash commits before merging a branch.\n", is_ours=False)]
    (found,) = find(conversation("from now on don't squash commits before merging a branch"), lambda: memories)
    assert found.reason == "learnt"


def test_a_memory_of_the_same_session_is_withdrawn() -> None:
    memories = [a_memory("Use tabs everywhere.\n"), a_memory("Older.\n", "another session")._replace(name="old.md")]
    (said,) = conversation("forget what I just said, please")
    said = said._replace(after=("earlier",))
    (withdrawal,) = find([said], lambda: memories[:1])
    assert (withdrawal.reason, withdrawal.files, withdrawal.body) == ("taken_back", ("feedback_x.md",), "")
    assert find([said._replace(after=("another",))], lambda: memories) == []
    assert find([said], lambda: [a_memory("Use tabs.\n", is_ours=False)]) == []


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
    assert [body for _, body in found] == ["Never use lodash in this repo.\n"]


def test_what_is_named_is_taken_back_in_a_later_session_too() -> None:
    memories = [
        a_memory("Never use lodash in this repo.\n", "another session"),
        a_memory("Keep commits small.\n", "another session")._replace(name="other.md"),
    ]
    assert find(conversation("drop the lodash part, a plain loop will do"), lambda: memories) == []
    (withdrawal,) = find(conversation("forget what I said about lodash"), lambda: memories)
    assert (withdrawal.reason, withdrawal.evidence[-1].quote) == ("taken_back", "forget what I said about lodash")


def test_what_an_instruction_file_says_is_not_repeated() -> None:
    rules = "# Rules\n- Run `make lint` before every commit\n- Never edit files below vendor/\n- British spelling in all texts"
    assert find(conversation("and always run make lint before you commit"), lambda: (), [rules]) == []
    assert (
        find(conversation("always use British spelling in texts, never edit vendor files"), lambda: (), [rules]) == []
    )
    assert len(find(conversation("never deploy on a Friday, the on-call is thin"), lambda: (), [rules])) == 1


def test_the_shelf_is_read_only_where_something_was_found() -> None:
    def memories() -> list[StoredMemory]:
        raise AssertionError("nobody asked")

    assert find(conversation("please rename it", "thanks, run the tests"), memories) == []


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
        "the admin password is [redacted: password], and never deploy from the office network because the VPN cuts off"
    )
    assert "redacted" not in body
    assert "office network" in body
    assert kept("remember that the password for the vault is [redacted: password]") == []
