"""What is exchanged with which store: projects by what they are, not by where they lie."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Config
from memoryd.config.schema import ProjectSettings, SyncSettings, TeamSettings
from memoryd.errors import UsageError
from memoryd.jobs import sync
from memoryd.jobs.repository_identity import RepositoryIdentity, normalised, record_identities
from memoryd.jobs.sync import all_shared, person_name, prefix_of, projects_without_team, sync_all
from memoryd.jobs.team_answers import TeamPlace, join, leave
from memoryd.projects import Project
from memoryd.state.projects import update_projects
from memoryd.state.sync import last_round
from memoryd.stores.directory import directory_store
from memoryd.stores.replica import Replica
from tests.stores.places import git

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.stores.base import SharedStore

MACHINES = Config(sync=SyncSettings("/shared"))


def project_at(place: Path, remote: str = "", *, is_git: bool = True) -> Project:
    """A project with a commit, and its memory directory."""
    place.mkdir()
    if is_git:
        git(place, "init", "--quiet")
        git(place, "commit", "--quiet", "--allow-empty", "-m", "begin")
        if remote:
            git(place, "remote", "add", "origin", remote)
    memory = place.parent / f"{place.name}-memory"
    memory.mkdir()
    return Project(str(place), place.name, str(memory))


def agree(database: Database, projects: Iterable[Project], store: str) -> None:
    """Say yes to the teams of these projects."""
    for project in projects:
        join(database, Config(team=TeamSettings(enabled=True, store=store)), project, "Mara", 1.0)


@pytest.mark.parametrize("spelling", ["https://token@example.org/me/Shop.git", "ssh://git@example.org/me/Shop"])
def test_a_project_has_one_folder_however_its_remote_is_spelled(spelling: str) -> None:
    plain = prefix_of(RepositoryIdentity(normalised("git@example.org:me/Shop.git"), "1" * 40))
    assert plain.startswith("projects/shop-")
    assert prefix_of(RepositoryIdentity(normalised(spelling), "2" * 40)) == plain
    assert prefix_of(RepositoryIdentity(normalised("git@example.org:you/Shop.git"))) != plain


def test_without_a_remote_the_first_commit_tells() -> None:
    assert prefix_of(RepositoryIdentity("", "1" * 40)).startswith("projects/commit-")
    assert prefix_of(RepositoryIdentity()) == ""


def test_projects_that_stay_at_home_are_named(database: Database, paths: Paths, tmp_path: Path) -> None:
    shop = project_at(tmp_path / "shop", "git@example.org:me/shop.git")
    notes = project_at(tmp_path / "notes", is_git=False)
    private = project_at(tmp_path / "private")
    update_projects(database, [shop, notes, private], 1.0)
    record_identities(paths, [shop.root, notes.root, private.root], 1.0)
    config = MACHINES._replace(projects=ProjectSettings(exclude=(private.root,)))
    (shared,) = all_shared(database, config)
    prefix = prefix_of(RepositoryIdentity("example.org/me/shop"))
    assert shared.replicas == (Replica(paths.global_dir, "global/"), Replica(shop.memory_dir, prefix))
    assert set(shared.staying) == {notes.root, private.root}


def test_two_clones_of_one_repository_are_exchanged_with_one_store(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    clones = [project_at(tmp_path / name, "git@example.org:me/shop.git") for name in ("first", "second")]
    update_projects(database, clones, 1.0)
    record_identities(paths, [clone.root for clone in clones], 1.0)
    agree(database, clones, "ref")
    (machines, team) = all_shared(database, MACHINES._replace(team=TeamSettings(enabled=True, store="ref")))
    person, *projects = machines.replicas
    assert person == Replica(paths.global_dir, "global/")
    assert [replica.memory_dir for replica in projects] == [clone.memory_dir for clone in clones]
    assert len({replica.prefix for replica in projects}) == 1
    assert team.address == "git@example.org:me/shop.git"
    assert [replica.memory_dir for replica in team.replicas] == [f"{clone.memory_dir}/team" for clone in clones]


def test_teams_share_a_directory_by_project(database: Database, paths: Paths, tmp_path: Path) -> None:
    projects = [project_at(tmp_path / name, f"git@example.org:me/{name}.git") for name in ("shop", "app")]
    update_projects(database, projects, 1.0)
    record_identities(paths, [project.root for project in projects], 1.0)
    agree(database, projects, "/shared")
    (team,) = all_shared(database, Config(team=TeamSettings(enabled=True, store="/shared")))
    assert len({replica.prefix for replica in team.replicas}) == 2


@pytest.mark.parametrize("store", ["ref", "folder", "/shared"])
def test_a_memory_directory_of_several_projects_is_exchanged_with_the_team_of_none(
    database: Database, paths: Paths, tmp_path: Path, store: str
) -> None:
    roots = [project_at(tmp_path / name, f"git@example.org:me/{name}.git").root for name in ("shop", "app")]
    projects = [Project(root, root, str(tmp_path / "all"), is_shared=True) for root in roots]
    update_projects(database, projects, 1.0)
    record_identities(paths, roots, 1.0)
    agree(database, projects, store)
    config = Config(team=TeamSettings(enabled=True, store=store))
    assert all_shared(database, config) == []
    assert set(projects_without_team(database, config)) == set(roots)
    assert list(sync_all(database, paths, Config(team=TeamSettings(enabled=True, store=store)), {}, 1.0)) == []


def test_a_project_whose_name_clashes_is_not_exchanged_with_its_team(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    older, younger = (project_at(tmp_path / name, f"git@example.org:me/{name}.git") for name in ("shop", "app"))
    update_projects(database, [older, younger._replace(memory_dir=older.memory_dir)], 1.0)
    record_identities(paths, [older.root, younger.root], 1.0)
    agree(database, [older, younger], "/shared")
    (team,) = all_shared(database, Config(team=TeamSettings(enabled=True, store="/shared")))
    assert [replica.memory_dir for replica in team.replicas] == [f"{older.memory_dir}/team"]
    config = Config(team=TeamSettings(enabled=True, store="/shared"))
    assert set(projects_without_team(database, config)) == {younger.root}


def test_one_place_for_machines_and_team_would_keep_them_apart(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    shop = project_at(tmp_path / "shop", "git@example.org:me/shop.git")
    update_projects(database, [shop], 1.0)
    record_identities(paths, [shop.root], 1.0)
    agree(database, [shop], "/shared")
    (machines, team) = all_shared(database, MACHINES._replace(team=TeamSettings(enabled=True, store="/shared")))
    assert machines.replicas[1].prefix.startswith("projects/shop-")
    assert team.replicas[0].prefix.startswith("team/shop-")


@pytest.mark.parametrize("error", [ValueError("BAD"), UsageError("obstore is not installed.", "pip install obstore")])
def test_a_store_that_fails_in_any_way_is_recorded_and_keeps_no_other_back(
    database: Database, paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    shop = project_at(tmp_path / "shop", "git@example.org:me/shop.git")
    update_projects(database, [shop], 1.0)

    def fail(address: str, *_: object) -> SharedStore:
        if address == "/shared":
            raise error
        return directory_store(str(tmp_path))

    record_identities(paths, [shop.root], 1.0)
    agree(database, [shop], "/other")
    monkeypatch.setattr(sync, "open_store", fail)
    config = MACHINES._replace(team=TeamSettings(enabled=True, store="/other"))
    failed, fine = sync_all(database, paths, config, {"PATH": os.environ["PATH"]}, 1.0)
    assert str(error) in str(failed.error)
    assert fine.error is None
    assert str(error) in last_round(database, "/shared").error


def test_a_team_that_is_named_and_not_switched_on_is_off(database: Database) -> None:
    assert all_shared(database, Config(team=TeamSettings(enabled=False, store="ref"))) == []


def test_neither_a_config_nor_a_remote_takes_a_project_into_a_team_without_a_yes_for_that_place(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    shop = project_at(tmp_path / "shop", "git@example.org:me/shop.git")
    update_projects(database, [shop], 1.0)
    record_identities(paths, [shop.root], 1.0)
    ref, elsewhere = (Config(team=TeamSettings(enabled=True, store=store)) for store in ("ref", "/shared"))
    assert all_shared(database, ref) == []
    assert "memoryd share --join" in projects_without_team(database, ref)[shop.root]
    join(database, ref, shop, "Mara", 1.0)
    assert [team.address for team in all_shared(database, ref)] == ["git@example.org:me/shop.git"]
    git(shop.root, "remote", "set-url", "origin", "https://token@example.org/me/shop")  # the same, spelled otherwise
    assert len(all_shared(database, ref)) == 1
    assert all_shared(database, elsewhere) == []
    git(shop.root, "remote", "set-url", "origin", "https://example.com/you/shop")
    assert all_shared(database, ref) == []
    assert "you agreed to example.org/me/shop" in projects_without_team(database, ref)[shop.root]
    git(shop.root, "remote", "set-url", "origin", "http://example.org/me/shop")
    assert "would be at http://example.org/me/shop now" in projects_without_team(database, ref)[shop.root]
    leave(database, shop, 1.0)
    assert "you have left" in projects_without_team(database, ref)[shop.root]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("git@example.org:me/shop.git", "example.org/me/shop"),
        ("ssh://git@Example.org:22/me/shop.git", "example.org/me/shop"),
        ("https://token@example.org:443/me/shop", "example.org/me/shop"),
        ("https://example.org:8443/me/shop", "https://example.org:8443/me/shop"),
        ("ssh://git@example.org:2222/me/shop", "ssh://example.org:2222/me/shop"),
        ("ssh://git@[fd00::1]:2222/me/shop", "ssh://[fd00::1]:2222/me/shop"),
        ("ssh://git@[fd00::1]/me/shop", "[fd00::1]/me/shop"),
        ("http://me:secret@example.org/me/shop", "http://example.org/me/shop"),
        ("s3://example.org/me/shop", "s3://example.org/me/shop"),
        ("/srv/shared", "/srv/shared"),
        ("file:///srv/shop.git", "file:///srv/shop.git"),
        ("folder:/home/me/shop", "/home/me/shop/.memoryd/team"),
    ],
)
def test_a_yes_is_for_a_server_and_port_and_not_for_one_without_encryption(address: str, name: str) -> None:
    assert TeamPlace(address).name == name


def test_the_team_is_told_the_name_of_the_repository_and_no_address(tmp_path: Path) -> None:
    shop = project_at(tmp_path / "shop")
    everywhere = tmp_path / "gitconfig"
    everywhere.write_text("[user]\n\tname = Everywhere\n\temail = me@example.org\n")
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": str(everywhere)}
    assert person_name(environment, shop.root) == "Everywhere"
    git(shop.root, "config", "user.name", "Mara")
    assert person_name(environment, shop.root) == "Mara"
    git(shop.root, "config", "user.name", "mara@example.org")
    assert person_name(environment, shop.root) == "mara"
    assert person_name(environment, str(tmp_path / "no-repository")) == "Everywhere"
