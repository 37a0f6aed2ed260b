"""Word classes: words of open lists, each list under one name. Pure."""

from __future__ import annotations

from functools import cache

from memoryd.language.date_words import month_numbers, spaced_languages
from memoryd.language.lexicon import table

_WORDS_AS_WELL = frozenset({"may", "ago"})
"""Months that are other words more often."""


@cache
def word_classes() -> dict[str, str]:
    """Every word of a list, and the name of its list."""
    weekdays = "|".join("|".join(language.weekdays.split()) for language in spaced_languages())
    return {
        **dict.fromkeys(weekdays.split("|"), "weekday"),
        **dict.fromkeys(month_numbers().keys() - _WORDS_AS_WELL, "month"),
        **{word: name for name, listed in table("word_classes").items() for word in listed.split()},
    }
