"""Requests: whether a text asks outright to have something remembered. Pure."""

from __future__ import annotations

from memoryd.language.lexicon import pattern


def is_request(text: str) -> bool:
    """Whether words ask for it themselves, such as "remember that", so that nothing has to be guessed."""
    return pattern("requests", "asked").search(text) is not None
