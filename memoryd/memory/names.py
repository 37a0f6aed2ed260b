"""Names of memories as somebody types them: a part of a name that fits one memory is enough."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from memoryd.formatting import escaped
from memoryd.memory.directory import open_directory
from memoryd.state import history

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoryd.state.database import Database

_MOST_LISTED = 8


def file_meant(given: str) -> str:
    """File name from what was typed: with or without `.md`, a path, or hyphens. The file need not exist."""
    name = escaped(os.path.basename(given))
    return name if name.endswith(".md") else f"{name.replace('-', '_')}.md"


def fitting(given: str, names: Iterable[str]) -> list[str]:
    """Names that may be meant: the one that was typed, else all that have it as a part."""
    names = sorted(names)
    base = os.path.basename(given)
    for candidate in (base, f"{base}.md", file_meant(given)):
        if candidate in names:
            return [candidate]
    part = _plain(base)
    return [name for name in names if part and part in _plain(name)]


def fitting_ever(database: Database, memory_dir: str, given: str) -> list[str]:
    """The same, also among memories that are no longer there."""
    try:
        with open_directory(memory_dir) as directory:
            there = list(directory.listing().topics)
    except FileNotFoundError:
        there = []
    ever = history.names_changed(database, memory_dir)
    if file_meant(given) in ever:
        return [file_meant(given)]
    return fitting(given, there) or fitting(given, ever)


def several_fit(given: str, found: Sequence[str]) -> str:
    """Sentence that lists them."""
    more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
    return f"{len(found)} memories fit {escaped(os.path.basename(given))}: {', '.join(found[:_MOST_LISTED])}{more}."


def _plain(name: str) -> str:
    """A name without case, without its ending and without what joins its words."""
    return re.sub(r"[\s_-]+", "", name.lower().removesuffix(".md"))
