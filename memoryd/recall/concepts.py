"""Other words for the same thing: `deploy`, `roll out`, `ausliefern`, `发布` are one concept, whatever a memory calls it.

concepts.txt is made by `make train` from the lists in training/concepts: a phrase a line, with the numbers of what it
can mean.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from memoryd.language.stems import stem
from memoryd.language.tokens import is_stop, is_unspaced, pairs_of, split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FILE = os.path.join(os.path.dirname(__file__), "concepts.txt")
MOST_WORDS = 4
MOST_CHARACTERS = 8
"""Of a phrase, in a script without spaces."""


class _Named(NamedTuple):
    """A phrase in a text that names concepts: from and to which term, and their numbers."""

    start: int
    end: int
    numbers: tuple[str, ...]


class _Word(NamedTuple):
    """A word of `split`, as it is looked up."""

    stem: str
    term: str
    """Empty where it tells nothing."""
    numbers: tuple[str, ...]
    """Concepts that it names by itself."""
    before: frozenset[str] | None
    """Stems that stand before it in a longer phrase; None: not known, so every length is looked up."""


def terms_and_concepts(words: Iterable[str]) -> tuple[list[str], list[str]]:
    """The terms of the words of `split`, and the numbers of the concepts that they name, each as often as it stands there.

    For thousands of texts: what is known of a word is kept, and the first text costs more.
    """
    terms, named = _scanned(words, _word_by_dictionary, meanings_by_dictionary)
    return list(filter(None, terms)), [number for phrase in named for number in phrase.numbers]


def concepts_in(text: str) -> list[str]:
    """The number of every concept that a text names, as often as it does."""
    return terms_and_concepts(split(text))[1]


def terms_with_concepts(text: str, *, is_one_of_many: bool = False) -> dict[str, set[str]]:
    """Every word that tells something, as `terms_of` has it, and the concepts that it names or helps to name.

    Of many texts, the first costs more.
    """
    terms, named = (
        _scanned(split(text), _word_by_dictionary, meanings_by_dictionary)
        if is_one_of_many
        else _scanned(split(text), _word_by_halving, meanings_by_halving)
    )
    found: dict[str, set[str]] = {term: set() for term in terms if term}
    for one in named:
        for term in terms[one.start : one.end]:
            if term:
                found[term].update(one.numbers)
    return found


@cache
def _sorted_lines() -> bytes:
    with open(FILE, "rb") as file:
        return file.read()


def meanings_by_halving(phrase: str) -> tuple[str, ...]:
    """The numbers of the concepts that a phrase names, found by halving: to split the file takes longer than a prompt."""
    lines, start = _sorted_lines(), f"{phrase}\t".encode()
    low, high = 0, len(lines)
    while low < high:
        at = max(low, lines.rfind(b"\n", low, (low + high) // 2) + 1)
        end = lines.find(b"\n", at)
        line = lines[at:end]
        if line.startswith(start):
            return tuple(line[len(start) :].decode().split())
        low, high = (end + 1, high) if line < start else (low, at)
    return ()


@cache
def _dictionary() -> dict[str, tuple[str, ...]]:
    pairs = (line.split("\t") for line in _sorted_lines().decode().splitlines())
    return {phrase: tuple(numbers.split()) for phrase, numbers in pairs}


def meanings_by_dictionary(phrase: str) -> tuple[str, ...]:
    """The same, for who asks thousands of times."""
    return _dictionary().get(phrase, ())


def _word_by_halving(word: str) -> _Word:
    found = stem(word)
    return _Word(found, "" if is_stop(word) else found, meanings_by_halving(found), None)


@lru_cache(maxsize=1 << 15)
def _word_by_dictionary(word: str) -> _Word:
    """The same, kept: ten thousand memories have few thousand words."""
    found = stem(word)
    before = _stems_before().get(found, frozenset())
    return _Word(found, "" if is_stop(word) else found, meanings_by_dictionary(found), before)


@cache
def _stems_before() -> dict[str, frozenset[str]]:
    """For each stem that ends a phrase of several words, those that can stand before it."""
    pairs: dict[str, set[str]] = {}
    for phrase in _dictionary():
        for before, last in pairwise(phrase.split(" ")):
            pairs.setdefault(last, set()).add(before)
    return {last: frozenset(before) for last, before in pairs.items()}


def _scanned(
    words: Iterable[str], known: Callable[[str], _Word], meanings: Callable[[str], tuple[str, ...]]
) -> tuple[list[str], list[_Named]]:
    """The terms of the words of `split`, empty ones for words that tell nothing, and the phrases among them."""
    terms: list[str] = []
    named: list[_Named] = []
    stems: list[str] = []
    is_nested = False
    for word in words:
        if is_unspaced(word):
            stems.clear()
            named += _named_in_run(word, len(terms), meanings)
            terms += pairs_of(word)
            is_nested = True
            continue
        last, term, numbers, before = known(word)
        stems.append(last)
        terms.append(term)
        if numbers:
            named.append(_Named(len(terms) - 1, len(terms), numbers))
        if before is None or (before and len(stems) > 1 and stems[-2] in before):
            for length in range(2, min(MOST_WORDS, len(stems)) + 1):
                if numbers := meanings(" ".join(stems[-length:])):
                    named.append(_Named(len(terms) - length, len(terms), numbers))
                    is_nested = True
    return terms, _longest(named) if is_nested else named


def _named_in_run(run: str, first: int, meanings: Callable[[str], tuple[str, ...]]) -> list[_Named]:
    """`first`: the number of the run's first pair of characters."""
    return [
        _Named(first + start, first + end - 1, numbers)
        for start in range(len(run) - 1)
        for end in range(start + 2, min(len(run), start + MOST_CHARACTERS) + 1)
        if (numbers := meanings(run[start:end]))
    ]


def _longest(named: list[_Named]) -> list[_Named]:
    """Without phrases that are a part of a longer one: November is no January, though 十一月 holds 一月."""
    found: list[_Named] = []
    for one in sorted(named, key=lambda one: (one.start, -one.end)):
        if not found or one.end > found[-1].end or one[:2] == found[-1][:2]:
            found.append(one)
    return found
