"""Which memory a statement brings a new value for, and where in it the old value stands. Pure.

Only where it is certain: the same subject, clearly ahead of every other memory; the same slot, clearly ahead of every
other value in that memory. A statement about "hall 5" says nothing about hall 2, and what it says stays is left alone.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from math import log2
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.offline.dream.statements import CHANGES
from memoryd.engines.offline.dream.values import Value, fills_the_slot_of, is_certain_slot, values_in
from memoryd.engines.offline.dream.wording import clause_at, clauses_of, is_without_spaces, stems_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.engines.offline.dream.statements import Statement

CLEARLY = 1.25
"""So far ahead of the second the first has to be."""
_COVERED = 0.5
_NAMED = 10
"""A value that the statement calls the former one counts like so many shared words."""
_ABOUT = 0.4
"""What stands in other sentences of the message counts less."""
_ELSEWHERE = 0.5
"""So do words of the reason and of how to apply it."""
_PART = re.compile(r"\n\s*\*\*[^*\n]{1,40}:\*\*")
NAMES = frozenset({"file", "address", "channel", "name"})
_MOVED_TO = re.compile(
    r"(?i)\b(?:moved|moves?|went|relocated|switched|changed|upgraded|updated|confirmed|is|are|runs?|lives?|sits?|now|new|jetzt|ist|steht|está|est)\b(?:\s+\w+){0,2}\s*$"
)
_ALWAYS_A_VALUE = re.compile(r"ext|extensio|port|phon|telefo|durchwahl|分机|内線")
_RENAMED = re.compile(
    r"(?i)\b(?:renamed|(?:now|is) called|(?:is|are) now (?:in|on|at)|now (?:in|on|at)|moved|moves|belongs? (?:in|to)|replaced by|umbenannt|heißt jetzt|verschoben|se llama ahora|renommée?|s'appelle)\b|改名|现在叫|改叫|换成|搬到"
)
_BOUND = re.compile(
    r"(?i)\b(?:at most|at least|up to|no more than|no less than|max(?:imum)?|min(?:imum)?|limit\w*|may|must|can|allowed|höchstens|mindestens|maximal|dürfen|darf|como máximo|al menos|máximo|au plus|au moins|maximum)\b"
    r"|最多|至少|不超过|上限|まで|以上|以下|以内"
)
_UNTIL = re.compile(r"(?i)(?:\b(?:until|till|til|to|by|before|through|bis|vor|hasta|jusqu'au|jusqu'à|avant)\s+(?:the |den |zum |el |le )?(?:[\w ]{0,20}\()?|至|到)$")
_FROM = re.compile(r"(?i)(?:\b(?:from|since|starting|as of|ab|seit|vom|desde|dès|à partir du|del?|du)\s+(?:the |dem |el |le )?|从|自)\s*$")
SHIFT = re.compile(
    r"(?i)(?P<number>\w+) (?P<unit>days?|weeks?|Tage?|Wochen?|días?|semanas?|jours?|semaines?) (?P<way>earlier|sooner|later|früher|später|antes|después|más(?: tarde)?|plus (?:tôt|tard))"
    r"|(?P<way_zh>推迟|延后|延期|提前)了?(?P<number_zh>[一二两三四五六七八九十\d]+)(?P<unit_zh>天|周|个星期)"
)
_EARLIER = re.compile(r"(?i)earlier|sooner|früher|antes|plus tôt|提前")


_FIXED = re.compile(r"(?i)\b(?:date|day|fixed|settled|Termin|Datum|fecha)\b|定了|日期|決ま")


class Slot(NamedTuple):
    """An old value of a memory and the new one for it."""

    old: Value
    new: Value
    is_named: bool
    """The statement itself says that the old value no longer holds."""


def texts_of(draft: Draft) -> str:
    """All that tells what a memory is about."""
    return f"{' '.join(draft.files).replace('_', ' ').removesuffix('.md')} {draft.title} {draft.description}\n{draft.body}"


def fact_of(body: str) -> str:
    """What a memory says, without the named parts behind it."""
    part = _PART.search(body)
    return body[: part.start()] if part else body


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
    return stems_of(statement.subject)


def find_slots(
    statement: Statement, drafts: Sequence[Draft], rare: Mapping[str, float], focus: Draft | None = None
) -> tuple[Draft | None, list[Slot]]:
    """The memory that a statement changes, with the values that it changes there; none where that is not certain.

    `focus` is the memory that another sentence of the same message changed.
    """
    found: list[tuple[float, Draft, list[Slot]]] = []
    for draft in drafts:
        if draft.is_archived or _is_about_another(statement, draft):
            continue
        slots = _slots_in(statement, draft, is_focus=draft is focus)
        if slots and (draft is focus or _is_about_it(statement, draft, slots, rare)):
            weight = nearness(statement, draft, rare) * (2 if any(slot.is_named for slot in slots) else 1)
            found.append((weight, draft, slots))
    found.sort(key=lambda one: -one[0])
    if found and not _is_nearest(statement, found[0][1], drafts, rare) and not _all_said_alike(statement, *found[0][1:]):
        return None, []
    if not found or (len(found) > 1 and found[0][0] < CLEARLY * found[1][0] and not _same_name(found[0][2], found[1][2])):
        return None, []
    return found[0][1], found[0][2]


def _is_nearest(statement: Statement, draft: Draft, drafts: Sequence[Draft], rare: Mapping[str, float]) -> bool:
    """Whether no other memory, with such a value or without, is nearer to what the statement speaks of."""
    weight = nearness(statement, draft, rare)
    return all(nearness(statement, other, rare) <= weight for other in drafts if not other.is_archived)


def _all_said_alike(statement: Statement, draft: Draft, slots: Sequence[Slot]) -> bool:
    return all(_is_said_alike(statement, slot, draft) for slot in slots)


def _same_name(slots: Sequence[Slot], others: Sequence[Slot]) -> bool:
    """Whether both change one and the same name: then it is changed wherever it stands."""
    return all(slot.old.kind in NAMES for slot in slots) and [one[:2] for one in slots] == [
        one[:2] for one in others
    ] or {slot.old.number for slot in slots if slot.old.kind in NAMES} == {one.old.number for one in others}


def _is_about_it(statement: Statement, draft: Draft, slots: Sequence[Slot], rare: Mapping[str, float]) -> bool:
    there, own = stems_of(texts_of(draft)), _own_stems(statement)
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
    near = stems_of(clause_at(statement.text, slot.new.start))
    return bool(near) and any(
        near <= stems_of(clause_at(text, slot.old.start))
        for text in (fact_of(draft.body), draft.description)
        if slot.old in values_in(text)
    )


def _is_about_another(statement: Statement, draft: Draft) -> bool:
    """Whether a statement names a thing by its number, and the memory is about one with another number."""
    there: dict[str, set[str]] = {}
    for value in values_in(texts_of(draft)):
        if value.kind == "number" and value.label and not value.is_measured:
            there.setdefault(value.label, set()).add(value.number)
    for value in values_in(statement.text):
        if value.kind == "number" and value.label and not value.is_measured and not is_new_label(statement.text, value):
            numbers = there.get(value.label)
            if numbers and value.number not in numbers:
                return True
    return False


def is_new_label(text: str, value: Value) -> bool:
    """Whether "hall 5" tells where something is now, and not which one is meant."""
    if _ALWAYS_A_VALUE.fullmatch(value.label):
        return True
    before = text[: value.start].rstrip(" .:-(")
    before = before[: len(before) - len(re.search(r"\w*$", before)[0])]  # type: ignore[index]
    start = next((start for start, end in clauses_of(text) if start <= len(before) <= end), 0)
    return bool(_MOVED_TO.search(before[start:]))


def _slots_in(statement: Statement, draft: Draft, *, is_focus: bool = False) -> list[Slot]:
    slots: dict[tuple[str, str], Slot] = {}
    news = [value for value in statement.new_values if _may_be_new(statement, value, is_focus=is_focus)]
    shifted = _shifted(statement, draft)
    if shifted is not None and not any(value.kind == "date" for value in news):
        news.append(shifted)
    clashes = set()
    for new in news:
        slot = _slot_for(new, statement, draft)
        if slot is None:
            continue
        key = (slot.old.kind, slot.old.number)
        if key in slots and slots[key].new.number != new.number:
            clashes.add(key)
        slots.setdefault(key, slot)
    return [slot for key, slot in slots.items() if key not in clashes]


def _may_be_new(statement: Statement, value: Value, *, is_focus: bool) -> bool:
    if not (is_focus or statement.is_firm or CHANGES.search(clause_at(statement.text, value.start))):
        return False
    if value.kind == "number" and value.label and not value.unit:
        return is_new_label(statement.text, value)
    return True


def _slot_for(new: Value, statement: Statement, draft: Draft) -> Slot | None:
    """The old value in a memory that a new one replaces; None where there is none, or more than one could be meant."""
    near = stems_of(clause_at(statement.text, new.start))
    if not near & stems_of(texts_of(draft)):
        near = _own_stems(statement)
    formers = _formers_of(new, statement)
    staying = stems_of(statement.stays)
    if new.kind in NAMES and new.number in {value.number for value in values_in(texts_of(draft).lower())}:
        return None
    kept = {value.number for value in values_in(statement.stays)}
    scores: dict[str, tuple[float, Value, bool]] = {}
    for text in (draft.body if new.kind in NAMES else fact_of(draft.body), draft.description):
        for old in values_in(text):
            is_named = old.number in formers and _is_alike(new, old)
            if old.number in kept or not (fills_the_slot_of(new, old) or is_named):
                continue
            around = stems_of(clause_at(text, old.start))
            shared = max(len(near & around), int(is_certain_slot(new, old) and not new.is_measured))
            shared += 2 * len(_numbered(statement.text, new) & _numbered(text, old))
            if _BOUND.search(clause_at(text, old.start)) and not (
                statement.is_firm or _BOUND.search(clause_at(statement.text, new.start))
            ):
                continue  # "The report has 14 pages now" changes nothing of "at most 12 pages"
            if not is_named and len(staying & around) > shared:
                continue
            if new.kind == "date" and not _is_same_end(new, statement, old, text):
                continue
            if new.kind == "format" and not is_named:
                continue
            score = shared + (_NAMED if is_named else 0)
            is_fit = is_named or (shared > 0 if not is_certain_slot(new, old) else shared > 0 or new.kind in NAMES)
            if new.kind in NAMES and not is_certain_slot(new, old) and not is_named:
                is_fit = shared > 0 and bool(_RENAMED.search(statement.quote))
            if new.kind in ("date", "weekday"):
                is_fit = is_named or bool(near & stems_of(texts_of(draft)))
            if is_fit and score >= scores.get(old.number, (-1.0, old, False))[0]:
                scores[old.number] = (score, old, is_named)
    ranked = sorted(scores.values(), key=lambda one: -one[0])
    if not ranked or (len(ranked) > 1 and ranked[0][0] <= ranked[1][0]):
        return None
    return Slot(ranked[0][1], new, ranked[0][2])


def _numbered(text: str, value: Value) -> set[tuple[str, str]]:
    """What the clause of a value calls by a number: "sensor 9"."""
    clause = clause_at(text, value.start)
    return {
        (one.label, one.number) for one in values_in(clause) if one.kind == "number" and one.label and one.number != value.number
    }


def _formers_of(new: Value, statement: Statement) -> set[str]:
    """The values that a new one takes the place of by the statement's own words: those that stand nearest to it."""
    rivals = [value for value in statement.new_values if value.kind == new.kind]
    return {
        former.number
        for former in statement.former_values
        if _is_alike(new, former)
        and new == min((one for one in rivals if _is_alike(one, former)), key=lambda one: abs(one.start - former.start))
    }


def _is_same_end(new: Value, statement: Statement, old: Value, text: str) -> bool:
    """Whether two days are both where something begins, both where it ends, or both neither."""
    role, other = _role(statement.text, new), _role(text, old)
    roles = {_role(statement.text, value) for value in statement.new_values if value.kind == "date"}
    if role != other and other in roles:
        return False
    if not old.number:
        return role == "" or bool(_FIXED.search(statement.quote))
    days = {value.number for value in values_in(text) if value.kind == "date"}
    return role == other or (len(days) == 1 and "" in (role, other))


def _is_alike(new: Value, old: Value) -> bool:
    """Whether a value that is called the former one is of the kind of the new one: half an hour, twenty minutes."""
    spans = {"ms", "s", "min", "h", "day", "night", "week", "month", "year"}
    if new.kind != old.kind or new.number == old.number:
        return False
    return fills_the_slot_of(new, old) or (new.kind == "number" and {new.unit, old.unit} <= spans)


def _role(text: str, value: Value) -> str:
    """Whether a day is where something begins, where it ends, or neither."""
    before, behind = text[max(0, value.start - 40) : value.start], text[value.end : value.end + 8].lstrip(" )）")  # noqa: RUF001
    if _UNTIL.search(before) or re.match(r"まで|为止|止", behind):
        return "until"
    if _FROM.search(before) or re.match(r"から|起|开始", behind):
        return "from"
    return ""


def _shifted(statement: Statement, draft: Draft) -> Value | None:
    """The date that a memory has after it moved by so many days; only where the memory has just one."""
    match = SHIFT.search(statement.quote)
    days = {value.number for value in values_in(fact_of(draft.body)) if value.kind == "date"}
    if match is None or len(days) != 1 or not (only := days.pop()) or only.startswith("0000"):
        return None
    word, unit = match["number"] or match["number_zh"], (match["unit"] or match["unit_zh"]).lower()
    counted = values_in(f"{word} days") if match["number"] else values_in(f"{word}天")
    number = 1 if word.lower() in ("a", "one", "eine", "una", "une", "一") else int(counted[0].number) if counted else 0
    if not number:
        return None
    distance = timedelta(days=number * (1 if unit[0] in "dtj天" else 7))
    way = match["way"] or match["way_zh"]
    moved = date.fromisoformat(only) + (-distance if _EARLIER.search(way) else distance)
    return Value("date", moved.isoformat(), *match.span(0))
