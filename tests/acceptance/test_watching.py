"""The watch on the transcripts, broken in every way: each turn is still read, and `status` says what is wrong."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from memoryd.daemon.wake_file import wake
from tests.acceptance.command import Daemon, as_json, memoryd
from tests.acceptance.manager import eventually
from tests.transcript import Session

if TYPE_CHECKING:
    from memoryd.paths import Paths

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="how inotify fails is Linux's")
WISHES = {
    "from now on, use tabs": "feedback_use_tabs.md",
    "from now on, never use mocks": "feedback_never_use_mocks.md",
    "from now on, never push to main": "feedback_never_push_to_main.md",
    "from now on, keep commits small": "feedback_keep_commits_small.md",
    "from now on, always run the linter": "feedback_always_run_the_linter.md",
    "from now on, always sign your commits": "feedback_always_sign_your_commits.md",
}
SELDOM = 3600.0
QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


class World:
    """A user of Claude Code who says something else each time, and memoryd beside it."""

    def __init__(self, environment: dict[str, str], paths: Paths) -> None:
        self.environment = environment
        self.paths = paths
        self.root = Path(paths.transcripts_root)
        self._sessions: dict[str, Session] = {}
        self._wishes = iter(WISHES.items())

    def configure(self, interval: float) -> None:
        os.makedirs(os.path.dirname(self.paths.config_file), exist_ok=True)
        Path(self.paths.config_file).write_text(
            f"[scan]\ninterval_seconds = {interval}\nsettle_seconds = 0.1\n[turns]\nquiet_seconds = 0\n"
        )

    def folder(self, name: str) -> Path:
        """Where a project's sessions are, with a memory directory already."""
        folder = self.root / f"-code-{name}"
        if not (folder / "memory").exists():
            (folder / "memory").mkdir(parents=True)
        return folder

    def append(self, name: str, folder: Path | None = None) -> str:
        """Say the next wish in a project's session; returns what memoryd says once it is a memory."""
        wish, file = next(self._wishes)
        session = self._sessions.setdefault(name, Session(name, cwd=f"/code/{name}"))
        with ((folder or self.folder(name)) / f"{session.id}.jsonl").open("ab") as transcript:
            transcript.write(session.turn(wish))
        return f"saved ~/.claude/projects/-code-{name}/memory/{file}"

    def watching(self) -> tuple[str, list[str]]:
        """How `status` says that it watches, and what troubles it."""
        running = as_json(self.environment, "status")["running"]
        return running["watching"], [trouble["name"] for trouble in running["troubles"]]

    def problems(self) -> list[dict[str, Any]]:
        problems: list[dict[str, Any]] = as_json(self.environment, "status")["problems"]
        return problems

    def logs(self, event: str) -> None:
        eventually(lambda: f'"event": "{event}"' in Path(self.paths.log_file).read_text())

    def is_looked_at(self, daemon: Daemon) -> None:
        """Wait until a whole look has gone by: an edited config is told at the beginning of one."""
        os.utime(self.paths.config_file, (1, 1))
        daemon.says("The config file was read again.")
        os.utime(self.paths.config_file, (2, 2))
        daemon.said_again("The config file was read again.")


@pytest.fixture
def world(environment: dict[str, str], paths: Paths) -> World:
    world = World(environment, paths)
    world.configure(interval=1)
    return world


def strace(injected: str) -> tuple[str, ...]:
    """A command that lets system calls of the daemon fail, and is not in its way: signals go to the daemon itself."""
    program = shutil.which("strace")
    assert program, "this test lets system calls fail, which strace does: apt-get install strace"
    quiet = ("-D", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "signal=none")
    return (program, *quiet, "-e", f"trace={injected.partition(':')[0]}", "-e", f"inject={injected}")


# --- trees that come, go and move -------------------------------------------------------------------------------------


def test_a_root_that_comes_late_is_deleted_moved_and_linked(world: World, tmp_path: Path) -> None:
    with Daemon(world.environment) as daemon:
        daemon.says("nothing there yet")
        assert world.watching() == ("polling", ["root_missing"])
        assert world.problems() == []  # which is nobody's fault
        daemon.says(world.append("acme"))
        assert world.watching() == ("events", [])
        daemon.says("The transcripts are there.")

        shutil.rmtree(world.root)
        eventually(lambda: world.watching() == ("polling", ["root_missing"]))
        daemon.says(world.append("beta"))
        assert world.watching() == ("events", [])

        world.root.rename(tmp_path / "elsewhere")
        world.root.symlink_to(tmp_path / "elsewhere")
        daemon.says(world.append("beta"))
        assert world.watching() == ("events", [])

        world.root.unlink()
        (tmp_path / "other").mkdir()
        world.root.symlink_to(tmp_path / "other")
        daemon.says(world.append("gamma"))
        assert world.watching() == ("events", [])
        assert daemon.stop(signal.SIGTERM) == 0


def test_a_tree_that_is_moved_in_and_a_folder_that_is_renamed(world: World, tmp_path: Path) -> None:
    """The library does not watch what is moved in. That is noticed when something grows there, and mended."""
    world.folder("acme")
    outside = tmp_path / "outside"
    (outside / "memory").mkdir(parents=True)
    with Daemon(world.environment) as daemon:
        daemon.says("Found 0 sessions")
        moved = world.append("moved", outside)
        outside.rename(world.root / "-code-moved")
        daemon.says(moved)
        daemon.says(world.append("moved"))
        world.logs("growth not reported")
        daemon.says(world.append("moved"))
        world.folder("moved").rename(world.root / "-code-renamed")
        renamed = world.append("moved", world.root / "-code-renamed")
        daemon.says(os.path.basename(renamed))
        assert world.watching() == ("events", [])


def test_a_root_that_must_not_be_read_is_a_problem_until_it_may(world: World) -> None:
    rights = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
    world.folder("acme")
    world.root.chmod(0)
    try:
        with Daemon(world.environment, *rights) as daemon:
            daemon.says("Found 0 sessions")
            assert world.problems() == [
                {"problem": f"{world.root} cannot be read: it cannot be listed.", "fix": f"chmod u+rx {world.root}"}
            ]
            world.root.chmod(0o700)
            eventually(lambda: world.problems() == [])  # what is there now was there before, for all that is known
            daemon.says(world.append("acme"))
            daemon.says(world.append("acme"))
    finally:
        world.root.chmod(0o700)


# --- reports that do not come -----------------------------------------------------------------------------------------


def test_more_reports_than_the_system_keeps_lose_no_turn(world: World) -> None:
    """A folder is made while reports are thrown away, so that nobody knows of it but the scan."""
    folder = world.folder("acme")
    noise = [folder / "first.jsonl", folder / "second.jsonl"]
    for writer in noise:
        writer.touch()
    with Daemon(world.environment) as daemon:
        daemon.says("Found 2 sessions")
        daemon.process.send_signal(signal.SIGSTOP)
        eventually(lambda: psutil.Process(daemon.process.pid).status() == psutil.STATUS_STOPPED)
        for number in range(int(QUEUE.read_text()) + 1000):
            os.utime(noise[number % 2])  # in turns: the same report twice is kept once
        lost = world.append("lost")
        daemon.process.send_signal(signal.SIGCONT)
        daemon.says(lost)
        world.logs("growth not reported")
        world.configure(SELDOM)
        wake(world.paths)
        daemon.says("The config file was read again.")
        daemon.says(world.append("lost"))  # which nobody but the system could have told for an hour
        assert world.watching() == ("events", [])


def test_a_disk_that_reports_nothing_is_looked_at_and_named_until_it_reports(world: World) -> None:
    """As a network disk does: the system promises to watch, and nothing comes."""
    world.folder("acme")
    folders = 4  # the wake file's, the root, the project's, its memory
    with Daemon(world.environment, *strace(f"inotify_add_watch:retval=1:when=1..{2 * folders}")) as daemon:
        daemon.says("Found 0 sessions")
        assert world.watching() == ("events", [])
        daemon.says(world.append("acme"))
        world.logs("growth not reported")
        world.is_looked_at(daemon)
        daemon.says(world.append("acme"))
        daemon.says("The system does not report that transcripts below")
        assert world.watching() == ("polling", ["polling_only"])
        assert [check["fix"] for check in world.problems()] == [f"df -T {world.root}"]
        daemon.says(world.append("acme"))
        daemon.says("The system reports growing transcripts again.")
        assert world.watching() == ("events", [])
        assert world.problems() == []
        assert daemon.stop(signal.SIGTERM) == 0


@pytest.mark.parametrize(
    ("injected", "key"),
    [
        ("inotify_add_watch:error=ENOSPC:when=3+", "max_user_watches"),
        ("?inotify_init,?inotify_init1:error=EMFILE", "max_user_instances"),
    ],
)
def test_a_limit_of_the_system_is_a_problem_with_its_fix_and_no_turn_is_lost(
    world: World, injected: str, key: str
) -> None:
    world.folder("acme")
    with Daemon(world.environment, *strace(injected)) as daemon:
        daemon.says("The system's limit of")
        assert world.watching() == ("polling", ["watch_limit"])
        (problem,) = world.problems()
        assert problem["fix"].startswith(f"sudo sysctl fs.inotify.{key}=")
        daemon.says(world.append("acme"))
        daemon.says(world.append("acme"))
        assert daemon.stop(signal.SIGTERM) == 0


def test_a_limit_that_is_there_for_a_moment_is_over_at_the_next_look(world: World) -> None:
    world.folder("acme")
    with Daemon(world.environment, *strace("inotify_add_watch:error=ENOSPC:when=3")) as daemon:
        daemon.says("The system's limit of")
        daemon.says("The transcripts can be watched again.")
        assert world.watching() == ("events", [])


# --- being woken ------------------------------------------------------------------------------------------------------


def test_commands_wake_a_daemon_that_looks_once_an_hour(world: World) -> None:
    world.configure(SELDOM)
    world.folder("acme")
    with Daemon(world.environment) as daemon:
        daemon.says("Found 0 sessions")
        assert memoryd(world.environment, "pause").returncode == 0
        daemon.says("memoryd is paused since")
        said = world.append("acme")
        daemon.says("1 turn ended")
        assert memoryd(world.environment, "resume").returncode == 0
        daemon.says(said)
        memory = world.root / "-code-acme" / "memory"
        shutil.rmtree(memory)
        memory.write_text("in the way")
        said = world.append("acme")
        daemon.says("failed: ")
        memory.unlink()
        assert memoryd(world.environment, "retry").returncode == 0
        daemon.says(said)


def test_an_edited_config_is_taken_in_at_a_wake_and_a_broken_one_is_a_problem(world: World) -> None:
    world.configure(SELDOM)
    world.folder("acme")
    config = Path(world.paths.config_file)
    good = config.read_text()
    with Daemon(world.environment) as daemon:
        daemon.says("Found 0 sessions")
        config.write_text(f"{good}quiet_second = 5\n")
        wake(world.paths)
        daemon.says("Until that is mended, the settings from before hold.")
        daemon.says(world.append("acme"))  # which a child does, that reads the settings itself
        config.write_text(good)
        wake(world.paths)
        daemon.says("The config file can be used again.")
        daemon.says(world.append("acme"))
