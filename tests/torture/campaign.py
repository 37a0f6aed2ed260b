"""What a campaign tried and what got through: counted by kind, told at the end of the run, written to docs/reliability.md.

A test that takes the fixture `campaign` counts every attack or fault with `campaign.tried`; what got through fails the test when
it is over, so that all kinds are counted first. The counts travel with pytest's reports, also from one process to another.
"""

from __future__ import annotations

import os
import platform
import random
import time
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memoryd import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pytest
    from _pytest.terminal import TerminalReporter

DOCUMENT = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "reliability.md")
SHORT_SEED = 7
PROPERTY = "campaign"
_SHOWN_FAILURES = 8
_FEWEST = 6
Point = TypeVar("Point")


class Count(NamedTuple):
    """Some attacks or faults of one kind."""

    part: str
    kind: str
    tried: int
    through: int
    seed: int


class Campaign:
    """The attacks or faults of one test. `seed` decides all that is random in it."""

    def __init__(self, seed: int, *, is_long: bool, seconds: float = 0.0, is_brief: bool = False) -> None:
        self.seed, self.is_long = seed, is_long
        self._is_brief = is_brief
        self._ends_at = time.monotonic() + seconds
        self.random = random.Random(seed)
        self.counts: list[Count] = []
        self._failures: list[str] = []

    @classmethod
    def asked_for(cls, config: pytest.Config) -> Campaign:
        is_long, seed = bool(config.getoption("--torture")), config.getoption("--seed")
        if seed is None:
            seed = random.randrange(1 << 30) if is_long else SHORT_SEED
        return cls(seed, is_long=is_long, seconds=config.getoption("--seconds"))

    @property
    def has_time(self) -> bool:
        """Whether a long run may try more. A short one tries what it always tries."""
        return self.is_long and time.monotonic() < self._ends_at

    def some(self, kinds: Sequence[Point]) -> Sequence[Point]:
        """All kinds of attacks, or, where it is only asked whether any gets through, each eighth."""
        return kinds[::8] if self._is_brief else kinds

    def in_time(self, points: Iterable[Point]) -> Iterator[Point]:
        """Points to try: in a long run the first, the last, and all others in any order, until the time of the test is over."""
        chosen = list(points)
        if self.is_long and chosen:
            first, *others = chosen
            last = [others.pop()] if others else []
            chosen = [first, *last, *self.random.sample(others, len(others))]
        for number, point in enumerate(chosen):
            if self.is_long and number >= _FEWEST and not self.has_time:
                return
            yield point

    def tried(self, part: str, kind: str, number: int, through: Iterable[object] = ()) -> None:
        """Count attacks or faults of a kind, and what of them got through, each in words that let somebody repeat it."""
        failures = [f"{part}, {kind}: {failure}" for failure in through]
        self._failures += failures
        self.counts.append(Count(part, kind, number, len(failures), self.seed))

    def check(self) -> None:
        shown = "\n".join(self._failures[:_SHOWN_FAILURES])
        assert not self._failures, (
            f"{len(self._failures)} got through; repeat it with --seed {self.seed}, of them:\n{shown}"
        )


class Tally:
    """A plugin of pytest: collects the counts of all tests, prints them, and writes the document if it was asked to."""

    def __init__(self, config: pytest.Config) -> None:
        self._writes = bool(config.getoption("--write-reliability"))
        self._command = " ".join(("pytest", *map(str, config.invocation_params.args)))
        self._counts: list[Count] = []
        self._failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)
        if report.when == "teardown":
            self._counts += [Count(**value) for name, value in report.user_properties if name == PROPERTY]  # type: ignore[arg-type]

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        if not self._counts:
            return
        for line in table(self._counts):
            terminalreporter.write_line(line)
        if self._writes and not self._failed:
            with open(DOCUMENT, "w", encoding="utf-8") as file:
                file.write(document(self._counts, self._command))
            terminalreporter.write_line("docs/reliability.md is written")
        elif self._writes:
            terminalreporter.write_line(f"docs/reliability.md stays as it was: {len(self._failed)} tests failed")


def table(counts: list[Count]) -> list[str]:
    """Rows of Markdown: for every part its kinds, and the seeds they came of."""
    grouped: dict[tuple[str, str], list[Count]] = defaultdict(list)
    for count in counts:
        grouped[count.part, count.kind].append(count)
    rows = ["| part | attack or fault | tried | got through | seed |", "| --- | --- | ---: | ---: | --- |"]
    for (part, kind), own in sorted(grouped.items()):
        seeds = ", ".join(str(seed) for seed in sorted({count.seed for count in own})[:3])
        rows.append(f"| {part} | {kind} | {sum(c.tried for c in own):,} | {sum(c.through for c in own):,} | {seeds} |")
    tried, through = sum(count.tried for count in counts), sum(count.through for count in counts)
    return [*rows, f"| **all** | | **{tried:,}** | **{through:,}** | |"]


def document(counts: list[Count], command: str) -> str:
    """docs/reliability.md."""
    machine = f"Python {platform.python_version()}, {platform.system()} {platform.release()}"
    rows = "\n".join(table(counts))
    return f"""# Reliability: what was tried, and what got through

*Written by `make torture` after a run without a failure; do not edit it. The last run: `{command}`, memoryd {__version__}, {machine}.
What that command leaves out has no row.*

Each row is a kind of attack or fault. *Tried* counts single cases: one value of a secret in one place, one planted text, one
hostile path, one kill or error at one call to the disk. *Got through* counts those after which something was lost, twice, torn,
outside of its directory, shown although secret, or remembered although the user had not said it. A single one fails the command,
and the document is not written.

{rows}

`make torture SEED=number` repeats a run; without it every campaign takes a new seed and prints it. A test that kills or fails at
calls to the disk tries them in any order, until its time is over: `make torture SECONDS=number` gives each so much, else 20.
`make test` runs a short part of every campaign with the seed {SHORT_SEED}. *Guards broken on purpose* prove that the short run notices: one guard at a time is taken away,
and a row says how many attacks got through then; a guard that nothing needs fails the command. What is not promised stands in [SECURITY.md](../SECURITY.md).
"""
