"""Labelled sessions and messages to sentences with a label: the fact that a sentence tells, or none."""

from __future__ import annotations

import itertools
import json
import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from memoryd.language.sentences import sentences_of
from memoryd.memory_types import MemoryType
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

Relation = Literal["first", "new", "more", "again", "ends", "why"]
HERE = Path(__file__).parent
_MOST_OF_IT = 0.35
_LONG_ENOUGH = 40
_ALMOST_ALL = 0.8
_RARE = 4.0
"""How much a pair counts that was written for this purpose: in sessions hardly any message belongs to the one before it."""
_MARKED = re.compile(
    r"\{(?P<type>[ufprwx])(?: (?P<number>\d+))?(?: (?P<relation>new|more|again))?: (?P<words>[^{}]*)\}"
)
_REASON = "w"
"""Marks words that are nothing but the reason of the marked ones before them."""
_ENDS = "x"
"""Marks words that end or take back what an earlier message of the story had told, with nothing in its place."""
_TYPES: dict[str, MemoryType] = {kind[0]: kind for kind in get_args(MemoryType)}


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
    reasons: frozenset[int] = frozenset()
    """Sentences that are nothing but the reason of their fact."""
    reply: str = ""
    """What the assistant said to it."""


class Told(NamedTuple):
    """Marked words of a story."""

    words: str
    type: MemoryType | None
    """None: the words are nothing but a reason, or an end."""
    number: int | None
    """What it is about, where the story speaks of that more than once."""
    relation: Relation
    """What it is to the words before it with the same number."""


class StoryMessage(NamedTuple):
    """A message of a story, with what is marked in it."""

    said: Message
    told: tuple[Told, ...]
    is_first: bool
    """It begins a session."""
    day: date


Story = list[StoryMessage]
Labelled = tuple[list[str], Any, float]
"""Features, what is to be learnt of them, and how much that counts."""


class Following(NamedTuple):
    """A message right behind one in which something worth keeping was said."""

    relation: Literal["why", "more", "new"]
    first: str
    second: str
    weight: float = 1.0


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
        reasons: set[int] = set()
        for number, fact in enumerate(session["gold"]):
            for quote in (*fact["quotes"], *fact.get("reason_quotes", ())):
                words = " ".join(redact(quote).split())
                if quote not in turn["user"]:
                    continue
                for at, sentence in enumerate(sentences):
                    if facts[at] is None and _belongs(sentence, words):
                        facts[at] = Fact(number, fact["type"])
                    if quote in fact.get("reason_quotes", ()) and _is_all_of(sentence, words):
                        reasons.add(at)
        reply = redact(turn["assistant"])
        found.append(Message(session["id"], sentences, facts, answer, frozenset(reasons), reply))
        answer = reply
    return found


def _belongs(sentence: str, quote: str) -> bool:
    is_inside = quote in sentence and (len(quote) > _MOST_OF_IT * len(sentence) or len(quote) > _LONG_ENOUGH)
    return sentence in quote or is_inside


def _is_all_of(sentence: str, quote: str) -> bool:
    return sentence.strip(" .!") in quote or (quote in sentence and len(quote) > _ALMOST_ALL * len(sentence))


def casual_messages(part: str = "casual") -> list[Message]:
    """The messages of `casual`, one a line, as training/casual/en.txt tells."""
    return [
        _casual(line)
        for file in sorted((HERE / part).glob("*.txt"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]


def stories_by_author(part: str = "stories") -> dict[str, list[Story]]:
    """The stories below `stories`, each with its messages in order; training/stories/README.md tells how they are marked."""
    return {file.stem: _stories_of(file) for file in sorted((HERE / part).glob("*.txt"))}


def _stories_of(file: Path) -> list[Story]:
    found: list[Story] = []
    is_first, day = True, date.min
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            found.append([])
        elif line.startswith("- "):
            is_first, day = True, date.fromisoformat(line[2:].strip())
        elif line.strip():
            said = _casual(line)
            if not is_first:  # what stands before these words is the reply to the message before
                before = found[-1].pop()
                found[-1].append(before._replace(said=before.said._replace(reply=said.answer)))
            found[-1].append(StoryMessage(said, tuple(_told_in(line)), is_first, day))
            is_first = False
    return found


def _told_in(line: str) -> Iterator[Told]:
    for match in _MARKED.finditer(line):
        relation = {_REASON: "why", _ENDS: "ends"}.get(match["type"], match["relation"] or "first")
        number = int(match["number"]) if match["number"] else None
        yield Told(match["words"], _TYPES.get(match["type"]), number, relation)  # type: ignore[arg-type] # as matched


class Standing(NamedTuple):
    """What a story has told before, as it holds at a later message."""

    words: str
    type: MemoryType
    day: date


class Later(NamedTuple):
    """A sentence of a story beside all that earlier messages of it have told."""

    said: Message
    number: int
    """Of the sentence in its message."""
    day: date
    known: dict[int, Standing]
    changed: int | None
    """What it says of that it holds otherwise now, or no longer."""


def later_in_story(story: Story) -> Iterator[Later]:
    standing: dict[int, Standing] = {}
    unnumbered = itertools.count(-1, -1)  # the story does not come back to these
    for message in story:
        known = dict(standing)
        for number, sentence in enumerate(message.said.sentences) if known else ():
            told = [one for one in message.told if one.words in sentence or sentence.rstrip(".!") in one.words]
            changed = [one.number for one in told if one.relation in ("new", "ends") and one.number in known]
            yield Later(message.said, number, message.day, known, changed[0] if changed else None)
        for one in message.told:
            number = one.number if one.number is not None else next(unnumbered)
            if one.relation == "ends":
                standing.pop(number, None)
            elif one.relation == "more" and number in standing:
                older = standing[number]
                standing[number] = older._replace(words=f"{older.words}. {one.words}")
            elif one.type is not None and one.relation in ("first", "new", "more"):
                before = (
                    f" ({standing[number].words})" if number in standing else ""
                )  # a memory has them beside the new ones
                standing[number] = Standing(f"{one.words}{before}", one.type, message.day)


def asked_messages() -> Iterator[Message]:
    """What is worth keeping in the casual messages, each once more as an explicit request, in turn in all the ways people ask."""
    ways: dict[str, list[str]] = {}
    for line in (HERE / "casual" / "asked.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            language, way = line.split("\t")
            ways.setdefault(language, []).append(way)
    for language, there in ways.items():
        text = (HERE / "casual" / f"{language}.txt").read_text(encoding="utf-8")
        asked = [match for match in _MARKED.finditer(text) if match["type"] != _REASON]
        for number, match in enumerate(asked):
            for way in (there[number % len(there)], there[(number * 3 + 1) % len(there)]):
                kind, words = match["type"], way.format(match["words"])
                yield _casual(f"{{{kind}: {words}}}")


def _casual(line: str) -> Message:
    answer, _, text = line.replace(" / ", "\n").rpartition(" >> ")
    spans: list[tuple[int, int, Fact, bool]] = []
    for match in _MARKED.finditer(text):
        start = len(_MARKED.sub(lambda one: one["words"], text[: match.start()]))
        is_reason = match["type"] == _REASON
        if match["type"] == _ENDS or (is_reason and not spans):
            continue  # it tells nothing that could be kept by itself
        fact = spans[-1][2] if is_reason else Fact(len(spans), _TYPES[match["type"]])
        spans.append((start, start + len(match["words"]), fact, is_reason))
    plain = _MARKED.sub(lambda one: one["words"], text)
    sentences = sentences_of(plain)
    facts: list[Fact | None] = []
    reasons: set[int] = set()
    end = 0
    for number, sentence in enumerate(sentences):
        start = max(plain.find(sentence, end), end)  # one that was wrapped is not found as it stands
        end = start + len(sentence)
        inside = [
            (fact, is_reason)
            for first, last, fact, is_reason in spans
            if min(last, end) - max(first, start) > _MOST_OF_IT * len(sentence)
        ]
        facts.append(inside[0][0] if inside else None)
        reasons.update({number} if inside and inside[0][1] else ())
    return Message(line, sentences, facts, answer, frozenset(reasons))


def following_messages() -> Iterator[Following]:
    """The pairs of training/casual/following.tsv."""
    for line in (HERE / "casual" / "following.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            relation, first, second = line.split("\t")
            yield Following(relation, first, second, _RARE)  # type: ignore[arg-type] # the file is tested


def following_in(messages: list[Message]) -> Iterator[Following]:
    """Messages of one session that follow a fact at the end of the one before: most begin something else."""
    for message, following in itertools.pairwise(messages):
        if message.facts and message.facts[-1] is not None and following.sentences:
            is_more = following.facts[0] == message.facts[-1]
            yield Following("more" if is_more else "new", message.sentences[-1], following.sentences[0])


def restated_blocks() -> Iterator[tuple[str, list[str], list[str]]]:
    """Each block of `restated`: its name, sentences that say the same, and near misses of them."""
    for file in sorted((HERE / "restated").glob("*.txt")):
        for number, block in enumerate(file.read_text(encoding="utf-8").split("\n\n")):
            lines = [line for line in block.splitlines() if not line.startswith("#")]
            same = [line.removeprefix("= ") for line in lines if not line.startswith("! ")]
            if lines:
                yield f"{file.stem} {number}", same, [line[2:] for line in lines if line.startswith("! ")]


def sentences_of_scope(scope: Literal["global", "project"]) -> list[str]:
    """Feedback that is listed as holding everywhere, or in a project although it sounds otherwise."""
    lines = (HERE / "scope" / f"{scope}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


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
