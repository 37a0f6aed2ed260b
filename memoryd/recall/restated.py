"""Statements that say the same in other words: "ask me before you push" and "never push without asking". Pure.

Two statements are the same where every word that tells something in one is found in the other, by its stem or by another word
for the same concept, and at most one of them says a little more. They are never the same where they differ in a number, a
version, a path, a day, in what they negate or in what comes first; nor where each has a word of its own that tells something:
pnpm and yarn, Christina and Christian, go and python.
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
    from collections.abc import Iterable, Sequence

_LITERAL = re.compile(r"\d|^-{1,2}\w|\w[./:@#=+\\]+\w|^[.#@$]\w")
_ADDRESS = re.compile(r"\w\.\w+/|://")
"""An address says as much as two words."""
_CLAUSE_END = re.compile(r"[,;.:!?()，。；、！？]")  # noqa: RUF001
_LIGHT_WEIGHT = 0.5
_LEAST_MATCHED = 2
_LEAST_SHARE = 0.6
_LEAST_PAIRS = 0.6
"""Of the pairs of characters, in a script without spaces."""
_LEAST_BEGINNING = 5
_NOUN_ENDINGS = ("ation", "ment")
_INFLECTIONS = ("", "n", "r", "t", "en", "er", "st", "re", "ez", "ent")
"""Endings of verbs and adjectives in German, French and Spanish; `stem` has those of English."""
_LEAST_INITIALS = 2
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

    def matches(self, other: ToldWord) -> bool:
        if self.form == other.form:
            return True
        short, long = sorted((self.form, other.form), key=len)
        if _is_form_of(short, long):
            return True
        # A concept has rivals in it: npm and pnpm, postgres and mysql. Only forms and abbreviations of a word are the same.
        return bool(self.concepts & other.concepts) and (_has_same_beginning(short, long) or _abbreviates(short, long))


def _is_form_of(short: str, long: str) -> bool:
    """`öffne` and `öffnen`, `deploy` and `deployment`; not `product` and `production`, nor `Christian` and `Christina`."""
    at = next((at for at, pair in enumerate(zip(short, long, strict=False)) if len(set(pair)) > 1), len(short))
    if at < _LEAST_BEGINNING:
        return False
    if short == long[:at] and (long[at:] in _NOUN_ENDINGS or (long[at:] == "ion" and short.endswith("at"))):
        return True
    return short[at:] in _INFLECTIONS and long[at:] in _INFLECTIONS


def _has_same_beginning(short: str, long: str) -> bool:
    return short[:_LEAST_BEGINNING] == long[:_LEAST_BEGINNING] and len(short) > _LEAST_BEGINNING


def _abbreviates(short: str, long: str) -> bool:
    """`db` and `database`."""
    letters = iter(long)
    return short[0] == long[0] and 2 * len(short) <= len(long) and all(letter in letters for letter in short)


class Restated(NamedTuple):
    """A statement, as it is compared."""

    words: tuple[ToldWord, ...]
    literals: frozenset[str]
    negated: frozenset[str]
    """Those of the literals that are not wanted."""
    pairs: frozenset[str]
    has_order: bool
    has_negation: bool
    is_contrast: bool
    """It says what is wanted and what is not: "pnpm, not npm"."""

    @property
    def keys(self) -> frozenset[str]:
        """Of two statements that are the same, at least one of these is in both."""
        told = [word for word in self.words if not word.is_light] or self.words
        concepts = {f"={number}" for word in told for number in word.concepts}
        beginnings = {word.form[:_LEAST_BEGINNING] for word in told}
        return frozenset(beginnings | concepts | self.literals | self.pairs)


@lru_cache(maxsize=65_536)
def restated_of(text: str) -> Restated:
    """What a sentence tells, without the words around it."""
    return _Reader(text).read()


def is_restated(one: Restated, other: Restated) -> bool:
    """Whether two statements say the same."""
    if one.literals != other.literals or _turns_literals(one, other):
        return False
    if one.pairs or other.pairs:
        shared, all_pairs = len(one.pairs & other.pairs), len(one.pairs) + len(other.pairs)
        if one.has_negation != other.has_negation or 2 * shared < _LEAST_PAIRS * all_pairs:
            return False
        if not one.words and not other.words:
            return True
    matched, left, left_other = _matched(one.words, other.words)
    if one.has_order and other.has_order and any(a.is_second != b.is_second for a, b in matched):
        return False
    if one.is_contrast or other.is_contrast:
        if any(a.is_negated != b.is_negated for a, b in matched):
            return False
    elif one.has_negation != other.has_negation:  # which word it stands before is a matter of grammar
        return False
    told = _telling(left, is_contrast=one.is_contrast and not other.has_negation)
    told_other = _telling(left_other, is_contrast=other.is_contrast and not one.has_negation)
    if told and told_other:
        return False
    literals = sum(2 if _ADDRESS.search(literal) else 1 for literal in one.literals)
    specific = sum(not a.is_light or not b.is_light for a, b in matched) + literals
    if not specific:
        return False
    if any(word.is_scope for word in (*left, *left_other)):
        return False
    if not told and not told_other:
        return True
    if len({b.form for _, b in matched}) + literals < _LEAST_MATCHED:
        return False
    weight = specific + _LIGHT_WEIGHT * (len(matched) + literals - specific)
    return weight >= _LEAST_SHARE * (weight + len(told) + len(told_other))


def groups_of(statements: Sequence[Restated]) -> list[list[int]]:
    """Statements that are the same, by their numbers; each is the same as all others of its group."""
    groups: list[list[int]] = []
    by_key: dict[str, list[int]] = {}
    by_value: dict[Restated, int] = {}
    for number, statement in enumerate(statements):
        if not statement.words and not statement.pairs:
            continue
        place = by_value.get(statement)
        if place is None:
            candidates = sorted({group for key in statement.keys for group in by_key.get(key, ())})
            place = next(
                (
                    group
                    for group in candidates
                    if all(is_restated(statement, statements[member]) for member in groups[group])
                ),
                None,
            )
        if place is None:
            place = len(groups)
            groups.append([])
        if by_value.setdefault(statement, place) == place and number not in groups[place]:
            groups[place].append(number)
        for key in statement.keys:
            listed = by_key.setdefault(key, [])
            if place not in listed:
                listed.append(place)
    return groups


def _matched(
    one: Iterable[ToldWord], other: Iterable[ToldWord]
) -> tuple[list[tuple[ToldWord, ToldWord]], list[ToldWord], list[ToldWord]]:
    """Words of both that belong together, and those that are left on either side. A word may match several."""
    one, other = list(one), list(other)
    pairs = [(a, b) for a in one for b in other if a.matches(b)]
    pairs += [(a, b) for a in one for b in _spelt_out(a, other)]
    pairs += [(a, b) for b in other for a in _spelt_out(b, one)]
    first, second = {a for a, _ in pairs}, {b for _, b in pairs}
    best = {a: next((b for x, b in pairs if x == a and b.is_negated == a.is_negated), None) for a in first}
    found = [(a, b or next(y for x, y in pairs if x == a)) for a, b in best.items()]
    return found, [a for a in one if a not in first], [b for b in other if b not in second]


def _spelt_out(short: ToldWord, words: Sequence[ToldWord]) -> Sequence[ToldWord]:
    """The words that an abbreviation stands for, by its letters and its concept: `PR` and `pull request`, also `PRs`."""
    initials = "".join(word.form[0] for word in words)
    for letters in {short.form, short.form.removesuffix("s")}:
        at = initials.find(letters)
        found = words[at : at + len(letters)] if len(letters) >= _LEAST_INITIALS and at >= 0 else ()
        if not short.concepts.isdisjoint(meanings_by_dictionary(" ".join(word.form for word in found))):
            return found
    return ()


def _turns_literals(one: Restated, other: Restated) -> bool:
    """Whether one wants what the other does not: "v1, not v2" and "v2, not v1", "use --force" and "never use --force"."""
    if one.negated == other.negated:
        return False
    return one.has_negation != other.has_negation or bool(one.negated and other.negated)


def _telling(left: Iterable[ToldWord], *, is_contrast: bool) -> list[ToldWord]:
    """The words that make a difference. In a contrast what is not wanted makes none, if the other statement negates nothing:
    "small commits, not big ones" says the same as "small commits".
    """
    return [word for word in left if not word.is_light and not (is_contrast and word.is_negated)]


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


class _Reader:
    """Reads one sentence from left to right."""

    def __init__(self, text: str) -> None:
        said = pattern("restated", "contraction").sub("", text.replace("\u2019", "'"))
        reason = pattern("restated", "reason").search(said)
        said = said[: reason.start()] if reason and restated_words(said[: reason.start()]) else said
        said = pattern("restated", "here").sub(" ", said)
        self._text = pattern("restated", "left_out").sub(lambda match: f"not {match['what'] or match['what2']}", said)
        self._found: list[ToldWord] = []
        self._literals: set[str] = set()
        self._negated: set[str] = set()
        self._pairs: set[str] = set()
        self._has_negation = self._is_contrast = False

    def read(self) -> Restated:
        self._text, turned = pattern("restated", "not_unspaced").subn("", self._text)
        self._has_negation = turned > 0
        is_plain = False  # a clause without a negation tells something
        has_negated_clause = False
        for clause in _CLAUSE_END.split(self._keeping_literals()):
            before = len(self._found) + len(self._literals)
            is_negated = self._read_clause(clause)
            if len(self._found) + len(self._literals) > before:
                is_plain |= not is_negated
                has_negated_clause |= is_negated
        inside = {stem(part) for literal in self._literals for part in split(literal)}
        found = tuple(dict.fromkeys(word for word in self._found if word.form not in inside or word.is_negated))
        return Restated(
            found,
            frozenset(self._literals),
            frozenset(self._negated),
            frozenset(self._pairs),
            any(word.is_second for word in found) and not all(word.is_second for word in found),
            self._has_negation,
            self._has_negation and (self._is_contrast or (is_plain and has_negated_clause)),
        )

    def _read_clause(self, clause: str) -> bool:
        """Whether it negates something."""
        start = len(self._found)
        is_negated = was_negated = is_scope = is_second = is_contrast = False
        last = ""
        for raw in words_of(clause)[:_MOST_WORDS]:
            is_condition = raw in words("restated", "conditions")
            if is_condition and was_negated:  # not this without that: that comes first
                self._found[start:] = [word._replace(is_negated=False, is_second=True) for word in self._found[start:]]
                self._has_negation = is_negated = was_negated = is_second = False
            elif raw in words("restated", "before"):
                is_second = True
            elif raw in words("restated", "nothing") and len(self._found) > start:
                self._found[-1] = self._found[-1]._replace(is_negated=True)
                self._has_negation = was_negated = True
            elif is_negation(raw) or (
                raw in words("restated", "negators") and not is_negated
            ):  # "don't stop" negates once
                is_contrast |= len(self._found) > start and self._contrasts(raw, last)
                self._has_negation = is_negated = was_negated = True
            elif raw in words("restated", "scope"):
                is_scope = True
            elif self._add(raw, is_negated=is_negated, is_second=is_second, is_scope=is_scope):
                was_light = bool(self._found) and self._found[-1].is_light
                is_scope = is_scope and was_light
                is_negated = is_negated and was_light
            last = raw
        self._is_contrast |= is_contrast
        if is_negated and not is_contrast and len(self._found) > start:  # "github actions are not used"
            self._found[start] = self._found[start]._replace(is_negated=True)
        return was_negated

    def _contrasts(self, raw: str, last: str) -> bool:
        """Whether a negation sets what follows against what stands before it; behind an auxiliary it negates the verb."""
        return raw in words("restated", "contrast") and last not in words("restated", "auxiliaries")

    def _keeping_literals(self) -> str:
        """The text, in which full stops inside of a word end no clause."""
        return re.sub(r"(?<=\w)[.:](?=\w)", "\x00", self._text)

    def _add(self, raw: str, *, is_negated: bool, is_second: bool, is_scope: bool) -> bool:
        raw = raw.replace("\x00", ".")
        forms = {raw, stem(raw), raw.removesuffix("s")}
        is_day = not forms.isdisjoint(_days())
        if _LITERAL.search(raw) or raw in number_words().keys() - words("restated", "empty") or is_day:
            literal = stem(raw.removesuffix("s")) if is_day else raw
            self._literals.add(literal)
            self._negated.update({literal} if is_negated else ())
            return True
        if not forms.isdisjoint(words("restated", "always")):
            return False
        has_added = False
        for part in split(raw):
            if is_unspaced(part):
                self._pairs.update(filter(None, pairs_of(part)))
                continue
            if is_stop(part) or part in words("restated", "empty"):
                continue
            form = stem(part)
            is_light = form in words("restated", "light")
            is_turned = is_negated and not is_light and not has_added  # of a compound, as of a clause, the first word
            self._found.append(
                ToldWord(form, frozenset(meanings_by_dictionary(form)), is_light, is_turned, is_second, is_scope)
            )
            has_added = True
        return has_added
