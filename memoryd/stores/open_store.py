"""Choice of the store for an address from the config: a git repository, a shared directory, an object store."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from memoryd.stores.base import StoreError
from memoryd.stores.directory import directory_store
from memoryd.stores.folder import FolderStore
from memoryd.stores.git import GitStore
from memoryd.stores.objects import SCHEMES, object_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.paths import Paths
    from memoryd.stores.base import SharedStore

FOLDER_SCHEME = "folder:"
"""Before the root of a checkout: the folder in it that its users commit."""
_GIT_ADDRESS = re.compile(r"(?:https?|ssh|git|file)://[^\s]+|[\w.-]+(?:@[\w.-]+)?:[^\s:][^\s]*")


def open_store(address: str, ref: str, paths: Paths, environment: Mapping[str, str]) -> SharedStore:
    """The store at an address. Raises StoreError where it is none; nothing is asked of it yet."""
    if address.startswith(FOLDER_SCHEME):
        return FolderStore(address.removeprefix(FOLDER_SCHEME))
    if address.startswith(SCHEMES):
        # Options of ours replace those that the client would take from the environment, so this one is handed on.
        is_plain = environment.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true")
        return object_store(address, {"client_options": {"allow_http": True}} if is_plain else None)
    place = paths.expand(address)
    if place is not None and not _is_repository(place):
        return directory_store(place)
    if place is None and not _GIT_ADDRESS.fullmatch(address):
        raise StoreError(f"{address!r} is neither a git repository, nor a directory, nor a bucket.", "memoryd config")
    return GitStore(place or address, ref, os.path.join(paths.state_dir, "stores"), environment)


def _is_repository(place: str) -> bool:
    """Whether a directory is a git repository, bare or with a checkout."""
    return os.path.lexists(os.path.join(place, ".git")) or all(
        os.path.exists(os.path.join(place, name)) for name in ("HEAD", "objects", "refs")
    )
