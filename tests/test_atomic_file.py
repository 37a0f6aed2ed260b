"""Small files of the user's own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd import atomic_file

if TYPE_CHECKING:
    from pathlib import Path


def test_it_is_the_user_s_alone_and_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    atomic_file.write(str(path), b"one")
    atomic_file.write(str(path), b"2")
    assert atomic_file.read(str(path)) == b"2"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert os.listdir(path.parent) == ["file"]


def test_a_symlink_is_replaced_and_never_followed(tmp_path: Path) -> None:
    mine, link = tmp_path / "mine", tmp_path / "link"
    mine.write_bytes(b"mine")
    link.symlink_to(mine)
    with pytest.raises(OSError, match="symbolic links"):
        atomic_file.read(str(link))
    atomic_file.write(str(link), b"ours")
    assert (mine.read_bytes(), link.read_bytes(), link.is_symlink()) == (b"mine", b"ours", False)


def test_what_cannot_be_written_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError, match=r"[Dd]irectory"):
        atomic_file.write(str(folder), b"ours")
    assert os.listdir(tmp_path) == ["folder"]
