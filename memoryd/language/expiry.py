"""End of a memory: whether its own time has passed, and it says nothing else. Pure.

1. Every date in it lies in the past, and what it says is tied to an end: "until", "from … to …", or a one-time event.
2. Nothing in it tells of a beginning or a change: those hold on.
3. Why and how serve that time only. A limit, a format, a thing that always holds, and it stays as a whole.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from memoryd.language.date_words import month_names
from memoryd.language.dates import day_of
from memoryd.language.lexicon import pattern
from memoryd.language.parts import parts_of, passages_of, without_stamps
from memoryd.language.sentences import sentences_of
from memoryd.language.subjects import subject_of
from memoryd.language.tokens import is_without_spaces
from memoryd.language.written_dates import date_of, written_date

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from memoryd.model import StoredMemory

_MARGIN = timedelta(days=1)
"""Somebody may still be at it, or live where the day ends later."""
_YEAR = re.compile(r"(?<![\d.,:/-])(?:19|20)\d\d(?![\d:])")
_DAY, _ENDED = "\x00", "\x01"
"""Stand for a date, and for one on which something ends."""
_POINTS_BACK = re.compile(r"(?i)\b(?:it|them|sie|ihn)[.!]?\Z")
_MOST_WORDS_HOW = 7
_MOST_WORDS_POINTING = 10
_MOST_WORDS = 22
_HEAD_WORDS = 4
_SPOKEN_OF = 2
"""So many words of a memory in one message: it is spoken of."""


def is_expired(memory: StoredMemory, now: float, *, is_said: bool = False) -> bool:
    """Whether a memory about the project has ended, and says nothing else. With `is_said`, somebody has said so, on the day after it."""
    today = day_of(now)
    if memory.type != "project" or today is None:
        return False
    return has_ended(memory.description, memory.body, today + _MARGIN if is_said else today)


def has_only_past_dates(memory: StoredMemory, now: float) -> bool:
    """Whether a memory about the project has a date, and none that is still to come. It may say something that goes on."""
    today = day_of(now)
    whole = without_stamps(f"{memory.description}\n{memory.body}")
    dates = [date_of(match) for match in written_date().finditer(whole)]
    return memory.type == "project" and today is not None and bool(dates) and all(on and on < today for on in dates)


def tells_a_beginning(memory: StoredMemory) -> bool:
    """Whether something in a memory begins on a day, or changes: that holds on when its day has passed."""
    text = without_stamps(f"{memory.description}\n{memory.body}")
    return bool(_pattern("begins").search(written_date().sub(_DAY, text)))


def has_ended(description: str, body: str, today: date) -> bool:
    """Whether the time that a memory is about has passed, and it says nothing that holds on."""
    description, body = without_stamps(description), without_stamps(body)
    whole = f"{description}\n{body}"
    dates = [date_of(match) for match in written_date().finditer(whole)]
    if not dates or any(on is None or on + _MARGIN >= today for on in dates):
        return False
    if any(int(year) >= today.year for year in _YEAR.findall(written_date().sub(" ", whole))):
        return False
    parts = parts_of(body)
    facts = [_with_ends(one) for one in (description, *passages_of(parts.fact))]
    if _pattern("lasting").search(written_date().sub(" ", whole)) or not parts.fact:
        return False
    lead = facts[0]
    if len(set(dates)) == 1 and any(map(_is_event, facts[1:])):
        lead = lead.replace(_DAY, _ENDED)  # the day of the event, however the description calls it
    return (
        all(map(_is_of_that_time, (lead, *facts[1:])))
        and any(_ENDED in fact or _is_event(fact) for fact in facts[1:])
        and all(_is_only_for_it(one, parts.fact) for one in passages_of(parts.why))
        and all(_is_only_for_it(one, parts.fact) and _is_brief(one) for one in passages_of(parts.how))
    )


def _with_ends(text: str) -> str:
    """The text with a sign for each date, and another one where something ends."""
    return _pattern("end").sub(_ENDED, _pattern("range").sub(_ENDED, written_date().sub(_DAY, text)))


def _is_of_that_time(fact: str) -> bool:
    """Whether a fact holds for that time only. A date that is no end has to be the day of an event."""
    if _pattern("begins").search(fact) or _pattern("unsure").search(fact) or (_DAY in fact and not _is_event(fact)):
        return False
    # "Closed at the tunnel; detour until …": what stands in front may count on the end, what stands behind may not.
    *_, last = re.split(r"[;；]\s*|\s[—–]\s", fact)  # noqa: RUF001
    return any(sign in last for sign in (_DAY, _ENDED)) or bool(_pattern("in_that_time").search(last))


def _is_event(fact: str) -> bool:
    return _DAY in fact and bool(_pattern("event").search(fact))


def _is_only_for_it(statement: str, fact: str) -> bool:
    """Whether a reason or a way to apply it tells nothing that could be of use without it."""
    new = " ".join(word for word in statement.split() if word.strip(".,;:`") not in fact)
    return (
        not _pattern("precise").search(written_date().sub(" ", new))
        and not _pattern("since").search(written_date().sub(_DAY, statement))
        and _words(statement) <= _MOST_WORDS
    )


def _is_brief(how: str) -> bool:
    """Whether a way to apply it names its time; or is so short, and so far from stating anything, that it has none."""
    if _pattern("in_that_time").search(how):
        return True
    if re.search(r"[;:；：]", how):  # noqa: RUF001
        return False
    if _POINTS_BACK.search(how):
        return _words(how) <= _MOST_WORDS_POINTING
    return _words(how) <= _MOST_WORDS_HOW and not _pattern("states").search(how)


def _words(text: str) -> int:
    return len(re.findall(r"\w", text)) // 2 if is_without_spaces(text) else len(text.split())


def is_said_to_go_on(description: str, body: str, messages: Iterable[str]) -> bool:
    """Whether somebody may have said of it that it goes on: what its description begins with is enough to go by."""
    subject = subject_of(f"{description}\n{parts_of(body).fact}")
    head = subject_of(" ".join(written_date().sub(" ", description).split()[:_HEAD_WORDS]))
    if is_without_spaces(description):
        head = subject
    for message in messages:
        told = [sentence for sentence in sentences_of(message) if not _pattern("supposed").search(sentence)]
        words = subject_of(" ".join(told))
        if any(map(_pattern("goes_on").search, told)) and (head & words or len(subject & words) >= _SPOKEN_OF):
            return True
    return False


def _pattern(name: str) -> re.Pattern[str]:
    return pattern("expiry", name, month=month_names())
