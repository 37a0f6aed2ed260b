"""Kinds of work that a memory speaks of, by its words. Pure."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from memoryd.language.actions import names_action
from memoryd.language.stems import stem
from memoryd.language.tokens import is_stop
from memoryd.recall.concepts import count_terms, meanings_by_dictionary
from memoryd.rules.work_kinds import WORK, items

_MOST_MEANINGS = 2
_ACTION = re.compile(r"<(\w+)>")


def work_named_in(clause: str, words: list[str]) -> set[str]:
    """Names of the kinds of work that a clause speaks of; `words`: those of it that count."""
    stems = list(map(stem, words))
    said = _Said(
        clause,
        frozenset(stems),
        frozenset(count_terms(words)[1]),
        next((term for word, term in zip(words, stems, strict=True) if not is_stop(word)), ""),
    )
    return {name for name, phrase in _phrases() if phrase.is_in(said)}


class _Said(NamedTuple):
    """A clause."""

    text: str
    stems: frozenset[str]
    numbers: frozenset[str]
    """Of the concepts that it names."""
    first: str
    """The stem of the first word that tells something."""


class _Word(NamedTuple):
    """A word of a phrase."""

    stem: str
    numbers: frozenset[str]
    """Of the concepts that it names; a word of many meanings names none."""
    action: str
    is_first: bool

    def is_in(self, said: _Said) -> bool:
        if self.action:
            return names_action(self.action, said.text)
        if self.is_first:
            return self.stem == said.first or not self.numbers.isdisjoint(meanings_by_dictionary(said.first))
        return self.stem in said.stems or not self.numbers.isdisjoint(said.numbers)


class _Phrase(NamedTuple):
    words: tuple[_Word, ...]
    numbers: frozenset[str]
    """Of the concepts that it names as a whole."""

    def is_in(self, said: _Said) -> bool:
        return not self.numbers.isdisjoint(said.numbers) or all(word.is_in(said) for word in self.words)


@cache
def _phrases() -> tuple[tuple[str, _Phrase], ...]:
    return tuple((work.name, _phrase(phrase)) for work in WORK for phrase in items(work.phrases))


def _phrase(text: str) -> _Phrase:
    words = []
    for word in text.split():
        action = _ACTION.fullmatch(word)
        term = stem(word.removeprefix("^"))
        numbers = meanings_by_dictionary(term)
        words.append(
            _Word(
                term,
                frozenset(numbers if len(numbers) <= _MOST_MEANINGS else ()),
                action[1] if action else "",
                word.startswith("^"),
            )
        )
    is_plain = not any(word.action or word.is_first for word in words)
    return _Phrase(
        tuple(words), frozenset(meanings_by_dictionary(" ".join(word.stem for word in words)) if is_plain else ())
    )
