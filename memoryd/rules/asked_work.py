"""Kinds of work that a memory is found by where a prompt asks for them: "commit this" means every rule about commits. Pure.

Told when a memory is indexed, by the terms that a prompt would name the work with, so that a prompt looks up its own terms and
nothing else.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from memoryd.language.forbidden import first_clause
from memoryd.language.stems import stem
from memoryd.language.tokens import split
from memoryd.recall.concepts import count_terms, meanings_by_dictionary
from memoryd.recall.terms import ASKED, CONCEPT
from memoryd.rules.named import Trigger
from memoryd.rules.named_work import numbers_of
from memoryd.rules.triggers import rule_of
from memoryd.rules.work_kinds import WORK, Work, by_name, commands_of, items
from memoryd.rules.work_triggers import work_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.memory.quick_parse import QuickParse

_REVIEW = Work("review", "review; code review")
"""Work that a prompt asks for and no tool call does."""


def asked_triggers(memory: QuickParse, triggers: Iterable[tuple[str, str, str, str]]) -> list[Trigger]:
    """The terms of the kinds of work that a memory names, or whose commands it names.

    `triggers`: what the memory speaks of as a rule. A narrower kind is found by the wider one too: whoever asks to push is to
    hear of "no force push".
    """
    texts = (memory.description, first_clause(rule_of(memory.body)))
    kinds = set(work_in(texts, set(), has_path=False))
    for kind, key, pattern, _ in triggers:
        if kind == "run":
            kinds |= _done_by(key, frozenset(pattern.split()))
    kinds |= {by_name()[kind].part_of for kind in kinds} - {""}
    terms = {term for kind in kinds for term in _terms_of(by_name()[kind])}
    if not _terms_of(_REVIEW).isdisjoint(_terms_in(texts)):
        terms |= _terms_of(_REVIEW)
    return [Trigger("asked", ASKED + term, "") for term in sorted(terms)]


def _done_by(program: str, words: frozenset[str]) -> set[str]:
    """Kinds of work that a command does, whatever else stands in it."""
    found = ((work.name, command.rstrip(" +").split()) for work in WORK for command in commands_of(work.name))
    return {name for name, (first, *others) in found if first == program and words.issuperset(others)}


def _terms_in(texts: Iterable[str]) -> set[str]:
    words = [word for text in texts for word in (*split(text), "")]
    return {*map(stem, words), *(CONCEPT + number for number in count_terms(words)[1])}


@cache
def _terms_of(work: Work) -> frozenset[str]:
    """The terms and concepts that a prompt names a kind of work with; none for a vague one, which most prompts would name.

    An action is named by its English word, which people take over into other languages, and by that word's concepts.
    """
    found: set[str] = set()
    for phrase in items(work.phrases) if not work.is_vague else ():
        words = [word.strip("<>") for word in phrase.split()]
        if len(words) == 1 and not phrase.startswith("^"):
            found |= {stem(words[0]), *(CONCEPT + number for number in numbers_of(words[0]))}
        elif len(words) > 1:
            found |= {CONCEPT + number for number in meanings_by_dictionary(" ".join(map(stem, words)))}
    return frozenset(found)
