"""Requests to leave memory aside: "ignore your memory for this one". Pure."""

from __future__ import annotations

import re

from memoryd.language.lexicon import pattern

_MAY_BE = re.compile(
    "memor|erinner|gedächt|souven|mémoir|recuerd|know|weißt|weisst|sais|sabes|learn|记忆|了解|記憶|メモリ",
    re.IGNORECASE,
)
"""Compiles in no time: nearly every prompt is none, and a hook waits."""
_MOST_CHARACTERS = 4000
"""What is further behind was pasted."""


def asks_to_leave_aside(prompt: str) -> bool:
    """Whether a prompt wants to be answered as if nothing were remembered."""
    said = prompt[:_MOST_CHARACTERS]
    return _MAY_BE.search(said) is not None and pattern("memory_aside", "aside").search(said) is not None
