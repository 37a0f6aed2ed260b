"""Comparison of a quote or an old text with a new one: what is turned round, changes places, or is gone. Pure."""

from __future__ import annotations

from itertools import permutations, product
from typing import TYPE_CHECKING, NamedTuple

from memoryd.language.cues import cues_of
from memoryd.language.statements import is_negation, statements_of
from memoryd.review.parts import parts_of
from memoryd.review.words import (
    clauses_of,
    content_words,
    founded_share,
    is_founded,
    is_other_language,
    unfounded_words,
)

if TYPE_CHECKING:
    from memoryd.memory.document import Document

_GONE = 0.5
"""A clause of which less than this share is told any more is gone."""
_LEAST_LOST = 2
_STEM = 5


def flipped_word(quote: str, text: str, old: str = "") -> str:
    """A word that the quote denies and a text affirms, or the other way round; what an old text denied may stay denied."""
    said, told, known = _readings(quote), _readings(text), _readings(old)
    words = content_words(quote)
    for clause in clauses_of(text):
        # Other words may deny it in their own way: "leave it out" for "don't". The same words without the "not" do not.
        if not unfounded_words(clause, words) and not any(map(_is_denial, clause.casefold().split())):
            for word in sorted(said.denied - said.affirmed - known.affirmed - told.denied):
                if word in _tokens(clause):
                    return word
    if said.denied or {"negative_order", "correct"} & {cue for clause in clauses_of(quote) for cue in cues_of(clause)}:
        return ""
    return next((word for word in sorted(told.denied - known.in_denial) if word in said.affirmed), "")


def unlimited_word(quote: str, text: str) -> str:
    """A word that the quote allows or forbids only for something, and a text speaks of without that: "prod only by Henk"."""
    told = content_words(text)
    if any(statement.turns for statement in statements_of(text)):
        return ""
    clauses = clauses_of(quote)
    for clause in clauses:
        if not any(kind == "except" for statement in statements_of(clause) for kind, _ in statement.turns):
            continue
        others = frozenset().union(*(content_words(other) for other in clauses if other != clause))
        own = content_words(clause) - others
        there = [word for word in sorted(own) if is_founded(word, told)]
        if there and len(there) < len(own):
            return there[0]
    return ""


def swapped_words(quote: str, text: str) -> tuple[str, str] | None:
    """Two things of which each has the other's partner in the text: "25 for guests, 250 for members" told crosswise."""
    said = [_tokens(clause) for clause in clauses_of(quote)]
    told = [_tokens(clause) for clause in clauses_of(text.replace(": ", " "))]
    for first, second in permutations(said, 2):
        own, other = first - second, second - first
        for subject, rival in product(own, other):
            for partner in other - {rival}:
                if (
                    any({subject, partner} <= clause and rival not in clause for clause in told)
                    and any(rival in clause and partner not in clause and clause & (own - {subject}) for clause in told)
                    and not any({rival, partner} <= clause for clause in told)
                ):
                    return subject, rival
    return None


def lost_clause(before: Document, new_text: str, quote: str) -> str:
    """A clause of an old memory that the new texts do not say, and of whose own words the quote has none."""
    told, said = content_words(new_text), content_words(quote)
    is_translated = is_other_language(f"{before.description} {before.body}", new_text)
    values = frozenset().union(*(statement.forms for statement in statements_of(new_text)))
    for label, text in parts_of(before)[1:]:
        for clause in _long_clauses(text):
            lost = unfounded_words(clause, told)
            own = lost if label == "fact" else content_words(clause)  # a reason goes with the thing that it speaks of
            if is_translated:
                gone = [
                    value for statement in statements_of(clause) for value in statement.values if value not in values
                ]
                if gone and not any(is_founded(value, said) for value in gone):
                    return clause
            elif (
                lost
                and len(lost) >= min(_LEAST_LOST, len(content_words(clause)))
                and founded_share(clause, told) <= _GONE
                and not any(is_founded(word, said) for word in own)
            ):
                return clause
    return ""


def _long_clauses(text: str) -> list[str]:
    """The clauses of a text; one with a single word belongs to the one before it: "Runbooks: Confluence"."""
    found: list[str] = []
    for clause in clauses_of(text):
        if found and len(content_words(clause)) < _LEAST_LOST:
            found[-1] += f" {clause}"
        else:
            found.append(clause)
    return found


def _is_denial(word: str) -> bool:
    bare = word.strip("\"'`*_()")
    return is_negation(bare) or bare == "stop"


class _Readings(NamedTuple):
    denied: frozenset[str]
    """Words right behind a "not"."""
    in_denial: frozenset[str]
    """All words of clauses that have a "not"."""
    affirmed: frozenset[str]
    """Words of clauses that have none."""


def _readings(text: str) -> _Readings:
    denied: set[str] = set()
    in_denial: set[str] = set()
    affirmed: set[str] = set()
    for clause in clauses_of(text):
        words = clause.casefold().split()
        at = next((place for place, word in enumerate(words) if _is_denial(word)), None)
        stems = {word[:_STEM] for word in content_words(clause)}
        if at is None:
            affirmed |= stems
            continue
        in_denial |= stems
        behind = [word[:_STEM] for later in words[at + 1 :] for word in content_words(later)]
        denied |= {*behind[:1]} if at + 1 < len(words) else stems  # "staging has none"
    return _Readings(frozenset(denied), frozenset(in_denial), frozenset(affirmed))


def _tokens(clause: str) -> frozenset[str]:
    numbers = {word for word in clause.casefold().split() if word[:1].isdigit()}
    return frozenset({word[:_STEM] for word in content_words(clause)} | {number.strip(".,;") for number in numbers})
