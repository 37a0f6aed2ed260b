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
from memoryd.engines.offline.features import change_features, pair_features, sentence_features, text_features
from training.labels import (
    asked_messages,
    casual_messages,
    facts_of,
    following_in,
    following_messages,
    later_in_story,
    messages_of,
    sentences_of_scope,
    sessions_in,
    stories_by_author,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from training.labels import Following, Message, StoryMessage

BUCKETS = 1 << 18
FOLDS = 5
RARITY = 5.0
"""Makes the weight of a feature that stands in one of 150 examples 1."""
LEAST_SEEN = 2
"""A feature that was seen only once says nothing."""
LEAST_SEEN_WORTH = 8
"""Among many examples, one that was seen so seldom tells nothing either; chosen by cross-validation."""
LEAST_WEIGHT = 3
"""A weight of less than this many of 127 steps is left out: it changes nothing, and the file is half as long."""
STRENGTH = 10.0
WORTH_STRENGTH = 4.0
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
    """Each sentence with the reply to it and without: what a reply tells must not be needed, and replies differ by agent."""
    for message in messages:
        replies = {message.reply, ""}
        for number, fact in enumerate(message.facts):
            for reply in sorted(replies):
                features = sentence_features(message.sentences, number, message.answer, reply)
                yield features, fact is not None, weight / len(replies)


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


def change_examples(stories: Iterable[list[StoryMessage]]) -> Iterator[Labelled]:
    for story in stories:
        for later in later_in_story(story):
            yield change_features(later.older, later.newer, later.others), later.is_change, 1.0


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
    return _fitted(data, seen.astype(float), examples, balanced=balanced, strength=strength)


def fitted_by_rarity(examples: list[Labelled], *, strength: float) -> Any:
    """The same, a feature held back by how common it is: among many examples, what is rare tells more."""
    data = matrix(examples)
    number = np.asarray((data > 0).sum(axis=0)).ravel()
    rarity = (number >= LEAST_SEEN_WORTH) * np.log(data.shape[0] / (number + 1.0)) / RARITY
    model = _fitted(data, rarity, examples, balanced=False, strength=strength)
    model.coef_ = model.coef_ * rarity
    return model


def _fitted(data: Any, scale: Any, examples: list[Labelled], *, balanced: bool, strength: float) -> Any:
    data = data.multiply(sparse.csr_matrix(scale)).tocsr()
    labels, weights = np.array([label for _, label, _ in examples]), np.array([weight for _, _, weight in examples])
    is_binary = labels.dtype == bool
    model = LogisticRegression(
        C=strength,
        max_iter=800,
        class_weight="balanced" if balanced else None,
        solver="liblinear" if is_binary else "lbfgs",
    )
    return model.fit(data, labels, sample_weight=weights)


def fit(
    messages: list[Message],
    casual: list[Message],
    stories: list[list[StoryMessage]],
    following: list[Following],
) -> classifier.Model:
    """Which sentences belong together is not marked in stories, so that is not fitted to them."""
    both, told = [*messages, *casual], [message.said for story in stories for message in story]
    single = [
        fitted_by_rarity(
            [
                *worth_examples(messages, 1.0),
                *worth_examples([*casual, *told], CASUAL),
                *worth_examples(asked_messages(), ASKED),
            ],
            strength=WORTH_STRENGTH,
        ),
        fitted(list(joined_examples(both, following))),
        fitted(list(joined_before_examples(both))),
        fitted(list(reason_examples(both, following))),
    ]
    kinds = fitted([*type_examples(messages, 1.0), *type_examples([*casual, *told], CASUAL)], balanced=True)
    order = [list(kinds.classes_).index(kind) for kind in classifier.TYPES]
    scope = fitted([*scope_examples(both), *listed_scope_examples()], strength=SCOPE_STRENGTH)
    last = [scope, fitted(list(change_examples(stories)))]
    weights = [
        *(model.coef_[0] for model in single),
        *(kinds.coef_[at] for at in order),
        *(model.coef_[0] for model in last),
    ]
    biases = [
        *(model.intercept_[0] for model in single),
        *(kinds.intercept_[at] for at in order),
        *(model.intercept_[0] for model in last),
    ]
    biases[classifier.TABLES.index("project")] += PROJECT_BIAS
    scales = [float(np.abs(weight).max()) / 127 for weight in weights]
    steps = [np.round(weight / scale) for weight, scale in zip(weights, scales, strict=True)]
    tables = [array("b", (told * (np.abs(told) >= LEAST_WEIGHT)).astype(np.int8).tobytes()) for told in steps]
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
    stories = [story for stories in stories_by_author().values() for story in stories]
    following = [*following_messages(), *(pair for session in sessions for pair in following_in(session))]
    for fold in range(FOLDS if "--folds" in sys.argv else 0):
        rest = [message for number, messages in enumerate(sessions) if number % FOLDS != fold for message in messages]
        left_out = [
            message for number, messages in enumerate(sessions) if number % FOLDS == fold for message in messages
        ]
        other = [message for number, message in enumerate(casual) if number % FOLDS != fold]
        model = fit(rest, other, stories, following)
        print(f"fold {fold + 1}: {report(left_out, model)}", flush=True)
        print(f"  casual: {report(casual[fold::FOLDS], model)}", flush=True)
    model = fit([message for session in sessions for message in session], casual, stories, following)
    heldout = [message for session in sessions_in("heldout") for message in messages_of(session)]
    print(f"held out: {report(heldout, model)}")
    file = Path(classifier.__file__).with_name(classifier.WEIGHTS_FILE)
    file.write_bytes(classifier.dump(model))
    print(
        f"{file.name}: {file.stat().st_size:,} bytes from {len(sessions):,} sessions, {len(casual):,} messages, {len(stories):,} stories"
    )


if __name__ == "__main__":
    main()
