"""Fit what decides whether a statement says another one again: `python -m training.repeated`, part of `make train`.

Writes memoryd/recall/restated.json: boosted trees, on the pairs in training/restated, the facts of training/stories that come again
or are replaced, other facts of the same stories, and the first sets of evaluation/audit_cases.json. Prints what trees find that have
not seen the group: those of one author, or of one block of pairs.
"""

from __future__ import annotations

import json
import random
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memoryd.jobs.audit import statement_of
from memoryd.recall import again
from memoryd.recall.again import compared
from memoryd.recall.restated import restated_of
from memoryd.trees import dump
from training.boosted import trees_of
from training.labels import restated_blocks, stories_by_author

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.trees import Trees

HERE = Path(__file__).parent
CASES = HERE.parent / "evaluation" / "audit_cases.json"
PARTS = 8
_NUMBER, _DEPTH, _RATE = 300, 3, 0.06
_FREE = 0.5
"""What a pair of a story counts: many say the same only for who has read the story."""
_SENTENCE = 2.0
"""Most of what audit compares are sentences that have nothing to do with each other."""
_MOST_OTHERS = 3000
_PARTS_OF_CASES = 10


class Pair(NamedTuple):
    group: str
    """Never fitted to and judged at once."""
    kind: str
    one: str
    other: str
    is_same: bool
    weight: float = 1.0


def pairs() -> list[Pair]:
    return [*_written(), *_others(), *_cases(), *_told_in_stories(), *_said_in_stories()]


def _written() -> Iterator[Pair]:
    for name, same, others in restated_blocks():
        yield from (Pair(name, "same", one, other, is_same=True) for one, other in combinations(same, 2))
        yield from (Pair(name, "near miss", one, other, is_same=False) for one, other in product(same, others))


def _others() -> Iterator[Pair]:
    """Pairs of different blocks that the program would look at."""
    told = [(name, text) for name, same, others in restated_blocks() for text in (*same, *others)]
    found = [
        Pair(told[one][0], "others", told[one][1], told[other][1], is_same=False)
        for one, other in again.candidates([restated_of(text) for _, text in told])
        if told[one][0] != told[other][0] and compared(restated_of(told[one][1]), restated_of(told[other][1]))
    ]
    yield from random.Random(1).sample(found, min(_MOST_OTHERS, len(found)))  # noqa: S311 - the same ones each time


def _cases() -> Iterator[Pair]:
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    for kind, is_same in (("repeated", True), ("different", False)):
        for number, (one, other) in enumerate(cases[kind]):
            yield Pair(f"cases {number % _PARTS_OF_CASES}", kind, one, other, is_same=is_same)


def _told_in_stories() -> Iterator[Pair]:
    """Facts of a story that come again, or are replaced, and all others of it."""
    for author, stories in stories_by_author().items():
        for story in stories:
            standing: dict[int, str] = {}
            before: list[tuple[int | None, str]] = []
            for told in (told for message in story for told in message.told if told.relation not in ("why", "ends")):
                older = standing.get(told.number) if told.number is not None else None
                if older is not None and told.relation in ("again", "new"):
                    is_same = told.relation == "again"
                    yield Pair(author, f"story: {told.relation}", older, told.words, is_same, _FREE)
                others = (words for number, words in before if number is None or number != told.number)
                yield from (Pair(author, "story: others", words, told.words, is_same=False) for words in others)
                if told.number is not None and told.relation in ("first", "new"):
                    standing[told.number] = told.words
                before.append((told.number, told.words))


def _said_in_stories() -> Iterator[Pair]:
    """Sentences of different stories of an author, as audit meets them: hardly any two say the same."""
    for author, stories in stories_by_author().items():
        told = [
            (number, statement)
            for number, story in enumerate(stories)
            for message in story
            for sentence in message.said.sentences
            if (statement := statement_of(sentence)) is not None
        ]
        for one, other in again.candidates([statement for _, statement in told]):
            if told[one][0] != told[other][0] and told[one][1].told != told[other][1].told:
                yield Pair(author, "sentences", told[one][1].text, told[other][1].text, False, _SENTENCE)


def fitted(some: Sequence[tuple[Pair, list[float]]]) -> Trees:
    rows = [numbers for _, numbers in some]
    labels = [pair.is_same for pair, _ in some]
    return trees_of(rows, labels, [pair.weight for pair, _ in some], number=_NUMBER, depth=_DEPTH, rate=_RATE)


def unseen(some: Sequence[tuple[Pair, list[float]]]) -> list[tuple[Pair, float]]:
    """Each pair with its probability by trees that have not seen its group."""
    groups = sorted({pair.group for pair, _ in some})
    random.Random(1).shuffle(groups)  # noqa: S311 - the same order each time
    found = []
    for part in range(PARTS):
        here = set(groups[part::PARTS])
        trees = fitted([one for one in some if one[0].group not in here])
        found += [(pair, trees.probability(numbers)) for pair, numbers in some if pair.group in here]
    return found


def main() -> None:
    everything = pairs()
    some = [
        (pair, numbers) for pair in everything if (numbers := compared(restated_of(pair.one), restated_of(pair.other)))
    ]
    likely = unseen(some)
    for kind in dict.fromkeys(pair.kind for pair in everything):
        total = sum(pair.kind == kind for pair in everything)
        print(f"{kind}: {total} pairs; listed by trees that have not seen the group")
        for least in (0.3, 0.4, 0.5, 0.6, 0.7):
            listed = sum(pair.kind == kind and probability >= least for pair, probability in likely)
            print(f"  from {least}: {listed} ({listed / total:.3f})")
    Path(again.__file__).with_name(again.FILE).write_text(dump(fitted(some)), encoding="utf-8")


if __name__ == "__main__":
    main()
