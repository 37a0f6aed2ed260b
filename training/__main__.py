"""Fit the weights of the embedded engine: `make train`. Prints what cross-validation says of them, sentence by sentence."""

from __future__ import annotations

import math
import sys
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

from memoryd.engines.offline import linear_model
from memoryd.engines.offline.features import fact_features_of, features_of
from training.labels import facts_of, messages_of, sessions_in

if TYPE_CHECKING:
    from training.labels import Message

BUCKETS = 1 << 17
FOLDS = 5
LEAST_SEEN = 2
"""A feature that was seen only once says nothing."""
WORTH_STRENGTH = 30.0
TYPE_STRENGTH = 10.0
"""How little the weights are held back; both chosen by cross-validation."""
PROJECT_BIAS = 0.3
"""Facts about a project often end in a rule that follows from them."""

Labelled = tuple[list[str], Any]


def worth_examples(messages: list[Message]) -> list[Labelled]:
    """Every sentence in its message, and once more by itself: a fact must not need its neighbours to be seen."""
    found: list[Labelled] = []
    for message in messages:
        for number, fact in enumerate(message.facts):
            found.append((features_of(message.sentences, number, message.answer), fact is not None))
            if fact is None:
                found.append((features_of([message.sentences[number]], 0, ""), False))
        for sentences, _ in facts_of([message]):
            found += [(features_of(sentences, number, ""), True) for number in range(len(sentences))]
    return found


def type_examples(messages: list[Message]) -> list[Labelled]:
    return [(fact_features_of(sentences), kind) for sentences, kind in facts_of(messages)]


def matrix(examples: list[Labelled]) -> tuple[Any, Any]:
    """One row an example, of length one; and the labels."""
    rows, places, values = [0], [], []
    for features, _ in examples:
        found = sorted(linear_model.places_of(features, BUCKETS))
        places += found
        values += [1 / math.sqrt(len(found) or 1)] * len(found)
        rows.append(len(places))
    shape = (len(examples), BUCKETS)
    return sparse.csr_matrix((values, places, rows), shape=shape), np.array([label for _, label in examples])


def fitted(examples: list[Labelled], strength: float, *, balanced: bool) -> Any:
    data, labels = matrix(examples)
    seen = np.asarray((data > 0).sum(axis=0)).ravel() >= LEAST_SEEN
    data = data.multiply(sparse.csr_matrix(seen.astype(float))).tocsr()
    return LogisticRegression(C=strength, max_iter=800, class_weight="balanced" if balanced else None).fit(data, labels)


def fit(messages: list[Message]) -> linear_model.Model:
    worth = fitted(worth_examples(messages), WORTH_STRENGTH, balanced=False)
    kinds = fitted(type_examples(messages), TYPE_STRENGTH, balanced=True)
    weights = [worth.coef_[0], *(kinds.coef_[list(kinds.classes_).index(kind)] for kind in linear_model.TYPES)]
    biases = [worth.intercept_[0], *(kinds.intercept_[list(kinds.classes_).index(kind)] for kind in linear_model.TYPES)]
    biases[1 + linear_model.TYPES.index("project")] += PROJECT_BIAS
    scales = [float(np.abs(weight).max()) / 127 for weight in weights]
    tables = [
        array("b", np.round(weight / scale).astype(np.int8).tobytes())
        for weight, scale in zip(weights, scales, strict=True)
    ]
    return linear_model.Model(BUCKETS, tuple(float(bias) for bias in biases), tuple(scales), tuple(tables))


def report(messages: list[Message], model: linear_model.Model) -> str:
    """How well a model does on messages that it was not fitted to."""
    likely, labels = [], []
    for message in messages:
        for number, fact in enumerate(message.facts):
            features = features_of(message.sentences, number, message.answer)
            likely.append(model.score(0, linear_model.places_of(features, model.buckets)))
            labels.append(fact is not None)
    facts = facts_of(messages)
    right = sum(linear_model.type_by(model, sentences) == kind for sentences, kind in facts)
    return (
        f"{len(labels)} sentences, {sum(labels)} of facts: average precision"
        f" {average_precision_score(labels, likely):.3f}; type right in {right / len(facts):.3f} of {len(facts)} facts"
    )


def main() -> None:
    sessions = [messages_of(session) for session in sessions_in("sessions")]
    for fold in range(FOLDS if "--folds" in sys.argv else 0):
        rest = [message for number, messages in enumerate(sessions) if number % FOLDS != fold for message in messages]
        left_out = [
            message for number, messages in enumerate(sessions) if number % FOLDS == fold for message in messages
        ]
        print(f"fold {fold + 1}: {report(left_out, fit(rest))}", flush=True)
    model = fit([message for session in sessions for message in session])
    heldout = [message for session in sessions_in("heldout") for message in messages_of(session)]
    print(f"held out: {report(heldout, model)}")
    file = Path(linear_model.__file__).with_name(linear_model.WEIGHTS_FILE)
    file.write_bytes(linear_model.dump(model))
    print(f"{file.name}: {file.stat().st_size:,} bytes from {len(sessions):,} sessions")


if __name__ == "__main__":
    main()
