"""Every job under every fault: the n-th call to disk or database fails. It is told, and the next run makes the job whole, once."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from memoryd.clients.registry import ALL
from memoryd.clock import SystemClock
from memoryd.config import Config
from memoryd.jobs.ingest import Ingester
from memoryd.paths import paths_from
from memoryd.state.database import open_database
from memoryd.stores.manifest import MANIFEST_NAME
from tests.fork_server import Request
from tests.notes.working_session import WorkingSession
from tests.torture.test_faults import SERVER
from tests.torture.under_fault import FAULTS
from tests.transcript import Session, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.torture.campaign import Campaign

_SECRET = "Quetzal-77-otter"  # noqa: S105 - an example
_KILLED = 137
_FRONTMATTER = re.compile(r"(?s)\A---.*?\n---")
_SETUP = ("setup", "--yes", "--engine", "offline", "--no-service", "--no-history")


class World:
    """One home, put back to how it was before every fault; its path is in the database and must not change."""

    def __init__(self, place: Path) -> None:
        self.home, self.fresh, self._calls = place / "home", place / "fresh", place / "calls"
        self._environment = {"PATH": "/nowhere", "HOME": str(self.home), "MEMORYD_TEST_CALLS": str(self._calls)}
        self.home.mkdir()
        self.paths = paths_from({"HOME": str(self.home)})

    def run(self, *command: str, fault: str = "kill", number: int = 0) -> tuple[int, str]:
        """Exit code, and all that it said."""
        module = ("tests.torture.under_fault", (fault, str(number), *command))
        reading, writing = os.pipe()
        with open(os.devnull, "rb") as nothing, open(reading, "rb") as said, open(writing, "wb") as saying:
            request = Request(*module, self._environment, str(self.home))
            code = SERVER.start(request, nothing.fileno(), saying.fileno(), saying.fileno()).wait(60)
            os.set_blocking(reading, False)
            return code, (said.read() or b"").decode("utf-8", "replace")

    def do(self, *command: str) -> str:
        code, said = self.run(*command)
        assert code == 0, (command, said)
        return said

    def calls(self, fault: str, command: tuple[str, ...]) -> int:
        """How many calls of its kind a command makes."""
        self.reset()
        self.run(*command, fault=fault)
        return int(self._calls.read_text())

    def keep(self) -> None:
        shutil.copytree(self.home, self.fresh, symlinks=True)

    def reset(self) -> None:
        shutil.rmtree(self.home)
        shutil.copytree(self.fresh, self.home, symlinks=True)

    def say(self, text: str) -> None:
        session = Session(text, cwd=str(self.home))
        write(self.paths.transcripts_root, session, session.turn(text))

    def bodies(self) -> list[str]:
        """What every memory says, and what each index lists."""
        files = sorted(Path(self.paths.claude_dir).rglob("memory/**/*.md"))
        texts = {path.name: _FRONTMATTER.sub("", path.read_text()).strip() for path in files}
        return [f"{name}: {sorted(text.splitlines())}" for name, text in texts.items()]

    def left_behind(self) -> list[str]:
        return [str(path) for path in Path(self.paths.claude_dir).rglob(".memoryd-*")]

    def is_database_sound(self) -> bool:
        if not os.path.exists(self.paths.database):
            return True
        with closing(sqlite3.connect(self.paths.database)) as database:
            return bool(database.execute("PRAGMA integrity_check").fetchone()[0] == "ok")


class Job(NamedTuple):
    prepare: Callable[[World], tuple[str, ...]]
    """Makes the world, and returns the command."""
    outcome: Callable[[World], object]
    """What has to be the same as without a fault, once the job was done."""
    before_again: Callable[[World], None] = lambda _: None
    """What happens before it is run once more."""


def _extraction(world: World) -> tuple[str, ...]:
    world.say("please look at the parser")
    world.do("extract-now")
    world.say("From now on, run make lint before every commit.")
    world.say("From now on, deploy on Tuesdays only.")
    return ("extract-now",)


def _dream(world: World) -> tuple[str, ...]:
    world.do("remember", "--type", "project", "The code freeze ends on 2026-03-05")
    world.do("remember", "--type", "feedback", "Always run make lint before every commit")
    world.do("remember", "--type", "feedback", "Before every commit, always run make lint, please")
    return ("dream-now",)


def _review(world: World) -> tuple[str, ...]:
    Path(world.paths.config_file).parent.mkdir(parents=True)
    Path(world.paths.config_file).write_text('review = "all"\n')
    _extraction(world)
    world.do("extract-now")
    held = json.loads(world.do("review", "--list", "--json"))
    return ("review", "accept", str(held[0]["id"]))


def _undo(world: World) -> tuple[str, ...]:
    world.do("remember", "always call the formatter first")
    world.do("remember", "never call the linter last")
    changes = json.loads(world.do("history", "--json"))
    return ("undo", str(changes[0]["change"]))


def _purge(world: World) -> tuple[str, ...]:
    world.do("remember", "--type", "reference", f"The vault opens with {_SECRET} on weekdays")
    return ("purge", "--yes", "--fixed", "--secret", _SECRET)


def _sync(world: World) -> tuple[str, ...]:
    store = world.home / "shared"
    store.mkdir()
    Path(world.paths.config_file).parent.mkdir(parents=True)
    Path(world.paths.config_file).write_text(f'[sync]\nremote = "{store}"\n')
    world.do("remember", "--type", "user", "I prefer short answers")
    return ("sync",)


def _notes(world: World) -> tuple[str, ...]:
    _grow(world, turns=20)
    return ("child", "--notes")


def _grow(world: World, turns: int = 21) -> None:
    """A session that the notes failed for waits until it grows."""
    session = WorkingSession()
    write(world.paths.transcripts_root, session, b"".join(map(session.long_turn, range(turns))))
    with closing(open_database(world.paths)) as database:
        Ingester(ALL, database, world.paths, Config()).ingest(SystemClock().now())


def _setup(world: World) -> tuple[str, ...]:
    settings = world.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "opus"}\n')
    return _SETUP


def _uninstall(world: World) -> tuple[str, ...]:
    _setup(world)
    world.do(*_SETUP)
    return ("uninstall", "--yes")


def _recovery(world: World) -> tuple[str, ...]:
    """After a commit that was killed in the middle."""
    world.do("remember", "always call the formatter first")
    killed = ("remember", "never call the linter last")
    world.keep()
    calls = world.calls("kill", killed)
    world.reset()
    shutil.rmtree(world.fresh)
    assert world.run(*killed, fault="kill", number=calls // 2)[0] == _KILLED
    return ("remember", "the third call is for the tests")


def _without_secret(world: World) -> object:
    files = [path for place in (world.paths.state_dir, world.paths.claude_dir) for path in Path(place).rglob("*")]
    assert files
    return [str(path) for path in files if path.is_file() and _SECRET.encode() in path.read_bytes()], world.bodies()


def _inbox(world: World) -> object:
    return world.do("review", "--list"), world.bodies()


def _exchanged(world: World) -> object:
    manifest = world.home / "shared" / MANIFEST_NAME
    shared = re.findall(r'"([^"]+\.md)"', manifest.read_text()) if manifest.exists() else []
    return sorted(shared), world.bodies()


def _notes_of(world: World) -> object:
    return ["step 19:" in path.read_text() for path in Path(world.paths.state_dir).rglob("*.md")]


def _installed(world: World) -> object:
    files = sorted(path for path in Path(world.paths.claude_dir).rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}, os.path.exists(world.paths.config_file)


JOBS = {
    "extraction": Job(_extraction, World.bodies),
    "dream": Job(_dream, World.bodies),
    "review": Job(_review, _inbox),
    "undo": Job(_undo, World.bodies),
    "purge": Job(_purge, _without_secret),
    "sync": Job(_sync, _exchanged),
    "notes": Job(_notes, _notes_of, _grow),
    "setup": Job(_setup, _installed),
    "uninstall": Job(_uninstall, _installed),
    "recovery": Job(_recovery, World.bodies),
}
IN_SHORT = {"extraction": "SQLite step fails", "undo": "fsync fails", "recovery": "disk becomes read-only"}
"""What a short run tries."""
_RUNS = 2
"""How often a command is run again until all is done: an answer that was interrupted, then the rest."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("job", JOBS if metafunc.config.getoption("--torture") else IN_SHORT)


@pytest.mark.torture
def test_a_fault_anywhere_is_told_and_the_next_run_makes_it_whole(job: str, tmp_path: Path, campaign: Campaign) -> None:
    world = World(tmp_path)
    command = JOBS[job].prepare(world)
    world.keep()
    world.do(*command)
    wanted = JOBS[job].outcome(world)
    world.reset()
    assert JOBS[job].outcome(world) != wanted
    faults = [fault for fault in FAULTS if fault != "kill"]
    for fault in faults if campaign.is_long else [IN_SHORT[job]]:
        calls = range(1, world.calls(fault, command) + 1)
        most = (20 if "SQLite" in fault else 6) if campaign.is_long else 1
        chosen = campaign.random.sample(calls, min(len(calls), most))
        troubles = {number: _trouble(world, JOBS[job], command, wanted, fault, number) for number in sorted(chosen)}
        through = [f"call {number}: {trouble}" for number, trouble in troubles.items() if trouble]
        campaign.tried("faults", f"{fault}, in {job}", len(chosen), through)


def _trouble(world: World, job: Job, command: tuple[str, ...], wanted: object, fault: str, number: int) -> str:
    """What is wrong after a fault; empty where all is well."""
    world.reset()
    code, said = world.run(*command, fault=fault, number=number)
    if "Traceback" in said:
        return f"a traceback: {said[-300:]!r}"
    if code != 0 and not said.strip() and command[0] != "child":
        return f"it ends with {code} and says nothing"
    if not world.is_database_sound():
        return "the database is damaged"
    for _ in range(_RUNS):
        if job.outcome(world) == wanted and not world.left_behind():
            break
        job.before_again(world)
        code, said = world.run(*command)
    if (found := job.outcome(world)) != wanted:
        return f"run again, it ends with {code}, {said[-200:]!r}, and there is {found!r} instead of {wanted!r}"
    return f"left {left}" if (left := world.left_behind()) else ""
