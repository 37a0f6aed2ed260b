"""Labelled sessions to sentences with a label: the fact that a sentence tells, or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.language.sentences import sentences_of
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from memoryd.model import MemoryType

HERE = Path(__file__).parent
_MOST_OF_IT = 0.35
_LONG_ENOUGH = 40


class Fact(NamedTuple):
    number: int
    type: MemoryType


class Message(NamedTuple):
    """What the user said in one turn."""

    session: str
    sentences: list[str]
    facts: list[Fact | None]
    """What each sentence belongs to."""
    answer: str
    """What the assistant had said before."""


def sessions_in(part: str) -> list[dict[str, Any]]:
    """The sessions below `sessions` or `heldout`."""
    return [
        json.loads(line)
        for file in sorted((HERE / part).glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]


def messages_of(session: dict[str, Any]) -> list[Message]:
    """The messages of a session, their sentences labelled by the quotes of its facts."""
    found = []
    answer = ""
    for turn in session["turns"]:
        sentences = sentences_of(redact(turn["user"]))
        facts: list[Fact | None] = [None] * len(sentences)
        for number, fact in enumerate(session["gold"]):
            for quote in (*fact["quotes"], *fact.get("reason_quotes", ())):
                words = " ".join(redact(quote).split())
                if quote not in turn["user"]:
                    continue
                for at, sentence in enumerate(sentences):
                    if facts[at] is None and _belongs(sentence, words):
                        facts[at] = Fact(number, fact["type"])
        found.append(Message(session["id"], sentences, facts, redact(answer)))
        answer = turn["assistant"]
    return found


def _belongs(sentence: str, quote: str) -> bool:
    is_inside = quote in sentence and (len(quote) > _MOST_OF_IT * len(sentence) or len(quote) > _LONG_ENOUGH)
    return sentence in quote or is_inside


def facts_of(messages: list[Message]) -> list[tuple[list[str], MemoryType]]:
    """The sentences of each fact, message by message, with its type."""
    found = []
    for message in messages:
        told: dict[Fact, list[str]] = {}
        for sentence, fact in zip(message.sentences, message.facts, strict=True):
            if fact is not None:
                told.setdefault(fact, []).append(sentence)
        found += [(sentences, fact.type) for fact, sentences in told.items()]
    return found
