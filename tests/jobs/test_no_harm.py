"""Nothing that the user said is overwritten, swallowed or taken away because something else resembles it."""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING

import pytest

from memoryd.memory.unconfirmed import unconfirmed_memories
from tests.jobs.dream_workspace import NOW
from tests.transcript import Session

if TYPE_CHECKING:
    from tests.jobs.dream_workspace import DreamWorkspace
    from tests.jobs.workspace import Workspace

WISHES = (
    "From now on, send reports for {} to the finance channel.",
    "Always ask me before you change anything about {}.",
    "Remember that {} has a contract with a penalty for downtime.",
    "Remember: never run load tests against {}, please.",
    "Remember: {} belongs to the payments group.",
)
IDENTIFIERS = {
    "number": (
        ("customer 4711", "customer 4712"),
        ("building 7", "building 9"),
        ("ticket 812", "ticket 815"),
        ("port 8080", "port 8081"),
        ("rack 14", "rack 41"),
        ("invoice layout 3", "invoice layout 4"),
        ("tenant 100", "tenant 1000"),
        ("line 2 of the plant", "line 3 of the plant"),
        ("sensor 0x1f", "sensor 0x1e"),
        ("batch 2024-07", "batch 2024-08"),
    ),
    "version": (
        ("the v1 API", "the v2 API"),
        ("release 3.1", "release 3.10"),
        ("Python 3.11", "Python 3.12"),
        ("schema 5.0.1", "schema 5.0.2"),
        ("the protocol of 1.2", "the protocol of 1.3"),
        ("TLS 1.2", "TLS 1.3"),
        ("node 18", "node 20"),
        ("the alpha build", "the beta build"),
        ("firmware 7a", "firmware 7b"),
        ("model H1", "model H2"),
    ),
    "region": (
        ("eu-west-1", "eu-west-2"),
        ("us-east-1", "us-east-2"),
        ("the northern warehouse", "the southern warehouse"),
        ("Austria", "Australia"),
        ("Niger", "Nigeria"),
        ("zone a", "zone b"),
        ("the Berlin office", "the Bern office"),
        ("the island routes", "the fjord routes"),
        ("the upper deck", "the lower deck"),
        ("Paris 5", "Paris 6"),
    ),
    "name": (
        ("Christina", "Christian"),
        ("the Meyer account", "the Meier account"),
        ("Joan", "Joanna"),
        ("the internal network", "the international network"),
        ("the product database", "the production database"),
        ("Mark's cluster", "Marc's cluster"),
        ("Müller", "Möller"),
        ("the router", "the routers of guests"),
        ("svc-auth", "svc-authz"),
        ("the store", "the storage"),
    ),
    "language": (
        ("the German release notes", "the French release notes"),
        ("the Spanish help pages", "the Italian help pages"),
        ("the Java client", "the JavaScript client"),
        ("the C bindings", "the C++ bindings"),
        ("the C# tools", "the F# tools"),
        ("the Dutch shop", "the Danish shop"),
        ("the Swedish mails", "the Swiss mails"),
        ("the Go service", "the Rust service"),
        ("the Perl scripts", "the Ruby scripts"),
        ("the Kotlin app", "the Swift app"),
    ),
    "environment": (
        ("staging", "production"),
        ("the test cluster", "the live cluster"),
        ("dev", "prod"),
        ("the local database", "the remote database"),
        (".env.local", ".env.live"),
        ("the desktop build", "the mobile build"),
        ("the nightly runner", "the weekly runner"),
        ("the iOS app", "the web app"),
        ("the preview domain", "the public domain"),
        ("the blue half", "the green half"),
    ),
}
PAIRS = [
    (kind, wish.format(subject), wish.format(other))
    for kind, pairs in IDENTIFIERS.items()
    for (subject, other), wish in product(pairs, WISHES)
]
PROJECTS = 30
"""Ten pairs share a project: a memory of one pair must not get in the way of another one either."""


def dealt(part: int) -> list[tuple[str, str, str]]:
    pairs = PAIRS.copy()
    random.Random(7).shuffle(pairs)
    return pairs[part::PROJECTS]


def said_in(bodies: list[str], wish: str) -> bool:
    """Whether the memories hold the identifier of a wish, with the words that follow it."""
    own = next(part for part in WISHES if all(piece in wish for piece in part.split("{}")))
    head, tail = own.split("{}")
    told = wish[len(head) : len(wish) - len(tail)] + tail.rstrip(".").removesuffix(", please")
    return any(told.casefold() in body.casefold() for body in bodies)


def test_there_are_300_pairs() -> None:
    assert len(PAIRS) == len({pair[1:] for pair in PAIRS}) == 300


@pytest.mark.parametrize("part", range(PROJECTS))
def test_wishes_that_differ_in_one_identifier_are_both_kept_by_extraction(workspace: Workspace, part: int) -> None:
    for turn in (1, 2):
        for number, pair in enumerate(dealt(part)):
            workspace.say(pair[turn], session=Session(f"{turn}-{number}"))
            workspace.work()
    for kind, *wishes in dealt(part):
        for wish in wishes:
            assert said_in([*workspace.bodies(), *workspace.waiting()], wish), (kind, wish)


@pytest.mark.parametrize("part", range(PROJECTS))
def test_and_by_dreams(dream_workspace: DreamWorkspace, part: int) -> None:
    dream_workspace.lock(NOW - 86_400)
    for turn in (1, 2):
        for pair in dealt(part):
            dream_workspace.say(pair[turn])
        dreamt = dream_workspace.dream()
        assert dreamt.outcome == "succeeded", dreamt
        dream_workspace.clock.at += 86_400
    bodies = [data.decode() for name, (data, _) in dream_workspace.state().items() if name != "MEMORY.md"]
    bodies += [memory.body for memory in unconfirmed_memories(dream_workspace.database, str(dream_workspace.memory))]
    for kind, *wishes in dealt(part):
        for wish in wishes:
            assert said_in(bodies, wish), (kind, wish)


@pytest.mark.parametrize("part", range(1, PROJECTS, 6))
def test_a_dream_over_extracted_memories_keeps_both(dream_workspace: DreamWorkspace, part: int) -> None:
    for turn in (1, 2):
        for number, pair in enumerate(dealt(part)):
            text = pair[turn]
            dream_workspace.remember(f"feedback_{turn}_{number}.md", text, kind="feedback", at=NOW - turn * 86_400)
    before = dream_workspace.state()
    assert dream_workspace.dream().outcome in ("succeeded", "succeeded_no_output")
    after = dream_workspace.state()
    assert {name: data for name, data in before.items() if name != "MEMORY.md"} == {
        name: data for name, data in after.items() if name != "MEMORY.md"
    }


# --- words about the task are no words about a memory -----------------------------------------------------------------

ABOUT_THE_TASK = (
    "ignore that warning, it's harmless",
    "Ignore that, it is harmless.",
    "Forget it, I will fix the bug myself",
    "Scratch that, use a map instead",
    "I changed my mind, call it bar",
    "never mind, the build is green again",
    "drop that column, nobody reads it",
    "forget that file, it is generated",
    "scratch the second test",
    "ignore the failing one",
    "forget about the flaky test for today",
    "cancel that run",
    "strike that line from the readme",
    "disregard the first stack trace",
    "no, the other function",
    "actually leave it as it is",
    "wait, that was the wrong branch",
    "remove the eslint rule for this file",
    "delete that firewall rule",
    "drop the rule about tabs from the linter config",
    "I take it the tests pass?",
    "forget the cache, just measure",
    "don't store it on disk",
    "you can ignore that part of the log",
    "scrap that approach",
    "just kidding, it compiles",
    "lol no",
    "Vergiss es, ich mache das selbst",
    "Vergiss die Warnung, die ist harmlos",
    "Ignorier das, das ist nur ein Hinweis",
    "olvídalo, ya lo arreglo yo",
    "Oublie ça, je corrige le test moi-même",
    "laisse tomber cette erreur",
    "算了,我自己改",
    "忘了那个报错吧,不重要",
    "その警告は無視して",
    "ignore what I said in the ticket, the field is optional",
    "I take it back to the team tomorrow",
    "no wait, put the old name back",
    "forget that the user is logged in, test it as a guest",
)
RULES = (
    "Always run make lint in part {} before you commit.",
    "From now on, answer questions about part {} in German.",
    "Never push part {} to the main branch.",
    "Remember that the tests of part {} need the old firewall rule.",
    "From now on, use tabs in the linter config of part {}.",
)
ANSWERS = ("Noted. There is a deprecation warning in the log.", "Done. Shall I look at the failing test as well?")


def test_there_are_200_task_sentences_after_a_rule() -> None:
    assert len(set(ABOUT_THE_TASK)) * len(RULES) == 200


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("is_committed", [False, True])
def test_a_sentence_about_the_task_takes_no_rule_back(workspace: Workspace, rule: str, *, is_committed: bool) -> None:
    for number, sentence in enumerate(ABOUT_THE_TASK):
        session = Session(f"{number}")
        turn = session.prompt(rule.format(number)) + session.reply(ANSWERS[number % 2])
        workspace.append(session, turn)
        if is_committed:
            workspace.work()
        workspace.append(session, session.prompt(sentence) + session.reply("Done."))
        workspace.work()
    kept = {*workspace.bodies(), *workspace.waiting()}
    lost = [sentence for number, sentence in enumerate(ABOUT_THE_TASK) if rule.format(number) not in kept]
    assert lost == []


# --- what takes back, and only that -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sentence",
    [
        "scratch that",
        "no wait, forget what I just said",
        "I take that back.",
        "sorry, don't remember that",
        "Vergiss, was ich gerade gesagt habe.",
        "刚才说的不算",
    ],
)
def test_the_next_message_takes_back_what_is_not_committed_yet(workspace: Workspace, sentence: str) -> None:
    workspace.say("From now on, use yarn.", sentence)
    workspace.work()
    assert workspace.bodies() == []


def test_a_correction_stands_beside_what_it_corrects(workspace: Workspace) -> None:
    workspace.say("From now on, use yarn.", "no, use pnpm instead")
    workspace.work()
    assert workspace.bodies() + workspace.waiting() == ["From now on, use yarn. no, use pnpm instead"]


@pytest.mark.parametrize("sentence", ["no, call it foo instead", "Forget that.", "vergiss das", "never mind"])
def test_what_may_be_about_the_answer_takes_nothing_back(workspace: Workspace, sentence: str) -> None:
    """It is written, or waits for the user to say whether it was meant."""
    session = Session()
    rule = session.prompt("From now on, use yarn.") + session.reply("Noted. The build shows a warning.")
    workspace.append(session, rule + session.turn(sentence))
    workspace.work()
    assert workspace.bodies() + workspace.waiting() == ["From now on, use yarn."]


def test_forget_takes_back_the_one_memory_that_its_words_single_out(workspace: Workspace) -> None:
    workspace.say("Always ask Dana before you touch billing.")
    workspace.say("Never add new dependencies without asking.", session=Session("deps"))
    workspace.work()
    workspace.say("forget what I said about billing", session=Session("later"))
    workspace.work()
    assert [*workspace.bodies(), *workspace.waiting()] == ["Never add new dependencies without asking."]


@pytest.mark.parametrize(
    "sentence",
    [
        "forget what i said about asking dana, she left billing. its Tomasz now",
        "forget what i said about using npm",
        "forget the rule about linters",
        "forget what I said about asking",
    ],
)
def test_forget_takes_nothing_back_where_its_words_single_out_none_or_several(
    workspace: Workspace, sentence: str
) -> None:
    workspace.say("Always ask Dana before you touch billing.", "Never add new dependencies without asking Dana.")
    workspace.say("Always ask Dana before asking the linter team.", session=Session("linter"))
    workspace.work()
    before = [*workspace.bodies(), *workspace.waiting()]
    assert len(before) == 3
    workspace.say(sentence, session=Session("later"))
    workspace.work()
    assert set(before) <= {*workspace.bodies(), *workspace.waiting()}


@pytest.mark.parametrize(
    "message",
    [
        "dont save this: always call the vendor Hugo",
        "Don't save this. From now on Karl does all reviews.",
        "off the record: never trust the numbers of the north plant",
        "Off the record, always check what Klaus merges. Keep that to yourself.",
        "bitte nicht merken: ab jetzt immer zuerst Karl fragen",
        "merk dir das bitte nicht: immer zuerst Karl fragen",
        "remember nothing of it, please don't store this: always round up for that client",
        "no guardes esto: siempre pregunta primero a Carla",
        "ne retiens pas ça : toujours demander à Karl",
        "这个别记: 以后都先问老板",
        "これは覚えなくていいけど、必ず部長に聞いて",
        "keep this out of any notes: from now on nothing goes to the Basel client",
        "between us and not for any notes: always ask Karl first, the hotel chain is leaving",
        "dont note this down anywhere, but always let Ruth check what Klaus merges",
        "this is not to be saved: never hire through that agency",
        "from now on always ask Ruth first. nothing of this goes into your notes",
        "das bleibt unter uns: ab jetzt immer zuerst Karl fragen",
        "ça reste entre nous : toujours demander à Karl",
        "keep this one to yourself, but always let Ruth check what Klaus merges",
        "n'enregistre pas ça : toujours demander à Karl",
    ],
)
def test_a_message_off_the_record_is_kept_out_as_a_whole(workspace: Workspace, message: str) -> None:
    workspace.say(message)
    workspace.work()
    assert [*workspace.bodies(), *workspace.waiting()] == []


@pytest.mark.parametrize(
    "message",
    [
        "off the record: the vendor will settle. dont keep that",
        "Off the record, Klaus wants to leave, don't remember that please",
        "between us the release will slip, don't save it",
    ],
)
@pytest.mark.parametrize("is_committed", [False, True])
def test_a_message_off_the_record_takes_no_earlier_rule_back(
    workspace: Workspace, message: str, *, is_committed: bool
) -> None:
    session = workspace.say("From now on, use yarn.")
    if is_committed:
        workspace.work()
    workspace.say(message, session=session)
    workspace.work()
    assert workspace.bodies() == ["From now on, use yarn."]


@pytest.mark.parametrize(
    "message",
    [
        "Remember: never save passwords in the config file.",
        "Remember that we don't store it on disk but in the vault.",
        "From now on, don't keep logs longer than a week.",
        "Remember: keep the dates out of the notes column.",
        "From now on, split the hosting bill between us and the vendor.",
        "Remember: recordings are not to be kept longer than 30 days.",
        "Remember: no allocations in any memory pool during the callback.",
        "From now on, never put ticket numbers in your notes.",
    ],
)
def test_rules_about_saving_are_rules(workspace: Workspace, message: str) -> None:
    workspace.say(message)
    workspace.work()
    assert len([*workspace.bodies(), *workspace.waiting()]) == 1


# --- a dream does not use what extraction would not -------------------------------------------------------------------


def test_a_dream_leaves_turns_that_take_a_memory_back_to_extraction(dream_workspace: DreamWorkspace) -> None:
    dream_workspace.lock(NOW - 86_400)
    dream_workspace.say("Always ask Dana before you touch billing.")
    assert dream_workspace.dream().outcome == "succeeded"
    dream_workspace.clock.at += 86_400
    dream_workspace.say("forget what I said about billing", "thanks")
    dream_workspace.dream()
    assert dream_workspace.turns() == ["succeeded", None, "seen_by_dream"]


def test_a_dream_withdraws_what_waits_and_was_taken_back(dream_workspace: DreamWorkspace) -> None:
    dream_workspace.lock(NOW - 86_400)
    dream_workspace.say("schematics stay in rev d")
    dream_workspace.dream()
    assert len(dream_workspace.waiting()) == 1
    dream_workspace.clock.at += 86_400
    dream_workspace.say("forget what I said about schematics", "thanks")
    dream_workspace.dream()
    assert dream_workspace.waiting() == []


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("Never edit the generated code in the proto folder.", "Never edit the generated code in the graphql folder."),
        ("Deploys go out on Thursdays.", "deploys go out on Tuesdays now"),
        ("Mara owns billing.", "Mara left, Ivan owns billing now"),
        ("The launch is on 2033-06-14.", "the launch slipped to 2033-06-21"),
        ("The export runs at 03:00.", "we moved the export to 01:30"),
    ],
)
def test_a_dream_changes_no_memory_because_of_words(dream_workspace: DreamWorkspace, memory: str, said: str) -> None:
    dream_workspace.lock(NOW - 86_400)
    dream_workspace.remember("project_it.md", memory)
    dream_workspace.say(said)
    dream_workspace.dream()
    assert memory in dream_workspace.state()["project_it.md"][0].decode()
