"""Loader of the words and patterns in data/*.toml: each file belongs to the module of its name, and is read when first asked for.

A pattern is written a line for each alternative; any of them counts, in capitals or not. `{{name}}` stands for another
entry of the same file.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Any

DATA = os.path.join(os.path.dirname(__file__), "data")


@cache
def table(file: str) -> dict[str, Any]:
    """A whole file."""
    import tomllib  # noqa: PLC0415 - a hook imports this module, and seldom needs a table

    with open(os.path.join(DATA, f"{file}.toml"), "rb") as opened:
        return tomllib.load(opened)


@cache
def words(file: str, name: str) -> frozenset[str]:
    """A list of words."""
    return frozenset(table(file)[name].split())


@cache
def pattern(file: str, name: str, **words: str) -> re.Pattern[str]:
    """A pattern. `words` are further names that it may hold, for words of other tables."""
    return compiled(re.sub(r"\{\{(\w+)\}\}", lambda match: _filled(file, match[1], words), table(file)[name]))


def compiled(lines: str) -> re.Pattern[str]:
    return re.compile(_joined(lines), re.IGNORECASE)


def _filled(file: str, name: str, words: dict[str, str]) -> str:
    return f"(?:{words[name] if name in words else _joined(table(file)[name])})"


def _joined(lines: str) -> str:
    return "|".join(lines.removesuffix("\n").split("\n"))


def small(name: str) -> frozenset[str]:
    """Words that carry no meaning of their own, for one purpose."""
    return words("lexicon", name)
