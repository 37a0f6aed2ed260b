"""Check of an index against its directory: whether MEMORY.md is missing, lacks a memory, or names what is not there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memoryd.formatting import count
from memoryd.memory.directory import open_directory
from memoryd.memory.limits import INDEX_NAME, WARN_LINES

if TYPE_CHECKING:
    from memoryd.memory.directory import MemoryDirectory


class IndexFault(NamedTuple):
    """What is wrong with an index."""

    is_missing: bool = False
    lacking: int = 0
    """Memories without a line."""
    dangling: int = 0
    """Lines that lead to no file."""

    def __str__(self) -> str:
        if self.is_missing:
            return f"is missing, so no session knows of its {count(self.lacking, 'memory')}"
        parts = [
            *([f"lacks {count(self.lacking, 'memory')}"] if self.lacking else []),
            *([f"names {count(self.dangling, 'file')} that {_is(self.dangling)} not there"] if self.dangling else []),
        ]
        return " and ".join(parts)


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def index_fault(memory_dir: str) -> IndexFault | None:
    """None where the index is right, or there is nothing for it to name. Raises OSError and StateError."""
    try:
        with open_directory(memory_dir) as directory:
            return _fault(directory)
    except FileNotFoundError:
        return None


def _fault(directory: MemoryDirectory) -> IndexFault | None:
    topics = directory.listing().topics
    state = directory.read(INDEX_NAME)
    if state is None:
        is_other = os.path.lexists(os.path.join(directory.path, INDEX_NAME))  # a link, or a directory: somebody's wish
        return IndexFault(is_missing=True, lacking=len(topics)) if topics and not is_other else None
    from memoryd.memory.index import entry_of  # noqa: PLC0415 - 20 ms that a directory without memories need not pay

    text = state.data.decode("utf-8", "surrogateescape")
    named = {name for name in map(entry_of, text.splitlines()) if name is not None}
    is_full = text.count("\n") >= WARN_LINES  # there the oldest have no line, and `status` says so
    lacking = 0 if is_full else sum(name not in named for name in topics)
    dangling = sum(
        name not in topics and "/" not in name and not os.path.lexists(os.path.join(directory.path, name))
        for name in named
    )
    return IndexFault(lacking=lacking, dangling=dangling) if lacking or dangling else None
