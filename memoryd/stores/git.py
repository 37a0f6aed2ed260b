"""Store in a ref of a git repository. Written by plumbing, in a repository of ours that is only a cache.

A push is never forced: the new commit stands on the one that was listed, and a ref that has moved since refuses it. Worktree,
index, branches, hooks, config and reflog of the user's own repositories are neither read nor written.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.security.redact import redact
from memoryd.stores.base import RemoteFile, StoreChangedError, StoreError, StoreListing
from memoryd.stores.git_runner import GitRunner, last_line
from memoryd.stores.keys import clean_author

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from memoryd.stores.git_runner import GitResult

MACHINES_REF = "refs/heads/memoryd"
"""A branch: whoever opens a private repository wants to see what is in it."""
TEAM_REF = "refs/memoryd/team"
"""No branch: not fetched by default, no CI, not in anybody's list of branches."""
_FETCHED, _OUTGOING = "refs/memoryd/fetched", "refs/memoryd/outgoing"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_AUTHOR = re.compile(rb"^author (.*?) ?<", re.MULTILINE)
_REPLACED = re.compile(r"^Replaces: ([0-9a-f]{64})$", re.MULTILINE)
_MOST_REPLACED = 1_000
"""Of the versions that were replaced, so many of the newest are named: whoever knows one of them goes on from there."""
_URL = re.compile(r"([a-z][a-z0-9+.-]*://)([^/]*)(.*)", re.IGNORECASE | re.DOTALL)
_NO_SUCH_REF = "couldn't find remote ref"
_MOVED = (
    "[rejected]",
    "cannot lock ref",
    "failed to update ref",
    "incorrect old value",
    "reference already exists",
    "failed to lock",
)
_MOST_REFUSALS = 3
"""A ref that refuses so many pushes without having moved is not being written by others: it is locked, or cannot be written."""
_MOST_LOOSE_OBJECTS = 2_000
"""With more of them than that the cache is packed anew."""


class _Commit(NamedTuple):
    name: str
    author: str


class GitStore:
    """The store in one ref of one repository, by its address."""

    def __init__(self, url: str, ref: str, cache_dir: str, environment: Mapping[str, str]) -> None:
        if url.startswith("-"):
            raise StoreError(f"{url!r} is no address of a git repository.", "memoryd config")
        self._url = url
        self._ref = ref
        self._refused_version, self._refusals = "", 0
        name = hashlib.sha256(f"{url}\n{ref}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
        self._git = GitRunner(os.path.join(cache_dir, f"{name}.git"), environment)

    @property
    def address(self) -> str:
        url = _without_secrets(self._url)
        return url if self._ref == MACHINES_REF else f"{url} {self._ref}"

    @property
    def requests(self) -> int:
        return self._git.requests

    # --- listing ------------------------------------------------------------------------------------------------------

    def list_files(self, known: str, *, is_needed: bool = False) -> StoreListing | None:
        self._git.make_repository()
        if not self._fetch():
            return StoreListing("", {}, is_continuation=not known)
        fetched, older = self._commits(_FETCHED, known)
        if fetched is None:
            raise StoreError(f"{self.address} holds no commit.", f"git ls-remote {self.address}")
        if fetched.name == known and not is_needed:
            return None
        is_continuation = (
            not known
            or (older is not None and self._is_ancestor(older.name, fetched.name))
            or _digest_of(known) in self._replaced_by(fetched.name)
        )
        return self._listing(fetched, is_continuation=is_continuation)

    def _fetch(self) -> bool:
        """Fetch the ref: one request, also where nothing has changed. Whether the ref is there."""
        answer = self._git.run(
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--refmap=",
            "--",
            self._url,
            f"+{self._ref}:{_FETCHED}",
            is_request=True,
        )
        if answer.code and _NO_SUCH_REF not in answer.err:
            reached = self._git.run("ls-remote", "--quiet", "--", self._url, self._ref, is_request=True)
            if not reached.code:
                self._forget_if_broken()
            raise self._unreachable(answer)
        return not answer.code

    def _commits(self, *names: str) -> list[_Commit | None]:
        """The commits of these names; None for each that the cache has not got whole."""
        asked = [name if name == _FETCHED or _COMMIT.fullmatch(name) else "-" for name in names]
        given = "".join(f"{name}^{{commit}}\n" for name in asked).encode()
        found = []
        for facts, data in _objects(self._git.run("cat-file", "--batch", given=given).out):
            author = _AUTHOR.search(data)
            told = author[1].decode("utf-8", "replace") if author else ""
            found.append(_Commit(facts[0], clean_author(told)) if facts[1:2] == ["commit"] else None)
        return found if len(found) == len(names) else [None for _ in names]

    def _listing(self, commit: _Commit, *, is_continuation: bool) -> StoreListing:
        tree = self._git.run("ls-tree", "-r", "-z", "-l", "--full-tree", commit.name)
        if tree.code:
            raise self._damaged()
        files: dict[str, RemoteFile] = {}
        odd: dict[str, str] = {}
        for entry in tree.out.split(b"\0"):
            if not entry:
                continue
            facts, _, path = entry.partition(b"\t")
            mode, kind, name, size = facts.decode("ascii").split()
            key = path.decode("utf-8", "surrogateescape")
            if kind != "blob" or mode not in ("100644", "100755", "100664"):
                odd[key] = "a symlink" if mode == "120000" else "another repository"
            elif not size.isdecimal():  # git prints BAD for an object that is missing
                raise self._damaged()
            else:
                files[key] = RemoteFile(name, int(size))
        return StoreListing(commit.name, files, is_continuation, commit.author, odd)

    def _is_ancestor(self, older: str, newer: str) -> bool:
        return older == newer or not self._git.run("merge-base", "--is-ancestor", older, newer).code

    def _replaced_by(self, version: str) -> set[str]:
        """The versions that the first commit of this one has replaced (`start_anew`)."""
        roots = self._git.run("log", "--max-parents=0", "--no-show-signature", "--format=%B", version)
        return set(_REPLACED.findall(roots.out.decode("utf-8", "replace")))

    def holds(self, is_wanted_gone: Callable[[bytes], bool]) -> bool:
        """Whether a file of any version that the ref leads to is one that shall be gone."""
        listing = self.list_files("", is_needed=True)
        if listing is None or not listing.version:
            return False
        objects = self._git.run("rev-list", "--objects", "--no-object-names", listing.version).out
        contents = _contents(self._git.run("cat-file", "--batch", given=objects).out)
        names = self._git.run("log", "--name-only", "--format=", listing.version).out
        return is_wanted_gone(names) or any(is_wanted_gone(data) for _, data in contents)

    # --- reading ------------------------------------------------------------------------------------------------------

    def read_files(self, listing: StoreListing, keys: Collection[str]) -> dict[str, bytes]:
        names = {key: listing.files[key].hash for key in keys}
        asked = sorted(set(names.values()))
        if not asked:
            return {}
        answer = self._git.run("cat-file", "--batch", given="".join(f"{name}\n" for name in asked).encode())
        if answer.code:
            raise self._unreachable(answer)
        contents = dict(_contents(answer.out))
        if contents.keys() != set(asked):
            self._git.forget_repository()
            raise StoreChangedError
        return {key: contents[name] for key, name in names.items()}

    # --- writing ------------------------------------------------------------------------------------------------------

    def write_files(
        self, listing: StoreListing, puts: Mapping[str, bytes], deletes: Collection[str], author: str, now: float
    ) -> StoreListing:
        commit = self._commit(listing, puts, deletes, author, now)
        answer = self._git.run(
            "push", "--quiet", "--porcelain", "--no-verify", "--", self._url, f"{commit}:{self._ref}", is_request=True
        )
        if answer.code:
            told = answer.out.decode("utf-8", "replace") + answer.err
            if any(word in told for word in _MOVED) and not self._is_stuck(listing.version):
                raise StoreChangedError
            raise self._unreachable(answer)
        files = {key: file for key, file in listing.files.items() if key not in deletes}
        files |= {key: RemoteFile(_blob_name(data), len(data)) for key, data in puts.items()}
        self._pack_sometimes()
        return StoreListing(commit, files, author=clean_author(author), odd=listing.odd)

    def start_anew(self, author: str) -> str:
        """Replace the ref by one commit that holds the same files and no past; returns it. Only if nobody has written since.

        What was fetched or kept elsewhere stays there: this is all that can be done from here.
        """
        listing = self.list_files("", is_needed=True)
        if listing is None or not listing.version:
            return ""
        known = self._git.run("rev-list", f"--max-count={_MOST_REPLACED}", listing.version).out.decode("ascii").split()
        told = [*map(_digest_of, known), *sorted(self._replaced_by(listing.version))][:_MOST_REPLACED]
        message = "memories, without their past\n\n" + "".join(f"Replaces: {digest}\n" for digest in told)
        made = self._git.run(
            *("-c", f"user.name={_plain_name(author)}", "-c", "user.email=memoryd@localhost"),
            *("commit-tree", f"{listing.version}^{{tree}}", "-F", "-"),
            given=message.encode(),
        )
        commit = made.out.decode("ascii", "replace").strip()
        if made.code or not _COMMIT.fullmatch(commit):
            raise StoreError(f"A commit for {self.address} cannot be made: {last_line(made.err)}", "df -h")
        answer = self._git.run(
            *("push", "--quiet", "--porcelain", "--no-verify", f"--force-with-lease={self._ref}:{listing.version}"),
            *("--", self._url, f"{commit}:{self._ref}"),
            is_request=True,
        )
        if answer.code:
            raise self._unreachable(answer)
        return commit

    def _is_stuck(self, version: str) -> bool:
        """Whether a push on top of this version was refused again and again, though nobody else has written."""
        self._refusals = self._refusals + 1 if version == self._refused_version else 1
        self._refused_version = version
        return self._refusals >= _MOST_REFUSALS

    def _commit(
        self, listing: StoreListing, puts: Mapping[str, bytes], deletes: Collection[str], author: str, now: float
    ) -> str:
        """Make a commit on top of the listed one; it is in our repository alone, until it is pushed."""
        message = _message(len(puts), len(deletes))
        name = _plain_name(author)
        stream = [b"feature done\nfeature get-mark\n", f"commit {_OUTGOING}\nmark :1\n".encode()]
        stream.append(f"committer {name} <memoryd@localhost> {int(now)} +0000\n".encode("utf-8", "replace"))
        stream.append(b"data %d\n%s\n" % (len(message), message))
        if listing.version:
            stream.append(f"from {listing.version}\n".encode())
        for key, data in sorted(puts.items()):
            stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (_quoted(key), len(data), data))
        stream += [b"D %s\n" % _quoted(key) for key in sorted(deletes)]
        stream.append(b"get-mark :1\ndone\n")
        made = self._git.run("fast-import", "--quiet", "--force", "--done", "--date-format=raw", given=b"".join(stream))
        commit = made.out.decode("ascii", "replace").strip()
        if made.code or not _COMMIT.fullmatch(commit):
            self._git.forget_repository()
            raise StoreError(f"A commit for {self.address} cannot be made: {last_line(made.err)}", "df -h")
        return commit

    # --- the cache ----------------------------------------------------------------------------------------------------

    def _pack_sometimes(self) -> None:
        """Pack the cache where it has many loose files. It is only a cache, so a failure is of no matter."""
        if self._git.loose_objects() > _MOST_LOOSE_OBJECTS:
            self._git.run("repack", "-a", "-d", "-q")
            self._git.run("prune-packed", "-q")

    def _forget_if_broken(self) -> None:
        """Delete the cache where it is damaged: a disk that was full, a machine that was switched off."""
        if self._git.run("rev-parse", "--git-dir").code or self._git.run("fsck", "--connectivity-only").code:
            self._git.forget_repository()

    def _damaged(self) -> StoreError:
        """Delete the cache, which is fetched anew next time."""
        self._git.forget_repository()
        return StoreError(f"The copy of {self.address} was damaged; it is fetched anew.", "memoryd sync")

    def _unreachable(self, answer: GitResult) -> StoreError:
        told = redact(last_line(answer.err)).replace(self._url, self.address)
        return StoreError(f"{self.address} cannot be used: {told}", f"git ls-remote {self.address.split(' ')[0]}")


def _contents(out: bytes) -> Iterator[tuple[str, bytes]]:
    """The files in what `cat-file --batch` prints, by their names."""
    return ((facts[0], data) for facts, data in _objects(out) if facts[1:2] == ["blob"])


def _objects(out: bytes) -> Iterator[tuple[list[str], bytes]]:
    """What `cat-file --batch` prints for each object: name, kind and size, then its bytes; "NAME missing" for one it has not."""
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        facts = out[at:end].decode("ascii", "replace").split()
        at = end + 1
        size = int(facts[2]) if len(facts) == 3 else 0  # noqa: PLR2004 - as above
        yield facts, out[at : at + size]
        at += size + 1 if len(facts) == 3 else 0  # noqa: PLR2004 - as above


def _without_secrets(url: str) -> str:
    """The address without login, query and fragment, each of which can hold a password."""
    match = _URL.fullmatch(url)
    if match is None:
        return url
    scheme, host, path = match.groups()
    return re.split(r"[?#]", f"{scheme}{host.rpartition('@')[2]}{path}", maxsplit=1)[0]


def _blob_name(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%s" % (len(data), data), usedforsecurity=False).hexdigest()


def _quoted(key: str) -> bytes:
    raw = key.encode("utf-8", "surrogateescape")
    return b'"%s"' % raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def _digest_of(version: str) -> str:
    """Digest of a commit's name: whoever knows the commit recognises it, and nobody can fetch it by this."""
    return hashlib.sha256(version.encode()).hexdigest()


def _plain_name(author: str) -> str:
    return re.sub(r"[<>\x00-\x1f\x7f]", "", author).strip() or "memoryd"


def _message(puts: int, deletes: int) -> bytes:
    parts = [f"{puts} written"] * bool(puts) + [f"{deletes} removed"] * bool(deletes)
    return f"memories: {', '.join(parts)}\n".encode()
