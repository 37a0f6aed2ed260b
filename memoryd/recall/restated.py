"""Statements, read as they are compared with each other: the words that tell something, and what turns them. Pure.

`again.py` decides by them whether two say the same: "ask me before you push" and "never push without asking".
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from memoryd.language.date_words import month_numbers, number_words, spaced_languages
from memoryd.language.lexicon import pattern, words
from memoryd.language.statements import is_negation
from memoryd.language.stems import stem
from memoryd.language.tokens import is_stop, is_unspaced, pairs_of, split, words_of
from memoryd.recall.concepts import meanings_by_dictionary

if TYPE_CHECKING:
    from collections.abc import Sequence

_LITERAL = re.compile(r"\d|[^\W_]_[^\W_]|^-{1,2}\w|\w[./:@#=+\\]+\w|^[.#@$]\w")
_CLAUSE_END = re.compile(r"[,;.:!?()，。；、！？]")  # noqa: RUF001
_LEAST_BEGINNING = 5
_NOUN_ENDINGS = ("ation", "ment")
_INFLECTIONS = ("", "n", "r", "t", "en", "er", "st", "re", "ez", "ent")
"""Endings of verbs and adjectives in German, French and Spanish; `stem` has those of English."""
_WORDS_AS_WELL = frozenset({"may", "ago"})
"""Months that are other words more often."""
_MOST_WORDS = 40


class ToldWord(NamedTuple):
    """A word that tells something."""

    form: str
    """Its stem."""
    concepts: frozenset[str]
    is_light: bool
    is_negated: bool = False
    is_second: bool = False
    """It comes after what the statement asks for first: in "ask before you push", `push`."""
    is_scope: bool = False
    """It says where the statement holds."""
    is_first: bool = False
    """It comes behind "after"."""

    @property
    def beginning(self) -> str:
        """In common with all that it matches, but for abbreviations."""
        return self.form[:_LEAST_BEGINNING]

    def matches(self, other: ToldWord) -> bool:
        short, long = sorted((self.form, other.form), key=len)
        if long in (short, f"{short}s"):  # "PRs", which is too short for `stem`
            return True
        if _is_form_of(short, long):
            return True
        # A concept has rivals in it: npm and pnpm, postgres and mysql. Only forms and abbreviations of a word are the same.
        return bool(self.concepts & other.concepts) and (_has_same_beginning(short, long) or _abbreviates(short, long))


def _is_form_of(short: str, long: str) -> bool:
    """`öffne` and `öffnen`, `deploy` and `deployment`; not `product` and `production`, nor `Christian` and `Christina`."""
    at = beginning_of(short, long)
    if at < _LEAST_BEGINNING:
        return False
    if short == long[:at] and (long[at:] in _NOUN_ENDINGS or (long[at:] == "ion" and short.endswith("at"))):
        return True
    return short[at:] in _INFLECTIONS and long[at:] in _INFLECTIONS


def beginning_of(one: Sequence[str], other: Sequence[str]) -> int:
    """How many letters or words both begin with."""
    shorter = min(len(one), len(other))
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), shorter)


def _has_same_beginning(short: str, long: str) -> bool:
    return short[:_LEAST_BEGINNING] == long[:_LEAST_BEGINNING] and len(short) > _LEAST_BEGINNING


def _abbreviates(short: str, long: str) -> bool:
    """`db` and `database`."""
    letters = iter(long)
    return short[0] == long[0] and 2 * len(short) <= len(long) and all(letter in letters for letter in short)


class Restated(NamedTuple):
    """A statement, as it is compared."""

    text: str
    """Without the reason and the place."""
    told: tuple[str, ...]
    """All words of that, without case and without the punctuation around them."""
    words: tuple[ToldWord, ...]
    literals: frozenset[str]
    negated: frozenset[str]
    """Those of the literals that are not wanted."""
    pairs: frozenset[str]
    order: frozenset[str]
    """Which of `before` and `after` it has."""
    has_order: bool
    has_negation: bool
    is_contrast: bool
    """It says what is wanted and what is not: "pnpm, not npm"."""


@lru_cache(maxsize=65_536)
def restated_of(text: str) -> Restated:
    """What a sentence tells, without the words around it."""
    return _Reader(text).read()


def restated_words(text: str) -> bool:
    """Whether a text tells anything by itself."""
    return any(not is_stop(word) for word in split(text))


@cache
def _days() -> frozenset[str]:
    """Names of weekdays and months: two statements that differ in one are two."""
    weekdays = (
        name for language in spaced_languages() for names in language.weekdays.split() for name in names.split("|")
    )
    return frozenset({*weekdays, *(month_numbers().keys() - _WORDS_AS_WELL)})


@cache
def _before_condition() -> re.Pattern[str]:
    """The comma before a condition: what stands before it belongs to it."""
    return re.compile(rf",\s+(?=(?:{'|'.join(words('restated', 'conditions'))})\b)", re.IGNORECASE)


def _with_instead(match: re.Match[str]) -> str:
    """`composition over inheritance` is composition instead of inheritance."""
    group = "than" if match["than"] else "than2"
    return match[0][: match.start(group) - match.start()] + "instead of"


class _Reader:
    """Reads one sentence from left to right."""

    def __init__(self, text: str) -> None:
        said = pattern("restated", "contraction").sub("", text.replace("\u2019", "'"))
        reason = pattern("restated", "reason").search(said)
        said = said[: reason.start()] if reason and restated_words(said[: reason.start()]) else said
        said = self._told_text = pattern("restated", "here").sub(" ", said)
        said = pattern("restated", "limit").sub(lambda match: match["what"] or " ", said)
        said = pattern("restated", "in_place_of").sub(" instead of ", said)
        said = pattern("restated", "rather").sub(_with_instead, said)
        said = pattern("restated", "hands_off").sub(" not ", pattern("restated", "forbidden").sub(" forbidden ", said))
        said = pattern("restated", "left_out").sub(lambda match: f"not {match[match.lastgroup or 0]}", said)
        self._text = _before_condition().sub(" ", said)
        self._order: set[str] = set()
        self._found: list[ToldWord] = []
        self._literals: set[str] = set()
        self._negated: set[str] = set()
        self._pairs: set[str] = set()
        self._has_negation = self._is_contrast = False

    def read(self) -> Restated:
        self._literals.update(match[0] for match in pattern("restated", "unspaced_days").finditer(self._text))
        self._order.update(
            name for name in ("before", "after") if pattern("restated", f"unspaced_{name}").search(self._text)
        )
        is_condition = bool(pattern("restated", "unspaced_condition").search(self._text))
        self._text, turned = pattern("restated", "not_unspaced").subn("", self._text)
        self._has_negation = turned > 0 and not is_condition
        is_plain = False  # a clause without a negation tells something
        has_negated_clause = False
        for clause in _CLAUSE_END.split(self._keeping_literals()):
            before = len(self._found) + len(self._literals)
            is_negated = self._read_clause(clause)
            if len(self._found) + len(self._literals) > before:
                is_plain |= not is_negated
                has_negated_clause |= is_negated
        inside = {stem(part) for literal in self._literals for part in split(literal)}
        if "after" in self._order:
            self._found = [word._replace(is_second=not word.is_first, is_first=False) for word in self._found]
        found = tuple(dict.fromkeys(word for word in self._found if word.form not in inside or word.is_negated))
        return Restated(
            self._told_text,
            words_of(self._told_text),
            found,
            frozenset(self._literals),
            frozenset(self._negated),
            frozenset(self._pairs),
            frozenset(self._order),
            any(word.is_second for word in found) and not all(word.is_second for word in found),
            self._has_negation,
            self._has_negation and (self._is_contrast or (is_plain and has_negated_clause)),
        )

    def _read_clause(self, clause: str) -> bool:
        """Whether it negates something."""
        said: list[ToldWord | str] = []
        unwanted: int | None = None
        is_scope = is_second = is_after = is_without = False
        last = ""
        for raw in words_of(clause)[:_MOST_WORDS]:
            if raw in words("restated", "conditions") and unwanted is not None:
                # not this without that: that comes first
                said = [one if isinstance(one, str) else one._replace(is_second=True) for one in said]
                self._has_negation, unwanted, is_second = False, None, False
            elif raw in words("restated", "before") or (raw in words("restated", "then") and (said or self._found)):
                is_second = True
                self._order.add("before")
            elif raw in words("restated", "after"):
                is_after = True
                self._order.add("after")
            elif raw in words("restated", "nothing") and said:
                unwanted, self._has_negation = 0, True
            elif is_negation(raw) or raw in words("restated", "negators"):
                if is_without and is_negation(raw):  # nothing without this: it has to be there
                    unwanted, self._has_negation = None, False
                elif unwanted is None:  # "don't stop" negates once
                    is_without = raw in words("restated", "conditions")
                    is_contrast = bool(said) and self._contrasts(raw, last)
                    unwanted, self._has_negation = len(said) if is_contrast else 0, True
                    self._is_contrast |= is_contrast
            elif raw in words("restated", "scope"):
                is_scope = True
            elif told := self._told(raw, is_second=is_second, is_scope=is_scope, is_first=is_after):
                said += told
                is_scope = is_scope and isinstance(told[-1], ToldWord) and told[-1].is_light
            last = raw
        self._keep(said, len(said) if unwanted is None else unwanted)
        return unwanted is not None

    def _keep(self, said: list[ToldWord | str], unwanted: int) -> None:
        """`unwanted`: from which on the words of a clause are not wanted."""
        for at, one in enumerate(said):
            if isinstance(one, ToldWord):
                self._found.append(one._replace(is_negated=at >= unwanted))
            else:
                self._literals.add(one)
                self._negated.update({one} if at >= unwanted else ())

    def _contrasts(self, raw: str, last: str) -> bool:
        """Whether a negation sets what follows against what stands before it; behind an auxiliary it negates the verb."""
        return raw in words("restated", "contrast") and last not in words("restated", "auxiliaries")

    def _keeping_literals(self) -> str:
        """The text, in which full stops inside of a word end no clause."""
        return re.sub(r"(?<=\w)[.:](?=\w)", "\x00", self._text)

    def _told(self, raw: str, *, is_second: bool, is_scope: bool, is_first: bool) -> list[ToldWord | str]:
        """What a word tells: parts of it, or itself as it stands."""
        raw = raw.replace("\x00", ".")
        forms = {raw, stem(raw), raw.removesuffix("s")}
        is_day = not forms.isdisjoint(_days())
        number = number_words().get(raw) if raw not in words("restated", "empty") else None
        if number or is_day or _LITERAL.search(raw):
            return [number or (stem(raw.removesuffix("s")) if is_day else raw)]
        if not forms.isdisjoint(words("restated", "always")):
            return []
        found: list[ToldWord | str] = []
        for part in split(raw):
            if is_unspaced(part):
                self._pairs.update(filter(None, pairs_of(part)))
            elif not is_stop(part) and part not in words("restated", "empty"):
                form = stem(part)
                concepts = frozenset(meanings_by_dictionary(form))
                is_light = form in words("restated", "light")
                found.append(ToldWord(form, concepts, is_light, False, is_second, is_scope, is_first))
        return found
