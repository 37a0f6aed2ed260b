"""Two machines of one person, each with a home of its own, and the real daemon on both."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import Daemon, memoryd
from tests.acceptance.manager import eventually
from tests.stores.places import GIT_ENVIRONMENT, bare_repository, git
from tests.test_process_guard import is_alive

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

SENTENCE = "the release is frozen until QA is back because the staging cluster is gone"


class Home:
    """A machine with its own home, and a clone of the project at a path of its own."""

    def __init__(self, place: Path, project: Path, config: str) -> None:
        self.home = place
        self.clone = place / "work" / place.name / "shop"
        self.clone.parent.mkdir(parents=True)
        git(place, "clone", "--quiet", str(project), str(self.clone))
        git(self.clone, "remote", "set-url", "origin", "ssh://git@example.org/me/shop.git")
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("XDG_", "CLAUDE_", "MEMORYD_", "GIT_"))
        } | {"HOME": str(place), "GIT_CONFIG_GLOBAL": GIT_ENVIRONMENT["GIT_CONFIG_GLOBAL"]}
        (place / ".config/memoryd").mkdir(parents=True)
        (place / ".config/memoryd/config.toml").write_text(config)

    def run(self, *arguments: str) -> CompletedProcess[str]:
        before = os.getcwd()
        os.chdir(self.clone)
        try:
            return memoryd(self.environment, *arguments)
        finally:
            os.chdir(before)

    @property
    def memory_dir(self) -> Path:
        slug = str(self.clone).replace("/", "-").replace("_", "-").replace(".", "-")
        return self.home / ".claude/projects" / slug / "memory"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project's own repository, with a commit."""
    place = bare_repository(tmp_path / "shop.git")
    tree = git(place, "mktree", given=b"")
    git(place, "update-ref", "refs/heads/main", git(place, "commit-tree", tree, "-m", "begin"))
    return place


@pytest.fixture
def homes(tmp_path: Path, project: Path) -> tuple[Home, Home]:
    store = bare_repository(tmp_path / "memories.git")
    config = f'[sync]\nremote = "{store}"\ninterval_seconds = 2\n[scan]\ninterval_seconds = 0.5\n'
    (tmp_path / "laptop").mkdir()
    (tmp_path / "desktop").mkdir()
    return Home(tmp_path / "laptop", project, config), Home(tmp_path / "desktop", project, config)


def test_with_nothing_named_sync_says_so_and_all_is_well(environment: dict[str, str]) -> None:
    done = memoryd(environment, "sync")
    assert done.returncode == 0
    assert "remote =" in done.stderr
    assert json.loads(memoryd(environment, "sync", "status", "--json").stdout) == []


def test_what_is_remembered_on_one_machine_is_known_on_the_other(homes: tuple[Home, Home]) -> None:
    laptop, desktop = homes
    before = git(laptop.clone, "for-each-ref"), snapshot_of(laptop.clone)
    laptop.run("remember", SENTENCE)
    sent = laptop.run("sync")
    assert sent.stdout.endswith("memories.git: 1 memory went\n"), sent.stderr
    came = desktop.run("sync")
    assert came.stdout.endswith("memories.git: 1 memory came\n"), came.stderr
    assert "frozen" in desktop.run("recall", "when is the release, is it still frozen?").stdout
    assert (git(laptop.clone, "for-each-ref"), snapshot_of(laptop.clone)) == before
    again = desktop.run("sync")
    assert again.stdout.endswith("memories.git: nothing has changed\n")
    (told,) = json.loads(desktop.run("sync", "status", "--json").stdout)
    assert (told["last_exchange"]["taken"], told["error"], told["apart"]) == (1, None, [])
    assert "last changed by" in desktop.run("sync", "status").stdout
    assert "sync" in desktop.run("status").stdout


def snapshot_of(clone: Path) -> dict[str, tuple[int, bytes]]:
    """Everything that git keeps of a clone, and its files."""
    return {
        str(path.relative_to(clone)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(clone.rglob("*"))
        if path.is_file()
    }


def test_two_daemons_exchange_by_themselves_and_deletions_travel(homes: tuple[Home, Home]) -> None:
    laptop, desktop = homes
    desktop.run("sync")  # which notes that the project is here
    laptop.run("sync")
    with Daemon(laptop.environment) as here, Daemon(desktop.environment) as there:
        here.says("watches")
        there.says("watches")
        laptop.run("remember", SENTENCE)
        here.says("1 memory went")
        there.says("1 memory came")
        (name,) = [path.name for path in desktop.memory_dir.glob("*.md") if path.name != "MEMORY.md"]
        assert name in (desktop.memory_dir / "MEMORY.md").read_text()
        laptop.run("forget", name)
        eventually(lambda: not (desktop.memory_dir / name).exists())
        assert here.stop(signal.SIGTERM) == 0
        assert there.stop(signal.SIGTERM) == 0


def test_a_store_that_cannot_be_reached_is_a_problem_with_a_fix_and_stops_nothing(homes: tuple[Home, Home]) -> None:
    laptop, _ = homes
    (laptop.home / ".config/memoryd/config.toml").write_text('[sync]\nremote = "/nowhere/at/all"\n')
    done = laptop.run("sync")
    assert done.returncode == 1
    assert "/nowhere/at/all cannot be opened" in done.stderr
    assert "mkdir -p /nowhere/at/all" in done.stderr
    assert "Memories are not exchanged" in laptop.run("status").stdout
    assert laptop.run("remember", SENTENCE).returncode == 0


def test_a_git_that_waits_for_a_server_ends_with_a_daemon_that_is_killed(homes: tuple[Home, Home]) -> None:
    laptop, _ = homes
    laptop.run("sync")
    program = laptop.home / "bin/git"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\necho $$ $PPID >"$HOME/waiting.new"\nmv "$HOME/waiting.new" "$HOME/waiting"\nexec sleep 300\n'
    )
    program.chmod(0o755)
    laptop.environment["PATH"] = f"{program.parent}:{laptop.environment['PATH']}"
    with Daemon(laptop.environment) as daemon:
        waiting = laptop.home / "waiting"
        eventually(waiting.exists)
        daemon.stop(signal.SIGKILL)
        eventually(lambda: not any(is_alive(int(pid)) for pid in waiting.read_text().split()))
