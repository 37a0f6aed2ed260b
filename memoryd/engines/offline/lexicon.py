"""The words that the engine looks for: lexicon.toml, read when first asked for."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Any

FILE = "lexicon.toml"
_KEEPS_CASE = frozenset({"name_verb"})
"""Cues that look for a capital letter."""


@cache
def cues() -> dict[str, re.Pattern[str]]:
    """What people do with a sentence, by name."""
    return {
        name: re.compile("|".join(lines.split("\n")[:-1]), 0 if name in _KEEPS_CASE else re.IGNORECASE)
        for name, lines in _lexicon()["cues"].items()
    }


@cache
def pattern(name: str) -> re.Pattern[str]:
    """How sentences hang together."""
    return re.compile("|".join(_lexicon()["patterns"][name].split("\n")[:-1]), re.IGNORECASE)


@cache
def classes() -> dict[str, str]:
    """Words of open lists, and the name of their list."""
    return {word: name for name, words in _lexicon()["classes"].items() for word in words.split()}


@cache
def small(name: str) -> frozenset[str]:
    """Words that carry no meaning of their own, for one purpose."""
    return frozenset(_lexicon()["small"][name].split())


@cache
def _lexicon() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
