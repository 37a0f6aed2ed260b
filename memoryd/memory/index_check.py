"""Check of an index against its directory: whether MEMORY.md is missing, lacks a memory, or names what is not there."""

from __future__ import annotations

import os
from typing import NamedTuple

from memoryd.formatting import count
from memoryd.memory.limits import INDEX_NAME, WARN_LINES
from memoryd.memory.stats import read_start, topic_files

_MOST_BYTES = 1 << 20


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
    """None where the index is right, or there is nothing for it to name. Raises OSError."""
    try:
        topics = topic_files(memory_dir)
    except (FileNotFoundError, NotADirectoryError):
        return None
    names = {os.path.basename(path) for path in topics}
    data = read_start(os.path.join(memory_dir, INDEX_NAME), _MOST_BYTES)
    if data is None:
        is_other = os.path.lexists(os.path.join(memory_dir, INDEX_NAME))  # a link, or a directory: somebody's wish
        return IndexFault(is_missing=True, lacking=len(names)) if names and not is_other else None
    text = data.decode("utf-8", "surrogateescape")
    if text.count("](") == len(names) and all(f"]({name})" in text for name in names):
        return None  # as memoryd writes it
    from memoryd.memory.index import entry_of  # noqa: PLC0415 - 20 ms that a plain index need not pay

    named = {name for name in map(entry_of, text.splitlines()) if name is not None}
    is_full = text.count("\n") >= WARN_LINES  # there the oldest have no line, and `status` says so
    lacking = 0 if is_full else len(names - named)
    dangling = sum(
        name not in names and "/" not in name and not os.path.lexists(os.path.join(memory_dir, name)) for name in named
    )
    return IndexFault(lacking=lacking, dangling=dangling) if lacking or dangling else None
