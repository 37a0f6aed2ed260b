"""A repository is known again under another path, and takes over its memories only when it is told to."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Config
from memoryd.jobs.repository_identity import (
    RepositoryIdentity,
    adopt,
    identity_of,
    normalised,
    other_checkouts,
    record_identities,
)
from memoryd.memory.directory import open_directory
from memoryd.memory.history import undoing
from memoryd.memory.index_check import index_fault
from memoryd.projects import project_at
from memoryd.state import history
from memoryd.state.projects import update_projects

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.paths import Paths
    from memoryd.projects import Project
    from memoryd.state.database import Database

NOW = 1_790_000_000.0
MEMORY = '---\nname: tabs\ndescription: "Use tabs"\ntype: feedback\n---\nUse tabs.\n'


def git(place: Path, *arguments: str) -> None:
    names = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *names, *arguments], cwd=place, check=True, capture_output=True)


def repository(place: Path, remote: str = "git@example.org:me/shop.git", text: str = "first") -> Path:
    place.mkdir()
    git(place, "init")
    (place / "a").write_text(text)
    git(place, "add", "a")
    git(place, "commit", "-m", text)
    if remote:
        git(place, "remote", "add", "origin", remote)
    return place.resolve()


def seen(database: Database, paths: Paths, root: Path, *, memories: int = 0) -> Project:
    """A project that memoryd has worked on."""
    project = project_at(str(root), paths, Config())
    update_projects(database, [project], NOW)
    record_identities(paths, [project.root], NOW)
    for number in range(memories):
        os.makedirs(project.memory_dir, exist_ok=True)
        with open(f"{project.memory_dir}/feedback_{number}.md", "w", encoding="utf-8") as file:
            file.write(MEMORY)
    return project


@pytest.mark.parametrize(
    "url",
    [
        "git@Example.org:me/shop.git",
        "ssh://git@example.org:22/me/shop",
        "https://user:token@example.org/me/shop.git/",
        "https://example.org/me/shop",
    ],
)
def test_a_remote_is_the_same_however_it_is_reached(url: str) -> None:
    assert normalised(url) == "example.org/me/shop"


@pytest.mark.parametrize("url", ["", "/srv/git/shop.git", "../shop", "file:///srv/shop", "shop"])
def test_a_path_is_no_remote(url: str) -> None:
    assert normalised(url) == ""


def test_something_has_to_be_the_same_and_nothing_another() -> None:
    one = RepositoryIdentity("example.org/me/shop", "a1")
    assert one.is_same(RepositoryIdentity("example.org/me/shop"))
    assert one.is_same(RepositoryIdentity("", "a1"))
    assert not one.is_same(RepositoryIdentity("example.org/you/shop", "a1"))  # a fork is somebody else's
    assert not one.is_same(RepositoryIdentity("example.org/me/shop", "b2"))
    assert not one.is_same(RepositoryIdentity())


def test_outside_git_there_is_no_identity(tmp_path: Path) -> None:
    assert identity_of(str(tmp_path)) == identity_of(str(tmp_path / "nowhere")) == RepositoryIdentity()


def test_a_moved_repository_and_a_second_clone_find_the_memories(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    first = repository(tmp_path / "shop")
    old = seen(database, paths, first, memories=2)
    clone = tmp_path / "clone"
    shutil.copytree(first, clone)
    new = seen(database, paths, clone.resolve())
    other = seen(database, paths, repository(tmp_path / "other", "git@example.org:me/other.git", "other"), memories=1)
    (found,) = other_checkouts(database, new.root)
    assert found == (old.root, old.memory_dir, 2, False)
    shutil.rmtree(first)
    assert other_checkouts(database, new.root, only_recorded=True) == [found._replace(is_gone=True)]
    assert other_checkouts(database, other.root) == []
    assert not os.path.exists(new.memory_dir)  # nothing was taken over by itself


def test_adopted_memories_are_copies_with_an_index_and_an_undo(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    old = seen(database, paths, repository(tmp_path / "shop"), memories=3)
    new = project_at(str(tmp_path / "new"), paths, Config())
    os.makedirs(new.memory_dir)
    with open(f"{new.memory_dir}/feedback_0.md", "w", encoding="utf-8") as file:
        file.write(MEMORY + "More.\n")
    with open(f"{old.memory_dir}/notes.md", "w", encoding="utf-8") as file:
        file.write("no memory")
    done = adopt(database, old.memory_dir, new.memory_dir, old.root, NOW)
    assert done.names == ("feedback_1.md", "feedback_2.md")
    assert list(done.left) == ["feedback_0.md", "notes.md"]
    assert index_fault(new.memory_dir) is None
    assert os.stat(f"{new.memory_dir}/feedback_1.md").st_mtime == os.stat(f"{old.memory_dir}/feedback_1.md").st_mtime
    assert sorted(os.listdir(old.memory_dir)) == ["feedback_0.md", "feedback_1.md", "feedback_2.md", "notes.md"]
    assert adopt(database, old.memory_dir, new.memory_dir, old.root, NOW).names == ()
    change = history.last_undoable(database, new.memory_dir)
    assert change is not None
    assert (change.kind, len(undoing(database, change).groups)) == ("adopt", 2)
    with pytest.raises(FileNotFoundError), open_directory(f"{old.memory_dir}/nowhere"):
        adopt(database, f"{old.memory_dir}/nowhere", new.memory_dir, old.root, NOW)
