"""Fit what decides whether a rule is handed over with a tool call: `python -m training.rule_calls`, part of `make train`.

Writes memoryd/rules/common.txt (words that calls are full of, from training/sessions) and model.json: a logistic regression for
commands and one for edits, on the labelled calls in training/rules. Prints what a model finds in each set that has not seen it,
and the limit that this takes (for memoryd/rules/match.py). The sets in evaluation/ count little: the triggers were made with them,
and look surer there than they are.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from memoryd.clients.tool_actions import action_in
from memoryd.rules.call_words import words_of
from memoryd.rules.calls import call_of
from memoryd.rules.evidence import COMMON_FILE, FEATURES, MODEL_FILE, common, evidence_of
from memoryd.rules.match import StoredTrigger, fitting_kinds, keys_of, least_probability, rows_of
from memoryd.rules.triggers import triggers_of
from training.labels import sessions_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoryd.rules.evidence import CallEvidence

_SETS = Path(__file__).parent / "rules"
_SEEN = Path(__file__).parent.parent / "evaluation"
_STRENGTH = 0.05
_SIZES = (28, 20, 14, 8, 4, 2)
"""Numbers of rules that sets are cut down to, to choose the limit; only whole sets are fitted to."""
_CUTS = 8
"""At random, of each set to each size."""
_SHARE_OF_SEEN = 0.2
"""What a call counts by which the triggers were made."""
_MOST_WRONG = 0.05
"""Of calls, those with a rule that is not about them."""
_SEEN_TWICE = 2
_Model = dict[str, tuple[float, list[float]]]


class Judged(NamedTuple):
    """A labelled call, and the rules that came into question."""

    rules: frozenset[str]
    fine: frozenset[str]
    found: list[tuple[str, CallEvidence]]
    directory: int
    """Number of rules there."""


_Unseen = list[tuple[Judged, dict[str, float]]]
"""Calls, and how probable a model that has not seen them finds each rule."""


def common_words() -> str:
    """Each word of many calls, with what is left of its weight."""
    seen: Counter[str] = Counter()
    calls = 0
    for session in sessions_in("sessions"):
        for tool in (tool for turn in session["turns"] for tool in turn.get("tools", ())):
            action = action_in(tool["name"], tool["input"])
            if action.kind in ("run", "change"):
                calls += 1
                words = words_of(call_of(action, "/repo"))
                seen.update(words.live | words.replaced | words.told)
    whole = math.log(calls + 1)
    left = {
        word: math.log((calls + 1) / (number + 1)) / whole for word, number in seen.items() if number >= _SEEN_TWICE
    }
    return "".join(f"{word}\t{share:.2f}\n" for word, share in sorted(left.items()))


def judged(rules: Sequence[dict[str, str]], calls: Sequence[dict[str, Any]]) -> list[Judged]:
    """Every call with the evidence for each rule, found as the program finds it."""
    stored = [
        StoredTrigger(number, *trigger)
        for number, rule in enumerate(rules)
        for trigger in triggers_of(rule["description"], rule["body"])
    ]
    ids = frozenset(rule["id"] for rule in rules)
    found = []
    for labelled in calls:
        call = call_of(action_in(labelled["tool"], labelled["input"]), "/repo")
        keys = frozenset(keys_of(call))
        some = [trigger for trigger in stored if trigger.key in keys]
        evidence = evidence_of(call, rows_of(stored), fitting_kinds(call, some))
        named = [(rules[one.memory_id]["id"], one) for one in evidence]
        found.append(Judged(ids.intersection(labelled["rules"]), ids.intersection(labelled["fine"]), named, len(rules)))
    return found


def cuts_of(labelled: dict[str, Any]) -> dict[int, list[Judged]]:
    """The calls of a set in smaller directories made of its rules, by their size."""
    chance = random.Random(1)  # noqa: S311 - the same ones each time
    return {
        size: [call for _ in range(_CUTS) for call in judged(chance.sample(labelled["rules"], size), labelled["calls"])]
        for size in _SIZES
    }


def fitted(calls: Sequence[Judged], seen: Sequence[Judged]) -> _Model:
    """`seen`: those by which the triggers were made."""
    model = {}
    for kind in ("run", "edit"):
        pairs = [
            (evidence.values, name in call.rules, share)
            for some, share in ((calls, 1.0), (seen, _SHARE_OF_SEEN))
            for call in some
            for name, evidence in call.found
            if evidence.is_edit is (kind == "edit") and name not in call.fine
        ]
        rows, labels, shares = zip(*pairs, strict=True)
        values = np.array(rows)
        middle, spread = values.mean(axis=0), values.std(axis=0) + 1e-9
        scaled = (values - middle) / spread
        fit = LogisticRegression(C=_STRENGTH, max_iter=5000).fit(scaled, labels, sample_weight=shares)
        weights = fit.coef_[0] / spread
        model[kind] = (float(fit.intercept_[0] - (weights * middle).sum()), [float(weight) for weight in weights])
    return model


def probabilities(call: Judged, model: _Model) -> dict[str, float]:
    found = {}
    for name, evidence in call.found:
        bias, weights = model["edit" if evidence.is_edit else "run"]
        odds = bias + float(np.dot(weights, evidence.values))
        found[name] = 1.0 if evidence.is_named else 1 / (1 + math.exp(-odds))
    return found


def scored(calls: _Unseen, limit: tuple[float, float]) -> tuple[float, float]:
    """Share of the wanted rules that are handed over, and of the calls that come with a wrong one; `limit`: its odds for one rule,
    and the power by which they grow with the number of rules.
    """
    wanted = right = wrong = 0
    for call, chances in calls:
        least = least_probability(call.directory, *limit)
        handed = {name for name, chance in chances.items() if chance >= least}
        wanted += len(call.rules)
        right += len(handed & call.rules)
        wrong += bool(handed - call.rules - call.fine)
    return right / wanted, wrong / len(calls)


def limit_of(by_size: Iterable[_Unseen]) -> tuple[float, float]:
    """The limit that finds the most rules, each size counting the same, with no more wrong ones at any than are allowed."""
    sizes = list(by_size)

    def found(limit: tuple[float, float]) -> float:
        right = 0.0
        for calls in sizes:
            share, wrong = scored(calls, limit)
            if wrong > _MOST_WRONG:
                return -1.0
            right += share
        return right

    return max(((odds / 50, growth / 50) for odds in range(2, 26) for growth in range(15, 51, 2)), key=found)


def main() -> None:
    Path(COMMON_FILE).write_text(common_words(), encoding="utf-8")
    common.cache_clear()
    sets = {path.stem: _read(path) for path in sorted(_SETS.glob("*.json"))}
    whole = {name: judged(labelled["rules"], labelled["calls"]) for name, labelled in sets.items()}
    seen = [call for path in sorted(_SEEN.glob("rule_calls*.json")) for call in judged(**_read(path))]
    unseen: dict[str, _Unseen] = {}
    cut: dict[int, _Unseen] = {size: [] for size in _SIZES}
    for name, labelled in sets.items():
        model = fitted([call for other, calls in whole.items() if other != name for call in calls], seen)
        unseen[name] = [(call, probabilities(call, model)) for call in whole[name]]
        for size, some in cuts_of(labelled).items():
            cut[size] += [(call, probabilities(call, model)) for call in some]
    everything = [call for calls in unseen.values() for call in calls]
    limit = limit_of([everything, *cut.values()])
    print(
        f"limit: odds {limit[0]:.2f} for one rule, growing by the power {limit[1]:.2f}; each set by a model that has not seen it"
    )
    for label, calls in (
        *unseen.items(),
        ("all", everything),
        *((f"cut to {size}", calls) for size, calls in cut.items()),
    ):
        print(f"  {label:12}", _in_words(scored(calls, limit)))
    for least in (number / 100 for number in range(30, 96, 5)):
        print(f"  all from {least:.2f}:", _in_words(scored(everything, (least / (1 - least), 0.0))))
    model = fitted([call for calls in whole.values() for call in calls], seen)
    kept = {
        kind: {
            "bias": round(bias, 4),
            "weights": {name: round(weight, 4) for name, weight in zip(FEATURES, weights, strict=True)},
        }
        for kind, (bias, weights) in model.items()
    }
    Path(MODEL_FILE).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _in_words(score: tuple[float, float]) -> str:
    return f"right rule {score[0]:.3f}  calls with a wrong one {score[1]:.3f}"


if __name__ == "__main__":
    main()
