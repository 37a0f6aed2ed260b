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

from memoryd import trees
from memoryd.engines.offline import changes, classifier
from memoryd.engines.offline.features import pair_features, sentence_features, text_features
from training.changes import fitted_trees
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
    from collections.abc import Iterable, Iterator, Mapping

    from training.labels import Following, Labelled, Message, Story

BUCKETS = 1 << 18
FOLDS = 5
RARITY = 5.0
"""Makes the weight of a feature that stands in one of 150 examples 1."""
LEAST_SEEN = 2
"""A feature that was seen only once says nothing."""
LEAST_SEEN_CHANGES = 4
LEAST_SEEN_WORTH = 8
"""Among many examples, one that was seen so seldom tells nothing either; chosen by cross-validation."""
LEAST_WEIGHT = 3
LEAST_WEIGHT_OF_MANY = 6
"""A weight of less than this many of 127 steps is left out: it changes nothing, and the file is a third as long."""
STRENGTH = 10.0
WORTH_STRENGTH = 8.0
"""How little the weights are held back; chosen by cross-validation."""
SESSIONS = 0.5
"""How much a message of a session counts: these are typed with more care than most."""
CASUAL = 3.0
"""How much a casual message counts beside one of a whole session: there are fewer of them, and more are typed."""
STORIES = 1.0
"""How much a message of a story counts. There are many, most of them about a task, so that with more weight "never use mocks" by
itself would be taken for one; chosen by cross-validation, and by what single messages say."""
ASKED = 0.25
"""How much a casual message counts that was made a request: the same words stand in another one."""
UNLISTED = 0.3
"""How much a fact counts for the scope whose scope nobody has looked at: all that is known is that it was not listed."""
SCOPE_STRENGTH = 3.0
"""Fewer sentences are listed than messages labelled, so these weights are held back more; chosen by cross-validation."""
CHANGES_STRENGTH = 4.0
PROJECT_BIAS = 0.3
"""Facts about a project often end in a rule that follows from them."""


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


def fitted_by_rarity(examples: list[Labelled], *, strength: float, least_seen: int = LEAST_SEEN_WORTH) -> Any:
    """The same, a feature held back by how common it is: among many examples, what is rare tells more."""
    data = matrix(examples)
    number = np.asarray((data > 0).sum(axis=0)).ravel()
    rarity = (number >= least_seen) * np.log(data.shape[0] / (number + 1.0)) / RARITY
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
    messages: list[Message], casual: list[Message], stories: list[Story], pairs: Mapping[classifier.Table, Any]
) -> classifier.Model:
    """`pairs`: the models that tell which sentences belong together. That is not marked in stories."""
    told = _messages_in(stories)
    kinds = fitted([*type_examples(messages, 1.0), *type_examples([*casual, *told], CASUAL)], balanced=True)
    scope = [*scope_examples([*messages, *casual]), *listed_scope_examples()]
    models = {
        "worth": worth_model(messages, casual, stories),
        "changes": fitted_by_rarity(
            list(change_examples(stories)), strength=CHANGES_STRENGTH, least_seen=LEAST_SEEN_CHANGES
        ),
        "global": fitted(scope, strength=SCOPE_STRENGTH),
        **pairs,
    }
    weights = {name: (model.coef_[0], float(model.intercept_[0])) for name, model in models.items()}
    for number, kind in enumerate(kinds.classes_):
        weights[kind] = kinds.coef_[number], float(kinds.intercept_[number]) + PROJECT_BIAS * (kind == "project")
    rows = [weights[table] for table in classifier.TABLES]
    scales = tuple(float(np.abs(row).max()) / 127 for row, _ in rows)
    steps = [np.round(row / scale) for (row, _), scale in zip(rows, scales, strict=True)]
    least = [
        LEAST_WEIGHT_OF_MANY if table in ("worth", "changes", *classifier.TYPES) else LEAST_WEIGHT
        for table in classifier.TABLES
    ]
    tables = [
        array("b", (told * (np.abs(told) >= limit)).astype(np.int8).tobytes())
        for told, limit in zip(steps, least, strict=True)
    ]
    return classifier.Model(BUCKETS, tuple(bias for _, bias in rows), scales, tuple(tables))


def fit_pairs(messages: list[Message], following: list[Following]) -> dict[classifier.Table, Any]:
    return {
        "joined": fitted(list(joined_examples(messages, following))),
        "joined_before": fitted(list(joined_before_examples(messages))),
        "reason": fitted(list(reason_examples(messages, following))),
    }


def _messages_in(stories: Iterable[Story]) -> list[Message]:
    return [message.said for story in stories for message in story]


def worth_model(messages: list[Message], casual: list[Message], stories: list[Story]) -> Any:
    examples = [
        *worth_examples(messages, SESSIONS),
        *worth_examples(casual, CASUAL),
        *worth_examples(_messages_in(stories), STORIES),
        *worth_examples(asked_messages(), ASKED),
    ]
    return fitted_by_rarity(examples, strength=WORTH_STRENGTH)


def change_examples(stories: Iterable[Story]) -> Iterator[Labelled]:
    """Each sentence that comes when something has been told, with the reply to it and without."""
    for later in (later for story in stories for later in later_in_story(story)):
        replies = {later.said.reply, ""}
        for reply in sorted(replies):
            features = sentence_features(later.said.sentences, later.number, later.said.answer, reply)
            yield features, later.changed is not None, 1.0 / len(replies)


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
    messages, casual = [message for session in sessions for message in session], casual_messages()
    authors = stories_by_author()
    stories = [story for told in authors.values() for story in told]
    following = [*following_messages(), *(pair for session in sessions for pair in following_in(session))]
    pairs = fit_pairs([*messages, *casual], following)
    for fold in range(FOLDS if "--folds" in sys.argv else 0):
        rest = [message for number, told in enumerate(sessions) if number % FOLDS != fold for message in told]
        left_out = [message for number, told in enumerate(sessions) if number % FOLDS == fold for message in told]
        other = [message for number, message in enumerate(casual) if number % FOLDS != fold]
        model = fit(rest, other, stories, pairs)
        print(f"fold {fold + 1}: {report(left_out, model)}", flush=True)
        print(f"  casual: {report(casual[fold::FOLDS], model)}", flush=True)
    model = fit(messages, casual, stories, pairs)
    heldout = [message for session in sessions_in("heldout") for message in messages_of(session)]
    print(f"held out: {report(heldout, model)}")
    file = Path(classifier.__file__).with_name(classifier.WEIGHTS_FILE)
    file.write_bytes(classifier.dump(model))
    print(
        f"{file.name}: {file.stat().st_size:,} bytes from {len(sessions):,} sessions, {len(casual):,} messages, {len(stories):,} stories"
    )
    found = fitted_trees(authors, lambda some: fit(messages, casual, some, pairs))
    file.with_name(changes.TREES_FILE).write_text(trees.dump(found), encoding="utf-8")


if __name__ == "__main__":
    main()
