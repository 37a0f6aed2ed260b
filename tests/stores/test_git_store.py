"""The git store: how often it asks the other side, and that it reads all of a past."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.stores.git import TEAM_REF, GitStore
from tests.stores.places import GIT_ENVIRONMENT, bare_repository

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_700_000_000.0


def test_a_round_asks_once_to_read_and_once_to_write(tmp_path: Path) -> None:
    remote = str(bare_repository(tmp_path / "remote.git"))
    store, other = (GitStore(remote, TEAM_REF, str(tmp_path / name), GIT_ENVIRONMENT) for name in ("a", "b"))
    empty = store.list_files("")
    assert empty is not None
    assert store.requests == 1
    first = store.write_files(empty, {"a.md": b"1"}, (), "laptop", NOW)
    assert store.requests == 2
    found = other.list_files("")
    assert found == first
    other.write_files(found, {"b.md": b"2"}, (), "desktop", NOW)
    assert other.requests == 2
    assert store.list_files(first.version) is not None
    assert store.requests == 3


def test_every_version_of_every_file_is_looked_at_for_what_shall_be_gone(tmp_path: Path) -> None:
    """Also behind trees and commits, whose bytes can be anything."""
    remote = str(bare_repository(tmp_path / "remote.git"))
    store = GitStore(remote, TEAM_REF, str(tmp_path / "cache"), GIT_ENVIRONMENT)
    listing = store.list_files("")
    for number in range(12):
        assert listing is not None
        puts = {f"projects/{number}/{name}.md": f"{number} {name}\n".encode() for name in "abc"}
        listing = store.write_files(listing, puts, list(listing.files)[:1], "laptop", NOW + number)
    told = [f"{number} {name}\n".encode() for number in range(12) for name in "abc"]
    assert [text for text in told if not store.holds(lambda data, text=text: data == text)] == []  # type: ignore[misc]
    assert store.holds(lambda data: b"projects/0/a.md" in data)
    assert not store.holds(lambda data: data == b"12 a\n")
