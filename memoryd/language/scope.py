"""Scope in words: whether a text says that it holds in all projects, or in this one. Pure."""

from __future__ import annotations

from memoryd.language.lexicon import pattern


def says_everywhere(text: str) -> bool:
    """Whether a text names all projects of a person. A bare "everywhere" does not: it may mean all files of one."""
    return pattern("scope", "everywhere").search(text) is not None


def says_here(text: str) -> bool:
    return pattern("scope", "here").search(text) is not None
