"""Words for actions that a text names, in the languages that rules are written in. Pure."""

from __future__ import annotations

from memoryd.language.lexicon import pattern


def names_action(action: str, text: str) -> bool:
    """Whether a text names an action: `delete`, `push`, `production` (something goes there), `web_script` (one is run)."""
    return pattern("actions", action).search(text) is not None
