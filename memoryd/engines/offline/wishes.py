"""Explicit wishes: "remember that …", "from now on …", "always …", "never …", "stop …". Pure.

Deliberately narrow: who speaks like this asks to be remembered, and little else is needed to believe it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.language.certainty import is_meant
from memoryd.language.lexicon import pattern

if TYPE_CHECKING:
    import re


def is_wish(sentence: str) -> bool:
    return wish_in(sentence) is not None


def is_rule(sentence: str) -> bool:
    """Whether a sentence is a wish that says what to do."""
    wish = wish_in(sentence)
    return wish is not None and (not _pattern("remember").fullmatch(sentence) or bool(_pattern("to_do").match(wish)))


def wish_in(sentence: str) -> str | None:
    """What the sentence wishes, without the words that make it a wish; None where it is none."""
    if _pattern("only_now").search(sentence) or "[redacted:" in sentence:
        return None
    if match := _pattern("asked").fullmatch(sentence):
        return match["wish"]
    if not is_meant(sentence):
        return None
    if (match := _pattern("of_oneself").fullmatch(sentence)) and not _pattern("says_nothing").search(match["wish"]):
        return match["wish"]
    if match := _pattern("remember").fullmatch(sentence):
        says_nothing = _pattern("says_nothing").search(match["wish"]) or _pattern("where_code_is").search(match["wish"])
        return None if says_nothing else match["wish"]
    for name in ("from_now_on", "from_now_on_behind"):
        if match := _pattern(name).fullmatch(sentence):
            says_nothing = _pattern("no_rule").match(match["wish"]) or _pattern("says_nothing").search(match["wish"])
            return None if says_nothing else match["wish"]
    if (match := _pattern("always_never").fullmatch(sentence)) and not _pattern("not_a_verb").fullmatch(match["verb"]):
        return None if _pattern("says_nothing").search(match["wish"]) else match["wish"]
    if (match := _pattern("stop").fullmatch(sentence)) and _pattern("stopping_a_habit").match(match["wish"]):
        return None if _pattern("says_nothing").search(match["wish"]) else match["wish"]
    return None


def _pattern(name: str) -> re.Pattern[str]:
    return pattern("wishes", name)
