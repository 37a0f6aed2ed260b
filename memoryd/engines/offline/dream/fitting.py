"""Which old value of a memory a new one takes the place of, by what stands around both. Pure.

"Open at 25 degrees" is about the value in "open at 27 °C", and not about the one in "close 2 K below". Two values that
fit alike are none: then nobody can tell.
"""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.offline.dream.values import Value, fills_the_slot_of, is_certain_slot, values_in
from memoryd.engines.offline.dream.wording import clause_at, clauses_of, fact_of, stems_of, texts_of

if TYPE_CHECKING:
    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.engines.offline.dream.statements import Statement

NAMES = frozenset({"file", "address", "channel", "name"})
_NAMED = 10
"""A value that the statement calls the former one counts like so many shared words."""
_LIST = re.compile(
    r"(?i)(?:[\s,;/&+`、，和及と]|\b(?:and|or|also|as well as|on|the|und|oder|sowie|am|auch|y|o|e|el|los|et|ou|le|les)\b)*"
)
"""What stands between the members of a list."""
_LISTED = NAMES | {"weekday"}
_SAME_NUMBERED = 2
"""So does "sensor 9" on both sides."""
_MOVED_TO = re.compile(
    r"(?i)\b(?:moved|moves?|went|relocated|switched|changed|bumped|migrated|upgraded|updated|confirmed|is|are|runs?|lives?|sits?|now|new|jetzt|ist|steht|está|est)\b(?:\s+\w+){0,2}\s*$"
)
_LABEL = re.compile(r"\w+[ .:(-]*$")
_ALWAYS_A_VALUE = re.compile(r"ext|extensio|port|phon|telefo|durchwahl|分机|内線")
_RENAMED = re.compile(
    r"(?i)\b(?:renamed|(?:now|is) called|(?:is|are) now (?:in|on|at)|now (?:in|on|at)|moved|moves|belongs? (?:in|to)|(?:lives?|sits?|goes|go|is|are) (?:in|on|at|over|through|under)|replaced by|umbenannt|heißt jetzt|verschoben|se llama ahora|renommée?|s'appelle)\b|改名|现在叫|改叫|换成|搬到"
)
_BOUND = re.compile(
    r"(?i)\b(?:at most|at least|up to|no more than|no less than|max(?:imum)?|min(?:imum)?|limit\w*|may|must|can|allowed|höchstens|mindestens|maximal|dürfen|darf|como máximo|al menos|máximo|au plus|au moins|maximum)\b"
    r"|最多|至少|不超过|上限|まで|以上|以下|以内"
)
_UNTIL = re.compile(
    r"(?i)(?:\b(?:until|till|til|to|by|before|through|bis|vor|hasta|jusqu'au|jusqu'à|avant)\s+(?:the |den |zum |el |le )?(?:[\w ]{0,20}\()?|至|到)$"
)
_FROM = re.compile(
    r"(?i)(?:\b(?:from|since|starting|as of|ab|seit|vom|desde|dès|à partir du|del?|du)\s+(?:the |dem |el |le )?|从|自)\s*$"
)
SHIFT = re.compile(
    r"(?i)(?P<number>\w+) (?P<unit>days?|weeks?|Tage?|Wochen?|días?|semanas?|jours?|semaines?) (?P<way>earlier|sooner|later|früher|später|antes|después|más(?: tarde)?|plus (?:tôt|tard))"
    r"|\banother (?P<number_more>\w+) (?P<unit_more>days?|weeks?)\b|\b(?P<number_extra>\w+) (?:more|extra) (?P<unit_extra>days?|weeks?)\b"
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


def slot_for(new: Value, statement: Statement, draft: Draft) -> Slot | None:
    """The old value in a memory that a new one replaces; None where there is none, or more than one could be meant."""
    if new.kind in _LISTED and new.number in {one.number for one in values_in(texts_of(draft)) if one.kind == new.kind}:
        return None
    found: dict[str, tuple[float, Slot]] = {}
    formers = _formers_of(new, statement)
    for text in (draft.body if new.kind in NAMES or formers else fact_of(draft.body), draft.description):
        for old in values_in(text):
            is_named = old.number in formers and _is_alike(new, old)
            score = _score(new, statement, old, text, draft, is_named=is_named)
            if score > 0 and score >= found.get(old.number, (0.0,))[0]:
                found[old.number] = score, Slot(old, new, is_named)
    ranked = sorted(found.values(), key=lambda one: -one[0])
    if not ranked or (len(ranked) > 1 and ranked[0][0] <= ranked[1][0]):
        return None
    return ranked[0][1]


def _score(new: Value, statement: Statement, old: Value, text: str, draft: Draft, *, is_named: bool) -> float:
    """How well a new value fits in the place of an old one; 0 where it does not."""
    kept = {value.number for value in values_in(statement.stays)}
    if is_listed_with(new, old, statement):
        return 0  # "on Sundays and Wednesdays": one more, and the old one as well
    if old.number in kept or (_formers_of(new, statement) and not is_named):
        return 0  # the statement says itself which value stays, or which one is over
    if not (is_named or fills_the_slot_of(new, old)):
        return 0
    if new.kind == "date" and not _is_same_end(new, statement, old, text):
        return 0
    clause = clause_at(text, old.start)
    near = stems_of(clause_at(statement.text, new.start))
    if not near & stems_of(texts_of(draft)):
        near = stems_of(statement.subject)
    is_certain = is_certain_slot(new, old)
    shared = max(len(near & stems_of(clause)), int(is_certain and not new.is_measured))
    shared += _SAME_NUMBERED * len(_numbered(statement.text, new) & _numbered(text, old))
    if is_named:
        return shared + _NAMED
    if new.kind == "format" or _is_said_to_stay(clause, near, shared, statement):
        return 0
    if _BOUND.search(clause) and not (statement.is_firm or _BOUND.search(clause_at(statement.text, new.start))):
        return 0  # "The report has 14 pages now" changes nothing of "at most 12 pages"
    if new.kind in NAMES and not is_certain and not _RENAMED.search(statement.quote):
        return 0
    if new.kind in ("date", "weekday"):
        return shared + 1 if near & stems_of(texts_of(draft)) else 0
    is_all_known = bool(near) and near <= stems_of(texts_of(draft))
    return shared + 1 if (is_certain and new.kind in NAMES) or (new.kind == "time" and is_all_known) else shared


def _is_said_to_stay(clause: str, near: frozenset[str], shared: int, statement: Statement) -> bool:
    """Whether the statement says of what stands in a clause that it is as it was: "free plan unchanged"."""
    about = stems_of(clause)
    stays = [stems_of(statement.stays[start:end]) for start, end in clauses_of(statement.stays)]
    return len(stems_of(statement.stays) & about) > shared or any(one <= about and one - near for one in stays)


def is_listed_with(new: Value, old: Value, statement: Statement) -> bool:
    """Whether a new value stands in one list with the old one: "on Sundays and Wednesdays"."""
    alike = [one for one in statement.new_values if one.kind == new.kind and one.kind in _LISTED]
    for one in alike:
        if one.number == old.number and old.kind == new.kind:
            start, end = min(one.end, new.end), max(one.start, new.start)
            between = statement.text[start:end]
            for other in alike:
                between = between.replace(statement.text[other.start : other.end], " ")
            if _LIST.fullmatch(between):
                return True
    return False


def is_new_label(text: str, value: Value) -> bool:
    """Whether "hall 5" tells where something is now, and not which one is meant."""
    if _ALWAYS_A_VALUE.fullmatch(value.label):
        return True
    return is_moved_to(_LABEL.sub("", text[: value.start]))


def is_moved_to(before: str) -> bool:
    """Whether what stands before the name of a place says that something is there now."""
    return bool(_MOVED_TO.search(before[clauses_of(before)[-1][0] :]))


def _numbered(text: str, value: Value) -> set[tuple[str, str]]:
    """What the clause of a value calls by a number: "sensor 9"."""
    clause = clause_at(text, value.start)
    return {
        (one.label, one.number)
        for one in values_in(clause)
        if one.kind == "number" and one.label and one.number != value.number
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
    before, behind = text[max(0, value.start - 40) : value.start], text[value.end : value.end + 8].lstrip(" )）")
    if _UNTIL.search(before) or re.match(r"まで|为止|止", behind):
        return "until"
    if _FROM.search(before) or re.match(r"から|起|开始", behind):
        return "from"
    return ""


def shifted(statement: Statement, draft: Draft) -> Value | None:
    """The date that a memory has after it moved by so many days; only where the memory has just one."""
    match = SHIFT.search(statement.quote)
    days = {value.number for value in values_in(fact_of(draft.body)) if value.kind == "date"}
    if match is None or len(days) != 1 or not (only := days.pop()) or only.startswith("0000"):
        return None
    told = {name.partition("_")[0]: piece for name, piece in match.groupdict().items() if piece}
    word, unit = told["number"], told["unit"].lower()
    counted = values_in(f"{word}天") if match["number_zh"] else values_in(f"{word} days")
    number = 1 if word.lower() in ("a", "one", "eine", "una", "une", "一") else int(counted[0].number) if counted else 0
    if not number:
        return None
    distance = timedelta(days=number * (1 if unit[0] in "dtj天" else 7))
    moved = date.fromisoformat(only) + (-distance if _EARLIER.search(told.get("way", "")) else distance)
    return Value("date", moved.isoformat(), *match.span(0))
