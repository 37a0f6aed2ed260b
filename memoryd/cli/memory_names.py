"""The memory that a command means: a part of its name that fits one is enough, several are listed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.errors import MemorydError, UsageError
from memoryd.formatting import escaped, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.cli import Context
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.state.database import Database


def memory_name(context: Context, directory: MemoryDirectory, given: str) -> str:
    """The memory that is meant. Raises MemorydError where none fits, or several do."""
    from memoryd.memory.names import fitting

    found = fitting(given, directory.listing().topics)
    if len(found) == 1:
        return found[0]
    raise not_one(context, directory.path, given, found)


def memory_name_ever(context: Context, database: Database, memory_dir: str, given: str) -> str:
    """The same, also among memories that are no longer there. Raises MemorydError."""
    from memoryd.memory.names import fitting_ever

    found = fitting_ever(database, memory_dir, given)
    if len(found) == 1:
        return found[0]
    raise not_one(context, memory_dir, given, found)


def not_one(context: Context, memory_dir: str, given: str, found: Sequence[str] = ()) -> MemorydError:
    """The error that tells what could be meant: several memories here, or one in another project."""
    import shlex
    from difflib import get_close_matches

    from memoryd.jobs.memory_dirs import all_memory_dirs
    from memoryd.memory.names import fitting, several_fit

    command = f"memoryd {context.arguments.called}" + (" --memory" if context.arguments.called == "purge" else "")
    name = escaped(os.path.basename(given))
    if not name.strip():
        return UsageError("Which memory is meant? A part of its name is enough.", "memoryd memories")
    if found:
        return MemorydError(several_fit(given, found), f"{command} {found[0]}")
    home = context.paths.home
    if speaking := _speaking_of(memory_dir, name):
        return MemorydError(f"No memory here is called {name}; {speaking[0]} speaks of it.", f"{command} {speaking[0]}")
    for place in all_memory_dirs(context.paths, context.config):
        if place.path != memory_dir and (there := fitting(given, _names_in(place.path))):
            where = short(place.root or place.path, home)
            path = shlex.quote(os.path.join(place.path, there[0]))
            return MemorydError(f"There is no memory {name} here; {there[0]} is in {where}.", f"{command} {path}")
    if near := get_close_matches(name.removesuffix(".md"), _names_in(memory_dir), n=1, cutoff=0.4):
        return MemorydError(f"There is no memory {name} here; did you mean {near[0]}?", f"{command} {near[0]}")
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
