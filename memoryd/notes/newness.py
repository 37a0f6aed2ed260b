"""Newness: how much a text says that those before it did not. Pure.

"ok, go on" says nothing new, and the fifth "rename this" little; "no new colours, marketing will not accept them" a lot. So
what a user laid down an hour ago is kept although fifty short messages have come since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from memoryd.language.tokens import is_stop, is_unspaced, pairs_of, split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Item = TypeVar("Item")

SHOWN_CHARACTERS = 400
"""Of a text, what is looked at: a pasted log is not the more telling the longer it is."""
LEAST_NEW = 2
"""A text with fewer new words says what was said."""


def new_words(texts: Iterable[str]) -> list[int]:
    """Of each text in order, how many of its words no earlier one has."""
    known: set[str] = set()
    counts = []
    for text in texts:
        words = _words(text[:SHOWN_CHARACTERS]) - known
        known |= words
        counts.append(len(words))
    return counts


def most_telling_first(texts: Sequence[str], last: int) -> list[int]:
    """The places of texts: the last ones, then those that say something new, the most first, then the others, the newest first."""
    counts = [count if count >= LEAST_NEW else 0 for count in new_words(texts)]
    newest_first = list(range(len(texts) - 1, -1, -1))
    return [*newest_first[:last], *sorted(newest_first[last:], key=lambda at: -counts[at])]


def shortened(items: list[Item], text_of: Callable[[Item], str], last: int, others: int) -> list[Item]:
    """The last items, and before them the most telling of the others; in their order.

    Nothing happens before the list is a third too long, so that a session of thousands of turns costs little.
    """
    if 3 * len(items) <= 4 * (last + others):
        return items
    order = most_telling_first([text_of(item) for item in items], last)
    return [items[at] for at in sorted(order[: last + others])]


def _words(text: str) -> set[str]:
    tokens = (pair for word in split(text) for pair in (pairs_of(word) if is_unspaced(word) else (word,)))
    return {token for token in tokens if token and not is_stop(token)}
