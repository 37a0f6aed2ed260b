"""Files in a project that can have come with its repository: what they say is not the user's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.atomic_file import read_regular
from memoryd.git_index import UnreadableIndexError, tracked_names

if TYPE_CHECKING:
    from collections.abc import Iterable

_INDEX_BYTES = 64 << 20


def may_be_tracked(root: str, names: Iterable[str]) -> bool:
    """Whether git tracks one of these names, given in lower case, or it cannot be proven that it does not.

    A directory that is no repository, and an index that is split, sparse, damaged, huge or missing, prove nothing.
    """
    index = read_regular(os.path.join(root, ".git", "index"), _INDEX_BYTES + 1)
    if index is None or len(index) > _INDEX_BYTES:
        return True
    try:
        # Disks that do not tell case apart make `.Claude` the same folder.
        folded = {name.decode("utf-8", "replace").casefold() for name in tracked_names(index)}
    except UnreadableIndexError:
        return True
    return not folded.isdisjoint(names)
