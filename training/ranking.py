"""Fit what decides whether a memory is recalled: `python -m training.ranking`, part of `make train`.

Writes memoryd/recall/common.txt (words that prompts are full of, from training/sessions) and model.json (a logistic
regression on the labelled prompts in training/recall). Prints, for each set, what a model that has not seen it achieves, and
the same for the sets in training/recall-heldout and training/recall-actions, which nothing is fitted to.
"""

from __future__ import annotations

import json
import math
import os
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from memoryd.config import Config
from memoryd.memory.quick_parse import QuickParse
from memoryd.paths import Paths
from memoryd.recall.choose import Floor, floor_of
from memoryd.recall.rank import COMMON_FILE, FEATURES, MODEL_FILE, candidates, query_of
from memoryd.recall.reading import with_prompts
from memoryd.recall.store import open_store
from memoryd.recall.weights import learnt_memory
from memoryd.rules.triggers import triggers_of_memory
from training.common import common_terms

if TYPE_CHECKING:
    from memoryd.recall.rank import Candidate
    from memoryd.recall.store import LearntMemory

HERE = Path(os.path.dirname(__file__))
_STRENGTH = 0.3
MOST_CHOSEN = Config().recall.most_memories
SIZES = (1000, 1000, 40, 15, 15, 5, 5)
"""Of the directories that a model is fitted to; larger than a set is: all of it."""


class Asked(NamedTuple):
    """A labelled prompt, and the memories that came into question."""

    query: dict[str, Any]
    found: list[Candidate]


def asked_of(labelled: dict[str, Any]) -> list[Asked]:
    """Every prompt of a set with its candidates, found as the program finds them."""
    with tempfile.TemporaryDirectory() as place:
        store = open_store(Paths(place, "", place, place))
        with store.transaction():
            number = store.record_check("/", 0, 0.0)
            store.learn(number, [_learnt(memory) for memory in labelled["memories"]])
        directory = store.directory("/")
        assert directory is not None  # noqa: S101 - made above
        asked = [Asked(query, candidates(store, directory, query_of(query["q"]))) for query in labelled["queries"]]
        store.close()
    return asked


def parts_of(labelled: dict[str, Any], sizes: tuple[int, ...] = SIZES) -> list[dict[str, Any]]:
    """The set, and smaller directories made of it: most people have few memories, and silence is harder to learn there."""
    chance = random.Random(1)  # noqa: S311 - the same ones each time
    parts = []
    for size in sizes:
        memories = chance.sample(labelled["memories"], min(size, len(labelled["memories"])))
        names = {memory["file"] for memory in memories}
        queries = []
        for query in labelled["queries"]:
            files = {
                key: [name for name in query.get(key, ()) if name in names]
                for key in ("relevant", "acceptable", "must_not")
            }
            queries.append({**query, **files})
        parts.append({"memories": memories, "queries": queries})
    return parts


def _learnt(memory: dict[str, Any]) -> LearntMemory:
    glance = QuickParse(
        memory["name"], memory["description"], memory["type"], tuple(memory.get("keys", ())), memory["body"]
    )
    return learnt_memory(memory["file"], (0, 0, 0), glance, triggers=with_prompts(glance, triggers_of_memory(glance)))


def fitted(sets: list[list[Asked]]) -> tuple[float, list[float]]:
    rows, labels = [], []
    for asked in (prompt for some in sets for prompt in some):
        for candidate in asked.found:
            if candidate.memory.name not in asked.query.get("acceptable", ()):
                rows.append(candidate.values)
                labels.append(candidate.memory.name in asked.query["relevant"])
    values = np.array(rows)
    middle, spread = values.mean(axis=0), values.std(axis=0) + 1e-9
    model = LogisticRegression(C=_STRENGTH, max_iter=5000).fit((values - middle) / spread, labels)
    weights = model.coef_[0] / spread
    return float(model.intercept_[0] - (weights * middle).sum()), [float(weight) for weight in weights]


def scored(asked: list[Asked], bias: float, weights: list[float], floor: Floor) -> dict[str, float]:
    """As shared scorers count: recall among five, noise among what was picked, silence where nothing is relevant."""
    recall, picked, noise, nothing, silent = [], 0, 0, 0, 0
    for query, found in asked:
        likely = [
            floor.raised(one._replace(probability=1 / (1 + math.exp(-bias - float(np.dot(weights, one.values))))))
            for one in found
        ]
        best = max((one.probability for one in likely), default=0.0)
        ranked = sorted(likely, key=lambda one: -one.probability) if best >= floor.best else []
        chosen = [one.memory.name for one in ranked if one.probability >= floor.share * best][:MOST_CHOSEN]
        wrong = set(chosen) - set(query["relevant"]) - set(query.get("acceptable", ()))
        picked += len(chosen)
        noise += len(wrong)
        if query["relevant"]:
            recall.append(len(set(chosen) & set(query["relevant"])) / min(MOST_CHOSEN, len(query["relevant"])))
        else:
            nothing += 1
            silent += not wrong
    return {"recall": sum(recall) / max(1, len(recall)), "noise": noise / max(1, picked), "silence": silent / nothing}


def _told(labelled: dict[str, Any], asked: list[Asked], bias: float, weights: list[float]) -> str:
    floor = floor_of(len(labelled["memories"]))
    told = {"ranking": scored(asked, bias, weights, Floor(0.0, 0.0, share=0.0))["recall"]}
    return "  ".join(f"{key} {value:.3f}" for key, value in {**told, **scored(asked, bias, weights, floor)}.items())


def main() -> None:
    Path(COMMON_FILE).write_text(common_terms(), encoding="utf-8")
    if not os.path.exists(MODEL_FILE) or json.loads(Path(MODEL_FILE).read_text())["weights"].keys() != set(FEATURES):
        Path(MODEL_FILE).write_text(json.dumps({"bias": 0.0, "weights": dict.fromkeys(FEATURES, 0.0)}))
    sets = {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((HERE / "recall").glob("*.json"))
    }
    parts = {name: parts_of(labelled) for name, labelled in sets.items()}
    asked = {name: [asked_of(part) for part in some] for name, some in parts.items()}
    for name in sets:
        bias, weights = fitted([part for label, some in asked.items() if label != name for part in some])
        print(name)
        for part, its_asked in {
            len(part["memories"]): (part, one) for part, one in zip(parts[name], asked[name], strict=True)
        }.values():
            print(f"  {len(part['memories']):4} memories ", _told(part, its_asked, bias, weights))
    bias, weights = fitted([part for some in asked.values() for part in some])
    for path in sorted([*(HERE / "recall-heldout").glob("*.json"), *(HERE / "recall-actions").glob("*.json")]):
        never_seen = json.loads(path.read_text(encoding="utf-8"))
        print(f"{path.stem}, which nothing is fitted to\n  ", _told(never_seen, asked_of(never_seen), bias, weights))
    model = {
        "bias": round(bias, 4),
        "weights": {name: round(weight, 4) for name, weight in zip(FEATURES, weights, strict=True)},
    }
    Path(MODEL_FILE).write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
