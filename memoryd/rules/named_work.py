"""Kinds of work that a memory speaks of, by its words. Pure."""

from __future__ import annotations

from functools import cache

from memoryd.language.actions import actions_in
from memoryd.language.stems import stem
from memoryd.language.tokens import is_stop
from memoryd.recall.concepts import count_terms, meanings_by_dictionary
from memoryd.rules.work_kinds import WORK, items

_MOST_MEANINGS = 2


def work_named_in(clause: str, words: list[str]) -> set[str]:
    """Names of the kinds of work that a clause speaks of; `words`: those of it that count."""
    by_part, actions = _phrases()
    stems = list(map(stem, words))
    numbers = count_terms(words)[1]
    first = next((term for word, term in zip(words, stems, strict=True) if not is_stop(word)), "")
    parts = {*stems, *numbers, *(f"<{action}>" for action in actions_in(clause, actions))}
    parts |= {f"^{first}", *(f"^{number}" for number in meanings_by_dictionary(first))}
    return {
        name
        for part in parts
        for name, others in by_part.get(part, ())
        if all(not parts.isdisjoint(other) for other in others)
    }


@cache
def _phrases() -> tuple[dict[str, list[tuple[str, tuple[frozenset[str], ...]]]], tuple[str, ...]]:
    """Kinds of work by each part that can begin a phrase of them, with the parts that must be there too; and all actions.

    A part is a stem, the number of a concept, an action, or what the clause begins with. A phrase whose concept has a number is
    named by that as well.
    """
    by_part: dict[str, list[tuple[str, tuple[frozenset[str], ...]]]] = {}
    actions: dict[str, None] = {}
    for work in WORK:
        for phrase in items(work.phrases):
            words = phrase.split()
            actions.update(dict.fromkeys(word[1:-1] for word in words if word.startswith("<")))
            first, *others = map(_parts_of, words)
            for part in first:
                by_part.setdefault(part, []).append((work.name, tuple(others)))
            for number in meanings_by_dictionary(" ".join(map(stem, words))):
                by_part.setdefault(number, []).append((work.name, ()))
    return by_part, tuple(actions)


def _parts_of(word: str) -> frozenset[str]:
    """The word itself, or another one for the same concept; a word of many meanings stands for itself only."""
    if word.startswith("<"):
        return frozenset({word})
    start = "^" if word.startswith("^") else ""
    word = word.removeprefix("^")
    return frozenset(f"{start}{part}" for part in (stem(word), *numbers_of(word)))


def numbers_of(word: str) -> tuple[str, ...]:
    """The concepts that a word names; none for a word of many meanings."""
    numbers = meanings_by_dictionary(stem(word))
    return numbers if len(numbers) <= _MOST_MEANINGS else ()
