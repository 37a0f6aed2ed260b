"""Replica: a memory directory that is exchanged with a store, under a prefix of its keys; its files as a round finds them."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import parse_iso
from memoryd.memory.commit import commit, recover
from memoryd.memory.directory import open_directory
from memoryd.memory.document import parse
from memoryd.model import Changeset, FileChange, Group
from memoryd.state import changes, sync
from memoryd.state.sync import KeptApart
from memoryd.stores import keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.state.database import Database
    from memoryd.state.sync import Synced

_YOUNG_NS = 2_000_000_000
"""A file that was written so shortly before may be written again without another stamp: it is read once more."""
_LOST_FILES = 3
"""So many files that are gone all at once were not deleted one by one: the directory was lost, and is filled again."""


class Replica(NamedTuple):
    memory_dir: str
    prefix: str
    """Of its keys: `projects/shop-1a2b/`, or empty for a store that holds this directory alone."""

    def key(self, name: str) -> str:
        return self.prefix + name

    def name(self, key: str) -> str:
        return key[len(self.prefix) :]


class LocalFiles(NamedTuple):
    """The directory at the beginning of a round."""

    synced: dict[str, Synced]
    hashes: dict[str, str]
    """SHA-256 of each memory, by key."""
    stamps: dict[str, int]
    odd: dict[str, str]
    """Keys that are left alone, and why: links, files that cannot be read, names that cannot stand on every system."""
    apart: list[KeptApart]
    """Of those, what the user should know: it does not travel."""
    has_changes: bool
    """Something is not as it was last exchanged."""


def read_local(database: Database, store: str, replica: Replica, apart: Mapping[str, str], now: float) -> LocalFiles:
    """List the directory; only files that are not as they were last exchanged are read.

    `apart` maps keys that are kept from the store to the hash of what was judged so.
    """
    synced = sync.synced_files(database, store, replica.memory_dir)
    is_there = True
    try:
        with open_directory(replica.memory_dir) as directory:
            if changes.prepared(
                database, replica.memory_dir
            ):  # of a process that was killed: half of its files are there
                with directory.locked():
                    recover(database, directory, now)
            found, settled = _read(directory, replica, synced, now)
    except FileNotFoundError:
        is_there = False
        found, settled = LocalFiles(synced, {}, {}, {}, [], has_changes=False), {}
    if synced and not found.hashes and not found.odd and (len(synced) >= _LOST_FILES or not is_there):
        sync.forget_synced(database, store, replica.memory_dir)
        return found._replace(synced={}, has_changes=True)
    if settled:
        sync.update_synced(database, store, replica.memory_dir, settled, ())
    has_changes = any(
        (here := found.hashes.get(key)) != (synced[key].sha256 if key in synced else None)
        and (here is None or here != apart.get(key))
        for key in {*found.hashes, *synced}
        if key not in found.odd
    )
    return found._replace(synced=synced | settled, has_changes=has_changes)


def _read(
    directory: MemoryDirectory, replica: Replica, synced: dict[str, Synced], now: float
) -> tuple[LocalFiles, dict[str, Synced]]:
    """The files, and those whose stamp now tells that they have not changed."""
    listing = directory.listing()
    odd = {replica.key(name): f"it is {why} here" for name, why in listing.odd.items()}
    hashes: dict[str, str] = {}
    stamps: dict[str, int] = {}
    apart: list[KeptApart] = []
    settled: dict[str, Synced] = {}
    unfit = {name: reason for name in listing.topics if (reason := keys.refusal_of_name(name)) is not None}
    known = [name for name in listing.topics if replica.key(name) in synced]
    unfit |= dict.fromkeys(keys.twins(listing.topics, known), "another file here differs from it in case alone")
    for name in listing.topics:
        key = replica.key(name)
        if name in unfit:
            odd[key] = unfit[name]
        if key in odd:
            apart.append(KeptApart(replica.memory_dir, key, "out", "", odd[key]))
            continue
        base = synced.get(key)
        stamp = _stamp(directory, name)
        if base is not None and stamp is not None and base.stamp == stamp:
            hashes[key], stamps[key] = base.sha256, stamp
            continue
        data = _content(directory, name)
        if data is None or stamp is None:
            odd[key] = "it cannot be read"
            apart.append(KeptApart(replica.memory_dir, key, "out", "", odd[key]))
            continue
        hashes[key], stamps[key] = sha256(data), stamp
        if base is not None and base.sha256 == hashes[key] and is_settled(stamp, now):
            settled[key] = base._replace(stamp=stamp)
    return LocalFiles(synced, hashes, stamps, odd, apart, has_changes=False), settled


def _stamp(directory: MemoryDirectory, name: str) -> int | None:
    """When a file was last changed in any way. Not its mtime, which a commit sets to the time that a memory names."""
    try:
        return os.stat(name, dir_fd=directory.descriptor, follow_symlinks=False).st_ctime_ns
    except OSError:
        return None


def _content(directory: MemoryDirectory, name: str) -> bytes | None:
    try:
        state = directory.read(name)
    except PermissionError:
        return None
    return state.data if state else None


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_settled(stamp: int, now: float) -> bool:
    """Whether a file that is changed again from now on gets another stamp."""
    return stamp < int(now * 1e9) - _YOUNG_NS


def read_changed(replica: Replica, local: LocalFiles, wanted: list[str]) -> dict[str, bytes]:
    """Contents of files as they were when the round began; those that have changed since are left out."""
    found: dict[str, bytes] = {}
    if wanted:
        with open_directory(replica.memory_dir) as directory:
            for key in wanted:
                data = _content(directory, replica.name(key))
                if data is not None and sha256(data) == local.hashes[key]:
                    found[key] = data
    return found


class Applied(NamedTuple):
    taken: dict[str, bytes]
    dropped: list[str]
    is_whole: bool
    """False where a file was edited meanwhile: it is looked at again in the next round."""


def apply_incoming(
    database: Database,
    replica: Replica,
    local: LocalFiles,
    taken: Mapping[str, bytes],
    dropped: list[str],
    why: str,
    now: float,
) -> Applied:
    """Write and delete here what was written and deleted in the store, in one commit; one group a file."""
    if not taken and not dropped:
        return Applied({}, [], is_whole=True)
    with open_directory(replica.memory_dir, create=True) as directory, directory.locked():
        planned: list[tuple[str, FileChange]] = []
        for key in (*taken, *dropped):
            name = replica.name(key)
            state = directory.read(name)
            here = sha256(state.data) if state else None
            if here != local.hashes.get(key):
                continue  # edited since the round began
            planned.append(
                (
                    key,
                    FileChange(
                        name,
                        state.data if state else None,
                        taken.get(key),
                        state.mtime_ns if state else None,
                        _said_at_ns(taken[key], now) if key in taken else None,
                        mode=state.mode if state else 0o600,
                    ),
                )
            )
        groups = tuple(Group((change,), why) for _, change in planned)
        done = commit(database, directory, Changeset("sync", why, groups), now) if groups else None
    conflicted = set(done.conflicted) if done else set()
    applied = [key for number, (key, _) in enumerate(planned) if number not in conflicted]
    return Applied(
        {key: taken[key] for key in applied if key in taken},
        [key for key in applied if key not in taken],
        is_whole=len(applied) == len(taken) + len(dropped),
    )


def _said_at_ns(data: bytes, now: float) -> int | None:
    """When a memory says that it was written: it is no younger because it has travelled."""
    told = parse(data).metadata.get("modified")
    at = parse_iso(told) if isinstance(told, str) else None
    return int(at * 1e9) if at is not None and 0 < at < now else None
