"""Store of one manifest and many blobs: a file counts once the manifest names its blob.

The manifest is replaced only against the version that was read, so that of two writers one is refused. Every blob has a name
that nobody has used before: what one writer removes, no other can be about to name.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memoryd.stores.base import RemoteFile, StoreChangedError, StoreError, StoreListing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

MANIFEST_NAME = "memoryd-manifest.json"
BLOBS = "blobs"
MOST_MANIFEST_BYTES = 128 << 20
_FORMAT = 1
_BLOB = re.compile(r"[0-9a-f]{64}-[0-9a-f]{16}")
_SWEEP_EVERY = 256
"""So many versions apart, blobs are looked for that no manifest names: writers that were killed or refused leave them."""
_SWEEP_SECONDS = 86_400.0
"""Younger ones may belong to a writer that is about to name them."""


class Kept(NamedTuple):
    """The manifest's bytes, and the tag by which it can be replaced."""

    data: bytes
    tag: str


class BlobPlace(Protocol):
    """A place that holds named bytes. `replace` is the only conditional operation."""

    requests: int

    def read(self, name: str, known_tag: str) -> Kept | None:
        """The bytes of a name. None where the tag is still the known one; raises FileNotFoundError where there is none."""

    def replace(self, name: str, data: bytes, expected_tag: str) -> str:
        """Write a name if its tag is the expected one (empty: there is none yet); raises StoreChangedError. Returns its tag."""

    def create(self, name: str, data: bytes) -> None:
        """Write bytes under a name that is new."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove names, as far as they are there."""

    def older_than(self, folder: str, at: float) -> list[str]:
        """Names in a folder that were written before this time."""


class _Entry(NamedTuple):
    hash: str
    size: int
    blob: str


class _Manifest(NamedTuple):
    id: str
    generation: int
    author: str
    entries: Mapping[str, _Entry]


class ManifestStore:
    """The store in a place that holds named bytes."""

    def __init__(self, place: BlobPlace, address: str) -> None:
        self._place = place
        self._address = address
        self._read: tuple[str, _Manifest] | None = None  # the version that was read last, and its manifest

    @property
    def address(self) -> str:
        return self._address

    @property
    def requests(self) -> int:
        return self._place.requests

    def list_files(self, known: str, *, is_needed: bool = False) -> StoreListing | None:
        known_id, known_generation, known_tag = _parts(known)
        try:
            kept = self._place.read(MANIFEST_NAME, "" if is_needed else known_tag)
        except FileNotFoundError:
            self._read = None
            return StoreListing("", {}, is_continuation=not known)
        if kept is None:
            return None
        manifest = self._parsed(kept.data)
        version = f"{manifest.id}:{manifest.generation}:{kept.tag}"
        self._read = version, manifest
        is_continuation = not known or (manifest.id == known_id and manifest.generation >= known_generation)
        return _listing(version, manifest, is_continuation=is_continuation)

    def read_files(self, listing: StoreListing, keys: Collection[str]) -> dict[str, bytes]:
        if not keys:
            return {}
        manifest = self._manifest_of(listing)
        found: dict[str, bytes] = {}
        for key in keys:
            entry = manifest.entries[key]
            try:
                kept = self._place.read(f"{BLOBS}/{entry.blob}", "")
            except FileNotFoundError as error:  # replaced since, and removed
                raise StoreChangedError from error
            data = kept.data if kept else b""
            # What is not what the manifest says is handed over as nothing: the caller refuses an empty file by its name.
            found[key] = data if hashlib.sha256(data).hexdigest() == entry.hash else b""
        return found

    def write_files(
        self, listing: StoreListing, puts: Mapping[str, bytes], deletes: Collection[str], author: str, now: float
    ) -> StoreListing:
        before = self._manifest_of(listing) if listing.version else _Manifest(os.urandom(8).hex(), 0, "", {})
        written: dict[str, _Entry] = {}
        for key, data in puts.items():
            digest = hashlib.sha256(data).hexdigest()
            written[key] = _Entry(digest, len(data), f"{digest}-{os.urandom(8).hex()}")
            self._place.create(f"{BLOBS}/{written[key].blob}", data)
        entries = {key: entry for key, entry in before.entries.items() if key not in deletes} | written
        manifest = _Manifest(before.id, before.generation + 1, author, entries)
        # Refused, the blobs stay for the sweep: a client that lost the answer and asked again is refused by its own success.
        tag = self._place.replace(MANIFEST_NAME, _rendered(manifest), _parts(listing.version)[2])
        self._place.remove(
            f"{BLOBS}/{before.entries[key].blob}" for key in (*written, *deletes) if key in before.entries
        )
        if manifest.generation % _SWEEP_EVERY == 0:
            self._sweep(manifest, now)
        version = f"{manifest.id}:{manifest.generation}:{tag}"
        self._read = version, manifest
        return _listing(version, manifest)

    def _sweep(self, manifest: _Manifest, now: float) -> None:
        named = {entry.blob for entry in manifest.entries.values()}
        old = self._place.older_than(BLOBS, now - _SWEEP_SECONDS)
        self._place.remove(f"{BLOBS}/{name}" for name in old if name not in named and _BLOB.fullmatch(name))

    def _manifest_of(self, listing: StoreListing) -> _Manifest:
        if self._read is None or self._read[0] != listing.version:
            raise StoreChangedError
        return self._read[1]

    def _parsed(self, data: bytes) -> _Manifest:
        """What a manifest says. It is never written over where it cannot be understood."""
        try:
            told: Any = json.loads(data)
            return _manifest(**told)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise StoreError(
                f"The list of files in {self._address} cannot be understood: another program or a newer memoryd wrote it.",
                "memoryd --version",
            ) from error


def _manifest(*, format: Any, id: Any, generation: Any, author: Any, files: Any) -> _Manifest:  # noqa: A002 - as written
    """A manifest by the names that stand in it. Raises ValueError, TypeError and AttributeError where it is none."""
    if format != _FORMAT or not re.fullmatch(r"[0-9a-f]{1,64}", id):
        raise ValueError(format)
    return _Manifest(id, int(generation), str(author), {key: _entry(*entry) for key, entry in files.items()})


def _entry(digest: Any, size: Any, blob: Any) -> _Entry:
    if not _BLOB.fullmatch(blob) or not isinstance(digest, str):
        raise ValueError(blob)
    return _Entry(digest, int(size), blob)


def _rendered(manifest: _Manifest) -> bytes:
    told = {
        "format": _FORMAT,
        "id": manifest.id,
        "generation": manifest.generation,
        "author": manifest.author,
        "files": {key: list(manifest.entries[key]) for key in sorted(manifest.entries)},
    }
    return json.dumps(told, indent=0, ensure_ascii=True).encode()


def _listing(version: str, manifest: _Manifest, *, is_continuation: bool = True) -> StoreListing:
    files = {key: RemoteFile(entry.hash, entry.size) for key, entry in manifest.entries.items()}
    return StoreListing(version, files, is_continuation, manifest.author)


def _parts(version: str) -> tuple[str, int, str]:
    """Id, generation and tag of a version."""
    name, _, rest = version.partition(":")
    generation, _, tag = rest.partition(":")
    return name, int(generation) if generation.isdecimal() else 0, tag
