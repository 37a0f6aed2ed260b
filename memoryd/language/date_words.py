"""Words for days in six languages, as data/dates.toml has them: the only table of weekdays, months and numbers. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from memoryd.language.lexicon import table

_LISTS = ("common", "weekdays", "months", "numbers", "units", "day_of_month", "end")
_PATTERNS = ("cue", "past", "present")


@dataclass(frozen=True, eq=False, slots=True)
class Language:
    name: str
    common: str
    """Words that tell it from the others."""
    weekdays: str
    months: str
    numbers: str
    """From one."""
    units: str
    """Day, week, month, year."""
    day_of_month: str
    end: str
    """Words that may follow a bare day."""
    cue: str
    """One of these, or a weekday, month or unit, stands in every phrase."""
    past: str
    """What tells that a clause speaks of the past: its weekday may be a past one."""
    present: str
    phrases: tuple[tuple[str, int, str], ...]
    """What is meant; shifted by how many days, weeks, months; how it is said."""
    spaced: bool = True
    """Whether blanks divide its words."""


@cache
def languages() -> dict[str, Language]:
    """The languages by name, English first."""
    return {
        name: Language(
            name,
            **{key: " ".join(entries[key].split()) for key in _LISTS},
            **{key: "|".join(entries[key].split("\n")).strip("|") for key in _PATTERNS},
            phrases=tuple((meaning, shift, phrase) for meaning, shift, phrase in entries["phrases"]),
            spaced=entries.get("spaced", True),
        )
        for name, entries in table("dates").items()
        if isinstance(entries, dict)
    }


def spaced_languages() -> list[Language]:
    return [language for language in languages().values() if language.spaced]


@cache
def ordinals() -> str:
    return " ".join(table("dates")["ordinals"].split())


@cache
def month_numbers() -> dict[str, int]:
    """Every spelling of a month in languages with spaces, and its number."""
    return {
        spelling: number
        for language in spaced_languages()
        for number, spellings in enumerate(language.months.split(), 1)
        for spelling in spellings.split("|")
    }


@cache
def month_names() -> str:
    """Months by their full names, as alternatives of a pattern: "ago" and "mar" are words as well."""
    return _first_spellings("months")


@cache
def weekday_names() -> str:
    return _first_spellings("weekdays")


@cache
def german_months() -> str:
    """How German months begin, as alternatives of a pattern: "am 3. Mai" ends no sentence."""
    return "|".join(month[:3].title() for month in languages()["german"].months.split())


def _first_spellings(field: str) -> str:
    listed = (spellings for language in spaced_languages() for spellings in getattr(language, field).split())
    return "|".join(dict.fromkeys(spellings.partition("|")[0] for spellings in listed))


def count_in_words(count: int) -> str:
    """`no`, `one`, `two` up to `nine`, then `many`."""
    if not 0 < count < 10:  # noqa: PLR2004 - as newspapers do
        return "many" if count else "no"
    return languages()["english"].numbers.split()[count - 1].rpartition("|")[2]


@cache
def number_words() -> dict[str, str]:
    """Numbers in words from two on; "one" is mostly no number, and "once" is English more often than Spanish."""
    return {
        word: str(number)
        for language in spaced_languages()
        for number, words in enumerate(language.numbers.split(), 1)
        for word in words.split("|")
        if number > 1 and word != "once"
    } | {word: str(10 * number) for number, word in enumerate(table("dates")["tens"].split(), 3)}
