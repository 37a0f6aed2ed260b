"""Choice among the candidates: a wrong memory costs attention, and trust in the right ones. Pure."""

from __future__ import annotations

import math
import os
import re
from functools import cache
from typing import TYPE_CHECKING

from memoryd.language.lexicon import DATA, pattern
from memoryd.language.tokens import token_count
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.memory.quick_parse import QuickParse
    from memoryd.recall.rank import Candidate

LEAST_PROBABILITY = 0.21
"""Of the best memory, among many; where it is less, nothing is said. `recall --min-score` sets another."""
_LEAST_OF_HANDFUL, _HANDFUL = 0.1, 5
"""The same among a handful: the more memories there are, the more probable is the best one by chance, so that one limit would
be silent too often in a small project, or speak too often in a large one."""
_EACH_TIMES = 0.035
"""How much it rises for each time that there are 2.7 (e) times as many."""
_FEW, _MANY = 10, 40
"""Up to so many, every memory about the work that is asked for is handed over, and from so many on those that are probable
enough anyway; in between it takes ever more, so that one memory more never silences recall."""
SHARE_BESIDE = 0.35
"""Of the probability of the best, that the others need: silence is broken already, but beside one that is meant for sure, a
doubtful one is noise."""
LEAST_BEFORE_MODEL = 0.5
"""Of all where a model's choice follows: what is less sure is left to it."""
PITFALL_BONUS = 0.15
"""A trap of a tool that is in use is wanted more than its score says."""
_LEAST_TOKENS = 2


class Floor(NamedTuple):
    """How probable memories have to be to be handed over: the best one, and the others beside it."""

    best: float
    others: float
    share: float = SHARE_BESIDE
    """Of the best one's probability, that the others need."""
    asked: float | None = None
    """What is enough for a memory about the work that the prompt asks for; None: the same as for the others."""

    def raised(self, candidate: Candidate) -> Candidate:
        """A candidate as probable as it has to be, where it is about the work that is asked for and that is enough."""
        if self.asked is None or not candidate.is_asked or candidate.probability < self.asked:
            return candidate
        return candidate._replace(probability=max(candidate.probability, self.best))


def floor_of(memories: int, *, is_model_to_follow: bool = False) -> Floor:
    """The floor among so many memories."""
    if is_model_to_follow:
        return Floor(LEAST_BEFORE_MODEL, LEAST_BEFORE_MODEL)
    best = min(LEAST_PROBABILITY, _LEAST_OF_HANDFUL + _EACH_TIMES * math.log(max(1.0, memories / _HANDFUL)))
    share = min(1.0, max(0.0, (memories - _FEW) / (_MANY - _FEW)))
    return Floor(best, SHARE_BESIDE * best, asked=share * best)


def is_worth_asking(prompt: str) -> bool:
    """Whether a prompt says enough: a single word means nothing yet. In a script without spaces four characters do."""
    return token_count(prompt) >= _LEAST_TOKENS


def names_of_tools(tools: Iterable[str]) -> frozenset[str]:
    """What a memory would call the tools: `mcp__linear__create_issue` by its whole name and by its last part."""
    names: set[str] = set()
    for tool in tools:
        whole = tool.strip().lower()
        names |= {whole, whole.rpartition("__")[2]}
        if whole.startswith("mcp__") and (server := whole.split("__")[1]):
            names.add(f"{server} mcp")
    return frozenset(names - _plain_tools() - {""}) if names else frozenset()


@cache
def _plain_tools() -> frozenset[str]:
    """Plain text: to import a parser of tables takes longer than to rank."""
    with open(os.path.join(DATA, "plain_tools.txt"), encoding="utf-8") as file:
        return frozenset(file.read().split())


def speaks_of(glance: QuickParse, tools: frozenset[str]) -> bool:
    said = f"{glance.name.replace('-', ' ')} {glance.description} {glance.body}".lower()
    return any(re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", said) for tool in tools)


def is_pitfall(glance: QuickParse) -> bool:
    return bool(pattern("choose", "pitfall").search(_head(glance)))


def is_manual(glance: QuickParse) -> bool:
    """Whether a memory tells how a tool is called, and not what to look out for.

    Whoever uses the tool right now has its description already.
    """
    return (
        glance.type in ("reference", None)
        and not is_pitfall(glance)
        and any(map(pattern("choose", "manual").search, (_head(glance), glance.body)))
    )


def _head(glance: QuickParse) -> str:
    return f"{glance.name.replace('-', ' ')} {glance.description}"
