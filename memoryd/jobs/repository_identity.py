"""Identity of repositories, by remote and first commit: how one that was moved, and a second clone of it, are noticed.

Memories are kept by the path of a repository, so under another path they are not found. What a repository is gets recorded
while it is there; another path with the same identity is then offered its memories (`memoryd projects adopt`). Nothing is
taken over by itself: who works on two clones may want them apart.
"""

from __future__ import annotations

import os
import re
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import BusyError, StateError
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.document import parse
from memoryd.model import Changeset, FileChange, Group
from memoryd.rot import git
from memoryd.security.redact import find_secret
from memoryd.state import history, settings
from memoryd.state.database import open_database
from memoryd.state.projects import all_projects

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.paths import Paths
    from memoryd.state.database import Database

_PREFIX = "repository:"
_RENEWED_AFTER_SECONDS = 7 * 86_400.0
_PORT = re.compile(r":\d*$")
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class RepositoryIdentity(NamedTuple):
    remote: str = ""
    """Normalised: the same for ssh, https and git; empty where there is none."""
    first_commit: str = ""
    """Empty where it is not known, as in a shallow clone."""

    def is_same(self, other: RepositoryIdentity) -> bool:
        """What one of them does not know does not tell them apart; something has to be the same."""
        pairs = [(self.remote, other.remote), (self.first_commit, other.first_commit)]
        known = [(mine, theirs) for mine, theirs in pairs if mine and theirs]
        return bool(known) and all(mine == theirs for mine, theirs in known)


class OtherCheckout(NamedTuple):
    """Another path under which the same repository is or was, with memories."""

    root: str
    memory_dir: str
    memories: int
    is_gone: bool
    """There is no such directory any more: it was moved, or deleted."""


def identity_of(root: str) -> RepositoryIdentity:
    """What a repository is now; empty outside git, or where git is missing."""
    if not git.is_checkout(root):
        return RepositoryIdentity()
    remote = normalised(remote_of(root))
    if os.path.exists(os.path.join(root, ".git", "shallow")):
        return RepositoryIdentity(remote)
    first = git.ask(root, "rev-list", "--max-parents=0", "HEAD")
    commits = sorted(first.data.decode("ascii", "replace").split()) if first and first.is_whole else []
    return RepositoryIdentity(remote, commits[0] if commits else "")


def remote_of(root: str) -> str:
    """The address of a repository's `origin`, as it stands in its config; a path made absolute. Empty: there is none."""
    url = git.ask(root, "config", "--get", "remote.origin.url", also_fine=1) if git.is_checkout(root) else None
    told = url.data.decode("utf-8", "replace").strip() if url and url.is_whole else ""
    return os.path.normpath(os.path.join(root, told)) if told.startswith((".", "/")) else told


def normalised(url: str) -> str:
    """`git@example.org:me/shop.git` and `https://token@example.org/me/shop` are `example.org/me/shop`."""
    if not url or url.startswith(("/", ".", "~", "file:")):
        return ""  # a path on this machine says nothing about another one
    is_address = bool(_SCHEME.match(url))
    rest = _SCHEME.sub("", url)
    host, separator, path = rest.partition("/") if is_address else rest.partition(":")
    if not separator:
        return ""
    host = _PORT.sub("", host.rpartition("@")[2]).lower()
    return f"{host}/{path.strip('/').removesuffix('.git').rstrip('/')}"


def record_identities(paths: Paths, roots: Iterable[str], now: float) -> None:
    """Note what these repositories are, while they are there. What cannot be noted now is noted the next time."""
    with suppress(StateError, BusyError, OSError), closing(open_database(paths)) as database:
        for root in dict.fromkeys(roots):
            known = settings.get(database, _PREFIX + root)
            if not root or (known is not None and 0 <= now - known.at < _RENEWED_AFTER_SECONDS):
                continue
            identity = identity_of(root)
            if identity != RepositoryIdentity():
                settings.put(database, _PREFIX + root, identity._asdict(), now)


def recorded_identity(database: Database, root: str) -> RepositoryIdentity:
    """What was noted of a repository, without asking git."""
    known = settings.get(database, _PREFIX + root)
    return RepositoryIdentity(**known.value) if known else RepositoryIdentity()


def other_checkouts(database: Database, root: str, *, only_recorded: bool = False) -> list[OtherCheckout]:
    """Other paths of the repository at `root` that have memories, most memories first.

    `only_recorded`: by what was noted of it, without asking git.
    """
    mine = recorded_identity(database, root) if only_recorded else identity_of(root)
    if mine == RepositoryIdentity():
        return []
    directories = {project.root: project.memory_dir for project in all_projects(database)}
    found = []
    for name, value in settings.all_with(database, _PREFIX).items():
        other = name.removeprefix(_PREFIX)
        memory_dir = directories.get(other, "")
        if other == root or not memory_dir or memory_dir == directories.get(root):
            continue
        if mine.is_same(RepositoryIdentity(**value)) and (number := number_of_memories(memory_dir)):
            found.append(OtherCheckout(other, memory_dir, number, not os.path.isdir(other)))
    return sorted(found, key=lambda checkout: (-checkout.memories, checkout.root))


def number_of_memories(memory_dir: str) -> int:
    try:
        with open_directory(memory_dir) as directory:
            return len(directory.listing().topics)
    except (FileNotFoundError, StateError):
        return 0


class Adoption(NamedTuple):
    """What was taken over, and what stays behind, with the reason."""

    names: tuple[str, ...]
    left: dict[str, str]


def adopt(database: Database, source_dir: str, target_dir: str, origin: str, now: float) -> Adoption:
    """Copy the memories that another directory lacks, with what they rest on, in one change. The originals stay.

    Raises FileNotFoundError where there is no source, and like `commit`.
    """
    with open_directory(source_dir) as source, open_directory(target_dir, create=True) as target, target.locked():
        groups, left = _missing(database, source, target, origin)
        if groups:
            commit(database, target, Changeset("adopt", f"memories of {origin}", tuple(groups)), now)
    return Adoption(tuple(group.changes[0].name for group in groups), left)


def _missing(
    database: Database, source: MemoryDirectory, target: MemoryDirectory, origin: str
) -> tuple[list[Group], dict[str, str]]:
    """Memories that the target lacks, and those that it cannot take, with the reason."""
    evidence = history.evidence_in(database, source.path)
    there = target.listing().topics
    listing = source.listing()
    groups: list[Group] = []
    left: dict[str, str] = {}
    for name in sorted(listing.topics):
        state = source.read(name)
        if name in listing.odd or state is None:
            left[name] = f"it is {listing.odd.get(name, 'being changed')}"
        elif name in there:
            own = target.read(name)
            if own is None or own.data != state.data:
                left[name] = "there is another of this name already"
        elif parse(state.data).type is None:
            left[name] = "it is no memory that memoryd understands"
        elif find_secret(state.data.decode("utf-8", "replace")):
            left[name] = "it holds a secret"
        else:
            taken = FileChange(name, None, state.data, None, state.mtime_ns, mode=state.mode)
            groups.append(Group((taken,), f"from {origin}", tuple((name, piece) for piece in evidence.get(name, ()))))
    return groups, left
