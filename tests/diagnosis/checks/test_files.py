"""The config and the rights of files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.config import parse
from memoryd.diagnosis.checks import files
from memoryd.diagnosis.facts import World
from memoryd.diagnosis.problems import Check
from tests.diagnosis.checks.checking import NOW, the, verdicts
from tests.memory.test_directory import an_ordinary_user

if TYPE_CHECKING:
    from memoryd.paths import Paths


def test_what_is_switched_off_and_by_whom(paths: Paths) -> None:
    facts = files.ConfigFacts("/home/me/c.toml", "/home/me", exists=True, off=("extraction", "dream"))
    assert [check.fix for check in files.judge_config(facts._replace(off_by_environment=("dream",)))] == [
        "",
        "set features.extraction = true in ~/c.toml",
        "unset MEMORYD_DISABLE_DREAM",
    ]
    config = parse(b"[features]\ndream = false\n", paths)
    assert files.read_config(World(paths, config, NOW, {})).off == ("dream",)


def a_state(paths: Paths) -> None:
    os.makedirs(paths.state_dir, mode=0o700)
    for path in (paths.database, paths.log_file):
        Path(path).touch(0o600)


def test_private_files_are_well(world: World, paths: Paths) -> None:
    a_state(paths)
    name = paths.state_dir.replace(paths.home, "~")
    text = f"{name} and what is in it can be read by you alone"
    assert list(files.judge_files(files.read_files(world))) == [Check("state_files", "ok", text)]


@pytest.mark.parametrize(
    ("spoil", "fix"),
    [
        (lambda paths: Path(paths.state_dir).chmod(0o750), "chmod 700 {state}"),
        (lambda paths: Path(paths.database).chmod(0o640), "chmod 600 {database}"),
        (lambda paths: os.symlink("/dev/null", paths.daemon_lock), "mv {lock} {lock}.aside"),
        (lambda paths: os.mkdir(f"{paths.database}-wal"), "mv {database}-wal {database}-wal.aside"),
    ],
)
def test_files_that_others_can_reach_are_problems(world: World, paths: Paths, spoil: Any, fix: str) -> None:
    a_state(paths)
    spoil(paths)
    (check,) = files.judge_files(files.read_files(world))
    names = {"state": paths.state_dir, "database": paths.database, "lock": paths.daemon_lock}
    assert (check.verdict, check.fix) == ("problem", fix.format(**names))


def test_files_of_another_user_are_problems() -> None:
    state = files.CheckedPath("/home/me/s", "directory", 0o700, owner=0)
    config = files.CheckedPath("/home/me/c", "file", 0o644, owner=7)
    memory = files.CheckedPath("/home/me/m", "directory", 0o700, owner=7)
    facts = files.FileFacts("/home/me", 1000, 1000, config, state, (), (memory,))
    assert [(check.name, check.fix) for check in files.judge_files(facts)] == [
        ("config_file", "sudo chown -R 1000 /home/me/c"),
        ("state_files", "sudo chown -R 1000 /home/me/s"),
        ("memory_dirs", "sudo chown -R 1000 /home/me/m"),
    ]


def test_of_a_directory_that_cannot_be_entered_only_that_is_said() -> None:
    state = files.CheckedPath("/home/me/s", "directory", 0o000, 1000, is_usable=False)
    inside = files.CheckedPath("/home/me/s/db", error="Permission denied")
    facts = files.FileFacts("/home/me", 1000, 1000, files.CheckedPath("/c"), state, (inside,), ())
    assert [check.fix for check in files.judge_files(facts)] == ["chmod u+rwx /home/me/s"]
    (alone,) = files.judge_files(facts._replace(state=state._replace(mode=0o700, is_usable=True)))
    assert alone.fix == "ls -ld /home/me/s/db"


def test_root_in_the_home_of_somebody_else_is_a_problem() -> None:
    nothing = files.CheckedPath("/home/me/x")
    assert ("owner", "problem") in verdicts(
        files.judge_files(files.FileFacts("/home/me", 0, 1000, nothing, nothing, (), ()))
    )


@pytest.mark.parametrize(
    ("place", "fix"),
    [
        (files.CheckedPath("/m", "directory", 0o777, 1000), "chmod go-w /m"),
        (files.CheckedPath("/m", "file", 0o600, 1000), "mv /m /m.aside"),
        (files.CheckedPath("/m", "directory", 0o500, 1000, is_usable=False), "chmod u+rwx /m"),
        (files.CheckedPath("/m", error="Permission denied"), "ls -ld /m"),
    ],
)
def test_memory_directories_that_cannot_be_trusted_or_used(place: files.CheckedPath, fix: str) -> None:
    nothing = files.CheckedPath("/x")
    facts = files.FileFacts("/home/me", 1000, 1000, nothing, nothing, (), (place,))
    assert the("memory_dirs", files.judge_files(facts)).fix == fix


def test_a_memory_that_cannot_be_read_is_named(world: World, paths: Paths) -> None:
    a_state(paths)
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)  # noqa: S103 - of a moment
        with an_ordinary_user():
            folder = os.path.join(place, "memory")
            closed = os.path.join(folder, "closed.md")
            os.mkdir(folder)
            for name, mode in (("closed.md", 0), ("open.md", 0o600), ("closed.txt", 0)):
                Path(folder, name).touch(mode)
            os.symlink(closed, os.path.join(folder, "link.md"))
            assert files._unreadable_in(folder) == [closed]
            os.chmod(folder, 0)
            assert files._unreadable_in(folder) == [], "the directory's own check tells that"
            os.chmod(folder, 0o700)
    check = the("memory_dirs", files.judge_files(files.read_files(world)._replace(unreadable=(closed,))))
    assert (check.verdict, check.fix) == ("problem", f"chmod u+r {closed}")


def test_a_link_to_nowhere_in_the_place_of_the_global_directory_is_a_problem(world: World, paths: Paths) -> None:
    a_state(paths)
    os.makedirs(os.path.dirname(paths.global_dir))
    os.symlink("/nowhere/at/all", paths.global_dir)
    check = the("memory_dirs", files.judge_files(files.read_files(world)))
    assert (check.verdict, check.fix) == ("problem", f"mv {paths.global_dir} {paths.global_dir}.aside")
