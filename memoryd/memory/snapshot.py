"""Snapshot of a memory directory: listed once, each file read once, for the engine and for review of one job."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import parse_iso
from memoryd.memory.directory import Listing, open_directory
from memoryd.memory.document import parse
from memoryd.memory.limits import FRONTMATTER_BYTES, INDEX_BYTES, INDEX_NAME
from memoryd.memory.quick_parse import quick_parse
from memoryd.model import StoredMemory
from memoryd.state import history
from memoryd.state.changes import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from memoryd.memory.directory import FileState, MemoryDirectory
    from memoryd.model import Evidence
    from memoryd.state.database import Database

_MODIFIED = re.compile(rb"(?m)^[ \t]*modified:[ \t]*[\"']?(\d{4}-\d\d-\d\d[^\"'\s]*)")


class Contents(NamedTuple):
    """Everything that a job needs to know of a memory directory."""

    files: Mapping[str, FileState]
    """Topic files that can be read, oldest first."""
    odd: Mapping[str, str]
    """Names that are left alone, and why."""
    index_file: FileState | None
    """MEMORY.md; None where there is none, or one that is left alone."""
    made: Collection[tuple[str, bytes]] = frozenset()
    """Name and digest of every file version that memoryd made."""
    evidence: Mapping[str, Sequence[Evidence]] = MappingProxyType({})
    """What each memory rests on, oldest first."""


class Snapshot:
    """A memory directory as one job sees it, from what `read` returns when it is first asked for."""

    folders: tuple[str, ...] = ()
    """Folders that names may begin with: those of other tiers."""

    def __init__(self, path: str, read: Callable[[], Contents]) -> None:
        self.path = path
        self._read = read

    @cached_property
    def contents(self) -> Contents:
        return self._read()

    @property
    def files(self) -> Mapping[str, FileState]:
        return self.contents.files

    @property
    def mtimes_ns(self) -> Mapping[str, int]:
        """The topic files and when they were written, known without reading one."""
        return {name: state.mtime_ns for name, state in self.files.items()}

    def read(self, name: str) -> FileState | None:
        """One file; None where it is not there or cannot be read."""
        return self.files.get(name)

    @property
    def odd(self) -> Mapping[str, str]:
        return self.contents.odd

    @property
    def index_text(self) -> str:
        index = self.contents.index_file
        return index.data.decode("utf-8", "surrogateescape") if index else ""

    @cached_property
    def memories(self) -> tuple[StoredMemory, ...]:
        """The memories as an engine sees them, oldest first."""
        return tuple(self._memory(name, state) for name, state in self.files.items())

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that are in use, in small letters."""
        return frozenset(name.casefold() for name in (*self.mtimes_ns, *self.odd))

    def _memory(self, name: str, state: FileState) -> StoredMemory:
        parsed = quick_parse(state.data)
        is_ours = name not in self.odd and (name, digest(state.data)) in self.contents.made
        is_fixed = (
            name in self.odd
            or parsed.type is None
            or ((b"pinned" in state.data or bool(parsed.enforce)) and parse(state.data).is_pinned)
        )
        evidence = tuple(self.contents.evidence.get(name, ()))
        said_at = _said_at(state, evidence if is_ours else ())
        return StoredMemory(
            name,
            parsed.type,
            parsed.description,
            parsed.body,
            is_ours,
            evidence,
            state.mtime_ns / 1e9 if said_at is None else said_at,
            is_fixed,
            is_hand_edited=not is_ours and name in self._made_names,
            is_time_known=said_at is not None,
        )

    @cached_property
    def _made_names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.contents.made)


def _said_at(state: FileState, evidence: Sequence[Evidence]) -> float | None:
    """When a memory was said: by its evidence, else by the file's own word; times of files get lost in copies."""
    said = [piece.said_at for piece in evidence if piece.said_at is not None]
    if said:
        return said[-1]
    found = _MODIFIED.search(state.data[:FRONTMATTER_BYTES])
    modified = parse_iso(found[1].decode("ascii", "replace")) if found else None
    return None if modified is None else min(modified, state.mtime_ns / 1e9)


def memories_in(files: Mapping[str, FileState]) -> tuple[StoredMemory, ...]:
    """The memories in these files, of which nothing else is known."""
    return Snapshot("", lambda: Contents(files, {}, None)).memories


class DirectorySnapshot(Snapshot):
    """The snapshot of a directory on disk: listed once, each file read once, when it is first asked for.

    A directory that does not exist is empty. Files that cannot be read are left out. Raises StateError where the directory
    cannot be opened.
    """

    def __init__(self, database: Database, path: str) -> None:
        super().__init__(path, self._read_all)
        self._database = database
        self._states: dict[str, FileState | None] = {}

    @cached_property
    def _listing(self) -> Listing:
        try:
            with open_directory(self.path) as directory:
                return directory.listing()
        except FileNotFoundError:
            return Listing({}, {})

    @property
    def mtimes_ns(self) -> Mapping[str, int]:
        return self._listing.topics

    def read(self, name: str) -> FileState | None:
        if name not in self._states:
            try:
                with open_directory(self.path) as directory:
                    self._states[name] = _readable(directory, name)
            except FileNotFoundError:
                self._states[name] = None
        return self._states[name]

    def _read_all(self) -> Contents:
        listing = self._listing
        files: dict[str, FileState] = {}
        index = None
        with suppress(FileNotFoundError), open_directory(self.path) as directory:
            for name in sorted(listing.topics, key=lambda name: (listing.topics[name], name)):
                if name not in self._states:
                    self._states[name] = _readable(directory, name)
                if (state := self._states[name]) is not None:
                    files[name] = state
            index = directory.read(INDEX_NAME, INDEX_BYTES + 1)
        return Contents(
            files,
            listing.odd,
            index if index and len(index.data) <= INDEX_BYTES else None,
            history.made(self._database, self.path),
            history.evidence_in(self._database, self.path),
        )


def _readable(directory: MemoryDirectory, name: str) -> FileState | None:
    try:
        return directory.read(name)
    except PermissionError:
        return None
