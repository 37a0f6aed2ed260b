"""Why the last start failed, where `status` finds it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.daemon import last_failure
from memoryd.daemon.last_failure import Failure
from tests.acceptance.command import memoryd

if TYPE_CHECKING:
    from memoryd.paths import Paths

BAD = Failure(1_800_000_000.0, 78, "The config is bad.", "mend it")
BUSY = Failure(1_800_000_000.0, 75, "memoryd is already running (process 7).", "memoryd status")
FAULT = Failure(1_800_000_000.0, 1, "It broke.")


def test_it_is_kept_privately_until_a_good_start(paths: Paths) -> None:
    assert last_failure.last(paths) is None
    last_failure.record(paths, FAULT)
    last_failure.record(paths, BAD)
    assert last_failure.last(paths) == BAD
    (name,) = os.listdir(paths.state_dir)
    assert os.stat(os.path.join(paths.state_dir, name)).st_mode & 0o777 == 0o600
    last_failure.clear(paths)
    last_failure.clear(paths)
    assert last_failure.last(paths) is None
    assert os.listdir(paths.state_dir) == []


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b'{"at": "x"}', b"\xff", b'{"at": 1, "exit_code": "x"}'])
def test_a_damaged_file_says_nothing(paths: Paths, garbage: bytes) -> None:
    last_failure.record(paths, BAD)
    (name,) = os.listdir(paths.state_dir)
    Path(paths.state_dir, name).write_bytes(garbage)
    assert last_failure.last(paths) is None


def test_what_cannot_be_kept_stops_nothing(paths: Paths) -> None:
    os.makedirs(os.path.dirname(paths.state_dir))
    Path(paths.state_dir).write_text("in the way")
    last_failure.record(paths, BAD)
    assert last_failure.last(paths) is None


def test_a_symlink_in_its_place_is_neither_read_nor_followed(paths: Paths, tmp_path: Path) -> None:
    last_failure.record(paths, BAD)
    (name,) = os.listdir(paths.state_dir)
    place = Path(paths.state_dir, name)
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    assert last_failure.last(paths) is None
    last_failure.record(paths, FAULT)
    assert last_failure.last(paths) == FAULT
    assert "The config is bad." in (tmp_path / "elsewhere").read_text()


@pytest.mark.parametrize(
    ("variables", "failed", "code", "is_kept"),
    [
        ({}, BAD, 78, True),
        ({}, FAULT, 1, True),
        ({}, BUSY, 75, False),  # whoever started a second one by hand has seen why
        ({"NOTIFY_SOCKET": "/gone"}, BUSY, 75, True),
        ({"MEMORYD_SUPERVISOR": "launchd"}, BAD, 0, True),
        ({"MEMORYD_SUPERVISOR": "launchd"}, BUSY, 0, True),
        ({"MEMORYD_SUPERVISOR": "launchd"}, FAULT, 1, True),
    ],
)
def test_the_exit_code_is_one_that_the_supervisor_understands(
    paths: Paths, variables: dict[str, str], failed: Failure, code: int, *, is_kept: bool
) -> None:
    assert last_failure.report(variables, paths, failed) == code
    assert (last_failure.last(paths) == failed) == is_kept


def test_only_run_is_a_start(environment: dict[str, str], paths: Paths) -> None:
    os.makedirs(os.path.dirname(paths.config_file))
    Path(paths.config_file).write_text("nonsense = 1\n")
    assert memoryd(environment, "config").returncode == 78
    assert last_failure.last(paths) is None
    assert memoryd(environment, "run").returncode == 78
    kept = last_failure.last(paths)
    assert kept is not None
    assert (kept.exit_code, kept.fix) == (78, f"${{EDITOR:-vi}} +1 {paths.config_file}")
    assert memoryd({**environment, "MEMORYD_SUPERVISOR": "launchd"}, "run").returncode == 0


def test_a_relative_directory_in_the_environment_is_told_though_there_is_no_place_to_keep_it(
    environment: dict[str, str],
) -> None:
    done = memoryd({**environment, "CLAUDE_CONFIG_DIR": "here"}, "run")
    assert done.returncode == 78
    assert "CLAUDE_CONFIG_DIR" in done.stderr
