"""Which memory a statement brings a new value for, and where in it the old value stands. Pure.

Only where it is certain: the same subject, clearly ahead of every other memory; the same slot, clearly ahead of every
other value in that memory. A statement about "hall 5" says nothing about hall 2, and what it says stays is left alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import log2
from typing import TYPE_CHECKING

from memoryd.engines.offline.dream.fitting import NAMES, is_moved_to, is_new_label, shifted, slot_for
from memoryd.engines.offline.dream.statements import CHANGES
from memoryd.engines.offline.dream.values import values_in
from memoryd.engines.offline.dream.wording import (
    clause_at,
    fact_of,
    is_small,
    is_without_spaces,
    stem_of,
    stems_of,
    texts_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.engines.offline.dream.fitting import Slot
    from memoryd.engines.offline.dream.statements import Statement
    from memoryd.engines.offline.dream.values import Value

CLEARLY = 1.25
"""So far ahead of the second the first has to be."""
_COVERED = 0.5
_ABOUT = 0.4
"""What stands in other sentences of the message counts less."""
_LETTERED = re.compile(r"\b([^\W\d_]{3,}) ([A-Z])\b(?![.'-]\w)")
_PAIR = re.compile(r"(?<![\w-])([^\W\d_]{3,})(?= ([^\W\d_]{3,})(?![\w-]))")
_MAYBE_A_VERB = re.compile(r"(?i)(?:ed|[^s]s)$")
_TILL = re.compile(r"(?i)\btill (?=end\b|next\b|the end\b|\d)")
"""A till may be a thing as well."""
_ANNOUNCED = re.compile(r"(?i)\bnew \w+[,:] (?:[^\W\d_]{1,9}\.? )?$")
"""Before a value: "a new number, ext 12"."""
_ELSEWHERE = 0.5
"""So do words of the reason and of how to apply it."""


def nearness(statement: Statement, draft: Draft, rare: Mapping[str, float]) -> float:
    """How much of what a statement speaks of is in a memory. Rare words tell more, and those in its fact."""
    there, fact = stems_of(texts_of(draft)), stems_of(texts_of(draft).removesuffix(draft.body) + fact_of(draft.body))
    own = _own_stems(statement)
    about = stems_of(statement.about) - own
    return sum(
        log2(1 + rare.get(stem, 1.0)) * (1 if stem in own else _ABOUT) * (1 if stem in fact else _ELSEWHERE)
        for stem in (own | about) & there
    )


def _own_stems(statement: Statement) -> frozenset[str]:
    return stems_of(_without_units(statement.subject))


@lru_cache(maxsize=1024)
def _without_units(text: str) -> str:
    """The text without what its values are measured in: "at 23 degrees" is about no degrees."""
    for value in reversed(values_in(text)):
        if value.is_measured and value.unit_end > value.end:
            text = f"{text[: value.end]} {text[value.unit_end :]}"
    return _TILL.sub(" ", text)


def find_slots(
    statement: Statement, drafts: Sequence[Draft], rare: Mapping[str, float], focus: Draft | None = None
) -> tuple[Draft | None, list[Slot]]:
    """The memory that a statement changes, with the values that it changes there; none where that is not certain.

    `focus` is the memory that another sentence of the same message changed.
    """
    found: list[tuple[float, Draft, list[Slot]]] = []
    for draft in drafts:
        if draft.is_archived or not nearness(statement, draft, rare) or is_about_another(statement, draft):
            continue
        slots = _slots_in(statement, draft, is_focus=draft is focus)
        if slots and (draft is focus or _is_about_it(statement, draft, slots, rare)):
            weight = nearness(statement, draft, rare) * (2 if any(slot.is_named for slot in slots) else 1)
            found.append((weight, draft, slots))
    found.sort(key=lambda one: -one[0])
    if (
        found
        and not _is_nearest(statement, found[0][0], drafts, rare)
        and not _all_said_alike(statement, *found[0][1:])
    ):
        return None, []
    if not found or (
        len(found) > 1 and found[0][0] < CLEARLY * found[1][0] and not _same_name(found[0][2], found[1][2])
    ):
        return None, []
    return found[0][1], found[0][2]


def _is_nearest(statement: Statement, weight: float, drafts: Sequence[Draft], rare: Mapping[str, float]) -> bool:
    """Whether no other memory, with such a value or without, is nearer to what the statement speaks of."""
    return all(nearness(statement, other, rare) <= weight for other in drafts if not other.is_archived)


def _all_said_alike(statement: Statement, draft: Draft, slots: Sequence[Slot]) -> bool:
    return all(_is_said_alike(statement, slot, draft) for slot in slots)


def _same_name(slots: Sequence[Slot], others: Sequence[Slot]) -> bool:
    """Whether both change one and the same name: then it does not matter which is meant, it changes wherever it stands."""
    names, other_names = ({slot.old.number for slot in some if slot.old.kind in NAMES} for some in (slots, others))
    return bool(names) and names == other_names and len(slots) == len(others) == len(names)


def _is_about_it(statement: Statement, draft: Draft, slots: Sequence[Slot], rare: Mapping[str, float]) -> bool:
    there = stems_of(texts_of(draft))
    names = " ".join(slot.new.number for slot in slots if slot.new.kind in NAMES)
    own = _own_stems(statement) - (stems_of(names) - there)  # a new name is not known yet
    shared = own & there
    everything = (own | stems_of(statement.about)) & there
    if any(slot.is_named for slot in slots):
        return bool(everything)
    if is_without_spaces(own):
        return bool(shared)
    if any(_is_said_alike(statement, slot, draft) for slot in slots):
        return True
    most = max(rare.values(), default=1.0)
    is_told = len(everything) > 1 or any(rare.get(stem, 0.0) >= most for stem in shared)
    return len(shared) >= _COVERED * len(own) and is_told


def _is_said_alike(statement: Statement, slot: Slot, draft: Draft) -> bool:
    """Whether all that the clause of the new value speaks of stands beside the old one as well."""
    near = stems_of(_without_units(clause_at(statement.text, slot.new.start)))
    return bool(near) and any(
        near <= stems_of(clause_at(text, slot.old.start))
        for text in (fact_of(draft.body), draft.description)
        if slot.old in values_in(text)
    )


def is_about_another(statement: Statement, draft: Draft) -> bool:
    """Whether a statement names a thing by its number or letter, and the memory is about one with another."""
    if _is_of_another_kind(statement.text, draft):
        return True
    there = _numbered(texts_of(draft))
    return any(
        label in there and number not in there[label]
        for label, numbers in _numbered(statement.text, is_said=True).items()
        for number in numbers
    )


def _is_of_another_kind(text: str, draft: Draft) -> bool:
    """Whether a text speaks of the same things of another kind: "staging workers" and "import workers"."""
    fact = f"{draft.description}\n{fact_of(draft.body)}"
    known, kinds = stems_of(texts_of(draft)), _kinds_in(fact)
    said, own = stems_of(text), _kinds_in(text)
    return any(own[thing].isdisjoint(known) and kinds[thing].isdisjoint(said) for thing in own.keys() & kinds.keys())


@lru_cache(maxsize=2048)
def _kinds_in(text: str) -> Mapping[str, set[str]]:
    """The words that stand right before others, by the stem of the second one."""
    found: dict[str, set[str]] = {}
    for match in _PAIR.finditer(text):
        if not (is_small(match[1]) or is_small(match[2]) or _MAYBE_A_VERB.search(match[1])):
            found.setdefault(stem_of(match[2]), set()).add(stem_of(match[1]))
    return found


@lru_cache(maxsize=2048)
def _numbered(text: str, *, is_said: bool = False) -> Mapping[str, set[str]]:
    """What a text calls by a number or a letter: "hall 5", "yard C"; of what is said only what tells which one is meant."""
    found: dict[str, set[str]] = {}
    for value in values_in(text):
        is_label = value.kind == "number" and value.label and not value.is_measured
        if is_label and not (is_said and is_new_label(text, value)):
            found.setdefault(value.label, set()).add(value.number)
    for match in _LETTERED.finditer(text):
        if not is_small(match[1]) and not (is_said and is_moved_to(text[: match.start()])):
            found.setdefault(stem_of(match[1]), set()).add(match[2])
    return found


def _slots_in(statement: Statement, draft: Draft, *, is_focus: bool = False) -> list[Slot]:
    slots: dict[tuple[str, str], Slot] = {}
    news = [value for value in statement.new_values if _may_be_new(statement, value, is_focus=is_focus)]
    moved = shifted(statement, draft)
    if moved is not None and not any(value.kind == "date" for value in news):
        news.append(moved)
    clashes = set()
    for new in news:
        slot = slot_for(new, statement, draft)
        if slot is None:
            continue
        key = (slot.old.kind, slot.old.number)
        if key in slots and slots[key].new.number != new.number:
            clashes.add(key)
        slots.setdefault(key, slot)
    return [slot for key, slot in slots.items() if key not in clashes]


def _may_be_new(statement: Statement, value: Value, *, is_focus: bool) -> bool:
    is_announced = bool(_ANNOUNCED.search(statement.text[: value.start]))
    if not (is_focus or is_announced or statement.is_firm or CHANGES.search(clause_at(statement.text, value.start))):
        return False
    if value.kind == "number" and value.label and not value.unit and not is_announced:
        return is_new_label(statement.text, value)
    return True
