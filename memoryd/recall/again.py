"""Statements that say another one again, in other words: "ask me before you push", "never push without asking"; and groups of them.

Never the same are two that differ in a number, a version, a path, a day, in what they negate or in what comes first: that is told by
code. Of the others trees tell by the numbers in `alike.py`; `make train` fits them to pairs that people wrote.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from memoryd.recall.alike import numbers_of, pairs_of_words, weight_of
from memoryd.trees import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.recall.alike import Pairs
    from memoryd.recall.restated import Restated

FILE = "restated.json"
LEAST_PROBABILITY = 0.4
LEAST_UNSPACED = 0.6
"""In scripts without spaces, where less is known of the words."""
_LEAST_SHARED = 0.25
"""Of the weight of the shorter of two statements, that both must have before they are looked at closely."""
_MOST_HAVING = 200
"""Statements beyond which a word alone brings no two together."""
_PAIR_WEIGHT = 0.3
"""Of two characters in a script without spaces."""


def is_restated(one: Restated, other: Restated) -> bool:
    """Whether two statements say the same."""
    return probability_of(one, other) >= _least(one, other)


def _least(one: Restated, other: Restated) -> float:
    return LEAST_UNSPACED if one.pairs and other.pairs else LEAST_PROBABILITY


def probability_of(one: Restated, other: Restated) -> float:
    """How surely two statements say the same."""
    if one.told == other.told:
        return 1.0
    numbers = compared(one, other)
    return read(__package__, FILE).probability(numbers) if numbers else 0.0


def compared(one: Restated, other: Restated) -> list[float]:
    """What the trees weigh, whichever comes first; nothing where something differs that is never the same."""
    one, other = sorted((one, other), key=lambda statement: statement.text)
    pairs = _comparable(one, other)
    return numbers_of(one, other, pairs) if pairs else []


def _comparable(one: Restated, other: Restated) -> Pairs | None:
    """The words of both, unless something that is never the same differs, or nothing is the same."""
    if one.literals != other.literals or _turns_literals(one, other):
        return None
    if bool(one.pairs) != bool(other.pairs) or (one.pairs and one.has_negation != other.has_negation):
        return None  # in two languages, or turned as a whole
    has_order = one.has_order and other.has_order
    if one.order and other.order and one.order != other.order and not has_order:
        return None
    pairs = pairs_of_words(one.words, other.words)
    if not pairs.same and not pairs.akin and not one.literals and one.pairs.isdisjoint(other.pairs):
        return None
    if has_order and any(a.is_second != b.is_second for a, b in pairs.same):
        return None
    return None if _turns_words(pairs) else pairs


def _turns_words(pairs: Pairs) -> bool:
    """Whether one wants what the other does not: "tabs, not spaces" and "spaces, not tabs", "use npm" and "pnpm, not npm"."""
    both = (*pairs.same, *pairs.akin)
    turned = {a.is_negated for a, b in both if a.is_negated != b.is_negated}
    is_agreed = any(a.is_negated == b.is_negated and not a.is_light for a, b in both)
    return len(turned) > 1 or (bool(turned) and not is_agreed)


def _turns_literals(one: Restated, other: Restated) -> bool:
    """Whether one wants what the other does not: "v1, not v2" and "v2, not v1", "use --force" and "never use --force"."""
    if one.negated == other.negated:
        return False
    return one.has_negation != other.has_negation or bool(one.negated and other.negated)


def groups_of(statements: Sequence[Restated]) -> list[list[int]]:
    """Statements that are the same, by their numbers; each is the same as all others of its group."""
    numbers_by_text: dict[tuple[str, ...], list[int]] = {}
    for number, statement in enumerate(statements):
        if statement.words or statement.pairs:
            numbers_by_text.setdefault(statement.told, []).append(number)
    members = list(numbers_by_text.values())
    texts = [statements[numbers[0]] for numbers in members]
    likely = {
        (one, other): probability
        for one, other in candidates(texts)
        if (probability := probability_of(texts[one], texts[other])) >= _least(texts[one], texts[other])
    }
    groups = _joined(len(texts), likely)
    return sorted(sorted(number for text in group for number in members[text]) for group in groups)


def _joined(count: int, likely: dict[tuple[int, int], float]) -> list[list[int]]:
    """The surest pairs first; two groups become one only where all of both are the same."""
    groups = [[text] for text in range(count)]
    group_of = groups.copy()
    for one, other in sorted(likely, key=lambda pair: (-likely[pair], pair)):
        first, second = group_of[one], group_of[other]
        if first is not second and all((min(a, b), max(a, b)) in likely for a in first for b in second):
            first += second
            for text in second:
                group_of[text] = first
    return list({id(group): group for group in group_of}.values())


def candidates(texts: Sequence[Restated]) -> Iterator[tuple[int, int]]:
    """Pairs that have enough in common to be looked at closely. Only rare words bring two together, so that many are compared fast."""
    keys = [_keys_of(text) for text in texts]
    having = Counter(key for some in keys for key in some)
    wholes = [sum(some.values()) for some in keys]
    before: dict[str, list[int]] = {}
    for number, some in enumerate(keys):
        rare = [key for key in some if having[key] <= _MOST_HAVING] or sorted(some, key=lambda key: having[key])[:1]
        for other in sorted({other for key in rare for other in before.get(key, ())}):
            shared = sum(weight for key, weight in some.items() if key in keys[other])
            if shared >= _LEAST_SHARED * min(wholes[number], wholes[other]):
                yield other, number
        for key in rare:
            before.setdefault(key, []).append(number)


def _keys_of(text: Restated) -> dict[str, float]:
    """What two statements that are the same have in common, with its weight."""
    weights = dict.fromkeys(text.pairs, _PAIR_WEIGHT) | dict.fromkeys(text.literals, 1.0)
    for word in text.words:
        key = word.beginning
        weights[key] = max(weight_of(word), weights.get(key, 0.0))
    return weights
