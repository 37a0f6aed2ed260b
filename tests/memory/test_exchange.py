"""Renames that never overwrite, by the kernel and where it cannot."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.memory import exchange as module
from memoryd.memory.exchange import exchange, rename_if_free

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["kernel", "three renames"])
def directory(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    if request.param == "three renames":
        monkeypatch.setattr(module, "_rename", lambda *_: False)
    (tmp_path / "one").write_text("1")
    (tmp_path / "other").write_text("2")
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def contents(path: Path) -> dict[str, str]:
    return {name: (path / name).read_text() for name in os.listdir(path)}


def test_two_files_change_places_and_stay_the_same_files(directory: int, tmp_path: Path) -> None:
    before = [os.stat(tmp_path / name).st_ino for name in ("one", "other")]
    exchange(directory, "one", "other")
    assert contents(tmp_path) == {"one": "2", "other": "1"}
    assert [os.stat(tmp_path / name).st_ino for name in ("other", "one")] == before


def test_twice_is_never(directory: int, tmp_path: Path) -> None:
    exchange(directory, "one", "other")
    exchange(directory, "one", "other")
    assert contents(tmp_path) == {"one": "1", "other": "2"}


def test_names_that_are_not_ascii(directory: int, tmp_path: Path) -> None:
    os.rename(tmp_path / "one", tmp_path / "ü\udcff")
    exchange(directory, "ü\udcff", "other")
    assert contents(tmp_path) == {"ü\udcff": "2", "other": "1"}


def test_nothing_moves_where_the_other_is_missing(directory: int, tmp_path: Path) -> None:
    (tmp_path / "other").unlink()
    with pytest.raises(FileNotFoundError):
        exchange(directory, "one", "other")
    assert contents(tmp_path) == {"one": "1"}


def test_nothing_moves_where_the_first_is_missing(directory: int, tmp_path: Path) -> None:
    (tmp_path / "one").unlink()
    with pytest.raises(FileNotFoundError):
        exchange(directory, "one", "other")
    assert contents(tmp_path) == {"other": "2"}


def test_links_change_places_and_are_not_followed(directory: int, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("keep me")
    (tmp_path / "other").unlink()
    os.symlink("precious", tmp_path / "other")
    exchange(directory, "one", "other")
    assert os.readlink(tmp_path / "one") == "precious"
    assert contents(tmp_path) == {"one": "keep me", "other": "1", "precious": "keep me"}


def test_a_free_name_is_taken(directory: int, tmp_path: Path) -> None:
    (tmp_path / "other").unlink()
    rename_if_free(directory, "one", "other")
    assert contents(tmp_path) == {"other": "1"}


@pytest.mark.parametrize("taken_by", ["file", "directory", "dangling link"])
def test_a_name_that_is_taken_by_anything_stays(directory: int, tmp_path: Path, taken_by: str) -> None:
    (tmp_path / "other").unlink()
    match taken_by:
        case "file":
            (tmp_path / "other").write_text("2")
        case "directory":
            (tmp_path / "other").mkdir()
        case _:
            os.symlink("nowhere", tmp_path / "other")
    before = os.lstat(tmp_path / "other")
    with pytest.raises(FileExistsError):
        rename_if_free(directory, "one", "other")
    assert (tmp_path / "one").read_text() == "1"
    assert os.lstat(tmp_path / "other") == before


def test_nothing_to_rename(directory: int, tmp_path: Path) -> None:
    (tmp_path / "one").unlink()
    (tmp_path / "other").unlink()
    with pytest.raises(FileNotFoundError):
        rename_if_free(directory, "one", "other")
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("directory", ["three renames"], indirect=True)
def test_where_hard_links_are_unknown_too_both_files_stay_where_they_are(
    directory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ExFAT and some network file systems: an error, and not a lost name."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(PermissionError):
        exchange(directory, "one", "other")
    assert contents(tmp_path) == {"one": "1", "other": "2"}


@pytest.mark.parametrize("directory", ["three renames"], indirect=True)
def test_what_somebody_made_in_the_gap_of_three_renames_takes_the_place_of_what_was_displaced(
    directory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link_late(old: str, new: str, **how: Any) -> None:
        (tmp_path / new).write_text("theirs")
        link(old, new, **how)

    link = os.link
    monkeypatch.setattr(os, "link", link_late)
    with pytest.raises(FileExistsError):
        exchange(directory, "one", "other")
    assert contents(tmp_path) == {"one": "2", "other": "theirs"}
