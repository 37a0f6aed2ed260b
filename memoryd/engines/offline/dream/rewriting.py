"""A memory with new values in the place of old ones; everything else stays letter by letter. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.offline.dream.fitting import NAMES, SHIFT
from memoryd.engines.offline.dream.values import fills_the_slot_of, values_in
from memoryd.engines.offline.dream.wording import clause_at, fact_of, is_small, stems_of, texts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.engines.offline.dream.fitting import Slot
    from memoryd.engines.offline.dream.statements import Statement
    from memoryd.engines.offline.dream.values import Value

_PROPER = re.compile(r"(?<=[a-z,] )[A-ZÀ-Þ][a-zà-ÿ]{2,}")
_WITH = re.compile(r"\b(?:with|without|except|mit|ohne|außer|con|sin|avec|sans)\s+(\w+)")
_HOW = re.compile(r"\*\*How to apply:\*\*")


def with_values(body: str, description: str, slots: Sequence[Slot], statement: Statement) -> tuple[str, str]:
    """Body and description with the new values. The reason tells what once was, and stays."""
    fact = fact_of(body)
    how = _HOW.search(body)
    edits = _edits(fact, 0, slots, statement, is_fact=True)
    # A name is the same one wherever it stands; a number in the part on how to apply may be another one.
    if how is not None:
        edits += _edits(body[how.end() :], how.end(), slots, statement, is_fact=False)
    heading = _edits(description, 0, slots, statement, is_fact=True)
    replaced = {slot.old.number for slot in slots for start, end, _ in heading if _is_at(description, start, slot)}
    for slot in slots:
        same = [value for value in values_in(description) if (value.kind, value.number) == slot.old[:2]]
        if slot.old.number not in replaced and len(same) == 1 and not _is_otherwise(same[0], slot.old):
            heading.append((*_span(same[0], slot), written(slot, statement, description)))
    return _applied(body, edits), _applied(description, heading)


def tells_more(statement: Statement, draft: Draft, slots: Sequence[Slot]) -> bool:
    """Whether a statement tells more than the new values: another value, a name, something that comes with it."""
    there = texts_of(draft)
    known = {value.number for value in values_in(there)} | {slot.new.number for slot in slots}
    known |= {value.number for value in statement.former_values}
    shift = SHIFT.search(statement.text)
    values = [
        value
        for value in statement.new_values
        if (value.kind != "number" or value.unit)
        and not (value.kind == "date" and any(slot.new.kind == "date" for slot in slots))
        and not (shift and shift.start() <= value.start < shift.end())
    ]
    if any(value.number not in known for value in values):
        return True
    if any(word not in there and not is_small(word) for word in _PROPER.findall(statement.quote)):
        return True
    return any(
        not stems_of(match[1]) <= stems_of(there)
        for slot in slots
        for match in _WITH.finditer(statement.text, slot.new.end)
    )


def _is_at(text: str, start: int, slot: Slot) -> bool:
    return any(value.start == start and value.number == slot.old.number for value in values_in(text))


def _is_otherwise(value: Value, old: Value) -> bool:
    return value.is_measured and old.is_measured and value.unit != old.unit


def _edits(
    text: str, offset: int, slots: Sequence[Slot], statement: Statement, *, is_fact: bool
) -> list[tuple[int, int, str]]:
    edits = []
    for slot in slots:
        near = stems_of(clause_at(statement.text, slot.new.start))
        for value in values_in(text):
            if (value.kind, value.number) != slot.old[:2] or _is_otherwise(value, slot.old):
                continue
            is_same = value.unit == slot.old.unit or fills_the_slot_of(slot.new, value)
            is_version = value.kind == "number" and "." in value.number and not value.is_measured
            is_near = bool(near & stems_of(clause_at(text, value.start)))
            if (is_fact and is_same) or value.kind in NAMES or is_version or (is_same and is_near):
                start, end = _span(value, slot)
                edits.append((start + offset, end + offset, written(slot, statement, text[value.start : value.end])))
    return edits


def _span(value: Value, slot: Slot) -> tuple[int, int]:
    return value.start, value.unit_end if _is_another_unit(slot) and value.unit_end else value.end


def _is_another_unit(slot: Slot) -> bool:
    return slot.new.is_measured and slot.old.is_measured and slot.new.unit != slot.old.unit


def written(slot: Slot, statement: Statement, old: str) -> str:
    """The new value, written as the old one was."""
    new = slot.new
    if new.kind == "date":
        opening = re.match(r"(?:is|are) ", old)
        if "年" in old:
            year, month, day = map(int, new.number.split("-"))
            return f"{year}年{month}月{day}日"
        return (opening[0] if opening else "") + new.number
    text = statement.text[new.start : new.unit_end if _is_another_unit(slot) else new.end]
    if new.kind == "weekday":
        plural = "s" if old.lower().endswith("days") and not text.lower().endswith("s") else ""
        return (text.capitalize() if old[:1].isupper() else text) + plural
    if new.kind == "address" and old.startswith("http") and not text.startswith("http"):
        return old[: old.index("://") + 3] + text
    return text


def _applied(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, new in sorted(set(edits)):
        if start < done:
            continue
        parts += text[done:start], new
        done = end
    return "".join([*parts, text[done:]])
