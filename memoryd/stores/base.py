"""Contract of a store: files under keys, listed with a version, and written only against the version that was listed.

A store knows nothing of memories. What it hands over was written by others: `stores/keys.py` judges it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memoryd.errors import MemorydError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class StoreError(MemorydError):
    """A store cannot be reached, or does not do what it is asked; it is tried again later."""


class StoreChangedError(Exception):
    """Somebody else has written since the store was listed: nothing was written, and it has to be listed again."""


class RemoteFile(NamedTuple):
    """A file in a store."""

    hash: str
    """Differs where the content differs; which hash it is, the store decides."""
    size: int


class StoreListing(NamedTuple):
    """All files of a store at one moment."""

    version: str
    """Token of that moment; empty: nothing was ever written there."""
    files: Mapping[str, RemoteFile]
    is_continuation: bool = True
    """Whether this follows the version that the caller knew. Else the store was made anew or put back to an older state, and
    what is missing in it was not deleted by anybody."""
    author: str = ""
    """Who wrote this version, as that writer says."""
    odd: Mapping[str, str] = MappingProxyType({})
    """Keys that hold no file, and what they hold: a symlink, another repository."""


class SharedStore(Protocol):
    """A place that several machines or people share. Each method raises StoreError; `read_files` and `write_files` also StoreChangedError."""

    @property
    def address(self) -> str:
        """Where it is, for people, without a password; two stores never have the same."""

    @property
    def requests(self) -> int:
        """How often the store was asked so far: what a period costs."""

    def list_files(self, known: str, *, is_needed: bool = False) -> StoreListing | None:
        """The files that are there. None, after one request, where the version is still the known one, unless it is needed."""

    def read_files(self, listing: StoreListing, keys: Collection[str]) -> dict[str, bytes]:
        """Contents of files of a listing; without those that the store has lost, or has not got yet."""

    def write_files(
        self, listing: StoreListing, puts: Mapping[str, bytes], deletes: Collection[str], author: str, now: float
    ) -> StoreListing:
        """Write and delete these files, all or none of them, if the store is still as listed. Returns the new listing."""
