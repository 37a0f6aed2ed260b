"""Fixtures for all tests: a home of their own, and a guard around the real one."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from memoryd.config import Config
from memoryd.paths import paths_from
from memoryd.state.database import open_database
from tests.acceptance.command import STARTED_BEFORE
from tests.jobs.dream_workspace import DreamWorkspace
from tests.jobs.workspace import Workspace
from tests.torture.campaign import PROPERTY, Campaign, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths
    from memoryd.state.database import Database

_REAL_HOME = os.path.expanduser("~")
_MEMORY_DISK = "/dev/shm"
_MEMORY_DISK_BYTES = 4 << 30
_GUARDED = tuple(os.path.join(_REAL_HOME, name) for name in (".claude", ".config/memoryd", ".local/state/memoryd"))


def _guard(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str):
        for place in _GUARDED:
            if arguments[0].startswith(place):
                raise AssertionError(f"a test looked into the real home: {arguments[0]}")


sys.addaudithook(_guard)


def _use_memory_disk() -> None:
    """Temporary directories, also those of workers and of processes that tests start, in memory where there is room for them.

    Every write of memoryd waits for the disk; what a power cut leaves is no question that a real disk would answer.
    """
    with suppress(OSError):
        disk = os.statvfs(_MEMORY_DISK)
        if "TMPDIR" not in os.environ and disk.f_bavail * disk.f_frsize >= _MEMORY_DISK_BYTES:
            os.environ["TMPDIR"] = _MEMORY_DISK
            tempfile.tempdir = None


_use_memory_disk()

settings.register_profile(
    "test", deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("torture", deadline=None, max_examples=3000, suppress_health_check=list(HealthCheck))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--torture", action="store_true", help="run the full campaigns")
    parser.addoption(
        "--seed", type=int, help="the seed of every campaign; without it a short run has its own, a long one any"
    )
    parser.addoption(
        "--seconds", type=float, default=20.0, help="after how long a test of the full campaigns tries nothing more"
    )
    parser.addoption("--write-reliability", action="store_true", help="write docs/reliability.md if nothing failed")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what ends in `&`, and children inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile("torture" if config.getoption("--torture") else "test")
    if not hasattr(config, "workerinput"):  # the process that hears of all tests
        config.pluginmanager.register(Tally(config))
        started = tempfile.TemporaryDirectory()
        config.add_cleanup(started.cleanup)
        os.environ[STARTED_BEFORE] = started.name  # workers inherit it
    gc.disable()


def pytest_collection_finish() -> None:
    """What was collected stays until the end: looking through it for garbage, again and again, would take a fifth as long."""
    gc.freeze()
    gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: many tests wait for processes that they started."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first: else one worker is left with it at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(("tests/crash", "tests/acceptance")))


@pytest.fixture
def torture(request: pytest.FixtureRequest) -> bool:
    """Whether the long campaign was asked for; tests that use it run a short, seeded one otherwise."""
    return bool(request.config.getoption("--torture"))


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> Iterator[Campaign]:
    """Counts attacks and faults for the report; fails the test if one got through."""
    counting = Campaign.asked_for(request.config)
    yield counting
    request.node.user_properties += [(PROPERTY, count._asdict()) for count in counting.counts]
    counting.check()


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The variables of a fresh user with an empty home, also for this process."""
    home = tmp_path / "home"
    home.mkdir()
    for variable in list(os.environ):
        if variable.startswith(("XDG_", "CLAUDE_", "MEMORYD_")):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(home))
    return dict(os.environ)


class PassingTime:
    """The time that `clock.elapsed` shows; a test moves it forward, instead of waiting for it on a busy machine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead = 0.0
        real = time.clock_gettime
        monkeypatch.setattr(time, "clock_gettime", lambda clock: real(clock) + self._ahead)

    def skip(self, seconds: float = 3600.0) -> None:
        self._ahead += seconds


@pytest.fixture
def passing_time(monkeypatch: pytest.MonkeyPatch) -> PassingTime:
    return PassingTime(monkeypatch)


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that other users can enter; pytest locks those above `tmp_path`, and again when another run begins."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(place)


@pytest.fixture
def paths(environment: dict[str, str]) -> Paths:
    return paths_from(environment)


@pytest.fixture
def config() -> Config:
    return Config()


@pytest.fixture(scope="session")
def new_state(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A state directory with a new database, to be copied: to make one takes five times as long."""
    paths = paths_from({"HOME": str(tmp_path_factory.mktemp("new"))})
    open_database(paths).close()
    return paths.state_dir


@pytest.fixture
def database(paths: Paths, new_state: str) -> Iterator[Database]:
    """A new database that does not wait for the disk: what a power cut leaves is for processes, in tests/crash."""
    shutil.copytree(new_state, paths.state_dir, dirs_exist_ok=True)
    opened = open_database(paths)
    opened.execute("PRAGMA synchronous = OFF")
    yield opened
    opened.close()


@pytest.fixture
def workspace(database: Database, paths: Paths, config: Config) -> Workspace:
    return Workspace(database, paths, config)


@pytest.fixture
def dream_workspace(database: Database, paths: Paths, config: Config) -> DreamWorkspace:
    return DreamWorkspace(database, paths, config)
