"""The scan: by listing and stat alone."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.registry import ALL
from memoryd.model import Found, Inventory
from memoryd.sources.scan import SessionPlace, inventory

if TYPE_CHECKING:
    from pathlib import Path


def test_sessions_are_found_with_their_stat(tmp_path: Path) -> None:
    (tmp_path / "-code-acme").mkdir()
    path = tmp_path / "-code-acme" / "s.jsonl"
    path.write_bytes(b"{}\n")
    status = path.stat()
    assert inventory(SessionPlace(str(tmp_path)), ALL[0].is_session) == Inventory(
        str(tmp_path), (Found(str(path), status.st_dev, status.st_ino, 3, status.st_mtime_ns),)
    )


def test_other_files_and_sub_agents_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    (folder / "1234" / "subagents").mkdir(parents=True)
    (folder / "1234" / "subagents" / "agent-1.jsonl").write_bytes(b"{}\n")
    (folder / "memory").mkdir()
    (folder / "memory" / "MEMORY.md").write_text("")
    (folder / "agent-old.jsonl").write_bytes(b"{}\n")
    (folder / "notes.txt").write_text("")
    (tmp_path / "stray.jsonl").write_text("")
    assert inventory(SessionPlace(str(tmp_path)), ALL[0].is_session) == Inventory(str(tmp_path), ())


def test_what_is_no_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "d.jsonl").mkdir()
    os.mkfifo(folder / "f.jsonl")
    (folder / "l.jsonl").symlink_to("l.jsonl")
    (folder / "target.txt").write_text("")
    (folder / "m.jsonl").symlink_to(folder / "target.txt")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(folder)  # the name of a socket has to be short
        listener.bind("s.jsonl")
    odd = inventory(SessionPlace(str(tmp_path)), ALL[0].is_session).odd
    assert odd == {
        str(folder / "d.jsonl"): "directory",
        str(folder / "f.jsonl"): "fifo",
        str(folder / "l.jsonl"): "symlink",
        str(folder / "m.jsonl"): "symlink",
        str(folder / "s.jsonl"): "socket",
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_named(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    path = tmp_path / "p" / "d.jsonl"
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3))
    assert inventory(SessionPlace(str(tmp_path)), ALL[0].is_session).odd == {str(path): "device"}


def test_a_symlinked_folder_is_not_entered(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "s.jsonl").write_bytes(b"{}\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "p").symlink_to(elsewhere)
    assert inventory(SessionPlace(str(root)), ALL[0].is_session) == Inventory(
        str(root), (), {str(root / "p"): "symlink"}
    )


def test_a_missing_root_is_said(tmp_path: Path) -> None:
    assert inventory(SessionPlace(str(tmp_path / "none")), ALL[0].is_session) == Inventory(
        str(tmp_path / "none"), (), missing=True
    )


def test_a_root_that_is_a_file_is_named(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.write_text("")
    assert inventory(SessionPlace(str(root)), ALL[0].is_session).odd == {str(root): "unreadable"}


def test_a_name_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path / "p")
    os.mkdir(folder)
    with open(os.path.join(folder, b"\xff.jsonl"), "wb"):
        pass
    found = inventory(SessionPlace(str(tmp_path)), ALL[0].is_session)
    assert found.odd == {os.path.join(tmp_path, "p", "\\xff.jsonl"): "bad name"}
    assert found.found == ()
