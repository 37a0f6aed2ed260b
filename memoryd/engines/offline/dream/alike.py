"""Whether two memories say the same in other words. Pure, and rather no than yes.

Two that only look alike are the danger: "island routes 90 minutes" and "fjord routes 30 minutes" share nearly every
word. Those have one frame and another word in it. People who write the same thing down twice do not keep to a frame:
they share some words, the thing that they name, and the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.offline.compose import is_without_spaces
from memoryd.engines.offline.dream.parts import parts_of, statements_of
from memoryd.engines.offline.subjects import subject_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.engines.offline.dream.parts import Parts

_FRAME = 0.5
"""So much of the shorter fact, in the same order, makes two facts one frame. Doubles share less, other cases more."""
_FRAME_OF_DESCRIPTIONS = 0.65
"""The same for descriptions, which are short: doubles come nearer to one another there."""
_SURE = 100.0
_BOTH = 2
_LEAST_THE_SAME = 3
_LEAST_ABOUT_A_PLACE = 4
_SHORTEST_FRAME = 3
_LONGEST_FRAME = 60
_MOST_FACTS = 5
_ROOT = 4
_KANA = re.compile("[\u3040-\u309f]+")
_SPOKEN_OF_OFTEN = 3
"""A word in more memories than that is what the project is about, and tells none of them from the others."""

_ENOUGH = ((3, 1, 0), (2, 3, 0), (1, 1, 1), (4, 0, 3))
"""Things, reasons and names that two rules share at least if they are one. A reason alone is not enough: people draw
several rules from one accident."""
_ENOUGH_WITHOUT_SPACES = (*_ENOUGH, (2, 2, 0))
"""What is two or three words elsewhere is one thing in scripts without spaces."""

_ADDRESS = re.compile(r"(?<![\w.-])(?:https?://)?(?:www\.)?((?:[a-z0-9-]+\.)+[a-z]{2,12}(?::\d+)?/[^\s`,;\"'<>()，。；、）]*[^\s`,;:.\"'<>()，。；、）/])", re.IGNORECASE)  # noqa: RUF001  # fmt: skip
_NAME = re.compile(
    r"`([^`\n]{2,60})`|(?<![\w/.-])((?=[\w.-]*[a-z]{3})[a-z0-9-]+(?:\.[a-z0-9-]+)+)(?![\w/])", re.IGNORECASE
)
_NEGATED = re.compile(
    r"(?i)(?:\b(?:not|never|no|without|cannot|avoid|nicht|nie|niemals|kein\w*|ohne|no|sin|nunca|jamás|ningun\w*|pas|jamais|sans|aucune?)\b|n['’]t\b)(?P<what>[^.,;:!?\n]{0,60})"  # noqa: RUF001
)
_QUANTITY = re.compile(r"(?<![\w.,:-])(\d+(?:[.,:]\d+)*)\s*([^\W\d_]{1,3}|%|°|[^\W\d_]+)?")
_SCOPE = re.compile(
    r"(?i)(?:(?:in|on|at|for|from|with|during|after|before|im|am|in der|in den|auf|bei|beim|für|an|nach|vor|en|dans|sur|chez|pour|para|a los?|a las?|con|avec)\s+(?P<where>[^,.;:]{2,40})|(?P<label>[^,.;:\n]{2,40}):\s)"
)
_PAIRS = (
    "staging/production staging/prod dev/prod test/production east/west north/south left/right"
    " internal/external student/teacher indoor/outdoor summer/winter morning/evening weekday/weekend old/new"
    " unit/integration read/write import/export frontend/backend client/server ios/android local/remote"
    " local/production private/public feature/release upload/download input/output minor/major small/large"
    " adult/child desktop/mobile day/night master/slave customer/supplier buyer/seller hot/cold upper/lower"
    " inner/outer primary/secondary debug/release ost/west nord/süd links/rechts sommer/winter intern/extern"
    " alt/neu innen/außen kunde/lieferant schüler/lehrer norte/sur este/oeste verano/invierno interno/externo"
    " grande/pequeño alumno/profesor nord/sud est/ouest été/hiver interne/externe grand/petit élève/professeur"
    " 夏/冬 红/白 内/外 国内/海外 学生/教师"
)
_OPPOSITES = tuple(frozenset(pair.split("/")) for pair in _PAIRS.split())


class Look(NamedTuple):
    """What a memory is looked at for."""

    type: str | None
    parts: Parts
    description: str
    about: frozenset[str]
    """Stems of what it says, not of why and how."""
    why: frozenset[str]
    addresses: frozenset[str]
    names: frozenset[str]
    """What has a name of its own: in backticks, a host, a file."""

    @property
    def text(self) -> str:
        return f"{self.description}\n{self.parts.fact}"


def look_at(draft: Draft) -> Look:
    parts = parts_of(draft.body)
    fact = f"{draft.description}\n{parts.fact}"
    whole = f"{draft.description}\n{draft.body}"
    plain = _ADDRESS.sub(" ", fact)
    return Look(
        draft.type,
        parts,
        draft.description,
        subject_of(plain),
        subject_of(parts.why),
        frozenset(match[1].lower() for match in _ADDRESS.finditer(whole)),
        frozenset((match[1] or match[2]).lower() for match in _NAME.finditer(_ADDRESS.sub(" ", whole))),
    )


def how_often(looks: Sequence[Look]) -> Counter[str]:
    """In how many memories a stem, a name or an address stands."""
    return Counter(
        word
        for look in looks
        for word in look.about | look.why | look.names | look.addresses | subject_of(look.parts.how)
    )


def likeness(one: Look, other: Look, often: Counter[str]) -> float:
    """How much two memories are the same; 0 where that is not certain."""
    if one.type != other.type or one.type is None:
        return 0.0
    if _says_the_same(one, other):
        return _SURE
    if one.type in {"user", "project"}:
        return 0.0  # of persons and of dates there are many of one kind
    score = _likeness_of_places(one, other, often) if one.type == "reference" else _likeness_of_rules(one, other, often)
    return 0.0 if score and _is_another_case(one, other) else score


def _likeness_of_rules(one: Look, other: Look, often: Counter[str]) -> float:
    about = _things(stem for stem in one.about & other.about if often[stem] <= _SPOKEN_OF_OFTEN)
    if not about:
        return 0.0
    why = _things(stem for stem in one.why & other.why if often[stem] <= _SPOKEN_OF_OFTEN)
    names = len(_shared_names(one, other, often))
    enough = _ENOUGH_WITHOUT_SPACES if is_without_spaces(one.parts.fact) else _ENOUGH
    if any(about >= least and why >= reasons and names >= named for least, reasons, named in enough):
        return float(about + 2 * why + 2 * names)
    return 0.0


def _likeness_of_places(one: Look, other: Look, often: Counter[str]) -> float:
    """Two that lead to one place, and to no other, are one; a bare name has to be about the same as well."""
    about = _things(stem for stem in one.about & other.about if often[stem] <= _SPOKEN_OF_OFTEN)
    if one.addresses != other.addresses:
        return 0.0
    if one.addresses and all(often[place] == _BOTH for place in one.addresses):
        return _SURE / 2 + about
    names = len(_shared_names(one, other, often))
    return float(about + 2 * names) if names and about >= _LEAST_ABOUT_A_PLACE else 0.0


def _things(stems: Iterable[str]) -> int:
    """How many things these stems stand for. Forms of a word are one, and so are pairs of characters in a row."""
    words, pairs = set(), set()
    for stem in stems:
        if not is_without_spaces(stem):
            words.add(stem[:_ROOT])
        elif not _KANA.fullmatch(stem):
            pairs.add(stem)
    return len(words) + sum(not any(other[1] == pair[0] for other in pairs - {pair}) for pair in pairs)


def _shared_names(one: Look, other: Look, often: Counter[str]) -> set[str]:
    """Names that both facts use, one of them as a name at least."""
    texts = [look.text.lower() for look in (one, other)]
    return {
        name
        for name in one.names | other.names
        if often[name] <= _BOTH and all(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for text in texts)
    }


def _says_the_same(one: Look, other: Look) -> bool:
    """Whether the facts have the same words, and the numbers and negations that go with them."""
    if plain_sentences(one.parts.fact) and plain_sentences(one.parts.fact) == plain_sentences(other.parts.fact):
        return True
    return (
        one.about == other.about
        and len(one.about) >= _LEAST_THE_SAME
        and _words(one.parts.fact) == _words(other.parts.fact)
    )


def plain_sentences(text: str) -> list[str]:
    """Sentence by sentence what is said, whatever the spaces, the marks and the case."""
    found = (
        " ".join(re.findall(r"[\w./:#@-]+", one.casefold())).rstrip(".") for one in re.split(r"(?<=[.!?])\s+|\n+", text)
    )
    return [one for one in found if one]


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W_]+(?:[.:,'’-][^\W_]+)*", text.casefold()))  # noqa: RUF001


def _is_another_case(one: Look, other: Look) -> bool:
    """Whether two memories speak of two cases of one kind: one frame with other words in it, other numbers, opposites."""
    facts, others = (statements_of(_ADDRESS.sub(" ", look.parts.fact))[:_MOST_FACTS] for look in (one, other))
    return (
        _frame(one.description, other.description) >= _FRAME_OF_DESCRIPTIONS
        or any(_frame(fact, another) >= _FRAME for fact in facts for another in others)
        or _have_other_numbers(one.text, other.text)
        or _have_opposites(one, other)
        or _is_denied(one, other)
        or any(
            _have_other_scopes(*texts, with_labels=one.type != "reference")
            for texts in ((one.description, other.description), (one.parts.fact, other.parts.fact))
        )
    )


def _frame(sentence: str, other: str) -> float:
    """How much of the shorter sentence stands in the other one in the same order."""
    words, others = ([word[:6] for word in _tokens(one)[:_LONGEST_FRAME]] for one in (sentence, other))
    shared = sum(block.size for block in SequenceMatcher(None, words, others, autojunk=False).get_matching_blocks())
    shorter = min(len(words), len(others))
    return shared / shorter if shorter >= _SHORTEST_FRAME else 0.0


def _tokens(sentence: str) -> list[str]:
    if is_without_spaces(sentence):
        return re.findall(r"[a-z0-9_]+|[^\W_]", sentence.lower())
    return re.findall(r"[^\W_]+", sentence.lower())


def _have_other_numbers(text: str, other: str) -> bool:
    """Whether both give a number of the same unit, and not the same one."""
    quantities, others = (_quantities(one) for one in (text, other))
    return any(quantities[unit].isdisjoint(others[unit]) for unit in quantities.keys() & others.keys())


def _quantities(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for number, unit in _QUANTITY.findall(text.lower()):
        if unit:
            found.setdefault(unit[:4], set()).add(number)
    return found


def _have_opposites(one: Look, other: Look) -> bool:
    own, others = (set(re.findall(r"[^\W\d_]+", look.text.lower())) for look in (one, other))
    singles, other_singles = ({word.removesuffix("s") for word in words} | words for words in (own, others))
    return any(
        (pair & singles) and (pair & other_singles) and len(pair & (singles | other_singles)) > 1
        and not pair <= singles and not pair <= other_singles
        for pair in _OPPOSITES
    )  # fmt: skip


def _is_denied(one: Look, other: Look) -> bool:
    """Whether one of them forbids what the other, which forbids nothing, speaks of."""
    denied, others = (
        [subject_of(match["what"]) for match in _NEGATED.finditer(_ADDRESS.sub(" ", look.text))]
        for look in (one, other)
    )
    if bool(denied) == bool(others):
        return False
    return any(stems & one.about & other.about for stems in denied or others)


def _have_other_scopes(text: str, other: str, *, with_labels: bool) -> bool:
    """Whether both begin with where they hold, and that is not the same place. "Levels: …" may be a label only."""
    scope, another = (_SCOPE.match(one) for one in (text, other))
    if scope is None or another is None or not (with_labels or (scope["where"] and another["where"])):
        return False
    places, others = (subject_of(match["where"] or match["label"]) for match in (scope, another))
    return bool(places) and bool(others) and not (places <= others or others <= places)
