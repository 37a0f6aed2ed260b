"""Names of memories as people type them: a part of a name that fits one memory is enough, several are listed."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from memoryd.errors import MemorydError
from memoryd.formatting import escaped, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoryd.cli import Context
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.state.database import Database

_MOST_LISTED = 8


def file_meant(given: str) -> str:
    """File name from what a person typed: with or without `.md`, a path, or hyphens. The file need not exist."""
    name = escaped(os.path.basename(given))
    return name if name.endswith(".md") else f"{name.replace('-', '_')}.md"


def fitting(given: str, names: Iterable[str]) -> list[str]:
    """Names that a person may mean: the one that was typed, else all that have it as a part."""
    names = sorted(names)
    base = os.path.basename(given)
    for candidate in (base, f"{base}.md", file_meant(given)):
        if candidate in names:
            return [candidate]
    part = _plain(base)
    return [name for name in names if part and part in _plain(name)]


def memory_name(context: Context, directory: MemoryDirectory, given: str) -> str:
    """The memory that is meant. Raises MemorydError where none fits, or several do."""
    found = fitting(given, directory.listing().topics)
    if len(found) == 1:
        return found[0]
    raise not_one(context, directory.path, given, found)


def memory_name_ever(context: Context, database: Database, memory_dir: str, given: str) -> str:
    """The same, also among memories that are no longer there. Raises MemorydError."""
    from memoryd.memory.directory import open_directory
    from memoryd.state import history

    try:
        with open_directory(memory_dir) as directory:
            there = list(directory.listing().topics)
    except FileNotFoundError:
        there = []
    ever = history.names_changed(database, memory_dir)
    if file_meant(given) in ever:
        return file_meant(given)
    found = fitting(given, there) or fitting(given, ever)
    if len(found) == 1:
        return found[0]
    raise not_one(context, memory_dir, given, found)


def not_one(context: Context, memory_dir: str, given: str, found: Sequence[str] = ()) -> MemorydError:
    """The error that tells what could be meant: several memories here, or one in another project."""
    import shlex

    from memoryd.jobs.memory_dirs import all_memory_dirs

    command = f"memoryd {context.arguments.called}"
    name = escaped(os.path.basename(given))
    if found:
        more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
        listed = ", ".join(found[:_MOST_LISTED])
        return MemorydError(f"{len(found)} memories fit {name}: {listed}{more}.", f"{command} {found[0]}")
    home = context.paths.home
    if speaking := _speaking_of(memory_dir, name):
        return MemorydError(f"No memory here is called {name}; {speaking[0]} speaks of it.", f"{command} {speaking[0]}")
    for place in all_memory_dirs(context.paths, context.config):
        if place.path != memory_dir and (there := fitting(given, _names_in(place.path))):
            where = short(place.root or place.path, home)
            path = shlex.quote(os.path.join(place.path, there[0]))
            return MemorydError(f"There is no memory {name} here; {there[0]} is in {where}.", f"{command} {path}")
    return MemorydError(f"There is no memory {name} in {short(memory_dir, home)}.", "memoryd memories")


def _speaking_of(memory_dir: str, word: str) -> list[str]:
    """Memories that hold a word, newest first. Never taken for what is meant: it is only suggested."""
    from memoryd.errors import StateError
    from memoryd.memory.directory import HEAD_BYTES, open_directory

    try:
        with open_directory(memory_dir) as directory:
            topics = directory.listing().topics
            texts = {name: directory.read(name, HEAD_BYTES) for name in sorted(topics, key=lambda name: -topics[name])}
    except (OSError, StateError):
        return []
    wanted = word.removesuffix(".md").lower().encode("utf-8", "replace")
    return [name for name, state in texts.items() if wanted and state and wanted in state.data.lower()]


def _names_in(memory_dir: str) -> list[str]:
    from memoryd.errors import StateError
    from memoryd.memory.directory import open_directory

    try:
        with open_directory(memory_dir) as directory:
            return list(directory.listing().topics)
    except (FileNotFoundError, StateError):
        return []


def _plain(name: str) -> str:
    """A name without case, without its ending and without what joins its words."""
    return re.sub(r"[\s_-]+", "", name.lower().removesuffix(".md"))
