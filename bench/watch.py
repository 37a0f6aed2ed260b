"""What the daemon costs where there are many transcripts: at rest, while a session is written, and how soon it notices."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from statistics import median, quantiles
from typing import TYPE_CHECKING, NamedTuple

from bench import table
from bench.inotify import reports
from bench.inventory import FILES, FOLDERS, walk, write_transcripts
from bench.measure import best, processor_seconds, resident_bytes, seconds, wakeups
from bench.world import environment_of, paths_of, sweeper_of, transcript_in
from memoryd.clients.claude_code.folders import slug_of
from memoryd.clients.registry import ALL
from memoryd.config import Config
from memoryd.daemon.single_instance import running_instance
from memoryd.state.database import open_for_reading
from memoryd.transcripts.watch import WatchedPlace, Watcher
from tests.transcript import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoryd.state.database import Database

IDLE_SECONDS = 61.0
"""A minute and a bit, so that the look that comes once a minute is within."""
BUSY_SECONDS = 24.0
APPENDS_PER_SECOND = 5
ROUNDS = 100
PART_ROUNDS = 25
WAKEUPS_LIMIT = 20
SETTLED_SECONDS = 3.0
LONGEST_WAIT_SECONDS = 120.0
IMPORTS = (
    "import faulthandler, memoryd.__main__, memoryd.daemon.wakeup, memoryd.cli, memoryd.cli.run, memoryd.daemon.loop,"
    " memoryd.daemon.single_instance, memoryd.log.writer, memoryd.daemon.sd_notify"
)
"""What `memoryd run` imports before it does anything."""


class Spent(NamedTuple):
    """What a daemon used in some time; by the minute."""

    processor_seconds: float
    wakeups: float


class Writer:
    """Appends to one of the transcripts, line by line, as a client does while an answer comes in."""

    def __init__(self, home: str) -> None:
        cwd = os.path.join(home, "project1")
        self._session = Session("1/0", cwd=cwd)
        self._session.turn()  # is there already
        self.path = transcript_in(home, slug_of(cwd), self._session.id)
        self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115 - as long as the benchmark runs
        self._file.write(self._session.prompt())

    @property
    def size(self) -> int:
        return self._file.tell()

    def append(self) -> float:
        """Write one line; return when that began."""
        line = self._session.reply(stop_reason=None)
        began = time.perf_counter()
        self._file.write(line)
        return began


def run(directory: str) -> None:
    if sys.platform != "linux":
        print("\nwatch: skipped, it measures by what Linux counts for a process, beside inotify")
        return
    home = os.path.join(directory, "watch")
    write_transcripts(home)
    root = paths_of(home).transcripts_root
    with _daemon(home) as pid:
        awake: list[float] = []
        idle = _spent(pid, lambda: awake.extend(_awake(pid)))
        resident = resident_bytes(pid)
        database = open_for_reading(paths_of(home))
        assert database is not None
        writer = Writer(home)
        looks: list[int] = []
        busy = _spent(pid, lambda: looks.extend(_write_for_a_while(writer, database)))
        raw, noticed = _latencies(writer, database, root)
    parts = _parts(home, writer)
    walked = best(PART_ROUNDS, {"walk": partial(walk, root, with_stat=True)})["walk"]
    looks_per_minute = len(looks) / BUSY_SECONDS * 60
    _show_costs(idle, len(awake), busy, looks_per_minute, walked)
    _show_memory(home, resident)
    _show_latency(raw, noticed, parts)


# --- measuring --------------------------------------------------------------------------------------------------------


@contextmanager
def _daemon(home: str) -> Iterator[int]:
    """`memoryd run` with the settings that it comes with, once it has read everything and nothing is left to do."""
    paths = paths_of(home)
    process = subprocess.Popen(
        [sys.executable, "-m", "memoryd", "run"],
        env=environment_of(home),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is ours to handle
    )

    def is_ready() -> bool:
        assert process.poll() is None, "the daemon ended"
        instance = running_instance(paths)
        return instance is not None and instance.watching == "events"

    try:
        _await(is_ready, every=0.1)  # asking holds the lock for an instant, which must not be often
        time.sleep(SETTLED_SECONDS)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def _spent(pid: int, work: Callable[[], object]) -> Spent:
    began, before, sleeps = time.perf_counter(), processor_seconds(pid), wakeups(pid)
    work()
    minutes = (time.perf_counter() - began) / 60
    return Spent((processor_seconds(pid) - before) / minutes, (wakeups(pid) - sleeps) / minutes)


def _awake(pid: int) -> Iterator[float]:
    """The moments at rest, a tenth of a second long, in which any thread woke up."""
    end = time.perf_counter() + IDLE_SECONDS
    before = wakeups(pid)
    while (now := time.perf_counter()) < end:
        time.sleep(0.1)
        if before != (before := wakeups(pid)):
            yield now


def _write_for_a_while(writer: Writer, database: Database) -> set[int]:
    """Return how far the daemon had read, each time that it had read on."""
    end = time.perf_counter() + BUSY_SECONDS
    offsets = {_offset(database, writer.path)}
    while time.perf_counter() < end:
        writer.append()
        time.sleep(1 / APPENDS_PER_SECOND)
        offsets.add(_offset(database, writer.path))
    return offsets - {min(offsets)}


def _latencies(writer: Writer, database: Database, root: str) -> tuple[list[float], list[float]]:
    """Seconds from the beginning of an append until inotify reports it, and until the daemon has it in the database."""
    raw, noticed = [], []

    def has_read_all() -> bool:
        return _offset(database, writer.path) == writer.size

    _await(has_read_all)
    with reports(entry.path for entry in os.scandir(root)) as moments:
        for _ in range(ROUNDS):
            began = writer.append()
            raw.append(moments.get() - began)
            _await(has_read_all)
            noticed.append(time.perf_counter() - began)
    return raw, noticed


def _parts(home: str, writer: Writer) -> dict[str, list[float]]:
    """What it takes, step by step: here, without the daemon."""
    rings: SimpleQueue[float] = SimpleQueue()
    paths = paths_of(home)
    place = WatchedPlace(paths.transcripts_root, is_deep=True, counts=ALL[0].is_session)
    watcher = Watcher([place], paths.wake_file, lambda: rings.put(time.perf_counter()))
    rung: list[float] = []
    looks: dict[bool, list[float]] = {True: [], False: []}
    try:
        with sweeper_of(home) as ingester:
            ingester.ingest(time.time())
            for at_all in (False, True) * PART_ROUNDS:
                began = writer.append()
                rung.append(rings.get() - began)
                reported = watcher.take()
                look = partial(ingester.ingest, time.time(), None if at_all else reported)
                looks[at_all].append(seconds(look))
    finally:
        watcher.stop()
    return {
        "the watcher rings": rung,
        "a look at its folder that stores it": looks[False],
        "a look at all folders that stores it": looks[True],
    }


def _offset(database: Database, path: str) -> int:
    (row,) = database.query("SELECT offset FROM transcripts WHERE path = ?", (path,))
    return int(row["offset"])


def _await(condition: Callable[[], bool], every: float = 0.001) -> None:
    end = time.perf_counter() + LONGEST_WAIT_SECONDS
    while not condition():
        assert time.perf_counter() < end, "the daemon does not do what is waited for"
        time.sleep(every)


def _resident(home: str, imports: str) -> int:
    """What an interpreter holds that has imported so much and nothing else; the least of three."""
    code = f"{imports}\nprint(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmRSS')))"
    done = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=environment_of(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=True,
            start_new_session=True,
            text=True,
        )
        for _ in range(3)
    ]
    return min(int(process.stdout) << 10 for process in done)


# --- showing ----------------------------------------------------------------------------------------------------------


def _show_costs(idle: Spent, awake: int, busy: Spent, looks: float, walked: float) -> None:
    table.show(
        f"watch: `memoryd run` over {FILES:,} transcripts in {FOLDERS} folders, by the minute. At rest it looks at all of"
        f" them when it ticks, once or twice; while {APPENDS_PER_SECOND} lines a second are appended to one, {looks:.0f}"
        " times. A wake-up is a voluntary context switch of any of its threads. Limit: the plain walk, scandir and stat, as often.",
        ("", "CPU", "of one core", "walks", "to the walks", "wake-ups", f"limit {WAKEUPS_LIMIT}"),
        [
            _cost_row("the walk, once", Spent(walked, 0), 1, walked),
            _cost_row("memoryd: at rest", idle, 1, walked),
            _cost_row("memoryd: a session is written", busy, looks, walked),
        ],
    )
    print(
        f"  at rest: awake in {awake} of {IDLE_SECONDS * 10:.0f} tenths of a second; a wait within a look counts as a wake-up too"
    )


def _cost_row(name: str, spent: Spent, looks: float, walked: float) -> tuple[str, ...]:
    return (
        name,
        table.milliseconds(spent.processor_seconds),
        f"{spent.processor_seconds / 60:.2%}",
        f"{looks:.0f}",
        table.times(spent.processor_seconds, walked * looks),
        f"{spent.wakeups:.0f}" if spent.wakeups else "",
        table.times(spent.wakeups, WAKEUPS_LIMIT) if spent.wakeups else "",
    )


def _show_memory(home: str, resident: int) -> None:
    bare, limit = _resident(home, ""), _resident(home, IMPORTS)
    table.show(
        f"watch: what is in memory (resident set) after a minute at rest, over {FILES:,} transcripts.",
        ("", "resident", "more than imports", "to imports"),
        [
            ("python -c pass", table.megabytes(bare), "", table.times(bare, limit)),
            ("the same imports, nothing done: the limit", table.megabytes(limit), "", "1.00x"),
            (
                "memoryd: at rest",
                table.megabytes(resident),
                table.megabytes(resident - limit),
                table.times(resident, limit),
            ),
        ],
    )


def _show_latency(raw: list[float], noticed: list[float], parts: dict[str, list[float]]) -> None:
    settle = Config().scan.settle_seconds
    over = [seconds - settle for seconds in noticed]
    table.show(
        f"watch: from an append until it is noticed, {ROUNDS} times. memoryd has noticed when the line is stored: another"
        f" process finds it in the database. That is the debounce (`scan.settle_seconds`, {settle:g} s), a look and a"
        f" transaction (fsync). The parts are measured apart, {PART_ROUNDS} times, without a daemon.",
        ("", "p50", "p99", "p50 to inotify", "p99 to inotify"),
        [
            _latency_row("inotify, read by a thread: the limit", raw, raw),
            _latency_row("memoryd: append to stored", noticed, raw),
            _latency_row("memoryd: over the debounce", over, raw),
            *(_latency_row(f"  part: {name}", taken, raw) for name, taken in parts.items()),
        ],
    )


def _latency_row(name: str, taken: list[float], limit: list[float]) -> tuple[str, ...]:
    middle, most = median(taken), _p99(taken)
    return (
        name,
        table.milliseconds(middle),
        table.milliseconds(most),
        table.times(middle, median(limit)),
        table.times(most, _p99(limit)),
    )


def _p99(taken: list[float]) -> float:
    return quantiles(taken, n=100, method="inclusive")[-1]
