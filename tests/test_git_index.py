"""The names in a git index, against those that git itself lists."""

from __future__ import annotations

import hashlib
import os
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.git_index import UnreadableIndexError, tracked_names

if TYPE_CHECKING:
    from pathlib import Path

NAMES = (
    *(b".claude/settings.json", b".claude/agents/review.md", b"a", b"dir/file 1", b"dir/file 2", b"dir.txt"),
    b"umlaut-\xc3\xa4",
    b"not-utf-8-\xff",
    *(b"n" * length for length in range(2, 11)),  # every length of padding
    b"/".join([b"long" * 50] * 25),  # more than the twelve bits for a length can say
)


def git(root: Path, *arguments: str) -> bytes:
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, env=environment).stdout


def repository(root: Path, *options: str) -> Path:
    """A repository that tracks NAMES, which need not be on disk."""
    git(root, "init", "--quiet", *options)
    empty = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=root, input=b"", check=True, capture_output=True
    ).stdout.strip()
    lines = b"".join(b"100644 %b\t%b\0" % (empty, name) for name in NAMES)
    subprocess.run(["git", "update-index", "-z", "--index-info"], cwd=root, input=lines, check=True)
    return root


def index_of(root: Path) -> bytes:
    return (root / ".git" / "index").read_bytes()


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_names_are_those_that_git_lists(tmp_path: Path, version: int, object_format: str) -> None:
    root = repository(tmp_path, f"--object-format={object_format}")
    if version == 3:
        (root / "intended").write_text("")
        git(root, "add", "--intent-to-add", "intended")  # takes flags that only version 3 has
    elif version == 4:
        git(root, "update-index", "--index-version", "4")
    git(root, "write-tree")  # puts the tree cache in, where `.claude` stands once more
    index = index_of(root)
    assert index[7] == version
    assert list(tracked_names(index)) == git(root, "ls-files", "-z").split(b"\0")[:-1]


def test_an_index_in_conflict_names_each_side(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a").write_text("")
    git(tmp_path, "add", "a")
    blob = git(tmp_path, "ls-files", "--format=%(objectname)").strip()
    lines = b"0 %b\ta\n" % blob + b"".join(b"100644 %b %d\ta\n" % (blob, stage) for stage in (1, 2, 3))
    subprocess.run(["git", "update-index", "--index-info"], cwd=tmp_path, input=lines, check=True)
    assert list(tracked_names(index_of(tmp_path))) == [b"a", b"a", b"a"]


def test_an_index_without_a_checksum_is_read(tmp_path: Path) -> None:
    """As `index.skipHash` leaves it."""
    index = index_of(repository(tmp_path))
    assert sorted(tracked_names(index[:-20] + bytes(20))) == sorted(NAMES)


def test_an_index_that_is_not_all_of_it_is_refused(tmp_path: Path) -> None:
    root = repository(tmp_path)
    git(root, "update-index", "--split-index")
    with pytest.raises(UnreadableIndexError):
        list(tracked_names(index_of(root)))


def test_a_sparse_index_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    for name in ("in/a", "out/b"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
    git(tmp_path, "add", "--all")
    git(tmp_path, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--message", "a")
    git(tmp_path, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
    with pytest.raises(UnreadableIndexError):
        list(tracked_names(index_of(tmp_path)))


def with_checksum(content: bytes) -> bytes:
    return content + hashlib.sha1(content, usedforsecurity=False).digest()


@pytest.mark.parametrize(
    "index",
    [
        b"",
        b"DIRC",
        with_checksum(b""),
        with_checksum(b"DIRC\0\0\0\2"),
        with_checksum(b"DIRC\0\0\0\5\0\0\0\0"),
        with_checksum(b"CRID\0\0\0\2\0\0\0\0"),
        with_checksum(b"DIRC\0\0\0\2\0\0\0\1"),
        with_checksum(b"DIRC\0\0\0\2\xff\xff\xff\xff"),
        with_checksum(b"DIRC\0\0\0\2\0\0\0\0TREE\0\0\1\0"),
        with_checksum(b"DIRC\0\0\0\2\0\0\0\0TRE"),
        with_checksum(b"DIRC\0\0\0\2\0\0\0\1" + bytes(72)),  # what a crash may leave: an entry of zeros
        with_checksum(b"DIRC\0\0\0\4\0\0\0\1" + bytes(60) + b"\0\1\5a\0"),  # cuts more than there is
        with_checksum(b"DIRC\0\0\0\4\0\0\0\1" + bytes(60) + b"\0\1" + b"\xff" * 9 + b"\0a\0"),
        b"DIRC\0\0\0\2\0\0\0\0" + b"x" * 20,
    ],
)
def test_a_damaged_index_is_refused(index: bytes) -> None:
    with pytest.raises(UnreadableIndexError):
        list(tracked_names(index))


@given(st.sampled_from([2, 3, 4]), st.integers(0, 9), st.binary(max_size=300))
def test_whatever_stands_there_it_is_read_or_refused(version: int, count: int, rest: bytes) -> None:
    content = b"DIRC" + version.to_bytes(4) + count.to_bytes(4) + rest
    for index in (content, with_checksum(content), content + bytes(20)):
        with suppress(UnreadableIndexError):
            assert all(isinstance(name, bytes) for name in tracked_names(index))
