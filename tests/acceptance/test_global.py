"""Global memories by the commands: kept for every project, moved to one and back, listed, bound, counted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import as_json, memoryd
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.paths import Paths

SUDO = "feedback_never_run_sudo.md"


@pytest.fixture
def projects(environment: dict[str, str], tmp_path: Path) -> tuple[Path, Path]:
    shop, lab = tmp_path / "shop", tmp_path / "lab"
    for place in (shop, lab):
        (place / ".git").mkdir(parents=True)
    done = memoryd(environment, "remember", "--type", "feedback", "--project", str(shop), "Never run sudo")
    assert done.returncode == 0, done.stderr
    return shop, lab


def test_a_rule_goes_to_all_projects_is_seen_and_binds_there_and_comes_back(
    environment: dict[str, str], paths: Paths, projects: tuple[Path, Path]
) -> None:
    shop, lab = (("--project", str(place)) for place in projects)
    person = Path(paths.global_dir, SUDO)

    assert as_json(environment, "memories", *lab) == []
    moved = memoryd(environment, "move", "sudo", *shop)
    assert (moved.returncode, person.exists()) == (0, True), moved.stderr
    (listed,) = as_json(environment, "memories", *lab)
    assert (listed["file"], listed["scope"]) == (SUDO, "global")
    assert as_json(environment, "status")["global"]["feedback"] == 1
    assert "1 in " in (told := memoryd(environment, "memories", *lab).stderr)
    assert "1 of them global" in told

    assert memoryd(environment, "enforce", "sudo", "--run", "sudo", "--yes", *lab).returncode == 0
    for here in (shop, lab):
        (rule,) = as_json(environment, "enforce", *here)
        assert rule["refuses"] == ["run sudo"]
    assert memoryd(environment, "undo", *lab).returncode == 0
    assert as_json(environment, "enforce", *lab) == []

    back = memoryd(environment, "move", "global/never_run_sudo", *lab)
    assert (back.returncode, person.exists()) == (0, False), back.stderr
    assert [memory["scope"] for memory in as_json(environment, "memories", *lab)] == ["project"]
    assert as_json(environment, "memories", *shop) == []


def test_what_cannot_be_moved_is_said(environment: dict[str, str], projects: tuple[Path, Path]) -> None:
    here = ("--project", str(projects[0]))
    unknown = memoryd(environment, "move", "nothing_like_it", *here)
    assert unknown.returncode != 0
    assert "nothing_like_it" in unknown.stderr
    one_place = memoryd(environment | {"MEMORYD_MEMORY_DIR": str(projects[0] / "all")}, "move", "sudo", *here)
    assert one_place.returncode == 2
    assert "unset MEMORYD_MEMORY_DIR" in one_place.stderr


def test_undo_takes_no_global_memory_while_another_project_was_changed_later(
    environment: dict[str, str], paths: Paths, projects: tuple[Path, Path]
) -> None:
    shop, lab = (("--project", str(place)) for place in projects)
    assert memoryd(environment, "remember", "--type", "user", *shop, "I am a data scientist").returncode == 0
    assert memoryd(environment, "remember", *shop, "the release is on Friday").returncode == 0
    (about_user,) = Path(paths.global_dir).glob("user_*.md")
    refused = memoryd(environment, "undo", *lab)
    assert (refused.returncode, about_user.exists()) == (1, True)
    (change,) = (
        change["change"] for change in as_json(environment, "history", "--global") if "remember" in change["kind"]
    )
    assert refused.stderr.endswith(f" is newer.\n  fix: memoryd undo {change}\n")
    assert memoryd(environment, "undo", "--global", *lab).returncode == 0
    assert not about_user.exists()


def bodies(environment: dict[str, str], *places: tuple[str, str]) -> list[list[str]]:
    return [[memory["scope"] for memory in as_json(environment, "memories", *here)] for here in places]


@pytest.mark.parametrize("named", [None, 0, 1])
def test_a_move_is_undone_and_done_again_as_a_whole_whichever_half_is_named(
    environment: dict[str, str], projects: tuple[Path, Path], named: int | None
) -> None:
    shop = ("--project", str(projects[0]))
    assert memoryd(environment, "move", "sudo", *shop).returncode == 0
    changes = sorted(
        change["change"] for change in as_json(environment, "history", "--all") if change["kind"] == "adopt"
    )
    number = [] if named is None else [str(changes[named])]
    assert memoryd(environment, "undo", *number, *shop).returncode == 0
    assert bodies(environment, shop) == [["project"]]
    undone = [change["change"] for change in as_json(environment, "history", "--all") if change["kind"] == "undo"]
    assert memoryd(environment, "undo", str(undone[named or 0]), *shop).returncode == 0
    assert bodies(environment, shop) == [["global"]]


def test_an_undo_elsewhere_does_not_reach_into_a_project_and_an_edited_move_stays(
    environment: dict[str, str], paths: Paths, projects: tuple[Path, Path]
) -> None:
    shop, lab = (("--project", str(place)) for place in projects)
    memoryd(environment, "move", "sudo", *shop)
    refused = memoryd(environment, "undo", *lab)
    assert refused.returncode != 0
    assert "shop" in refused.stderr
    assert bodies(environment, shop, lab) == [["global"], ["global"]]
    file = Path(paths.global_dir, SUDO)
    file.write_text(file.read_text() + "Not even for apt.\n")
    edited = memoryd(environment, "undo", *shop)
    assert edited.returncode != 0
    assert "edited since" in edited.stderr
    assert bodies(environment, shop) == [["global"]]


def test_every_index_follows_what_commands_do_to_a_global_memory_until_it_is_purged(
    environment: dict[str, str], paths: Paths, projects: tuple[Path, Path]
) -> None:
    shop, lab = (("--project", str(place)) for place in projects)
    said = "I am a friend of Zebulon Quackenbush and a plumber by trade"
    for arguments in (("--type", "user", *shop, said), (*lab, "the release of the lab is on Friday")):
        assert memoryd(environment, "remember", *arguments).returncode == 0
    indexes = sorted(Path(paths.transcripts_root).glob("*/memory/MEMORY.md"))
    assert len(indexes) == 2

    def know_it() -> list[bool]:
        return ["Quackenbush" in index.read_text() for index in indexes]

    assert know_it() == [True, True]
    assert memoryd(environment, "forget", "quackenbush", *shop).returncode == 0
    assert know_it() == [False, False]
    assert memoryd(environment, "undo", "--global").returncode == 0
    assert know_it() == [True, True]
    purged = memoryd(environment, "purge", "--memory", "quackenbush", "--yes", *shop)
    assert (purged.returncode, know_it()) == (0, [False, False]), purged.stderr
    assert b"Quackenbush" not in Path(paths.database).read_bytes()


def test_backfill_tells_where_a_global_memory_is(environment: dict[str, str], paths: Paths) -> None:
    session = Session()
    write(
        paths.transcripts_root,
        session,
        session.prompt("I was a nurse for eleven years and I am new to Rust") + session.reply(),
    )
    done = memoryd(environment, "backfill", "--yes")
    (file,) = Path(paths.global_dir).glob("user_*.md")
    assert done.stdout == f"saved ~/{file.relative_to(paths.home)}\n"


def test_a_file_in_the_place_of_the_global_directory_stops_no_project_and_is_told_with_what_helps(
    environment: dict[str, str], paths: Paths, projects: tuple[Path, Path]
) -> None:
    here, person = ("--project", str(projects[0])), Path(paths.global_dir)
    person.parent.mkdir(parents=True, exist_ok=True)
    person.write_text("in the way")
    fix = f"mv {person} {person}.aside"
    assert memoryd(environment, "remember", *here, "--type", "project", "The mascot is an owl").returncode == 0
    listed = memoryd(environment, "memories", *here)
    assert (listed.returncode, "owl" in listed.stdout, fix in listed.stderr) == (0, True, True)
    assert memoryd(environment, "dream-now", *here).returncode == 0
    about_person = memoryd(environment, "remember", *here, "--type", "user", "I am a plumber")
    assert (about_person.returncode, fix in about_person.stderr) == (1, True)
    for command in ("status", "doctor"):
        told = memoryd(environment, command).stdout
        assert fix in told, told
    person.unlink()
    assert memoryd(environment, "remember", *here, "--type", "user", "I am a plumber").returncode == 0
    assert fix not in memoryd(environment, "status").stdout
