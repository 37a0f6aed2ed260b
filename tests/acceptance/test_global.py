"""Global memories by the commands: kept for every project, moved to one and back, listed, bound, counted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import as_json, memoryd

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
