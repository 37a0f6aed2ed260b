"""Evidence that a rule speaks of a tool call, and how probable that makes it.

Triggers tell what a rule names and the call has; words tell what both are about. Rare words tell more: those that few rules of
the directory have (counted here), and few calls of any project (`common.txt`). A small model weighs it all, one for commands and
one for edits, fitted by `python -m training.rule_calls` to labelled calls. Pure, and quick: a client waits for it.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from memoryd.language.stems import stem
from memoryd.record import NamedTuple
from memoryd.rules.call_words import is_prose, only_looks, stems_of, words_of
from memoryd.rules.match import PLAIN
from memoryd.rules.programs import FILE_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memoryd.rules.call_words import CallWords
    from memoryd.rules.calls import Call

FEATURES = (
    # The kinds of its triggers that fit. Tests are run all the time, and few rules about some of them are about all.
    *("run", "edit", "text", "name", "work", "files", "test"),
    # Whether that is all, and what it names plainly where none of that fits.
    *("work_alone", "test_alone", "run_missing", "edit_missing", "text_missing", "name_missing"),
    # What the words weigh that stand there in the call.
    *("program", "argument", "path", "extension", "written", "replaced", "told"),
    # Whether the program is all that it has of a command; whether it has both.
    *("program_bare", "program_and_subcommand"),
    # The heaviest word of those right behind a negation, the same where it is written, and as it is spelt.
    *("object", "object_written", "object_spelt"),
    # What the words behind its negations weigh, and which part of them that is; the same of its description and of all.
    *("forbidden", "forbidden_covered", "head", "head_covered", "covered"),
    *("rare_words", "weight", "is_heaviest", "is_most_covered"),
    # Whether code or a path of it stands in the call, and behind a negation.
    *("piece", "piece_forbidden"),
    # Whether it names the language of the files, or only another one.
    *("same_language", "other_language"),
    *("is_negated", "is_prose", "only_looks", "named_and_only_looks", "words_written"),
)
BETWEEN = "|"
"""Between the groups of words of a rule, as they are kept."""
MODEL_FILE = os.path.join(os.path.dirname(__file__), "model.json")
COMMON_FILE = os.path.join(os.path.dirname(__file__), "common.txt")
_RARE = 0.6
_LANGUAGES = frozenset(map(stem, FILE_KINDS))


class RuleWords(NamedTuple):
    """Stems, but for the last two."""

    all: frozenset[str]
    head: frozenset[str]
    """Of its description."""
    forbidden: frozenset[str]
    """Those behind its negations,"""
    objects: frozenset[str]
    """and right behind one."""
    kinds: frozenset[str]
    """Kinds of its triggers."""
    written: tuple[str, ...]
    """Words right behind a negation as they are spelt: `any`, `Double`."""
    pieces: tuple[str, ...]
    """Code and paths that it names."""


class CallEvidence(NamedTuple):
    memory_id: int
    is_edit: bool
    is_named: bool
    """Whether the rule names the command, the file, the code or the thing: that needs no weighing."""
    values: tuple[float, ...]
    """Of FEATURES."""

    @property
    def probability(self) -> float:
        if self.is_named:
            return 1.0
        bias, weights = model()["edit" if self.is_edit else "run"]
        odds = bias + sum(weight * value for weight, value in zip(weights, self.values, strict=True))
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, odds))))


class _Shared(NamedTuple):
    """A rule, and what it has in common with a call."""

    memory_id: int
    rule: RuleWords
    live: frozenset[str]
    weight: float
    covered: float


def evidence_of(
    call: Call, rows: Iterable[tuple[int, str, str]], fitting: Mapping[int, set[str]]
) -> list[CallEvidence]:
    """Evidence for each rule that has anything in common with a call; `rows`: memory, pattern and scope of the words of every
    rule, `fitting`: the kinds of their triggers that fit.
    """
    words = words_of(call)
    live = words.live
    kept = [(number, pattern, pattern.partition(BETWEEN)[0].split(), scope) for number, pattern, scope in rows]
    weights = _Weights([every for _, _, every, _ in kept])
    shared = []
    for number, pattern, every, scope in kept:
        is_near = number in fitting or not live.isdisjoint(every)
        if is_near or (scope and _has_any(scope.split("\n"), words.text)):
            rule = read(pattern, scope)
            found = rule.all & live
            weight = weights.sum(found)
            shared.append(_Shared(number, rule, found, weight, weight / (weights.sum(rule.all) or 1)))
    heaviest = max((one.weight for one in shared), default=0.0)
    most_covered = max((one.covered for one in shared), default=0.0)
    looks = bool(call.commands) and all(map(only_looks, call.commands))
    found_evidence = []
    for one in shared:
        kinds = fitting.get(one.memory_id, set())
        pieces = [piece for piece in one.rule.pieces if _has_piece(piece, words.text)]
        values = (
            *_of_triggers(one.rule, kinds, has_piece=bool(pieces)),
            *_of_words(one, words, weights),
            float(0 < one.weight == heaviest),
            float(0 < one.covered == most_covered),
            float(bool(pieces)),
            float(any(not one.rule.forbidden.isdisjoint(stems_of(piece)) for piece in pieces)),
            *_of_language(one.rule, words),
            float(bool(one.rule.forbidden)),
            float(is_prose(call)),
            float(looks),
            float(looks and not kinds.isdisjoint(PLAIN)),
            math.log1p(len(words.written)),
        )
        found_evidence.append(CallEvidence(one.memory_id, not call.commands, not kinds.isdisjoint(PLAIN), values))
    return found_evidence


def read(pattern: str, scope: str) -> RuleWords:
    groups = [part.split() for part in pattern.split(BETWEEN)]
    every, head, forbidden, objects, kinds = map(frozenset, groups[:-1])
    return RuleWords(every, head, forbidden, objects, kinds, tuple(groups[-1]), tuple(filter(None, scope.split("\n"))))


class _Weights(dict[str, float]):
    """What a word tells: from nothing, where every call or rule has it, to one. A word is weighed when it is first looked up."""

    def __init__(self, rules: Sequence[Sequence[str]]) -> None:
        super().__init__()
        self._in_rules = Counter(chain.from_iterable(rules))
        self._all = math.log(len(rules) + 1)
        self._common = common()

    def __missing__(self, word: str) -> float:
        number = self._in_rules[word]
        rare = 1 - math.log(number) / self._all if number > 1 else 1.0
        weight = self[word] = rare * float(self._common[word]) if word in self._common else rare
        return weight

    def sum(self, words: Iterable[str]) -> float:
        return math.fsum(map(self.__getitem__, words))  # exact: the same in any order, as sets have none

    def most(self, words: Iterable[str]) -> float:
        return max(map(self.__getitem__, words), default=0.0)


def _of_triggers(rule: RuleWords, fitting: set[str], *, has_piece: bool) -> list[float]:
    is_plain = has_piece or not fitting.isdisjoint(PLAIN)
    return [
        *(float(kind in fitting) for kind in (*PLAIN, "work", "files", "test")),
        *(float(kind in fitting and not is_plain) for kind in ("work", "test")),
        *(float(kind in rule.kinds and not is_plain) for kind in PLAIN),
    ]


def _of_words(one: _Shared, words: CallWords, weights: _Weights) -> list[float]:
    rule, live = one.rule, one.live
    commands = words.programs | words.subcommands
    programs, subcommands = live & words.programs, live & words.subcommands
    places = (commands, words.arguments, words.paths, words.extensions, words.written, words.replaced, words.told)
    forbidden, head = weights.sum(live & rule.forbidden), weights.sum(live & rule.head)
    return [
        *(weights.sum(rule.all & place) for place in places),
        float(bool(programs) and not subcommands and live.isdisjoint(words.arguments)),
        float(bool(programs) and bool(subcommands - programs)),
        weights.most(live & rule.objects),
        weights.most(live & rule.objects & words.written),
        float(bool(words.written) and _has_any(rule.written, words.text)),
        forbidden,
        forbidden / (weights.sum(rule.forbidden) or 1),
        head,
        head / (weights.sum(rule.head) or 1),
        one.covered,
        float(sum(weights[word] > _RARE for word in live)),
        one.weight,
    ]


def _of_language(rule: RuleWords, words: CallWords) -> list[float]:
    named, present = rule.all & _LANGUAGES, words.extensions & _LANGUAGES
    return [float(bool(named & present)), float(bool(named and present) and named.isdisjoint(present))]


def _has_any(pieces: Sequence[str], text: str) -> bool:
    return any(_has_piece(piece, text) for piece in pieces)


def _has_piece(piece: str, text: str) -> bool:
    """Whether a text has a piece of code, as a whole word. Without a pattern: to make one takes longer than to look."""
    at = text.find(piece)
    while at >= 0:
        end = at + len(piece)
        is_joined_before = piece[0].isalnum() and _is_of_word(text[at - 1 : at])
        if not is_joined_before and not (piece[-1].isalnum() and _is_of_word(text[end : end + 1])):
            return True
        at = text.find(piece, at + 1)
    return False


def _is_of_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


@cache
def model() -> dict[str, tuple[float, tuple[float, ...]]]:
    """Bias and weights, for commands and for edits."""
    import json  # noqa: PLC0415 - few calls have anything in common with a rule

    with open(MODEL_FILE, encoding="utf-8") as file:
        read_model = json.load(file)
    return {
        kind: (part["bias"], tuple(part["weights"][name] for name in FEATURES)) for kind, part in read_model.items()
    }


@cache
def common() -> Mapping[str, str]:
    """Words that calls are full of, and what is left of their weight, as it stands there: `src` and `test` name nothing."""
    with open(COMMON_FILE, encoding="utf-8") as file:
        return dict(line.split("\t") for line in file.read().splitlines())
