"""Fit the weights of the embedded engine: `make train`. Prints what it says of messages that it was not fitted to."""

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

from memoryd.engines.offline import classifier
from memoryd.engines.offline.features import pair_features, sentence_features, text_features
from training.labels import (
    asked_messages,
    casual_messages,
    facts_of,
    following_in,
    following_messages,
    messages_of,
    sentences_of_scope,
    sessions_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from training.labels import Following, Message

BUCKETS = 1 << 16
FOLDS = 5
LEAST_SEEN = 2
"""A feature that was seen only once says nothing."""
STRENGTH = 10.0
"""How little the weights are held back; chosen by cross-validation."""
CASUAL = 3.0
"""How much a casual message counts beside one of a whole session: there are fewer of them, and more are typed."""
ASKED = 0.5
"""How much a casual message counts that was made a request: the same words stand in another one."""
UNLISTED = 0.3
"""How much a fact counts for the scope whose scope nobody has looked at: all that is known is that it was not listed."""
SCOPE_STRENGTH = 3.0
"""Fewer sentences are listed than messages labelled, so these weights are held back more; chosen by cross-validation."""
PROJECT_BIAS = 0.3
"""Facts about a project often end in a rule that follows from them."""

Labelled = tuple[list[str], Any, float]


def worth_examples(messages: Iterable[Message], weight: float) -> Iterator[Labelled]:
    for message in messages:
        for number, fact in enumerate(message.facts):
            yield sentence_features(message.sentences, number, message.answer), fact is not None, weight


def joined_examples(messages: Iterable[Message], following: Iterable[Following]) -> Iterator[Labelled]:
    """A sentence worth keeping and the next one: whether that belongs to it."""
    for message in messages:
        for number, (fact, next_fact) in enumerate(zip(message.facts, message.facts[1:], strict=False)):
            if fact is not None:
                features = pair_features(*message.sentences[number : number + 2], is_next_message=False)
                yield features, fact == next_fact, 1.0
    for pair in following:
        yield pair_features(pair.first, pair.second, is_next_message=True), pair.relation != "new", pair.weight


def joined_before_examples(messages: Iterable[Message]) -> Iterator[Labelled]:
    """A sentence worth keeping and the one before it: whether that belongs to it. In one model with the other question, each
    would be answered by how often the other one is true: what follows a fact often belongs to it, what precedes it seldom.
    """
    for message in messages:
        for number, (fact, next_fact) in enumerate(zip(message.facts, message.facts[1:], strict=False)):
            if next_fact is not None:
                features = pair_features(*message.sentences[number : number + 2], is_next_message=False)
                yield features, fact == next_fact, 1.0


def reason_examples(messages: Iterable[Message], following: Iterable[Following]) -> Iterator[Labelled]:
    for message in messages:
        for number, fact in enumerate(message.facts[:-1]):
            if fact is not None:
                features = pair_features(*message.sentences[number : number + 2], is_next_message=False)
                yield features, number + 1 in message.reasons and message.facts[number + 1] == fact, 1.0
    for pair in following:
        yield pair_features(pair.first, pair.second, is_next_message=True), pair.relation == "why", pair.weight


def type_examples(messages: Iterable[Message], weight: float) -> Iterator[Labelled]:
    for sentences, kind in facts_of(list(messages)):
        yield text_features(" ".join(sentences)), kind, weight


def scope_examples(messages: Iterable[Message]) -> Iterator[Labelled]:
    """What is not listed as holding everywhere holds in its project. What somebody is goes with the person by its type."""
    everywhere = set(sentences_of_scope("global"))
    for sentences, kind in facts_of(list(messages)):
        if kind != "user" and not everywhere & {*sentences, " ".join(sentences)}:
            yield text_features(" ".join(sentences)), False, UNLISTED


def listed_scope_examples() -> Iterator[Labelled]:
    for scope in ("global", "project"):
        for sentence in sentences_of_scope(scope):
            yield text_features(sentence), scope == "global", CASUAL


def matrix(examples: list[Labelled]) -> Any:
    """One row an example, of length one."""
    rows, places, values = [0], [], []
    for features, _, _ in examples:
        found = sorted(classifier.places_of(features, BUCKETS))
        places += found
        values += [1 / math.sqrt(len(found) or 1)] * len(found)
        rows.append(len(places))
    return sparse.csr_matrix((values, places, rows), shape=(len(examples), BUCKETS))


def fitted(examples: list[Labelled], *, balanced: bool = False, strength: float = STRENGTH) -> Any:
    data = matrix(examples)
    seen = np.asarray((data > 0).sum(axis=0)).ravel() >= LEAST_SEEN
    data = data.multiply(sparse.csr_matrix(seen.astype(float))).tocsr()
    labels, weights = np.array([label for _, label, _ in examples]), np.array([weight for _, _, weight in examples])
    model = LogisticRegression(C=strength, max_iter=800, class_weight="balanced" if balanced else None)
    return model.fit(data, labels, sample_weight=weights)


def fit(messages: list[Message], casual: list[Message], following: list[Following]) -> classifier.Model:
    both = [*messages, *casual]
    single = [
        fitted(
            [
                *worth_examples(messages, 1.0),
                *worth_examples(casual, CASUAL),
                *worth_examples(asked_messages(), ASKED),
            ]
        ),
        fitted(list(joined_examples(both, following))),
        fitted(list(joined_before_examples(both))),
        fitted(list(reason_examples(both, following))),
    ]
    kinds = fitted([*type_examples(messages, 1.0), *type_examples(casual, CASUAL)], balanced=True)
    order = [list(kinds.classes_).index(kind) for kind in classifier.TYPES]
    scope = fitted([*scope_examples(both), *listed_scope_examples()], strength=SCOPE_STRENGTH)
    weights = [*(model.coef_[0] for model in single), *(kinds.coef_[at] for at in order), scope.coef_[0]]
    biases = [*(model.intercept_[0] for model in single), *(kinds.intercept_[at] for at in order), scope.intercept_[0]]
    biases[classifier.TABLES.index("project")] += PROJECT_BIAS
    scales = [float(np.abs(weight).max()) / 127 for weight in weights]
    tables = [
        array("b", np.round(weight / scale).astype(np.int8).tobytes())
        for weight, scale in zip(weights, scales, strict=True)
    ]
    return classifier.Model(BUCKETS, tuple(float(bias) for bias in biases), tuple(scales), tuple(tables))


def report(messages: list[Message], model: classifier.Model) -> str:
    """How well a model does on messages that it was not fitted to."""
    likely, labels = [], []
    for features, label, _ in worth_examples(messages, 1.0):
        likely.append(model.score("worth", classifier.places_of(features, model.buckets)))
        labels.append(label)
    facts = facts_of(messages)
    types = [model.type_probabilities(" ".join(sentences)) for sentences, _ in facts]
    right = sum(max(found, key=lambda kind: found[kind]) == kind for found, (_, kind) in zip(types, facts, strict=True))
    return (
        f"{len(labels)} sentences, {sum(labels)} of facts: average precision"
        f" {average_precision_score(labels, likely):.3f}; type right in {right / len(facts):.3f} of {len(facts)} facts"
    )


def main() -> None:
    sessions = [messages_of(session) for session in sessions_in("sessions")]
    casual = casual_messages()
    following = [*following_messages(), *(pair for session in sessions for pair in following_in(session))]
    for fold in range(FOLDS if "--folds" in sys.argv else 0):
        rest = [message for number, messages in enumerate(sessions) if number % FOLDS != fold for message in messages]
        left_out = [
            message for number, messages in enumerate(sessions) if number % FOLDS == fold for message in messages
        ]
        other = [message for number, message in enumerate(casual) if number % FOLDS != fold]
        model = fit(rest, other, following)
        print(f"fold {fold + 1}: {report(left_out, model)}", flush=True)
        print(f"  casual: {report(casual[fold::FOLDS], model)}", flush=True)
    model = fit([message for session in sessions for message in session], casual, following)
    heldout = [message for session in sessions_in("heldout") for message in messages_of(session)]
    print(f"held out: {report(heldout, model)}")
    file = Path(classifier.__file__).with_name(classifier.WEIGHTS_FILE)
    file.write_bytes(classifier.dump(model))
    print(f"{file.name}: {file.stat().st_size:,} bytes from {len(sessions):,} sessions and {len(casual):,} messages")


if __name__ == "__main__":
    main()
