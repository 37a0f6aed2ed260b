"""A hundred dreams in a row, by an engine that rewrites at random: what nobody contradicted is still there in the end."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest

from memoryd.engines.evidence import quoted
from memoryd.memory import index
from memoryd.memory.document import parse
from memoryd.model import Revision
from tests.jobs.bedroom import DAY, NOW, Engine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.model import Exchange
    from tests.jobs.bedroom import Bedroom

THINGS = [
    "turbine",
    "harbour",
    "gauge",
    "lantern",
    "orchard",
    "ledger",
    "beacon",
    "kiln",
    "quarry",
    "trolley",
    "canal",
    "furnace",
    "meadow",
    "signal",
    "hangar",
]
PARTS = ["valve", "gate", "meter", "pump", "shutter", "bearing", "sluice", "ramp", "cable", "filter"]
NUMBER = re.compile(r"\d+")


def fact(thing: str, part: str, value: int) -> str:
    return f"The {part} of the {thing} is rated at {value} bar."


class Rewriter:
    """Merges, reorders and brings up to date, at random; and now and then tries what must not be."""

    def __init__(self, bedroom: Bedroom, seed: int) -> None:
        self._bedroom = bedroom
        self._random = random.Random(seed)
        self.refusals = 0

    def __call__(self, exchanges: Sequence[Exchange]) -> list[Revision]:
        names = [path.name for path in sorted(self._bedroom.memory.glob("*.md")) if path.name != index.NAME]
        self._random.shuffle(names)
        revisions: list[Revision | None] = []
        for exchange in exchanges:
            revisions += self._updated(names, exchange)
        for _ in range(self._random.randint(0, 2)):
            revisions.append(self._merged(names.pop(), names.pop()))
        if len(names) > 4:
            revisions.append(self._reordered(names.pop()))
        if self._random.random() < 0.5:
            revisions.append(self._broken(names.pop()))
            self.refusals += 1
        return [one for one in revisions if one is not None]

    def _body(self, name: str) -> str:
        return parse((self._bedroom.memory / name).read_bytes()).body

    def _description(self, name: str) -> str:
        return parse((self._bedroom.memory / name).read_bytes()).description

    def _merged(self, one: str, other: str) -> Revision:
        body = f"{self._body(one).strip()}\n{self._body(other).strip()}\n"
        # What the other's title said is in its text as well.
        return Revision("merged", "Merging two notes", (one, other), "project", "", self._description(one), body)

    def _reordered(self, name: str) -> Revision | None:
        lines = self._body(name).strip().split("\n")
        before = list(lines)
        self._random.shuffle(lines)
        if lines == before:
            return None
        return Revision("merged", "Sorting a note", (name,), "project", "", self._description(name), "\n".join(lines))

    def _updated(self, names: list[str], exchange: Exchange) -> list[Revision]:
        """`The valve of the kiln is rated at 7 bar from now on` takes the place of what was said of it."""
        said = exchange.said.text
        about = re.search(r"The (\w+) of the (\w+)", said)
        assert about is not None
        old = re.compile(rf"The {about[1]} of the {about[2]} is rated at (\d+) bar")
        name = next(one for one in names if old.search(self._body(one)))
        names.remove(name)
        (new,) = NUMBER.findall(said)
        evidence = quoted(said, [exchange.said])
        assert evidence is not None
        description, body = (
            old.sub(f"The {about[1]} of the {about[2]} is rated at {new} bar", text)
            for text in (self._description(name), self._body(name))
        )
        return [Revision("updated", "Updating a rating", (name,), "project", "", description, body, (evidence,))]

    def _broken(self, name: str) -> Revision:
        """Loses a fact, flips a number, or empties the file."""
        lines = self._body(name).strip().split("\n")
        kind = self._random.randrange(3)
        if kind == 0:
            return Revision("expired", "Archiving a note", (name,))
        body = (
            "\n".join(lines[:-1]) if kind == 1 else NUMBER.sub(lambda match: str(int(match[0]) + 1), "\n".join(lines))
        )
        return Revision("updated", "Tidying a note", (name,), "project", "", "About ratings", body or "Nothing.\n")


@pytest.mark.parametrize("seed", [1])
def test_what_nobody_contradicts_outlives_a_hundred_dreams_and_all_can_be_undone(bedroom: Bedroom, seed: int) -> None:
    """150 memories; the index stays in its limits; undone one by one, the first state is back byte for byte."""
    facts = {(thing, part): 10 + number for number, (thing, part) in enumerate((t, p) for t in THINGS for p in PARTS)}
    for number, ((thing, part), value) in enumerate(facts.items()):
        bedroom.remember(f"project_{thing}_{part}.md", fact(thing, part, value), at=NOW - 30 * DAY + number)
    bedroom.lock(NOW - 2 * DAY)
    entries = [f"- [{path.stem}]({path.name}) — rated" for path in sorted(bedroom.memory.glob("*.md"))]
    bedroom.put(index.NAME, "# Ratings\n\nby hand\n\n" + "\n".join(entries) + "\n")
    first = bedroom.state()
    chance = random.Random(seed)
    rewriter = Rewriter(bedroom, seed)
    refused = 0
    for number in range(100):
        bedroom.clock.at += DAY
        if chance.random() < 0.7:
            thing, part = chance.choice(list(facts))
            facts[thing, part] = 1000 + number
            bedroom.say(f"The {part} of the {thing} is rated at {facts[thing, part]} bar from now on")
        dreamt = bedroom.dream(Engine(rewriter))
        assert dreamt.outcome.startswith("succeeded"), dreamt
        refused += len({one.name for one in dreamt.refused})
        text = (bedroom.memory / index.NAME).read_text(encoding="utf-8")
        assert len(text.splitlines()) <= index.MOST_LINES
        assert len(text.encode()) <= index.MOST_BYTES
    everything = "\n".join(path.read_text(encoding="utf-8") for path in bedroom.memory.glob("*.md"))
    assert [one for one in (fact(*key, value) for key, value in facts.items()) if one not in everything] == []
    assert refused == rewriter.refusals
    assert all(outcome == "succeeded" for outcome in bedroom.turns())
    while bedroom.undo():
        pass
    assert bedroom.state() == first
