"""Prohibitions: what a rule forbids to run or to edit, in its own words. Pure.

Only a negation right before the verb counts, and the verb must be one of running or editing.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.language.lexicon import compiled, pattern, table

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator


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


def forbidden_things(text: str) -> Iterator[str]:
    """What stands behind each prohibition to use or to add something, without the article; not where it may not be done."""
    for prohibition in prohibitions_in(text):
        if prohibition.verb != "edit":
            yield _before_thing().sub("", prohibition.behind.strip(), count=1)


def first_clause(text: str) -> str:
    """A text up to where its first clause ends."""
    return pattern("forbidden", "clause_end").split(text, maxsplit=1)[0]


@cache
def _negation() -> re.Pattern[str]:
    no = "|".join(table("forbidden")["not"].strip().split("\n"))
    return compiled(rf"(?:{no})(?:\b|(?<=[^\x00-\x7f]))")


@cache
def _before_thing() -> re.Pattern[str]:
    words = table("forbidden")
    write, article = words["write"].strip(), words["article"].strip()
    return compiled(rf"(?:{write}(?:\b|(?<=[^\x00-\x7f]))\s*)?(?:{article}\s+)*")


@cache
def _prohibition() -> re.Pattern[str]:
    words = table("forbidden")
    run, edit, no = ("|".join(words[name].strip().split("\n")) for name in ("run", "edit", "not"))
    verb = rf"(?:(?P<run>{run})|(?P<edit>{edit}))?"
    return compiled(rf"(?:{no})\s*(?:(?:directly|ever|again)\s+)?{verb}(?:(?<=[^\W\d_])\s+|(?<=[^\x00-\x7f]))")
