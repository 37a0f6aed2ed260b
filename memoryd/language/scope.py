"""Scope in words: whether a text says that it holds in all projects, or in this one. Pure."""

from __future__ import annotations

from memoryd.language.date_phrases import has_words_of
from memoryd.language.lexicon import pattern


def says_everywhere(text: str) -> bool:
    """Whether a text names all projects of a person. A bare "everywhere" does not: it may mean all files of one."""
    return pattern("scope", "everywhere").search(text) is not None


def says_here(text: str) -> bool:
    """Whether a text names this project. "hier" is German for it, and yesterday in a French sentence."""
    found = {match[0].lower() for match in pattern("scope", "here").finditer(text)}
    return bool(found - {"hier"}) or ("hier" in found and not has_words_of(text, "french"))
