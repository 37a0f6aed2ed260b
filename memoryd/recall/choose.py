"""Choice among the candidates: a wrong memory costs attention, and trust in the right ones. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.language.lexicon import pattern, words
from memoryd.language.tokens import token_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.memory.quick_parse import QuickParse
    from memoryd.recall.rank import Candidate

LEAST_PROBABILITY = 0.21
"""Of the best memory; where it is less, nothing is said. `recall --min-score` sets another."""
LEAST_OF_FEW = 0.1
"""The same where there are FEW memories or less: to be shown one in vain costs little, and "commit this" is all one types."""
LEAST_COVERING = 0.03
"""Of a memory that has all words of the prompt, where there are FEW: of several rules about commits none is ahead of the others
for "commit this", and all of them are meant."""
FEW, MANY = 10, 40
"""Between these both rise with each memory, so that one more never silences recall."""
SHARE_BESIDE = 0.3
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
    covering: float | None = None
    """What is enough for a memory that has all words of the prompt; None: the same as for the others."""

    def raised(self, candidate: Candidate) -> Candidate:
        """A candidate as probable as it has to be, where it has all words of the prompt and that is enough."""
        if self.covering is None or not candidate.covers_prompt or candidate.probability < self.covering:
            return candidate
        return candidate._replace(probability=max(candidate.probability, self.best))


def floor_of(memories: int, *, is_model_to_follow: bool = False) -> Floor:
    """The floor among so many memories."""
    if is_model_to_follow:
        return Floor(LEAST_BEFORE_MODEL, LEAST_BEFORE_MODEL)
    share = min(1.0, max(0.0, (memories - FEW) / (MANY - FEW)))
    best = LEAST_OF_FEW + share * (LEAST_PROBABILITY - LEAST_OF_FEW)
    return Floor(best, SHARE_BESIDE * best, covering=LEAST_COVERING + share * (best - LEAST_COVERING))


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
    return frozenset(names - words("choose", "plain_tools") - {""})


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
