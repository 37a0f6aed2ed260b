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
    stale: int = 0
    """Lines about global memories that say what those no longer say, or are missing."""

    def __str__(self) -> str:
        if self.is_missing:
            return f"is missing, so no session knows of its {count(self.lacking, 'memory')}"
        parts = [
            *([f"lacks {count(self.lacking, 'memory')}"] if self.lacking else []),
            *([f"names {count(self.dangling, 'file')} that {_is(self.dangling)} not there"] if self.dangling else []),
            *(["is behind the memories about you"] if self.stale else []),
        ]
        return " and ".join(parts)


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def index_fault(memory_dir: str, global_dir: str = "") -> IndexFault | None:
    """None where the index is right, or there is nothing for it to name. Raises OSError.

    With `global_dir` its lines of the global memories have to be those that a commit would write now.
    """
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
    stale = _stale_global_lines(text, memory_dir, global_dir)
    if not stale and text.count("](") == len(names) and all(f"]({name})" in text for name in names):
        return None  # as memoryd writes it
    from memoryd.memory.index import entry_of  # noqa: PLC0415 - 20 ms that a plain index need not pay

    named = {name for name in map(entry_of, text.splitlines()) if name is not None}
    is_full = text.count("\n") >= WARN_LINES  # there the oldest have no line, and `status` says so
    lacking = 0 if is_full else len(names - named)
    dangling = sum(
        name not in names and "/" not in name and not os.path.lexists(os.path.join(memory_dir, name)) for name in named
    )
    return IndexFault(lacking=lacking, dangling=dangling, stale=stale) if lacking or dangling or stale else None


def _stale_global_lines(text: str, memory_dir: str, global_dir: str) -> int:
    """How many lines of global memories are not as they would be written now."""
    if not global_dir or not (os.path.isdir(global_dir) or f"]({global_dir}/" in text):
        return 0
    from memoryd.memory.global_lines import carries_global_lines, global_lines_in  # noqa: PLC0415 - as above
    from memoryd.memory.plan import right_global_lines  # noqa: PLC0415 - as above

    if not carries_global_lines(memory_dir, global_dir):
        return 0
    there = global_lines_in(text, global_dir)
    return len({*there} ^ {*right_global_lines(text, global_dir)})
