"""Manners: how memories are to be used, told once at the start of a session, and what is told where they are not wanted."""

from __future__ import annotations

import os

from memoryd.memory.limits import INDEX_NAME
from memoryd.recall.surface import marked

RULES_OF_USE = marked("""\
When what you remember of this user (MEMORY.md, its files, notes in a mark like this one) is about to decide something:
- About to name a file, function, flag or command from memory: look first whether it is there.
- About to say how things stand now: ask the code or `git log`; a memory tells how they stood.
- About to do what a rule speaks of: do it the user's way. Where you see that it no longer fits, say so.
- Told to leave memory aside: act as if there were none, and do not mention it.""")
LEFT_ASIDE = "the prompt asks to leave memory aside"
WITHOUT_MEMORY = marked("""\
The user wants this answered without memory. Behave as if MEMORY.md were empty: apply, cite, compare and mention nothing of it.""")


def rules_of_use(memory_dir: str) -> str:
    """Empty where there is nothing to use."""
    return RULES_OF_USE if os.path.exists(os.path.join(memory_dir, INDEX_NAME)) else ""
