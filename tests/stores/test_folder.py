"""A folder of a checkout as the store of a team: plain files, and no link is followed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.stores.base import StoreChangedError, StoreError
from memoryd.stores.folder import FolderStore
from memoryd.stores.protocol import RoundResult
from tests.stores.machines import Machine, memory

if TYPE_CHECKING:
    from pathlib import Path

FACT, OTHER = memory("Deploys go out on Tuesdays."), memory("Deploys go out on Thursdays.")


def test_what_is_shared_is_a_plain_file_of_the_checkout_and_what_is_pulled_comes(tmp_path: Path) -> None:
    person = Machine(tmp_path / "home", FolderStore(str(tmp_path)), prefix="")
    person.write("project_deploys.md", FACT)
    assert person.exchange() == RoundResult(given=1)
    folder = tmp_path / ".memoryd/team"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"project_deploys.md": FACT}
    (folder / "project_deploys.md").write_bytes(OTHER)  # as `git pull` does
    (folder / "project_new.md").write_bytes(FACT)
    assert person.exchange() == RoundResult(taken=2)
    assert person.files == {"project_deploys.md": OTHER, "project_new.md": FACT}
    before = person.store.requests
    assert person.exchange() == RoundResult()
    assert person.store.requests == before + 1
    person.close()


def test_a_branch_without_the_folder_has_no_shared_memories_and_gets_none_written(tmp_path: Path) -> None:
    person = Machine(tmp_path / "home", FolderStore(str(tmp_path)), prefix="")
    person.write("project_deploys.md", FACT)
    person.exchange()
    os.rename(tmp_path / ".memoryd", tmp_path / "on-the-other-branch")
    assert person.exchange() == RoundResult(dropped=1)
    assert not (tmp_path / ".memoryd").exists()
    os.rename(tmp_path / "on-the-other-branch", tmp_path / ".memoryd")
    assert person.exchange() == RoundResult(taken=1)
    person.close()


@pytest.mark.parametrize("link", [".memoryd", ".memoryd/team"])
def test_a_link_that_the_repository_brings_is_not_followed(tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    (outside / "team").mkdir(parents=True)
    checkout = tmp_path / "checkout"
    (checkout / link).parent.mkdir(parents=True)
    (checkout / link).symlink_to(outside)
    person = Machine(tmp_path / "home", FolderStore(str(checkout)), prefix="")
    person.write("project_deploys.md", FACT)
    with pytest.raises(StoreError, match="cannot be used"):
        person.exchange()
    assert list(outside.rglob("*.md")) == []
    person.close()


def test_a_file_that_is_changed_after_it_was_listed_refuses_the_write(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))
    listing = store.list_files("", is_needed=True)
    assert listing is not None
    written = store.write_files(listing, {"a.md": FACT}, (), "x", 1.0)
    (tmp_path / ".memoryd/team/a.md").write_bytes(OTHER)
    with pytest.raises(StoreChangedError):
        store.write_files(written, {"a.md": memory("Mine.")}, (), "x", 1.0)
    with pytest.raises(StoreChangedError):
        store.read_files(written, ["a.md"])
    assert (tmp_path / ".memoryd/team/a.md").read_bytes() == OTHER
