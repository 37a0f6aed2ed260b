"""Days that are told relative to the day of writing get their date.

Only what can mean nothing but one day as seen from the day of writing: "next Thursday", "three weeks from today". A bare
weekday, a day of the month, "yesterday's values" in a rule are meant anew every time, and stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.offline.dream.naming import name_in_words
from memoryd.language.date_phrases import Tenses, candidates, languages_of
from memoryd.language.dates import day_of, with_absolute_dates
from memoryd.language.lexicon import compiled, pattern, table
from memoryd.language.parts import Parts, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.language.date_words import Language

_WEEKDAYS = frozenset({"this", "last", "week", "numbered week", "weeks from", "so many weeks from"})
_DAYS = _WEEKDAYS | {"day", "day noted", "day in month", "ahead", "ahead of tomorrow"}
_SPANS = frozenset({"whole week", "weekend", "whole month", "whole quarter", "whole year"})
_ENDS = frozenset({"end of week", "end of month", "end of quarter", "end of year"})
_NAMED_DAY = frozenset({"coming", "coming, not today", "day of month"})
"""Where such a day is named beside it, "next week" may be any: "orders by Tuesday for the next week"."""

_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_MOST_PHRASES = 30
"""A text with more of them is a table or a log."""
_FILLER = "□"
_BELONGING_BEHIND = re.compile(r"[的の]")
_POSSESSIVE = re.compile(r"['’]s?\b")  # noqa: RUF001


def resolve(drafts: list[Draft]) -> Iterator[str]:
    """Change the drafts in place; yields a line for each change."""
    for draft in drafts:
        day = day_of(draft.written_at) if draft.written_at > 0 else None
        if day is None or draft.is_fixed or draft.is_archived or draft.type not in {"project", "reference"}:
            continue
        allowed = _DAYS | _SPANS | _ENDS if draft.type == "project" else _WEEKDAYS | {"day"}
        parts = parts_of(draft.body)
        dated = Parts(
            _dated(parts.fact, day, allowed),
            _dated(parts.why, day, allowed - _SPANS),
            _dated(parts.how, day, _WEEKDAYS),
        )
        description = _dated(draft.description, day, allowed)
        if dated != parts:
            for part, told in zip(parts, dated, strict=True):
                draft.body = draft.body.replace(part, told, 1) if part != told else draft.body
        if dated != parts or description != draft.description:
            draft.description = description
            yield draft.change("dated", f"Dating the {name_in_words(draft)}")


class _Phrase(NamedTuple):
    start: int
    end: int
    meaning: str
    shift: int
    language: Language
    match: re.Match[str]


def _dated(text: str, day: date, allowed: frozenset[str]) -> str:
    """The text with the phrases of these meanings told as dates; all others stay as they are."""
    phrases = _phrases_in(text)
    if len(phrases) > _MOST_PHRASES:
        return text
    told = text
    for phrase in reversed(phrases):
        if phrase.meaning in allowed and _is_one_time(text, phrase, phrases):
            others = [other for other in phrases if other is not phrase and other.meaning != "keep"]
            told = told[: phrase.start] + _told(text, phrase, others, day) + told[phrase.end :]
    return told


def _phrases_in(text: str) -> list[_Phrase]:
    """The longest of the leftmost phrases that may name a day."""
    phrases: list[_Phrase] = []
    for candidate in candidates(text, languages_of(text)):
        phrase = _Phrase(*candidate)
        if not phrases or phrase.start >= phrases[-1].end:
            phrases.append(phrase)
    return phrases


def _is_one_time(text: str, phrase: _Phrase, phrases: list[_Phrase]) -> bool:
    """Whether a phrase is certain to mean one day, and the same one at every reading."""
    before, behind = text[: phrase.start], text[phrase.end :]
    clause = re.split(r"[.!?。！？\n]", before)[-1]  # noqa: RUF001
    tense = Tenses(text, phrase.language).at(phrase.start, phrase.end)
    if tense == "habit" or pattern("dating", "condition").search(clause):
        return False
    if _POSSESSIVE.match(behind):
        return False
    if phrase.meaning in {"day", "day noted"} and phrase.shift == 0:
        return tense == "past" or bool(pattern("dating", "fixed_point").search(before))
    if (pattern("dating", "belonging").search(before) or _BELONGING_BEHIND.match(behind)) and tense != "past":
        return False
    if phrase.meaning == "ahead" and not pattern("dating", "from_now").search(phrase.match[0]):
        # "in ten days" is how long things take as often as when they are.
        is_at_the_start = phrase.language.spaced or not clause or clause.endswith(("，", "、", ","))  # noqa: RUF001
        return (
            bool(pattern("dating", "weeks").search(phrase.match[0]))
            and is_at_the_start
            and not phrase.match[0].startswith("the ")
        )
    if phrase.meaning in _ENDS:
        return phrase.shift != 0 or bool(
            pattern("dating", "this").search(phrase.match[0])
        )  # "the end of the month" comes every month
    if phrase.meaning in _SPANS:
        return not before.lower().endswith("the ") and not any(
            other.meaning in _NAMED_DAY or (other.meaning == "keep" and other.match[0][:1].isalpha())
            for other in phrases
        )
    return True


def _told(text: str, phrase: _Phrase, others: list[_Phrase], day: date) -> str:
    """A phrase as a date. What other phrases there are is hidden meanwhile: they are none of ours."""
    hidden = text
    for other in others:
        hidden = hidden[: other.start] + _FILLER * (other.end - other.start) + hidden[other.end :]
    resolved = with_absolute_dates(hidden, day)
    said = text[phrase.start : phrase.end]
    end = len(resolved) - len(text) + phrase.end
    if resolved[: phrase.start] != hidden[: phrase.start] or resolved[end:] != hidden[phrase.end :]:
        return said
    told = resolved[phrase.start : end]
    dates = _ISO.findall(told)
    is_exact = phrase.meaning in _WEEKDAYS | _ENDS | {"day", "ahead of tomorrow"}
    is_exact = is_exact or (phrase.meaning == "ahead" and not pattern("dating", "rough").search(said))
    if len(dates) != 1 or not is_exact:
        return told
    return _with_preposition(text[: phrase.start], _with_weekday(phrase, dates[0]), phrase.language, said)


def _with_weekday(phrase: _Phrase, day: str) -> str:
    groups = phrase.match.groupdict()
    weekday = next((value for name, value in groups.items() if value and name.startswith("wd")), "")
    return f"{weekday}, {day}" if weekday and phrase.language.spaced else day


def _with_preposition(before: str, told: str, language: Language, said: str) -> str:
    word = table("dating")["preposition"].get(language.name)
    if word is None:
        return told
    if compiled(table("dating")["before_a_date"][language.name]).search(before) or re.search(r"[(,:]\s*\Z", before):
        return told
    return f"{word.capitalize() if said[:1].isupper() else word} {told}"
