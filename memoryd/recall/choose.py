"""Choice among the candidates: a wrong memory costs attention, and trust in the right ones. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.language.lexicon import pattern, words
from memoryd.language.tokens import token_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.memory.quick_parse import QuickParse

LEAST_PROBABILITY = 0.17
"""By default; `recall --min-score` sets another."""
LEAST_OF_FEW = 0.1
"""The same where there are FEW memories or less: to be shown one in vain costs little, and "commit this" is all one types."""
FEW = 10
PITFALL_BONUS = 0.15
"""A trap of a tool that is in use is wanted more than its score says."""
_LEAST_TOKENS = 2


def least_probability(memories: int) -> float:
    """How probable a memory has to be among so many."""
    return LEAST_OF_FEW if memories <= FEW else LEAST_PROBABILITY


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
