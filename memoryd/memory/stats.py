"""Statistics of a memory directory: memories by type and how full the index is, for `status`."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, NamedTuple

from memoryd.formatting import is_utf8
from memoryd.memory.limits import INDEX_NAME, INDEX_SHOWN_BYTES, MOST_BYTES, MOST_LINES, WARN_BYTES, WARN_LINES
from memoryd.memory_types import MEMORY_TYPES

if TYPE_CHECKING:
    from memoryd.memory_types import MemoryType

_HEAD_BYTES = 20_000
"""A longer frontmatter is none."""
MOST_READ = 1000
"""Files of a directory that are opened, the newest first; more would make `status` slow."""

# One key a line, as every client writes it, at the top or first below `metadata`. What looks otherwise is parsed.
_FRONTMATTER = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_TYPE = re.compile(
    rb"^(?:metadata:[ \t]*\r?\n( +)(?:[^ #\r\n].*\n\1)*?)?"
    rb"type:[ \t]+[\"']?(user|feedback|project|reference)[\"']?[ \t]*(?:#.*)?\r?$",
    re.MULTILINE,
)


class Fill(NamedTuple):
    """Size of an index, beside what clients load."""

    lines: int = 0
    bytes: int = 0

    @property
    def is_near(self) -> bool:
        """Near what clients load of it, or beyond."""
        return self.lines >= WARN_LINES or self.bytes >= WARN_BYTES

    @property
    def is_over(self) -> bool:
        return self.lines > MOST_LINES or self.bytes > MOST_BYTES


class Counted(NamedTuple):
    """What a memory directory holds."""

    types: dict[str, int]
    """Memories by type, without types that have none; the empty type counts files that have none or were not opened."""
    fill: Fill


class MemoryStats:
    """Counter of memories. It caches what it has read: the next count reads only files that have changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int], MemoryType | None]] = {}

    def count(self, memory_dir: str) -> Counted | None:
        """None where there is no such directory. Raises OSError where it cannot be looked into."""
        try:
            files = topic_files(memory_dir)
        except (FileNotFoundError, NotADirectoryError):
            return None
        types: dict[str, int] = {}
        for number, (path, identity) in enumerate(sorted(files.items(), key=lambda file: file[1], reverse=True)):
            kind = self._type_of(path, identity) if number < MOST_READ else None
            types[kind or ""] = types.get(kind or "", 0) + 1
        return Counted(types, fill_of(memory_dir))

    def _type_of(self, path: str, identity: tuple[int, int]) -> MemoryType | None:
        known = self._known.get(path)
        if known is None or known[0] != identity:
            known = self._known[path] = identity, type_in(read_start(path, _HEAD_BYTES) or b"")
        return known[1]


def fill_of(memory_dir: str) -> Fill:
    data = read_start(os.path.join(memory_dir, INDEX_NAME), INDEX_SHOWN_BYTES)
    if not data:
        return Fill()
    return Fill(data.count(b"\n") + (not data.endswith(b"\n")), len(data))


def type_in(head: bytes) -> MemoryType | None:
    """The type that a file declares, from its first bytes."""
    if not head.startswith((b"---", b"\xef\xbb\xbf---")):
        return None
    found = _FRONTMATTER.match(head)
    if found:
        named: dict[bytes, bytes] = dict(_TYPE.findall(found[1]))  # by the indent, which is empty at the top
        if kind := named.get(b"") or next(iter(named.values()), None):
            return next(name for name in MEMORY_TYPES if name == kind.decode())
        if b"type" not in found[1]:
            return None
    from memoryd.memory.document import parse  # noqa: PLC0415 - 50 ms that plain frontmatter does not cost

    return parse(head).type


def topic_files(memory_dir: str) -> dict[str, tuple[int, int]]:
    """The topic files, with their time and size."""
    found = {}
    with os.scandir(memory_dir) as entries:
        for entry in entries:
            name = entry.name
            if not name.endswith(".md") or name.startswith(".") or name == INDEX_NAME or not is_utf8(name):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISREG(status.st_mode):
                found[entry.path] = status.st_mtime_ns, status.st_size
    return found


def read_start(path: str, limit: int) -> bytes | None:
    """The first bytes of a regular file; None where it is none, or must not be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, limit) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)
