"""Likeness of two statements in numbers, which trees of `again.py` weigh. Pure.

Words of both are paired: the same word, or a form of it. What is left on either side, how rare it
is and whether it is a name tell whether they say the same; so does the order of the words: who says a thing again in other words
changes more than one of them, and where a single word differs, it is mostly the one that matters.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from memoryd.language.stems import stem
from memoryd.language.tokens import runs_in
from memoryd.recall.concepts import meanings_by_dictionary
from memoryd.recall.rank import common
from memoryd.recall.restated import beginning_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoryd.recall.restated import Restated, ToldWord

NUMBERS = (
    "same",  # the weight of the words that are the same, as a part of all,
    "paired",  # and of all that are paired
    "weight",  # of the words that are the same
    "heaviest",  # of them
    "told",  # what the words of the statement weigh that tells less
    "left_words",  # words that tell something on the side that has fewer left,
    "left_weight",  # what all weigh there,
    "left_weight_most",  # and on the other side
    "left_heaviest",  # the heaviest word there,
    "left_heaviest_most",  # and on the other side
    "left_names",  # on the side that has fewer,
    "left_names_most",  # and on the other side
    "left_scope",  # words left that say where the statement holds
    "left_negated",
    "turned",  # pairs of which one is negated,
    "contrasts",  # statements that say what is wanted and what is not
    "reordered",  # pairs of which one comes after what is asked for
    "changes",  # places where the words differ, one after the other
    "in_order",  # pairs that follow each other in both
    "words",  # of the shorter one,
    "length",  # as a part of the longer one
    "letters",  # pieces of three letters in common
    "pairs",  # of characters, in a script without spaces, in common
    "pair_count",
    "own_signs",  # of the side that has fewer: signs but kana that the other one lacks
    "own_signs_most",
    "shared_signs",
    "covered",  # the part of its weight that is paired, on the side where that is more,
    "covered_least",  # and on the other one
    "beginning",  # words that both begin with, as a part of the longer one,
    "end",  # and those that both end with
)
_LIGHT = 0.35
_LEAST_INITIALS = 2
_LEAST_BEGINNING = 4
_LEAST_INSIDE = 4
_LEAST_ABBREVIATION = 3
_MOST_OF_IT = 0.6
_HIRAGANA = ("\u3040", "\u309f")


class Pairs(NamedTuple):
    """Words of two statements that belong together, and those that are left on either side."""

    same: tuple[tuple[ToldWord, ToldWord], ...]
    akin: tuple[tuple[ToldWord, ToldWord], ...]
    """Forms of a word that `ToldWord.matches` does not know."""
    left: tuple[ToldWord, ...]
    left_other: tuple[ToldWord, ...]


def pairs_of_words(one: Sequence[ToldWord], other: Sequence[ToldWord]) -> Pairs:
    """A word may be the same as several, but is akin to one."""
    same = [(a, b) for a in one for b in other if a.matches(b)]
    same += [(a, b) for a in one for b in _spelt_out(a, other)]
    same += [(a, b) for b in other for a in _spelt_out(b, one)]
    first, second = {a for a, _ in same}, {b for _, b in same}
    best = {a: next((b for x, b in same if x == a and b.is_negated == a.is_negated), None) for a in first}
    found = tuple((a, best[a] or next(b for x, b in same if x == a)) for a in one if a in first)
    left, left_other = [a for a in one if a not in first], [b for b in other if b not in second]
    akin = _taken_out(left, left_other)
    return Pairs(found, tuple(akin), tuple(left), tuple(left_other))


def _taken_out(left: list[ToldWord], left_other: list[ToldWord]) -> list[tuple[ToldWord, ToldWord]]:
    """Words that are akin, taken out of those that are left."""
    found = []
    for a in tuple(left):
        b = next((b for b in left_other if _is_piece_of(a.form, b.form)), None)
        if b is not None:
            found.append((a, b))
            left.remove(a)
            left_other.remove(b)
    return found


def _is_piece_of(one: str, other: str) -> bool:
    """`temp` and `temporary`, `Beträge` and `Geldbeträge`, `medicine` and `medical`: likely the same, and not surely."""
    short, long = sorted((one, other), key=len)
    if long.startswith(short) and len(short) >= _LEAST_ABBREVIATION:
        return True
    beginning = beginning_of(short, long)
    return (len(short) >= _LEAST_INSIDE and short in long) or (
        beginning >= _LEAST_BEGINNING and beginning >= _MOST_OF_IT * len(short)
    )


def _spelt_out(short: ToldWord, words: Sequence[ToldWord]) -> Sequence[ToldWord]:
    """The words that an abbreviation stands for, by its letters and its concept: `PR` and `pull request`, also `PRs`."""
    initials = "".join(word.form[0] for word in words)
    for letters in {short.form, short.form.removesuffix("s")}:
        at = initials.find(letters)
        found = words[at : at + len(letters)] if len(letters) >= _LEAST_INITIALS and at >= 0 else ()
        if not short.concepts.isdisjoint(meanings_by_dictionary(" ".join(word.form for word in found))):
            return found
    return ()


def weight_of(word: ToldWord) -> float:
    """How much it tells: less, the more messages have it."""
    return common().get(word.form, 1.0) * (_LIGHT if word.is_light else 1.0)


class _Shape(NamedTuple):
    """What a text looks like, apart from what it tells."""

    words: tuple[str, ...]
    pieces: frozenset[str]
    names: frozenset[str]
    """Stems of words that are written with a capital, not only as they begin the text."""
    signs: frozenset[str]
    """In a script without spaces, without hiragana."""


@lru_cache(maxsize=65_536)
def _shape_of(text: str) -> _Shape:
    written = re.findall(r"\w+", text)
    words = tuple(word.lower() for word in written)
    names = (word for at, word in enumerate(written) if word[0].isupper() and (at or (word.isupper() and word[1:])))
    whole = f" {' '.join(words)} "
    return _Shape(
        words,
        frozenset(whole[at : at + 3] for at in range(len(whole) - 2)),
        frozenset(stem(name.lower()) for name in names),
        frozenset(sign for run in runs_in(text) for sign in run if not _HIRAGANA[0] <= sign <= _HIRAGANA[1]),
    )


def numbers_of(one: Restated, other: Restated, pairs: Pairs) -> list[float]:
    """As NUMBERS names them. It does not matter which of the two comes first."""
    shape, shape_other = _shape_of(one.text), _shape_of(other.text)
    longest = max(len(shape.words), len(shape_other.words), 1)
    return [
        *_numbers_of_weight(one, other, pairs),
        *_numbers_of_sense(one, other, pairs, shape, shape_other),
        *_numbers_of_order(one, other, pairs, shape, shape_other),
        *_numbers_of_letters(one, other, shape, shape_other),
        *_numbers_of_cover(one, other, pairs),
        beginning_of(shape.words, shape_other.words) / longest,
        beginning_of(shape.words[::-1], shape_other.words[::-1]) / longest,
    ]


def _weight(words: Iterable[ToldWord]) -> float:
    return sum(map(weight_of, words))


def _numbers_of_weight(one: Restated, other: Restated, pairs: Pairs) -> Iterable[float]:
    literals = 2 * len(one.literals & other.literals)
    whole = _weight(one.words) + _weight(other.words) + literals or 1.0
    same = _weight(word for pair in pairs.same for word in pair) + literals
    akin = _weight(word for pair in pairs.akin for word in pair)
    left = sorted(_weight(words) for words in (pairs.left, pairs.left_other))
    heaviest = sorted(max(map(weight_of, words), default=0.0) for words in (pairs.left, pairs.left_other))
    telling = min(sum(not word.is_light for word in words) for words in (pairs.left, pairs.left_other))
    most = max((weight_of(word) for word, _ in pairs.same), default=0.0)
    told = min(_weight(words) for words in (one.words, other.words)) + literals / 2
    return (same / whole, (same + akin) / whole, same / 2, most, told, telling, *left, *heaviest)


def _numbers_of_sense(
    one: Restated, other: Restated, pairs: Pairs, shape: _Shape, shape_other: _Shape
) -> Iterable[float]:
    left = (*pairs.left, *pairs.left_other)
    both = (*pairs.same, *pairs.akin)
    names = [sum(word.form in shape.names for word in pairs.left)]
    names += [sum(word.form in shape_other.names for word in pairs.left_other)]
    return (
        *sorted(names),
        sum(word.is_scope for word in left),
        sum(word.is_negated for word in left),
        sum(a.is_negated != b.is_negated for a, b in both),
        one.is_contrast + other.is_contrast,
        sum(a.is_second != b.is_second for a, b in both),
    )


def _numbers_of_order(
    one: Restated, other: Restated, pairs: Pairs, shape: _Shape, shape_other: _Shape
) -> Iterable[float]:
    steps = SequenceMatcher(None, shape.words, shape_other.words, autojunk=False).get_opcodes()
    place, place_other = ({word: at for at, word in enumerate(words)} for words in (one.words, other.words))
    placed = sorted((place[a], place_other[b]) for a, b in (*pairs.same, *pairs.akin))
    following = sum(before[1] < after[1] for before, after in pairwise(placed))
    short, long = sorted((len(one.words), len(other.words)))
    return (
        sum(step[0] != "equal" for step in steps),
        following / (len(placed) - 1) if len(placed) > 1 else 1.0,
        short,
        short / (long or 1),
    )


def _numbers_of_letters(one: Restated, other: Restated, shape: _Shape, shape_other: _Shape) -> Iterable[float]:
    pieces = len(shape.pieces) + len(shape_other.pieces) or 1
    pairs = len(one.pairs) + len(other.pairs)
    signs, signs_other = shape.signs, shape_other.signs
    return (
        2 * len(shape.pieces & shape_other.pieces) / pieces,
        2 * len(one.pairs & other.pairs) / pairs if pairs else -1.0,
        pairs,
        *sorted((len(signs - signs_other), len(signs_other - signs))),
        len(signs & signs_other) / (len(signs | signs_other) or 1),
    )


def _numbers_of_cover(one: Restated, other: Restated, pairs: Pairs) -> Iterable[float]:
    literals = len(one.literals & other.literals)
    covered = []
    for words, left in ((one.words, pairs.left), (other.words, pairs.left_other)):
        whole = _weight(words) + literals
        covered.append((whole - _weight(left)) / whole if whole else 1.0)
    return (max(covered), min(covered))
