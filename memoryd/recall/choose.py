"""Which of the candidates a prompt gets, or none of them: a wrong memory costs attention, and trust in the right ones. Pure."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from memoryd.recall.terms import token_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.memory.glance import Glance

LEAST_PROBABILITY = 0.17
"""By default; `recall --min-score` sets another."""
PITFALL_BONUS = 0.15
"""A trap of a tool that is in use is wanted more than its score says."""
_LEAST_TOKENS = 2
_PLAIN_TOOLS = frozenset(
    {"query", "search", "run", "read", "write", "edit", "bash", "fetch", "list", "get", "open", "task"}
)
"""Names of tools that are ordinary words: a memory that has one need not mean the tool."""
_MANUAL = (
    r"(?i)\b(?:usage|how to (?:use|call)|parameters?|arguments?|tool docs?|cheat ?sheet|reference card|syntax|takes|expects"
    r"|accepts|returns)\b|\w\([\w, =\[\]:.\"']*\)|参数|用法|使い方|引数|aufruf|paramètres?|parámetros?"
)
_PITFALL = (
    r"(?i)\b(?:gotchas?|pitfalls?|traps?|beware|careful|caution|warning|never|silently|hangs?|fails?|breaks?|broken|bug"
    r"|cuts?|truncates?|drops?|ignores?|wrong|do not|does not|don't|doesn't|cannot|can't|wants|needs|must|only|instead"
    r"|nie|nicht|vorsicht|achtung|falle|jamais|attention|piège|nunca|cuidado|trampa)\b|坑|注意|不要|不能|落とし穴|ではなく"
)


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
    return frozenset(names - _PLAIN_TOOLS - {""})


def speaks_of(glance: Glance, tools: frozenset[str]) -> bool:
    said = f"{glance.name.replace('-', ' ')} {glance.description} {glance.body}".lower()
    return any(re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", said) for tool in tools)


def is_pitfall(glance: Glance) -> bool:
    return bool(_pattern(_PITFALL).search(_head(glance)))


def is_manual(glance: Glance) -> bool:
    """Whether a memory tells how a tool is called, and not what to look out for.

    Whoever uses the tool right now has its description already.
    """
    return (
        glance.type in ("reference", None)
        and not is_pitfall(glance)
        and any(map(_pattern(_MANUAL).search, (_head(glance), glance.body)))
    )


def _head(glance: Glance) -> str:
    return f"{glance.name.replace('-', ' ')} {glance.description}"


@cache
def _pattern(written: str) -> re.Pattern[str]:
    """Compiled when it is first needed: for a memory that speaks of a tool in use."""
    return re.compile(written)
