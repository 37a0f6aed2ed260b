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
from memoryd.stores.keys import clean_author

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

MANIFEST_NAME = "memoryd-manifest.json"
BLOBS = "blobs"
MOST_MANIFEST_BYTES = 128 << 20
_FORMAT = 1
_BLOB = re.compile(r"[0-9a-f]{64}-[0-9a-f]{16}")
_TOKEN_CHARACTERS = 8
_KEPT_VERSIONS = 10_000
"""A machine that knows none of these versions takes and gives, and deletes nothing. At 150 changes a day that is two months,
and 80 KB."""
_SWEEP_EVERY = 256
"""So many versions apart, blobs are looked for that no manifest names: writers that were killed or refused leave them."""
_SWEEP_SECONDS = 86_400.0
"""Younger ones may belong to a writer that is about to name them. By the clock of the store: that of a machine may be wrong."""


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

    def older_than(self, folder: str, name: str, seconds: float) -> list[str]:
        """Names in a folder that were written so much earlier than another name was."""


class _Entry(NamedTuple):
    hash: str
    size: int
    blob: str


class _Manifest(NamedTuple):
    id: str
    generation: int
    author: str
    entries: Mapping[str, _Entry]
    versions: str = ""
    """A random token for each of the last versions, this one at the end: they tell what it descends from. A number would not,
    where two wrote offline or an older state was put back."""

    def version(self, tag: str) -> str:
        return f"{self.id}:{self.versions[-_TOKEN_CHARACTERS:]}:{tag}"

    def descends_from(self, token: str) -> bool:
        tokens = range(0, len(self.versions), _TOKEN_CHARACTERS)
        return any(self.versions.startswith(token, at) for at in tokens) if token else False

    def next_versions(self) -> str:
        return (self.versions + os.urandom(_TOKEN_CHARACTERS // 2).hex())[-_KEPT_VERSIONS * _TOKEN_CHARACTERS :]


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
        known_id, known_token, known_tag = _parts(known)
        try:
            kept = self._place.read(MANIFEST_NAME, "" if is_needed else known_tag)
        except FileNotFoundError:
            self._read = None
            return StoreListing("", {}, is_continuation=not known)
        if kept is None:
            return None
        manifest = self._parsed(kept.data)
        version = manifest.version(kept.tag)
        self._read = version, manifest
        is_continuation = not known or (manifest.id == known_id and manifest.descends_from(known_token))
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
            except FileNotFoundError as error:
                if self._has_changed():  # replaced since, and removed
                    raise StoreChangedError from error
                continue  # lost, or not there yet where another program carries the files
            data = kept.data if kept else b""
            # What is not what the manifest says is handed over as nothing: the caller refuses an empty file by its name.
            found[key] = data if hashlib.sha256(data).hexdigest() == entry.hash else b""
        return found

    def write_files(
        self, listing: StoreListing, puts: Mapping[str, bytes], deletes: Collection[str], author: str, _now: float
    ) -> StoreListing:
        before = self._manifest_of(listing) if listing.version else _Manifest(os.urandom(8).hex(), 0, "", {})
        written: dict[str, _Entry] = {}
        for key, data in puts.items():
            digest = hashlib.sha256(data).hexdigest()
            written[key] = _Entry(digest, len(data), f"{digest}-{os.urandom(8).hex()}")
            self._place.create(f"{BLOBS}/{written[key].blob}", data)
        entries = {key: entry for key, entry in before.entries.items() if key not in deletes} | written
        manifest = _Manifest(before.id, before.generation + 1, clean_author(author), entries, before.next_versions())
        # Refused, the blobs stay for the sweep: a client that lost the answer and asked again is refused by its own success.
        tag = self._place.replace(MANIFEST_NAME, _rendered(manifest), _parts(listing.version)[2])
        self._place.remove(
            f"{BLOBS}/{before.entries[key].blob}" for key in (*written, *deletes) if key in before.entries
        )
        if manifest.generation % _SWEEP_EVERY == 0:
            self._sweep(manifest)
        version = manifest.version(tag)
        self._read = version, manifest
        return _listing(version, manifest)

    def _sweep(self, manifest: _Manifest) -> None:
        """Remove old blobs that the manifest, which was just written, does not name."""
        named = {entry.blob for entry in manifest.entries.values()}
        old = self._place.older_than(BLOBS, MANIFEST_NAME, _SWEEP_SECONDS)
        self._place.remove(f"{BLOBS}/{name}" for name in old if name not in named and _BLOB.fullmatch(name))

    def _has_changed(self) -> bool:
        """Whether the manifest is no longer the one that was read."""
        known = _parts(self._read[0])[2] if self._read else ""
        try:
            return self._place.read(MANIFEST_NAME, known) is not None
        except FileNotFoundError:
            return True

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


def _manifest(  # a manifest without tokens is the continuation of nothing
    *,
    format: Any,  # noqa: A002 - as written
    id: Any,  # noqa: A002 - as written
    generation: Any,
    author: Any,
    files: Any,
    versions: Any = "",
) -> _Manifest:
    """A manifest by the names that stand in it. Raises ValueError, TypeError and AttributeError where it is none."""
    if format != _FORMAT or not re.fullmatch(r"[0-9a-f]{1,64}", id):
        raise ValueError(format)
    versions = versions if isinstance(versions, str) else ""  # a list, as older ones wrote it, tells nothing
    if not re.fullmatch(rf"(?:[0-9a-f]{{{_TOKEN_CHARACTERS}}})*", versions):
        raise ValueError(versions)
    entries = {key: _entry(*entry) for key, entry in files.items()}
    return _Manifest(id, int(generation), clean_author(str(author)), entries, versions)


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
        "versions": manifest.versions,
        "files": {key: list(manifest.entries[key]) for key in sorted(manifest.entries)},
    }
    return json.dumps(told, indent=0, ensure_ascii=True).encode()


def _listing(version: str, manifest: _Manifest, *, is_continuation: bool = True) -> StoreListing:
    files = {key: RemoteFile(entry.hash, entry.size) for key, entry in manifest.entries.items()}
    return StoreListing(version, files, is_continuation, manifest.author)


def _parts(version: str) -> tuple[str, str, str]:
    """Id, token and tag of a version."""
    name, _, rest = version.partition(":")
    token, _, tag = rest.partition(":")
    return name, token, tag
