"""A fact to the text of a memory: the user's sentences as they were said, with dates in brackets, the reason below them.

Nothing is rephrased. Added are only the days that relative words mean, and what the user approved of.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.offline.classifier import type_of
from memoryd.engines.offline.scope import is_about_person
from memoryd.language.approval import context_of, is_approval
from memoryd.language.dates import day_of, with_absolute_dates
from memoryd.language.evidence import evidence_of, quote_from
from memoryd.language.lexicon import pattern
from memoryd.language.parts import LATER, WAS, parts_of, split_before
from memoryd.language.replaced import is_exception, is_permission
from memoryd.language.scope import says_everywhere
from memoryd.language.subjects import goes_on, shared_subjects
from memoryd.language.titles import slug_of, title_of, without_fillers
from memoryd.language.tokens import is_without_spaces
from memoryd.model import Revision

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoryd.engines.offline.facts import StatedFact
    from memoryd.memory_types import MemoryType
    from memoryd.model import Evidence, StoredMemory, UserMessage

DESCRIPTION_LENGTH = 160
_QUOTE_CHARACTERS = 400
_LEAST_RULE_WORDS = 3


def revision_of(said: UserMessage, fact: StatedFact, kind: MemoryType | None = None) -> Revision:
    """The new memory that a fact makes."""
    text, why = _split_reason(joined(fact.sentences)) if not fact.why else (joined(fact.sentences), joined(fact.why))
    # What is said to hold in all projects is a rule, whatever else the words sound like; a reason tells of something else.
    kind = kind or ("feedback" if says_everywhere(fact.text) and type_of(text) != "user" else type_of(text))
    text, why = _dated(text, said), _dated(why, said)
    if (context := context_of(text, said.answer)) and is_approval(fact.sentences[0]):
        text = f"{text} (Said of this: “{context}”)"
    evidence = fact_evidence(said, (*fact.sentences, *fact.why))
    memory = memory_of(text, why, (evidence,), kind)
    if fact.key and fact.key != fact.sentences[0] and not goes_on(fact.key):
        # What opens the message is not what it is about; it may still name what the rest speaks of.
        key = _dated(fact.key, said)
        told = text if len(text) <= DESCRIPTION_LENGTH else key
        memory = memory._replace(name=slug_of(title_of(key)), description=description_of(told, why))
    return memory


def amended(
    said: UserMessage, fact: StatedFact, older: Revision | StoredMemory, told_at: float | None, *, is_behind: bool
) -> Revision:
    """A memory with what was said later beside it: an exception behind its rule, a change before what it changes.

    What may have ended, with nothing in its place, keeps its title: with `is_behind` the later words stand behind it, and a reader judges.
    """
    kind = older.type or "project"
    earlier, later = parts_of(older.body), revision_of(said, fact, kind)
    newer = parts_of(later.body)
    if is_exception(fact.text) or is_permission(fact.text):
        return memory_of(
            joined((earlier.fact, newer.fact)), joined((*filter(None, (earlier.why, newer.why)),)), later.evidence, kind
        )
    if is_behind:
        text = f"{earlier.fact} ({LATER}{_on(said.said_at)}: {' '.join(fact.sentences)})"
        return memory_of(text, earlier.why, later.evidence, kind)
    told, before_that = split_before(earlier.fact)
    before = "; ".join(filter(None, (told.rstrip(".。"), earlier.why.rstrip(".。"), before_that)))
    was = f" ({WAS}{_on(told_at)}: {before})"
    memory = memory_of(f"{newer.fact}{was}", newer.why, later.evidence, kind)
    is_clear = bool(shared_subjects(fact.text, told))  # "henrik moved it to the 19th" does not say what
    description = later.description if is_clear else description_of(f"{later.description}{was}", "")
    return memory._replace(name=later.name, description=description)


def _on(moment: float | None) -> str:
    return f", on {day_of(moment)}" if moment is not None else ""


def fact_evidence(said: UserMessage, sentences: Sequence[str]) -> Evidence:
    """Sentences of a message as evidence, as they stand there."""
    places = {sentence: said.text.find(sentence) for sentence in sentences}
    first, last = min(sentences, key=lambda one: places[one]), max(sentences, key=lambda one: places[one])
    return evidence_of(said, quote_from(first, last, said.text) or " ".join(sentences))


def memory_of(text: str, why: str, evidence: tuple[Evidence, ...], kind: MemoryType) -> Revision:
    """A new memory that says this."""
    return Revision(
        "learnt",
        f"you said: {evidence[-1].quote}",
        type=kind,
        name=slug_of(title_of(text)),
        description=description_of(text, why),
        body=f"{text}\n\n**Why:** {why}\n" if why else f"{text}\n",
        evidence=evidence,
        is_global=is_about_person(f"{text} {why}".strip(), kind),
    )


def joined(sentences: Iterable[str]) -> str:
    """Sentences in one line; one without an end gets one, so that the next does not run into it."""
    whole = ""
    for sentence in sentences:
        if not whole:
            whole = sentence.strip()
        elif is_without_spaces(whole):
            whole += ("" if whole.endswith(("。", "！", "？", "!", "?")) else "。") + sentence.strip()  # noqa: RUF001
        else:
            whole += (" " if re.search(r"[.!?…:;)\"”。！？]$", whole) else ". ") + sentence.strip()  # noqa: RUF001
    return whole


def quote_of(said: UserMessage) -> Evidence:
    """A message as evidence, cut where it is long."""
    return evidence_of(said, said.text[:_QUOTE_CHARACTERS])


def _dated(text: str, said: UserMessage) -> str:
    day = day_of(said.said_at) if said.said_at is not None and text else None
    return with_absolute_dates(text, day) if day is not None else text


def _split_reason(text: str) -> tuple[str, str]:
    """A sentence and the reason that it gives in the same breath."""
    match = pattern("wording", "because").search(text)
    if match is None or (len(text[: match.start()].split()) < _LEAST_RULE_WORDS and not is_without_spaces(text)):
        return text, ""
    return text[: match.start()].rstrip(" ,，"), match["why"].strip()  # noqa: RUF001


def description_of(fact: str, why: str) -> str:
    """One line that tells a reader whether the memory is for them."""
    text = without_fillers(fact).rstrip(".。")
    if why and len(text) + len(why) + 2 <= DESCRIPTION_LENGTH:
        text = f"{text}; {why}".rstrip(".。")
    if len(text) <= DESCRIPTION_LENGTH:
        return text
    cut = text[: DESCRIPTION_LENGTH - 1]
    return cut[: cut.rfind(" ")].rstrip(" ,;:-") + "…" if " " in cut[80:] else cut + "…"
