"""Sources of a change: where its words, numbers, days and names may come from."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from memoryd.language.approval import points_back
from memoryd.language.date_words import spaced_languages
from memoryd.language.dates import day_of, with_absolute_dates
from memoryd.language.days import DAY, WEEK, ahead_to, first_of_month
from memoryd.language.excerpt import MESSAGE_CHARACTERS, cut
from memoryd.language.quotations import without_quotations
from memoryd.language.statements import statement_of
from memoryd.review.changes import neighbours
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.model import UserMessage
    from memoryd.review.changes import GroupView

_ISO_DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_DURATION = re.compile(
    r"(?i)(?P<count>\d{1,2}|\b[^\W\d_]{1,10}|[一二两三四五六七八九十]{1,2}) ?"
    r"(?P<unit>days?\b|weeks?\b|tage?n?\b|wochen?\b|días?\b|semanas?\b|jours?\b|semaines?\b|天|日間|[个個]?星期|[周週]間?)"
)
_DAY_BESIDE = re.compile(
    r"(?i)\b(?:day|evening|night|morning) (?:before|after)\b|\btag (?:davor|zuvor|danach|darauf)\b|\bvor(?:tag|abend)\b"
    r"|\bdía (?:antes|anterior|después|siguiente)\b|\b(?:veille|lendemain)\b|前一天|前日|第二天|翌日"
)
"""Names the day beside another one."""


def words_said(view: GroupView) -> str:
    """The user's words that a group may rest on: the quoted messages and those directly before and after them."""
    return "\n".join(text for said in view.messages for text in _around(said, view))


def words_approved(view: GroupView) -> str:
    """What the agent had said just before a quoted message, where that message points to it."""
    return "\n".join(
        _clean(said.answer) for said in view.messages if said.answer and points_back(said.text, said.answer)
    )


def literal_sources(view: GroupView) -> str:
    """Where numbers, days, addresses, paths and code of a group may come from, with its days as dates."""
    found = [view.old_text, words_approved(view)]
    told = [(text, said.said_at) for said in view.messages for text in _around(said, view)]
    found += [part for text, said_at in told for part in (text, dated(text, said_at))]
    # Without the duration: "a week from wednesday" is counted from that Wednesday, not from a week after it.
    named = "\n".join(dated(_DURATION.sub(" ", text), said_at) for text, said_at in told if _DURATION.search(text))
    for text, _ in told:
        found += moved_days(f"{view.old_text}\n{named}", text)
    for change in view.changes:
        if change.before is not None:
            found += [dated(change.old_text, moment) for moment in moments_of(view, change.name)]
    if view.context.job == "remember":
        found += [text for said in view.context.messages for text in (said.text, dated(said.text, said.said_at))]
    if view.is_dream:
        found.append(view.context.repository.text())
    return "\n".join(found)


def moments_of(view: GroupView, name: str) -> list[float]:
    """When the words of a memory may have been said: its evidence, what it says of itself, when it was written."""
    evidence = (view.context.snapshot.contents.evidence or {}).get(name, ())
    said = [item.said_at for item in evidence if item.said_at is not None]
    state = view.context.snapshot.files.get(name)
    change = next((change for change in view.changes if change.name == name), None)
    stated = modified_at(change.before.metadata.get("modified") if change and change.before else None)
    written = [state.mtime_ns / 1e9] if state else []
    return said or ([stated] if stated is not None else written)


def modified_at(value: object) -> float | None:
    """The moment that a memory's `modified` names."""
    with suppress(ValueError, TypeError, OverflowError):
        return datetime.fromisoformat(str(value)).timestamp()
    return None


@lru_cache(maxsize=256)
def dated(words: str, said_at: float | None) -> str:
    """Words with their days as dates, and every day that may be meant by a weekday or a month in them.

    A weekday whose date is not certain may be the last one or the next: "after Tuesday's outage".
    """
    day = None if said_at is None else day_of(said_at)
    if day is None:
        return ""
    resolved = with_absolute_dates(words, day)
    found = {str(day)}
    for match in _weekday().finditer(resolved):
        coming = ahead_to(day, int((match.lastgroup or "day0")[-1]))
        found |= {str(coming), str(coming - WEEK)}
    for match in _month().finditer(resolved):
        month = int((match.lastgroup or "month0").removeprefix("month"))
        coming_month = first_of_month(day, (month - day.month) % 12)
        found |= {coming_month.isoformat()[:7], first_of_month(coming_month, -12).isoformat()[:7]}
    if _DAY_BESIDE.search(words):
        found |= {str(beside) for near in {*_ISO_DAY.findall(resolved), *found} for beside in _days_beside(near)}
    return "\n".join((resolved, *sorted(found)))


def moved_days(known: str, words: str) -> Iterator[str]:
    """Each day of a text, so many days or weeks earlier and later as the words say: "freeze is a week longer", "a week before nov 16"."""
    days = set(_ISO_DAY.findall(known))
    for match in _DURATION.finditer(words) if days else ():
        number = next((int(value) for value in statement_of(match["count"]).values if value.isdecimal()), 1)
        length = number * (DAY if match["unit"][0].lower() in "dtj天日" else WEEK)
        for written in sorted(days):
            with suppress(ValueError, OverflowError):  # no day of the calendar
                yield f"{date.fromisoformat(written) - length} {date.fromisoformat(written) + length}"


def _around(said: UserMessage, view: GroupView) -> list[str]:
    before, after = neighbours(said, view.context.messages)
    return [_clean(without_quotations(text)) for text in (before, said.text, after) if text]


@lru_cache(maxsize=256)
def _clean(text: str) -> str:
    """As much of a text as a model is shown, without secrets: a password is no source for anything."""
    return redact(cut(text, MESSAGE_CHARACTERS))


def _days_beside(written: str) -> Iterator[date]:
    with suppress(ValueError, OverflowError):
        day = date.fromisoformat(written)
        yield from (day - DAY, day + DAY)


@cache
def _weekday() -> re.Pattern[str]:
    """A weekday without a date behind it; the name of the group ends in its number."""
    names = zip(*(language.weekdays.split() for language in spaced_languages()), strict=True)
    days = "|".join(f"(?P<day{number}>{'|'.join(spellings)})" for number, spellings in enumerate(names))
    return re.compile(rf"(?i)\b(?:{days})\b(?!\W{{0,3}}\d{{4}}-)")


@cache
def _month() -> re.Pattern[str]:
    """The name of a month; the name of the group ends in its number."""
    names = zip(*(language.months.split() for language in spaced_languages()), strict=True)
    months = "|".join(f"(?P<month{number}>{'|'.join(spellings)})" for number, spellings in enumerate(names, 1))
    return re.compile(rf"(?i)\b(?:{months})\b")
