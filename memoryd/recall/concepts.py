"""Other words for the same thing: `deploy`, `roll out`, `ausliefern`, `发布` are one concept, whatever a memory calls it.

concepts.txt is made by `make train` from the lists in training/concepts: a phrase a line, with the numbers of what it
can mean.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from itertools import chain, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from memoryd.language.stems import stem
from memoryd.language.tokens import is_stop, is_unspaced, pairs_of, split
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

FILE = os.path.join(os.path.dirname(__file__), "concepts.txt")
MOST_WORDS = 4
MOST_CHARACTERS = 8
"""Of a phrase, in a script without spaces."""
_MOST_KNOWN = 1 << 16


class _Named(NamedTuple):
    """A phrase in a text that names concepts: from and to which term, and their numbers."""

    start: int
    end: int
    numbers: tuple[str, ...]


def count_terms(words: Sequence[str], first: int = 0, times: int = 1) -> tuple[dict[str, int], dict[str, int]]:
    """How often each term stands among words of `split`, and how often each concept is named, by its number.

    An empty word ends a text: no phrase goes beyond it. The `first` words, which are whole texts, count so many `times`. For
    thousands of texts: every word is looked up once, and the first text costs more.
    """
    known = list(map(_known_words().__getitem__, words))
    counted = known[:first] * (times - 1) + known
    terms = Counter(chain.from_iterable(map(_terms, counted)))
    concepts = Counter(chain.from_iterable(map(_numbers, counted)))
    phrases = _phrases(list(map(_stem, known)))
    for at in {at for phrase in phrases for at in range(phrase.start, phrase.end)}:
        for number in known[at].numbers:  # it stands for the phrase, and not for itself
            concepts[number] -= times if at < first else 1
    for phrase in phrases:
        for number in phrase.numbers:
            concepts[number] += times if phrase.start < first else 1
    return terms, (+concepts if phrases else concepts)


def concepts_in(text: str) -> list[str]:
    """The number of every concept that a text names, as often as it does."""
    return list(Counter(count_terms(split(text))[1]).elements())


def terms_with_concepts(text: str) -> dict[str, set[str]]:
    """Every word that tells something, as `terms_of` has it, and the concepts that it names or helps to name.

    For a single text: no dictionary is read for it.
    """
    terms, named = _scanned(split(text))
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


class _KnownWord(NamedTuple):
    """What is known of a word of `split` wherever it stands."""

    stem: str
    """Empty for a run without spaces, which is part of no phrase."""
    terms: tuple[str, ...]
    numbers: tuple[str, ...]
    """Concepts that it names by itself."""


_stem, _terms, _numbers = map(itemgetter, range(3))


class _KnownWords(dict[str, _KnownWord]):
    """Every word that was met: ten thousand memories have few thousand words."""

    def __missing__(self, word: str) -> _KnownWord:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        if is_unspaced(word):
            named = _longest(_named_in_run(word, 0, meanings_by_dictionary))
            numbers = tuple(number for phrase in named for number in phrase.numbers)
            found = _KnownWord("", tuple(filter(None, pairs_of(word))), numbers)
        else:
            last = stem(word)
            found = _KnownWord(last, () if not word or is_stop(word) else (last,), meanings_by_dictionary(last))
        self[word] = found
        return found


@cache
def _known_words() -> _KnownWords:
    return _KnownWords()


def _phrases(stems: list[str]) -> list[_Named]:
    """The phrases of several words, without those that are a part of a longer one."""
    ends, meanings = _ends_of_phrases(), _dictionary()
    if ends.isdisjoint(pairwise(stems)):
        return []
    found = [
        _Named(end - length, end, numbers)
        for end, pair in enumerate(pairwise(stems), 2)
        if pair in ends
        for length in range(2, min(MOST_WORDS, end) + 1)
        if (numbers := meanings.get(" ".join(stems[end - length : end])))
    ]
    return _longest(found) if len(found) > 1 else found


@cache
def _ends_of_phrases() -> frozenset[tuple[str, ...]]:
    """The last two stems of every phrase of several words."""
    return frozenset(tuple(words[-2:]) for phrase in _dictionary() if len(words := phrase.split(" ")) > 1)


def _scanned(words: Iterable[str]) -> tuple[list[str], list[_Named]]:
    """The terms of the words of `split`, empty ones for words that tell nothing, and the phrases among them."""
    terms: list[str] = []
    named: list[_Named] = []
    stems: list[str] = []
    for word in words:
        if is_unspaced(word):
            stems.clear()
            named += _named_in_run(word, len(terms), meanings_by_halving)
            terms += pairs_of(word)
            continue
        stems.append(stem(word))
        terms.append("" if is_stop(word) else stems[-1])
        for length in range(1, min(MOST_WORDS, len(stems)) + 1):
            if numbers := meanings_by_halving(" ".join(stems[-length:])):
                named.append(_Named(len(terms) - length, len(terms), numbers))
    return terms, _longest(named)


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
