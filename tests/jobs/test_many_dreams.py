"""A hundred dreams in a row, by an engine that rewrites at random: what nobody contradicted is still there in the end.

Hard checks see a number that nobody said; that a fact is gone is seen by the reviewer alone.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest

from memoryd.language.evidence import find_quote
from memoryd.memory.document import parse
from memoryd.memory.limits import INDEX_NAME, MOST_BYTES, MOST_LINES
from memoryd.model import Revision
from tests.jobs.dream_workspace import DAY, NOW, RevisingEngine, rejecting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.model import Exchange
    from tests.jobs.dream_workspace import DreamWorkspace

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
FACT = re.compile(r"The (\w+) of the (\w+) is rated at (\d+) bar")


def fact(thing: str, part: str, value: int) -> str:
    return f"The {part} of the {thing} is rated at {value} bar."


def lost_in(change: str) -> str:
    """What a careful reviewer says of a change as the question shows it: facts that go and that no quote speaks of."""
    old, new, quotes = (
        {fact for text in re.findall(rf"<{tag}>\n(.*?)\n</{tag}>", change, re.DOTALL) for fact in FACT.findall(text)}
        for tag in ("old", "new", "quote")
    )
    spoken_of = {fact[:2] for fact in quotes}
    lost = sorted(fact for fact in old - new if fact[:2] not in spoken_of)
    return f"{len(lost)} facts would be lost." if lost else ""


class Rewriter:
    """Merges, reorders and brings up to date, at random; and now and then tries what must not be."""

    def __init__(self, dream_workspace: DreamWorkspace, seed: int) -> None:
        self._bedroom = dream_workspace
        self._random = random.Random(seed)
        self.broken: list[str] = []
        """The files of the groups that broke a rule, of the last dream."""

    def __call__(self, exchanges: Sequence[Exchange]) -> list[Revision]:
        names = [path.name for path in sorted(self._bedroom.memory.glob("*.md")) if path.name != INDEX_NAME]
        self._random.shuffle(names)
        revisions: list[Revision | None] = []
        for exchange in exchanges:
            revisions += self._updated(names, exchange)
        for _ in range(self._random.randint(0, 2)):
            revisions.append(self._merged(names.pop(), names.pop()))
        if len(names) > 4:
            revisions.append(self._reordered(names.pop()))
        self.broken = []
        if self._random.random() < 0.5:
            broken = self._broken(names.pop(), names.pop())
            revisions.append(broken)
            self.broken = [" ".join(broken.files)]
        return [revision for revision in revisions if revision is not None]

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
        name = next(candidate for candidate in names if old.search(self._body(candidate)))
        names.remove(name)
        (new,) = NUMBER.findall(said)
        evidence = find_quote(said, [exchange.said])
        assert evidence is not None
        description, body = (
            old.sub(f"The {about[1]} of the {about[2]} is rated at {new} bar", text)
            for text in (self._description(name), self._body(name))
        )
        return [Revision("updated", "Updating a rating", (name,), "project", "", description, body, (evidence,))]

    def _broken(self, name: str, other: str) -> Revision:
        """Archives what has not ended, merges and forgets the other's facts, loses a line, or flips a number."""
        body, description = self._body(name).strip(), self._description(name)
        kind = self._random.randrange(4)
        if kind == 0:
            return Revision("expired", "Archiving a note", (name,))
        if kind == 1:
            return Revision("merged", "Merging two notes", (name, other), "project", "", description, body)
        if kind == 2:
            shorter = body.rpartition("\n")[0] or "There is a rating."
            return Revision("merged", "Tidying a note", (name,), "project", "", "About ratings", shorter)
        flipped = NUMBER.sub(lambda match: str(int(match[0]) + 5000), body)
        return Revision("dated", "Dating a note", (name,), "project", "", description, flipped)


@pytest.mark.parametrize("seed", [1])
def test_what_nobody_contradicts_outlives_a_hundred_dreams_and_all_can_be_undone(
    dream_workspace: DreamWorkspace, seed: int
) -> None:
    """150 memories; the index stays in its limits; undone one by one, the first state is back byte for byte."""
    facts = {(thing, part): 10 + number for number, (thing, part) in enumerate((t, p) for t in THINGS for p in PARTS)}
    for number, ((thing, part), value) in enumerate(facts.items()):
        dream_workspace.remember(f"project_{thing}_{part}.md", fact(thing, part, value), at=NOW - 30 * DAY + number)
    dream_workspace.lock(NOW - 2 * DAY)
    entries = [f"- [{path.stem}]({path.name}) — rated" for path in sorted(dream_workspace.memory.glob("*.md"))]
    dream_workspace.put(INDEX_NAME, "# Ratings\n\nby hand\n\n" + "\n".join(entries) + "\n")
    first = dream_workspace.state()
    chance = random.Random(seed)
    rewriter = Rewriter(dream_workspace, seed)
    held = 0
    for number in range(100):
        dream_workspace.clock.at += DAY
        if chance.random() < 0.7:
            thing, part = chance.choice(list(facts))
            facts[thing, part] = 1000 + number
            dream_workspace.say(f"The {part} of the {thing} is rated at {facts[thing, part]} bar from now on")
        dreamt = dream_workspace.dream(RevisingEngine(rewriter, rejecting(lost_in)))
        assert dreamt.outcome.startswith("succeeded"), dreamt
        assert [(group.names, group.state) for group in dreamt.refused] == [(name, "held") for name in rewriter.broken]
        held += len(dreamt.refused)
        text = (dream_workspace.memory / INDEX_NAME).read_text(encoding="utf-8")
        assert len(text.splitlines()) <= MOST_LINES
        assert len(text.encode()) <= MOST_BYTES
    everything = "\n".join(path.read_text(encoding="utf-8") for path in dream_workspace.memory.glob("*.md"))
    assert [text for text in (fact(*key, value) for key, value in facts.items()) if text not in everything] == []
    assert 30 < len(dream_workspace.waiting()) <= held  # the same is not asked twice
    assert all(outcome == "succeeded" for outcome in dream_workspace.turns())
    while dream_workspace.undo():
        pass
    assert dream_workspace.state() == first
