"""Words for actions that a text names, in the languages that rules are written in. Pure."""

from __future__ import annotations

import re
from functools import cache

from memoryd.language.lexicon import pattern


def names_action(action: str, text: str) -> bool:
    """Whether a text names an action: `delete`, `push`, `production` (something goes there), `web_script` (one is run)."""
    return pattern("actions", action).search(text) is not None


def actions_in(text: str, actions: tuple[str, ...]) -> set[str]:
    """Those of the actions that a text names."""
    if not text.isascii():
        return {action for action in actions if names_action(action, text)}
    return {found.lastgroup or "" for found in _at_word_start(actions).finditer(text)}


@cache
def _at_word_start(actions: tuple[str, ...]) -> re.Pattern[str]:
    """All of them in one pattern, which is tried where a word begins: three times as quick as one after the other."""
    groups = "|".join(f"(?P<{action}>{pattern('actions', action).pattern})" for action in actions)
    return re.compile(rf"(?<!\w)(?={groups})", re.IGNORECASE)
