"""Rules of the team that a private rule contradicts, as far as code can tell: a doubt, which the user answers. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.language.replaced import differs_in_one_place, swap_in
from memoryd.review.comparison import flipped_word
from memoryd.review.words import clauses_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.model import StoredMemory


def contradicted_rule(text: str, rules: Iterable[StoredMemory]) -> StoredMemory | None:
    """The first rule that says the opposite of a text, the same with another value, or prefers what the text rejects."""
    first = text.strip().partition("\n")[0]
    for rule in rules:
        told = rule.description or rule.body.strip().partition("\n")[0]
        if _is_opposite(first, told) or differs_in_one_place(told, first):
            return rule
    return None


def _is_opposite(text: str, rule: str) -> bool:
    mine, theirs = swap_in(text), swap_in(rule)
    if mine is not None and theirs is not None and mine.new.casefold() == theirs.old.casefold():
        return mine.old.casefold() == theirs.new.casefold()
    if not clauses_of(text) or not clauses_of(rule):
        return False
    return bool(flipped_word(rule, text) or flipped_word(text, rule))
