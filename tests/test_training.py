"""The labelled sessions are sound, and the engine is as good on those it was not fitted to as the documents say."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.engines.offline import classifier, find
from memoryd.model import UserMessage
from memoryd.security.redact import redact
from training.labels import HERE, casual_messages, following_messages, messages_of, restated_blocks, sessions_in

if TYPE_CHECKING:
    from memoryd.model import Revision

SESSIONS = sessions_in("sessions")
HELDOUT = sessions_in("heldout")


def holds(text: str, groups: list[list[str]]) -> bool:
    """Whether one word of each group stands in the text."""
    return all(any(word.lower() in text.lower() for word in group) for group in groups)


def test_no_session_is_there_twice_or_in_both_parts() -> None:
    ids = [session["id"] for session in (*SESSIONS, *HELDOUT)]
    assert len(ids) == len(set(ids)) > 1000
    fitted = {turn["user"] for session in SESSIONS for turn in session["turns"] if len(turn["user"]) > 60}
    assert not any(turn["user"] in fitted for session in HELDOUT for turn in session["turns"])


def test_every_label_is_sound() -> None:
    for session in (*SESSIONS, *HELDOUT):
        datetime.fromisoformat(session["started_at"])
        said = "\n".join(turn["user"] for turn in session["turns"])
        patterns = [re.compile(pattern, re.IGNORECASE) for rule in session["forbidden"] for pattern in rule["any_of"]]
        for fact in session["gold"]:
            assert fact["type"] in classifier.TYPES
            assert all(quote in said for quote in (*fact["quotes"], *fact.get("reason_quotes", ()))), session["id"]
            assert holds(fact["fact"], fact["all_of"]), session["id"]
            assert not any(pattern.search(fact["fact"]) for pattern in patterns), session["id"]


def test_every_casual_message_has_its_label() -> None:
    """A mark that is no mark would teach that nothing in the line is worth keeping."""
    messages = casual_messages()
    assert len(messages) > 900
    for message in messages:
        assert message.sentences, message.session
        assert any(message.facts) == ("{" in message.session), message.session
    assert {pair.relation for pair in following_messages()} == {"why", "more", "new"}


def test_every_fact_but_a_few_has_a_sentence() -> None:
    """What the sentence splitter drops, nothing can find."""
    lost = [
        (session["id"], number)
        for session in SESSIONS
        for number in range(len(session["gold"]))
        if not any(fact and fact.number == number for message in messages_of(session) for fact in message.facts)
    ]
    assert len(lost) <= 15, lost


def test_what_is_said_again_has_near_misses_and_is_in_no_set_that_audit_is_judged_by() -> None:
    cases = json.loads((HERE.parent / "evaluation" / "audit_cases.json").read_text(encoding="utf-8"))
    judged = {text for kind in cases if "held_out" in kind for pair in cases[kind] for text in pair}
    blocks = list(restated_blocks())
    for name, same, others in blocks:
        assert len(same) > 1, name
        assert others, name
        assert len({*same, *others}) == len(same) + len(others), name
    assert len(blocks) > 150
    assert judged.isdisjoint(text for _, same, others in blocks for text in (*same, *others))


def test_the_files_hold_no_token_that_a_scanner_would_report() -> None:
    """Made-up tokens are written with escapes; decoded they are whole, and the redactor has to find them."""
    shapes = re.compile(
        r"AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|xox[abp]-\d|sk_live_[0-9a-zA-Z]{20}|-----BEGIN [A-Z ]*KEY"
    )
    for file in HERE.glob("*/*.jsonl"):
        assert not shapes.search(file.read_text(encoding="utf-8")), file


def memories_of(session: dict[str, Any]) -> list[Revision]:
    """What the engine makes of a session, told as the job tells it."""
    said, answer, files = [], "", []
    began = datetime.fromisoformat(session["started_at"]).timestamp()
    for number, turn in enumerate(session["turns"]):
        calls = [
            (call["name"], str(call["input"].get("file_path", "")), call["result"]) for call in turn.get("tools", ())
        ]
        files += [text for name, path, text in calls if name == "Read" and path.endswith("CLAUDE.md")]
        if not any(name in ("Write", "Edit") and "/memory/" in path for name, path, _ in calls):
            said.append(
                UserMessage(session["id"], str(number), began + 60 * number, redact(turn["user"]), redact(answer))
            )
        answer = turn["assistant"]
    return [revision for revision in find(said, lambda: (), files).written if revision.reason == "learnt"]


@pytest.fixture(scope="module")
def results() -> list[tuple[dict[str, Any], list[Revision]]]:
    return [(session, memories_of(session)) for session in HELDOUT]


def test_quality_on_sessions_it_was_not_fitted_to(results: list[tuple[dict[str, Any], list[Revision]]]) -> None:
    """Floors, some way below the figures in docs/quality.md: a change that falls through them has broken something."""
    gold = found = files = useful = right = 0
    for session, memories in results:
        files += len(memories)
        hits = [
            [memory for memory in memories if holds(f"{memory.description}\n{memory.body}", fact["all_of"])]
            for fact in session["gold"]
        ]
        gold += len(hits)
        found += sum(map(bool, hits))
        useful += len({memory.name for them in hits for memory in them})
        right += sum(
            any(memory.type == fact["type"] for memory in them)
            for fact, them in zip(session["gold"], hits, strict=True)
        )
    assert found / gold >= 0.50
    assert useful / files >= 0.80
    assert right / found >= 0.78


@pytest.mark.parametrize("reason", ["secret", "injection", "negative-judgement"])
def test_what_must_never_be_kept_is_not(results: list[tuple[dict[str, Any], list[Revision]]], reason: str) -> None:
    rules = 0
    for session, memories in results:
        for rule in session["forbidden"]:
            if rule["reason"] == reason:
                rules += 1
                text = "\n".join(
                    f"{memory.description}\n{memory.body}\n{memory.evidence[-1].quote}" for memory in memories
                )
                assert not any(re.search(pattern, text, re.IGNORECASE) for pattern in rule["any_of"]), (
                    session["id"],
                    rule,
                )
    assert rules or reason == "negative-judgement"
