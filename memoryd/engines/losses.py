"""What a memory no longer says after it was rewritten. Pure.

A rewrite is to change what newer words change, and nothing else: a reason, an exception or a number that goes quietly is
how memories rot.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from memoryd.engines.offline.subjects import subject_of
from memoryd.engines.statements import PART, joined, plain, statements_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from memoryd.engines.statements import Statement

_CLAUSE_END = re.compile(r"(?<!\d),\s*|,(?!\d)\s*|[，、]|\s[-–—]\s")  # noqa: RUF001
_OPPOSITES = (
    "before after|above below|over under|more less|more fewer|most least|until since|must may|always sometimes|minimum maximum|min max"
    "|first last|earlier later|open closed|vor nach|mehr weniger|mindestens höchstens|über unter|antes después|más menos|mínimo máximo"
    "|avant après|plus moins|以上 以下|之前 之后|以前 以后"
)
_ORDERS = frozenset(
    "before after over than instead rather above below vor nach statt als über unter antes después que avant après plutôt".split()  # noqa: SIM905
)
"""Words whose two sides are not the same."""
_STILL_SAID = 0.7
"""So many of its words in one statement: it may be the same one, in other words."""
_STILL_THERE = 0.85
"""So many of them somewhere in the text: what is gone beyond that was part of the fact."""


def lost_in(before: str, after: str, newer: str) -> list[str]:
    """The statements of a text that the other one no longer makes, and that newer words do not speak of."""
    left = statements_of(after)
    known = frozenset().union(*(one.stems for one in (*statements_of(before), *statements_of(newer))))
    spoken_of = subject_of(newer)
    return [
        one.text
        for one in statements_of(before)
        if not is_kept(one, left, known) and not subject_of(one.text) & spoken_of
    ]


def parts_lost(before: str, after: str) -> list[str]:
    """Named parts, as in `**Why:**`, that are gone; a rewrite may bring one up to date, but not drop it."""
    there = {part.lower() for part in PART.findall(after)}
    return [part for part in dict.fromkeys(PART.findall(before)) if part.lower() not in there]


def is_kept(statement: Statement, left: Sequence[Statement], known: AbstractSet[str]) -> bool:
    """Whether statements still make this one; in one of them, or split into some that stand together.

    `known` are the stems of all that was said before: a word that is none of them and stands in the place of another
    makes another statement of it.
    """
    if not statement.sequence:  # nothing to go by but its letters
        return any(plain(statement.text) in plain(one.text) for one in left)
    if same := [one for one in left if one.sequence == statement.sequence]:
        return not all(turned(statement, one) for one in same)
    coverage = [statement.covered_by(one.stems) for one in left]
    best = max(coverage, default=0.0)
    for one, covered in zip(left, coverage, strict=True):
        # What has the values of this one and fewer of its words than another may be about something else.
        if covered >= _STILL_SAID and (covered == best or not statement.values) and is_same(statement, one, known):
            return _is_still_there(statement, left)
    runs = [run for run, at in _runs(tuple(left)) if sum(coverage[at]) >= _STILL_SAID]
    if any(is_same(statement, run, known) and _keeps_clauses(statement, run, left) for run in runs):
        return True
    if statement.values or statement.turns:
        return False
    everything = frozenset().union(*(one.stems for one in left))
    return _STILL_SAID / 2 <= best < _STILL_SAID and statement.covered_by(everything) == 1.0


@lru_cache(maxsize=8)
def _runs(left: tuple[Statement, ...]) -> list[tuple[Statement, slice]]:
    """Statements that stand together, two or three, and where."""
    places = [slice(at, at + size) for size in (2, 3) for at in range(len(left) - size + 1)]
    return [(joined(left[place]), place) for place in places]


def is_same(statement: Statement, other: Statement, known: AbstractSet[str]) -> bool:
    """Whether the other one says what this one says: its words, every value in its place, every turn and no other."""
    if statement.covered_by(other.stems) < _STILL_SAID:
        return False
    if statement.words - other.stems and (other.words - known or _is_beginning(other, statement)):
        return False
    if not all(value in other.forms and is_in_place(value, statement, other) for value in statement.values):
        return False
    return not turned(statement, other)


def clauses_of(statement: Statement) -> list[Statement]:
    """What stands between the commas of a statement."""
    return [one for part in _CLAUSE_END.split(statement.text) for one in statements_of(part)]


def turned(statement: Statement, other: Statement) -> bool:
    """Whether the other one lacks a turn of this one, or turns a word that this one does not."""
    if any(_says_opposite(one, other_one, statement, other) for one, other_one in _opposites()):
        return True
    if statement.sequence == other.sequence:
        return sorted(kind for kind, _ in statement.turns) != sorted(kind for kind, _ in other.turns)
    if sorted(statement.sequence) == sorted(other.sequence) and _ORDERS & statement.forms:
        return True  # "tabs over spaces" in the other order
    for kind, about in statement.turns:
        if not any(kind == one and (about & words or not about) for one, words in other.turns):
            return True
    own = frozenset().union(*(about for _, about in statement.turns))
    return any(words and words <= statement.stems and not words & own for _, words in other.turns)


def _is_still_there(statement: Statement, left: Sequence[Statement]) -> bool:
    everything = frozenset().union(*(one.stems for one in left))
    return statement.covered_by(everything) >= _STILL_THERE


def _keeps_clauses(statement: Statement, run: Statement, left: Sequence[Statement]) -> bool:
    """Whether each value of a statement that was split stands with all the words of its clause."""
    members = [one for one in left if one.text in run.text]
    return all(
        any(set(clause.values) <= one.forms and clause.words <= one.stems for one in members)
        for clause in clauses_of(statement)
    )


def _is_beginning(other: Statement, statement: Statement) -> bool:
    size = len(other.sequence)
    return size < len(statement.sequence) and statement.sequence[:size] == other.sequence


@cache
def _opposites() -> tuple[tuple[str, str], ...]:
    pairs = [tuple(pair.split()) for pair in _OPPOSITES.split("|")]
    return tuple(found for one, other in pairs for found in ((one, other), (other, one)))


def _says_opposite(word: str, opposite: str, statement: Statement, other: Statement) -> bool:
    is_turned = word in statement.forms and word not in other.forms
    return is_turned and opposite in other.forms and opposite not in statement.forms


def is_in_place(value: str, statement: Statement, other: Statement) -> bool:
    """Whether a value still belongs to what it belonged to: "3 times, 200 ms" is not "200 times, 3 ms"."""
    if not value[:1].isdigit() or value not in other.sequence:
        return True
    here, there = statement.beside(value), other.beside(value)
    swapped = [
        one
        for one in statement.values
        if one != value and one in other.sequence and _is_swapped(value, one, statement, other)
    ]
    if not swapped:
        is_beside = any(
            own == one for pair in here for other_pair in there for own, one in zip(pair, other_pair, strict=True)
        )
        return is_beside or bool(statement.around(value) & other.around(value))
    # What stands on the same side of both does not tell them apart: "kettle 2 gets it, kettle 1 keeps it".
    alike = [pair for one in swapped for pair in statement.beside(one)]
    return any(
        own[side] == one[side] and all(own[side] != pair[side] for pair in alike)
        for own in here
        for one in there
        for side in (0, 1)
    )


def _is_swapped(value: str, one: str, statement: Statement, other: Statement) -> bool:
    """Whether two values stand in the other order."""
    here, there = statement.sequence, other.sequence
    return (here.index(value) < here.index(one)) != (there.index(value) < there.index(one))
