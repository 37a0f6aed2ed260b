"""History of a repository: files that were deleted, when and whereto, and earlier versions of files.

It is what tells rot from ignorance: a name that was never here is of another repository, a library, or a plan.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from memoryd.rot import git

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_COMMITS = 10_000
MOST_VERSIONS = 10_000
"""As many as fit into the arguments of one program everywhere; the newest count."""
MOST_WORDS = 1_500
"""Of at most 64 characters: one argument holds no more than 128 kB."""

_DAY = re.compile(rb"\d{4}-\d\d-\d\d")
_COMMIT_MARK = b"\x01"
_GREP = ("--no-recurse-submodules", "--no-line-number", "--no-column", "--no-color", "-a", "-E")


class Deletion(NamedTuple):
    day: str
    moved_to: str | None
    """Where the same content came to be in the same commit."""


class Version(NamedTuple):
    """What a file had in it until `day`."""

    path: str
    day: str


class RepositoryHistory(NamedTuple):
    deleted: dict[str, Deletion]
    """By path; the last deletion of each."""
    versions: dict[str, Version]
    """By the id of the content, newest first."""


def read(root: str) -> RepositoryHistory:
    """The line of commits that leads to what is checked out, newest first, as far as the limits allow.

    A branch that was merged counts as one change. Without commits, and where git fails, it is empty: nothing is known.
    """
    options = ("--first-parent", "-m", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv")
    form = ("-z", "--format=%x01%cs", f"--max-count={MOST_COMMITS}", "HEAD", "--")
    answer = git.ask(root, "log", *options, *form)
    if answer is None:
        return RepositoryHistory({}, {})
    return parse_log(answer.data if answer.is_whole else answer.data.rpartition(b"\0")[0])


def parse_log(data: bytes) -> RepositoryHistory:
    deleted: dict[str, Deletion] = {}
    versions: dict[str, Version] = {}
    for day, changes in _commits(data):
        added: dict[str, list[str]] = {}
        for change in changes:
            if change.status == "A":
                added.setdefault(change.new_id, []).append(change.path)
        for status, path, old_id, _, is_file in changes:
            if status == "D" and path not in deleted:
                targets = added.get(old_id, [])
                deleted[path] = Deletion(day, targets[0] if len(targets) == 1 else None)
            if status != "A" and is_file and len(versions) < MOST_VERSIONS:
                versions.setdefault(old_id, Version(path, day))
    return RepositoryHistory(deleted, versions)


class _Change(NamedTuple):
    status: str
    path: str
    old_id: str
    new_id: str
    was_file: bool


def _commits(data: bytes) -> Iterator[tuple[str, list[_Change]]]:
    """Each commit's day and changes: a mark and the day, then pairs of `:modes ids status` and path; NULs between."""
    day = ""
    changes: list[_Change] = []
    tokens = iter(data.split(b"\0"))
    for token in tokens:
        entry = token.lstrip(b"\n")
        if entry.startswith(_COMMIT_MARK):
            yield day, changes
            day = entry[1:].decode("ascii", "replace") if _DAY.fullmatch(entry[1:]) else ""
            changes = []
        elif entry.startswith(b":"):
            path = next(tokens, b"")
            match entry[1:].decode("ascii", "replace").split(" "):
                case [old_mode, _, old_id, new_id, status] if path:  # none behind the last entry of a cut output
                    changes.append(_Change(status[:1], as_text(path), old_id, new_id, old_mode.startswith("100")))
    yield day, changes


def as_text(path: bytes) -> str:
    """A path as git prints it, in the form of Unicode in which people type it."""
    return unicodedata.normalize("NFC", path.decode("utf-8", "surrogateescape"))


# --- words in code ----------------------------------------------------------------------------------------------------


def words_now(root: str, words: Iterable[str]) -> set[str] | None:
    """Those of the words that stand in a file that git does not ignore; None where that cannot be told."""
    return _words(root, words, "--untracked")


def words_tracked(root: str, words: Iterable[str]) -> set[str] | None:
    """Those that stand in what git has of the files: some need not be checked out."""
    return _words(root, words, "--cached")


def _words(root: str, words: Iterable[str], where: str) -> set[str] | None:
    answer = git.ask(root, "grep", where, *_GREP, "-h", "-o", "-w", "-e", "|".join(words), also_fine=1)
    return set(answer.data.decode("ascii", "replace").split("\n")) if answer and answer.is_whole else None


def words_before(root: str, words: Iterable[str], versions: dict[str, Version]) -> dict[str, str]:
    """The words that stood in earlier versions of files, each with the day on which the last of them was replaced."""
    if not versions:
        return {}
    answer = git.ask(root, "grep", *_GREP, "-o", "-w", "-e", "|".join(words), *versions, also_fine=1)
    days: dict[str, str] = {}
    for line in answer.data.decode("ascii", "replace").split("\n") if answer else ():
        version, _, word = line.partition(":")
        if version in versions:
            days.setdefault(word, versions[version].day)
    return days


def line_before(root: str, pattern: str, versions: dict[str, Version]) -> Version | None:
    """The newest of the versions with a line that matches an extended regular expression."""
    if not versions:
        return None
    answer = git.ask(root, "grep", *_GREP, "-l", "-e", pattern, *versions, also_fine=1)
    first = answer.data.decode("ascii", "replace").split("\n")[0] if answer else ""
    return versions.get(first)
