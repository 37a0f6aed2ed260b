"""Prohibitions: what a rule forbids to run or to edit, in its own words. Pure.

Only a negation right before the verb counts, and the verb must be one of running or editing.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.language.lexicon import compiled, pattern, table

if TYPE_CHECKING:
    from collections.abc import Iterator


_CLOSED = re.compile(r"[^()]*(?=\))")
"""The rest of what stands in brackets."""
_LONGEST_SPAN = 700


class Prohibition(NamedTuple):
    verb: Literal["run", "edit", ""]
    """Empty: none, as in "no sudo"."""
    behind: str
    """The rest of the clause."""


def prohibitions_in(text: str) -> Iterator[Prohibition]:
    for found in _prohibition().finditer(text):
        behind = first_clause(text[found.end() :])
        yield Prohibition("run" if found["run"] else "edit" if found["edit"] else "", behind)


def is_negated(text: str) -> bool:
    """Whether a text has a word that forbids something."""
    return _negation().search(text) is not None


def forbids_change(text: str) -> bool:
    """Whether a sentence says that something is not to be changed: by a verb behind the negation, or by one beside it."""
    return _negation().search(text) is not None and _edit().search(text) is not None


def is_behind_negation(text: str, at: int) -> bool:
    """Whether a negation stands before a place in a text, with a word in between at most: "not plain add/remove"."""
    return any(len(text[found.end() : at].split()) <= 1 for found in _negation().finditer(text, 0, at))


def is_behind_place_word(text: str, at: int) -> bool:
    """Whether a word for a place ("in", "under") or for a change ("touch") stands before a place in a text."""
    return _place().search(text[:at]) is not None


def forbidden_spans(text: str) -> list[str]:
    """The parts of a sentence that its negations are about: up to where it begins to tell what to use, or a bracket ends.

    What "must not" be is named before it. No further than a sentence is long, so that the time grows with the text.
    """
    found = []
    for negation in _negation().finditer(text):
        rest = text[negation.end() : negation.end() + _LONGEST_SPAN]
        if _modal().match(negation[0]):
            found.append(text[max(0, negation.start() - _LONGEST_SPAN) : negation.start()])
        end = min(
            (match.start() for match in (_wanted().search(rest), _CLOSED.match(rest)) if match), default=len(rest)
        )
        found.append(rest[:end])
    return found


def clauses_of(text: str) -> list[str]:
    return [clause for clause in pattern("forbidden", "clause_end").split(text) if clause and clause.strip()]


def first_clause(text: str) -> str:
    """A text up to where its first clause ends."""
    return pattern("forbidden", "clause_end").split(text, maxsplit=1)[0]


@cache
def _wanted() -> re.Pattern[str]:
    """Where a clause begins that tells what to use."""
    use = "|".join(table("forbidden")["run"].strip().split("\n"))
    return compiled(rf"[,;:.(]\s*(?:{use})\b")


@cache
def _modal() -> re.Pattern[str]:
    return compiled(table("forbidden")["modal"].strip())


@cache
def _edit() -> re.Pattern[str]:
    words = table("forbidden")
    edit = "|".join((*words["edit"].strip().split("\n"), *words["by_hand"].strip().split("\n")))
    return compiled(rf"(?:(?<!\w)|(?<=[^\x00-\x7f]))(?:{edit})")


@cache
def _place() -> re.Pattern[str]:
    words = table("forbidden")
    before = "|".join((*words["place"].strip().split("\n"), *words["edit"].strip().split("\n")))
    article = words["article"].strip()
    return compiled(rf"(?<!\w)(?:{before})\s+(?:{article}\s+)*[`\"']?$")


@cache
def _negation() -> re.Pattern[str]:
    no = "|".join(table("forbidden")["not"].strip().split("\n"))
    return compiled(rf"(?:{no})(?:\b|(?<=[^\x00-\x7f]))")


@cache
def _prohibition() -> re.Pattern[str]:
    words = table("forbidden")
    run, edit, no = ("|".join(words[name].strip().split("\n")) for name in ("run", "edit", "not"))
    verb = rf"(?:(?P<run>{run})|(?P<edit>{edit}))?"
    return compiled(rf"(?:{no})\s*(?:(?:directly|ever|again)\s+)?{verb}(?:(?<=[^\W\d_])\s+|(?<=[^\x00-\x7f]))")
