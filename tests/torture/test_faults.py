"""Limits, small disks, damaged state, many processes at once, and a month of sessions: nothing lost, twice or torn."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import pytest

from memoryd.jobs.upkeep import upkeep
from tests.acceptance.command import Daemon
from tests.fork_server import ForkServer, Request
from tests.jobs import workspace as workspaces
from tests.jobs.dream_workspace import FastClock
from tests.transcript import Session, write

if TYPE_CHECKING:
    import random

    from memoryd.paths import Paths
    from tests.jobs.workspace import Workspace
    from tests.torture.campaign import Campaign

SERVER = ForkServer()
_SENTENCE = "always call tool number {} first"
_DAY = 86_400.0


def _run(
    environment: dict[str, str], *arguments: str, limit: str = "none", value: int = 0, told: bytes = b""
) -> tuple[int, str]:
    """Exit code of a memoryd under a limit that is told something on its standard input, and all that it said."""
    module = Request("tests.torture.under_limits", (limit, str(value), *arguments), environment, environment["HOME"])
    reading, writing = os.pipe()  # a file could not grow either
    with TemporaryFile() as given, open(reading, "rb") as said, open(writing, "wb") as saying:
        given.write(told)
        given.seek(0)
        code = SERVER.start(module, given.fileno(), saying.fileno(), saying.fileno()).wait(60)
        os.set_blocking(reading, False)
        return code, (said.read() or b"").decode("utf-8", "replace")


def _saved(environment: dict[str, str]) -> list[str]:
    """The last words of every memory."""
    files = Path(environment["HOME"]).rglob("memory/*_*.md")
    return [path.read_text().rstrip().splitlines()[-1] for path in files]


def _times_saved(environment: dict[str, str], number: int) -> int:
    return sum(_SENTENCE.format(number).split(" ", 1)[1] in line for line in _saved(environment))


def _is_sound(paths: Paths) -> bool:
    with closing(sqlite3.connect(paths.database)) as database:
        return bool(database.execute("PRAGMA integrity_check").fetchone()[0] == "ok")


@pytest.mark.torture
@pytest.mark.parametrize(("limit", "levels"), [("files", range(43)), ("bytes", range(0, 400_000, 9_000))])
def test_a_process_that_may_open_or_write_only_so_much_says_so_and_loses_nothing(
    limit: str, levels: range, environment: dict[str, str], paths: Paths, campaign: Campaign
) -> None:
    chosen = list(levels) if campaign.is_long else campaign.random.sample(list(levels), 2)
    through = []
    first = _run(environment, "remember", _SENTENCE.format(9_999))
    assert first[0] == 0, first
    for number, value in enumerate(chosen):
        sentence = _SENTENCE.format(number)
        code, said = _run(environment, "remember", sentence, limit=limit, value=value)
        if "Traceback" in said or (code != 0 and not said.strip()):
            through.append(f"{value} {limit}: {said!r}")
        if code == 0 and _times_saved(environment, number) != 1:
            through.append(f"{value} {limit}: said to be saved, and is there {_times_saved(environment, number)} times")
        if _times_saved(environment, number) == 0:
            _run(environment, "remember", sentence)
        if _times_saved(environment, number) != 1:
            through.append(f"{value} {limit}: without the limit it is there {_times_saved(environment, number)} times")
    if not _is_sound(paths):
        through.append("the database is damaged")
    kind = "too few open files allowed" if limit == "files" else "files may not grow"
    campaign.tried("faults", kind, len(chosen), through)


@pytest.mark.torture
def test_a_small_disk_that_is_full_loses_nothing(tmp_path: Path, campaign: Campaign) -> None:
    enter = [shutil.which("unshare") or "unshare", "-Urm"]
    probe = [*enter, "mount", "-t", "tmpfs", "none", str(tmp_path)]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("no disk can be mounted here without being root")
    levels = 105 if campaign.is_long else 4
    module = [sys.executable, "-m", "tests.torture.full_disk", str(tmp_path), str(levels), str(campaign.seed)]
    done = subprocess.run([*enter, *module], capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    campaign.tried("faults", "small disk that is full", levels, done.stdout.splitlines())


@pytest.mark.torture
def test_a_damaged_or_lost_state_leaves_the_memories_and_is_told(
    environment: dict[str, str], paths: Paths, tmp_path: Path, campaign: Campaign
) -> None:
    for number in range(3):
        assert _run(environment, "remember", _SENTENCE.format(number))[0] == 0
    fresh, state = tmp_path / "fresh", Path(paths.state_dir)
    shutil.copytree(state, fresh)
    memories = sorted(_saved(environment))
    number, through = (40 if campaign.is_long else 3), []
    for at in range(number):
        shutil.rmtree(state)
        shutil.copytree(fresh, state)
        how = _damage(campaign.random, Path(paths.database))
        for command in (("status",), ("doctor",), ("remember", _SENTENCE.format(100 + at))):
            code, said = _run(environment, *command)
            if "Traceback" in said or code < 0:
                through.append(f"{how}, {command[0]}: {said[-300:]!r}")
        if [line for line in memories if line not in _saved(environment)]:
            through.append(f"{how}: a memory is lost or changed")
        if _times_saved(environment, 100 + at) > 1:
            through.append(f"{how}: saved twice")
    campaign.tried("faults", "state lost, cut, damaged or from the future", number, through)


def _damage(dice: random.Random, database: Path) -> str:
    data = bytearray(database.read_bytes())
    how = dice.choice(("lost", "cut", "bytes", "header", "future", "empty"))
    if how == "lost":
        database.unlink()
        return how
    if how == "cut":
        data = data[: dice.randrange(len(data))]
    elif how == "bytes":
        for _ in range(dice.randint(1, 200)):
            data[dice.randrange(len(data))] = dice.randrange(256)
    elif how == "header":
        data[dice.randrange(100)] ^= 1 << dice.randrange(8)
    elif how == "future":
        data[60:64] = (10_000).to_bytes(4, "big")
    else:
        data = bytearray()
    database.write_bytes(data)
    return how


@pytest.mark.torture
def test_many_processes_at_once_save_each_sentence_once(
    environment: dict[str, str], paths: Paths, campaign: Campaign
) -> None:
    """Commands, hooks, MCP servers and a daemon, all in one home."""
    processes = 64 if campaign.is_long else 8
    session = Session("at once")
    write(paths.transcripts_root, session, session.turn("from now on, run make lint before every commit"))
    hook = ("hook", "claude-code", "UserPromptSubmit")
    others = (("extract-now",), ("status",), ("memories",), hook, ("doctor",))

    def start(number: int) -> tuple[int, str]:
        if number % 4 == 3:
            return _run(environment, "mcp", told=_remember_by_mcp(_SENTENCE.format(number)))
        command = ("remember", _SENTENCE.format(number)) if number % 2 else others[number // 2 % len(others)]
        return _run(environment, *command)

    through, saved = [], []
    with Daemon(environment) as daemon:
        daemon.says("watches")
        for at in range(2 if campaign.is_long else 1):
            numbers = range(at * processes, (at + 1) * processes)
            with ThreadPoolExecutor(processes) as pool:
                done = dict(zip(numbers, pool.map(start, numbers), strict=True))
            faults = ("Traceback", "A fault of memoryd's own")
            through += [
                f"{at}: {said[-300:]!r}" for at, (_, said) in done.items() if any(map(said.__contains__, faults))
            ]
            saved += [number for number, (code, _) in done.items() if number % 4 == 1 and code == 0]
        assert daemon.process.poll() is None
    assert saved
    through += [f"sentence {number} is not there once" for number in saved if _times_saved(environment, number) != 1]
    if not _is_sound(paths):
        through.append("the database is damaged")
    campaign.tried(
        "faults", f"{processes} processes at once, for each", processes * (2 if campaign.is_long else 1), through
    )


def _remember_by_mcp(text: str) -> bytes:
    """What the user did not say waits for a yes in the inbox, which all of them write to."""
    called = {"name": "remember", "arguments": {"text": text, "quote": text}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}).encode() + b"\n"


@pytest.mark.torture
def test_a_month_of_sessions_with_a_clock_that_jumps(
    workspace: Workspace, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions every day, an upkeep every night, a clock that is set back, set ahead, and put right again."""
    dice, (days, a_day) = campaign.random, (30, 70) if campaign.is_long else (12, 3)
    start, clock = workspaces.NOW, FastClock()
    wished: list[str] = []
    for day in range(days):
        clock.at = start + day * _DAY + dice.choice((0, 0, 0, 0, -2 * _DAY, 3 * _DAY, 400 * _DAY))
        monkeypatch.setattr(workspaces, "NOW", clock.at)
        for number in range(a_day):
            session = Session((day, number))
            texts = ["please look at the parser", f"what does line {number} do?"]
            if dice.random() < (0.08 if campaign.is_long else 0.4):
                wished.append(f"use tool number-{len(wished)}")
                texts.append(f"From now on, {wished[-1]}.")
            write(workspace.paths.transcripts_root, session, b"".join(map(session.turn, texts)))
        workspace.ingester.ingest(clock.at)
        workspace.work()
        upkeep(workspace.database, workspace.paths, workspace.config, clock)
    bodies = workspace.bodies()
    through = [f"{wish!r} {_times(wish, bodies)} times" for wish in wished if _times(wish, bodies) != 1]
    through += [f"a turn has no outcome: {number}" for number, told in enumerate(workspace.outcomes()) if told is None]
    campaign.tried("faults", "session of a month, with clock jumps", days * a_day, through)
    assert wished


def _times(wish: str, bodies: list[str]) -> int:
    return sum(f"{wish}." in f"{body.rstrip('.')}." for body in bodies)
