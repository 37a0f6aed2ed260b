"""The last look at a revision before it counts, whoever made it: what it loses, and what it invents. Pure.

1. Every statement of the old memories is looked for in the new text, as it was told or with its days as dates.
2. What is not there may be gone only for a reason that can be shown: newer words that say otherwise, or its own end.
3. Every statement of the new text has to come from the old memories, the quoted words or the index.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.engines.certainty import is_of_another
from memoryd.engines.contradictions import SAYS_NO_MORE, contradiction, ending
from memoryd.engines.ended import end_of
from memoryd.engines.losses import is_kept, is_same, turned
from memoryd.engines.offline.date_phrases import candidates, languages_of
from memoryd.engines.offline.dates import day_of, with_absolute_dates
from memoryd.engines.offline.days import DAY, WEEK
from memoryd.engines.statements import joined, plain, statement_of, statements_of, stem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from memoryd.engines.statements import Statement
    from memoryd.model import Evidence, Revision, Shelved

_FOUNDED = 0.8
"""So many of the words of a new statement have to be in what it comes from."""
_FOUNDED_PAIRS = 0.6
"""Of pairs of letters fewer: each new neighbour makes another pair."""
_SUCCESSOR = 0.5
"""So many words of a statement in another: that one may be told in its place."""
_VERSION = 0.6
"""So many words in common, of all that two statements have: one is a version of the other."""
_MUCH_SHARED = 3
_LEAST_SHARED = 2
_ENDED = re.compile(r"[.!?…。！？;；:]\W*$")  # noqa: RUF001
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_DURATION = re.compile(
    r"(?i)(?P<count>\d{1,2}|\b[^\W\d_]{1,10}|[一二两三四五六七八九十]{1,2}) ?"
    r"(?P<unit>days?\b|weeks?\b|tage?n?\b|wochen?\b|días?\b|semanas?\b|jours?\b|semaines?\b|天|日間|[个個]?星期|[周週]間?)"
)
_INTRODUCING = (
    "since exception excepted also formerly previously earlier instead longer moved delayed postponed extended changed replaced lowered"
    " raised ausnahme seit früher verschoben desde antes excepción depuis auparavant reporté until before now was old new today now"
    " 以前 原来 起 延期 延長 変更"
)
"""Words that say how a statement stands to an older one, and nothing of their own."""


@cache
def _introduces() -> frozenset[str]:
    return frozenset(stem(one) for one in _INTRODUCING.split())


class _Quote(NamedTuple):
    """Words of the user, and what they state."""

    evidence: Evidence
    said: list[Statement]

    def is_newer_than(self, moment: float | None) -> bool:
        return moment is None or self.evidence.said_at is None or self.evidence.said_at > moment

    @property
    def day(self) -> str:
        return "" if self.evidence.said_at is None else str(day_of(self.evidence.said_at))


class Fate(NamedTuple):
    """What becomes of a statement that is not simply kept."""

    statement: str
    fate: Literal["contradicted", "expired", "lost", "invented"]
    by: str = ""
    """The quote or the date that explains it."""


def fates_of(revision: Revision, before: Sequence[Shelved], now: float) -> list[Fate]:
    """The statements that are gone, and those that come from nowhere; `before` are the memories that the revision names."""
    if revision.reason == "expired" and not revision.body.strip():
        return [fate for memory in before for fate in _ended(memory, now)]
    lead, body = statements_of(revision.description), statements_of(revision.body)
    told = tuple(dict.fromkeys((*lead, *body))) if body else ()
    old = [(memory.as_of or memory.written_at, forms) for memory in before for forms in dict.fromkeys(_told(memory))]
    moved = [(one,) for passage in revision.from_index for one in statements_of(passage)]
    sources = [form for forms in (*(forms for _, forms in old), *moved) for form in forms]
    days = {one for form in sources for one in form.values if _DAY.fullmatch(one)}
    quotes = [_Quote(one, _quoted(one, days)) for one in revision.evidence]
    known = _stems([*sources, *(one for quote in quotes for one in quote.said)]) | _introduces()
    unchanged = {one.sequence for one in sources}
    successors = [one for one in told if one.sequence not in unchanged]
    titled = (*told, *statements_of(revision.title.replace("-", " ")))
    fates = []
    changes: dict[str, tuple[str, str]] = {}
    # Nobody knows when a passage of the index was written: any words that are given count as newer.
    for since, forms, places in (
        *((since, forms, told) for since, forms in old),
        *((None, one, titled) for one in moved),
    ):
        if any(is_kept(form, places, known) for form in forms) and not _is_cut(forms[0], body):
            continue
        newer = [one for one in quotes if one.is_newer_than(since)]
        fates.append(_fate(forms[0], successors, sources, newer, changes))
    fates = [_with_same_change(fate, changes, told, known, sources) for fate in fates]
    for value, (instead, _) in changes.items():
        changed = [one.text.replace(value, instead) for one in sources if value in one.values]
        sources += [form for text in changed for form in statements_of(text)]
    return fates + [Fate(one.text, "invented", what) for one in told if (what := _invented(one, sources, quotes))]


def is_refused(fates: Sequence[Fate]) -> bool:
    """Whether something would be lost or invented."""
    return any(one.fate in ("lost", "invented") for one in fates)


def _ended(memory: Shelved, now: float) -> list[Fate]:
    end = end_of(memory, now)
    told = statements_of(f"{memory.description}\n{memory.body}")
    return [Fate(one.text, "expired", end) if end else Fate(one.text, "lost") for one in told]


# What was said, and in which forms it may go on.


def _told(memory: Shelved) -> Iterator[tuple[Statement, ...]]:
    """The statements of a memory, each as it was told, with its days as dates, and with dates instead of its days."""
    days = {day_of(one) for one in (memory.written_at, memory.as_of) if one}
    for text in (memory.description, memory.body):
        for one in statements_of(text):
            yield one, *(dated for day in days for dated in _dated(one, day))


def _quoted(evidence: Evidence, days: AbstractSet[str]) -> list[Statement]:
    """What was quoted: its sentences, and neighbours together, for the second may say what the first is about."""
    day = None if evidence.said_at is None else day_of(evidence.said_at)
    said = [joined((one, *_dated(one, day), *_moved(days, one))) for one in statements_of(evidence.quote)]
    return [*said, *(joined(said[at : at + 2]) for at in range(len(said) - 1))]


def _moved(days: AbstractSet[str], quote: Statement) -> Iterator[Statement]:
    """The quote with each day that was written, so many days or weeks earlier and later as it says."""
    for match in _DURATION.finditer(quote.text):
        number = int(next(iter(statement_of(match["count"]).values), "1"))
        length = number * (DAY if match["unit"][0].lower() in "dtj天日" else WEEK)
        for one in sorted(days):
            with suppress(ValueError, OverflowError):  # no day of the calendar
                for moved in (date.fromisoformat(one) - length, date.fromisoformat(one) + length):
                    yield statement_of(f"{quote.text[: match.start()]}{moved}{quote.text[match.end() :]}")


def _dated(statement: Statement, day: date | None) -> list[Statement]:
    if day is None:
        return []
    text = statement.text
    dated = with_absolute_dates(text, day)
    if dated == text:
        return []
    days = [one for one in _DAY.findall(dated) if one not in text]
    parts = []
    end = 0
    for start, stop, *_ in candidates(text, languages_of(text)):
        if start >= end and not re.search(re.escape(text[start:stop]) + r"(?!,? ?[(（]?\d{4})", dated):  # noqa: RUF001
            parts += [text[end:start], " ".join(days)]
            days = []
            end = stop
    short = " ".join([*parts, text[end:]])
    return [found for one in (dated, short) for found in statements_of(one)[:1]]


# Why something is gone.


def _fate(
    old: Statement,
    successors: Sequence[Statement],
    sources: Sequence[Statement],
    newer: Sequence[_Quote],
    changes: dict[str, tuple[str, str]],
) -> Fate:
    """Whether newer words explain that a statement is gone; notes which value they put in the place of which."""
    new = max(successors, key=lambda one: (old.covered_by(one.stems), -_apart(old, one)), default=None)
    if new is not None and old.covered_by(new.stems) < _SUCCESSOR:
        new = None
    for quote in newer:
        for said in quote.said:
            found = ending(said, old) if new is None else contradiction(said, old, new, sources)
            if found is not None:
                changes |= {value: (instead, quote.evidence.quote) for value, instead in found.items()}
                return Fate(old.text, "contradicted", quote.evidence.quote)
    return Fate(old.text, "lost")


def _is_about_the_same(statement: str, quote: str, sources: Sequence[Statement]) -> bool:
    """Whether a quote speaks of a statement too, and not of another thing that happens to have the same value."""
    old, said = statement_of(statement), statement_of(quote)
    shared, others = len(old.words & said.stems), len(old.words - said.stems)
    return (shared > others or shared >= max(others, _MUCH_SHARED)) and not is_of_another(said, old, sources)


def _apart(old: Statement, new: Statement) -> int:
    """By how much a statement is longer or shorter than another."""
    return abs(len(old.sequence) - len(new.sequence))


def _with_same_change(
    fate: Fate,
    changes: Mapping[str, tuple[str, str]],
    told: Sequence[Statement],
    known: AbstractSet[str],
    sources: Sequence[Statement],
) -> Fate:
    """A value that was told anew may be told so in every statement that has it."""
    for value, (instead, quote) in changes.items():
        if fate.fate == "lost" and value in fate.statement and _is_about_the_same(fate.statement, quote, sources):
            changed = statements_of(fate.statement.replace(value, instead))
            if all(is_kept(one, told, known) for one in changed):
                return Fate(fate.statement, "contradicted", quote)
    return fate


def _is_cut(old: Statement, body: Sequence[Statement]) -> bool:
    """Whether what is left of a statement breaks off."""
    whole, left = plain(old.text), [(plain(one.text), one.text) for one in body]
    return all(words != whole for words, _ in left) and any(
        whole.startswith(words) and not _ENDED.search(text) for words, text in left
    )


# What comes from nowhere.


def _invented(statement: Statement, sources: Sequence[Statement], quotes: Sequence[_Quote]) -> str:
    """What of a statement stands in nothing that it could come from; empty where all of it does."""
    if any(one.sequence == statement.sequence and not turned(one, statement) for one in sources):
        return ""
    said = [one for quote in quotes for one in quote.said]
    days = {quote.day for quote in quotes if any(one.stems & statement.stems for one in quote.said)}
    everything = [*sources, *said]
    known = _stems(everything) | _introduces()
    for value in statement.values:
        about = statement.stems - {value}
        if value not in days and not any(value in one.forms and (about & one.stems or not about) for one in everything):
            return value
    for kind, about in statement.turns:
        if not any(kind == one and about <= words for source in everything for one, words in source.turns) and not any(
            (one.turns or SAYS_NO_MORE.search(one.text)) and len(one.stems & statement.stems) >= _LEAST_SHARED
            for one in said
        ):
            return " ".join([kind, *about])
    if version := _changed_version(statement, sources, said, known):
        return version
    if strange := sorted(one for one in statement.heads if stem(one) not in known):
        return strange[0]
    missing = statement.words - known
    founded = _FOUNDED_PAIRS if any(one[:1] > "\u3000" for one in missing) else _FOUNDED
    return " ".join(sorted(missing)) if len(missing) > len(statement.words) * (1 - founded) else ""


def _changed_version(
    statement: Statement, sources: Sequence[Statement], said: Sequence[Statement], known: AbstractSet[str]
) -> str:
    """The old statement that this one tells otherwise, where no quote says so."""
    near = [(len(one.stems & statement.stems) / len(one.stems | statement.stems or {""}), one) for one in sources]
    closest = max((share for share, _ in near), default=0.0)
    versions = [one for share, one in near if share >= max(closest, _VERSION)]
    for one in versions:
        is_substituted = statement.words - known and one.words - statement.stems
        if not is_substituted and (is_same(one, statement, known) or is_same(statement, one, known)):
            return ""
        if any(contradiction(quote, one, statement, sources) is not None for quote in said):
            return ""
    return versions[0].text if versions else ""


def _stems(statements: Sequence[Statement]) -> frozenset[str]:
    return frozenset().union(*(one.stems for one in statements))
