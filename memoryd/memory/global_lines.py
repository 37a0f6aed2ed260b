"""Lines of the global memories in a project's index: a client that reads only the project's directory knows them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.errors import StateError
from memoryd.memory.directory import HEAD_BYTES, open_directory
from memoryd.memory.index import entry, entry_of
from memoryd.memory.team_lines import with_section
from memoryd.memory.tier_names import TEAM_FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoryd.memory.index import Topic

HEADING = "## About you, in all projects"
MOST_GLOBAL_LINES = 30
_AGENT_FOLDERS = ("agent-memory", "agent-memory-local")


def carries_global_lines(memory_dir: str, global_dir: str) -> bool:
    """Whether the index of a directory has these lines: that of a project, not what a team or a sub-agent reads."""
    folder, above = os.path.basename(memory_dir), os.path.basename(os.path.dirname(memory_dir))
    return bool(global_dir) and memory_dir != global_dir and folder != TEAM_FOLDER and above not in _AGENT_FOLDERS


def without_global_lines(text: str, global_dir: str) -> str:
    """The index without the heading and the lines that `with_global_lines` has put there.

    A heading goes that stands above such lines, also above those of a directory that is no longer the global one, and one
    with nothing below it. A person may have written the same words above a text.
    """
    lines = text.split("\n")
    kept: list[str] = []
    for number, line in enumerate(lines):
        if line == HEADING:
            below = next((other for other in lines[number + 1 :] if other.strip()), None)
            if below is None or os.path.isabs(entry_of(below) or ""):
                if kept and not kept[-1].strip():
                    kept.pop()
                continue
        if _name_in(line, global_dir) is None:
            kept.append(line)
    return "\n".join(kept)


def with_global_lines(
    text: str,
    before: str,
    global_dir: str,
    topic: Callable[[str, bytes], Topic],
    chosen: Sequence[str] | None,
    elsewhere: Mapping[str, bytes | None],
) -> str:
    """The index with a line for each of the chosen global memories, as many as clients load beside the project's own.

    A dream names those that are `chosen`, the most used first. Else those stay that the index had `before`. In both cases
    the newest join them while there is room. `elsewhere` are files that the same commit changes, by path.
    """
    files = _files_of(global_dir, elsewhere)
    first = chosen
    if first is None:
        first = [name for line in before.split("\n") if (name := _name_in(line, global_dir)) is not None]
    newest = sorted(files, key=lambda name: (-files[name], name))
    wanted = list(dict.fromkeys(name for name in (*first, *newest) if name in files))
    names = sorted(wanted[:MOST_GLOBAL_LINES])
    if not names:
        return text

    def line(name: str) -> str:
        path = os.path.join(global_dir, name)
        return entry(path, topic(name, _head_of(path, elsewhere)), counts_link=False)

    return with_section(text, HEADING, map(line, names))


def with_absolute_link(line: str, global_dir: str) -> str:
    """A line of the global directory's own index as another index would have it."""
    name = entry_of(line)
    if name is None or "/" in name:
        return line
    return line.replace(f"]({name})", f"]({os.path.join(global_dir, name)})", 1)


def global_lines_in(text: str, global_dir: str) -> list[str]:
    """The lines of an index that stand for global memories."""
    return [line for line in text.split("\n") if _name_in(line, global_dir) is not None]


def _name_in(line: str, global_dir: str) -> str | None:
    """The global memory that a line of an index stands for."""
    folder, _, name = (entry_of(line) or "").rpartition("/")
    return name if folder == global_dir and global_dir else None


def _files_of(global_dir: str, elsewhere: Mapping[str, bytes | None]) -> dict[str, int]:
    """The global memories that can get a line, and their mtimes; those that are just being written are the newest."""
    files: dict[str, int] = {}
    with suppress(OSError, StateError), open_directory(global_dir) as directory:
        files = directory.listing().topics
    for path, data in elsewhere.items():
        folder, name = os.path.split(path)
        if folder == global_dir:
            files.pop(name, None)
            if data is not None:
                files[name] = 1 << 62
    return files


def _head_of(path: str, elsewhere: Mapping[str, bytes | None]) -> bytes:
    if (data := elsewhere.get(path)) is not None:
        return data
    folder, name = os.path.split(path)
    with suppress(OSError, StateError), open_directory(folder) as directory:
        state = directory.read(name, HEAD_BYTES)
        return state.data if state else b""
    return b""
