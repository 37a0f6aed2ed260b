"""Problems: pure decisions on facts, each with a sentence and the command that fixes it.

The first part is shown by `status` and by `doctor`, the second by `status` alone.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.formatting import ago, count, short
from memoryd.sources.session import UNKNOWN_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memoryd.daemon.last_failure import Failure
    from memoryd.daemon.single_instance import Instance
    from memoryd.errors import MemorydError
    from memoryd.paths import Paths
    from memoryd.state import queries
    from memoryd.state.engine_holds import Hold
    from memoryd.state.notices import Notice

_NAMED = 8
"""How many of a kind are named."""

Name = Literal[  # noqa: RUF041 - nested, so that what belongs together stands on a line
    Literal["daemon", "daemon_version", "trouble", "pause", "service", "lingering", "last_failure"],
    Literal["program", "sqlite", "libraries", "file_system"],
    Literal["config", "switches", "owner", "config_file", "state_files", "memory_dirs"],
    Literal["database", "recovery", "jobs", "notices", "space", "history"],
    Literal["transcripts_root", "watches", "watch_instances", "clock"],
    Literal["engine", "key", "endpoint", "price", "budget", "cache"],
    Literal["client", "transcripts", "unknown_lines", "deletion", "client_settings", "hooks"],
    Literal["rot", "binding", "auto_memory", "auto_dream", "other_tools", "consolidating", "examination"],
]
"""The last one is of an examination that failed itself."""

Verdict = Literal["ok", "note", "problem"]


class Check(NamedTuple):
    """A line of `doctor`."""

    name: Name
    verdict: Verdict
    text: str
    fix: str = ""
    """The command that mends it; a problem has one."""


class Problem(NamedTuple):
    """An entry in the list of problems of `status`."""

    text: str
    fix: str


def problems_in(checks: Iterable[Check]) -> list[Problem]:
    return [Problem(check.text, check.fix) for check in checks if check.verdict == "problem"]


# --- what both commands show ------------------------------------------------------------------------------------------


def check_instance(running: Instance, version: str, *, is_service: bool) -> Iterator[Check]:
    """The running daemon: whether it is of this version, and what troubles it. A trouble without a fix is a note."""
    if running.version != version:
        text = f"memoryd {running.version or 'of an older version'} runs, {version} is installed."
        fix = "memoryd service restart" if is_service else f"kill {running.pid} && memoryd run"
        yield Check("daemon_version", "problem", text, fix)
    for trouble in running.troubles:
        yield Check("trouble", "problem" if trouble.fix else "note", trouble.text, trouble.fix)


def check_failure(failure: Failure | None, now: float, *, is_running: bool) -> Iterator[Check]:
    """The last start that failed; it is a problem while nothing runs."""
    if failure is not None:
        text = f"The last start failed {ago(now - failure.at)} ago: {failure.sentence}"
        yield Check("last_failure", "note" if is_running else "problem", text, failure.fix or "memoryd run")


def check_notices(notices: Iterable[Notice]) -> Iterator[Check]:
    for notice in notices:
        yield Check("notices", "problem", notice.text, notice.fix)


def check_key(error: MemorydError) -> Check:
    return Check("key", "problem", error.sentence, error.fix)


def check_hold(hold: Hold) -> Check:
    """What a day may take mends itself when the day turns."""
    verdict: Verdict = "note" if hold.reason in ("budget_reached", "limit_reached") else "problem"
    return Check("budget", verdict, hold.text, hold.fix or "memoryd retry")


# --- what only status shows -------------------------------------------------------------------------------------------


def unreadable_transcripts(unread: Sequence[tuple[str, str]]) -> Iterator[Problem]:
    for path, why in unread[:_NAMED]:
        yield unreadable(path, why)
    if len(unread) > _NAMED:
        yield Problem(f"{len(unread) - _NAMED} more transcripts cannot be read.", "memoryd status --json")


def unreadable(path: str, why: str) -> Problem:
    if why.startswith(UNKNOWN_TABLES):
        return Problem(
            f"{path} cannot be read: {why}. Its agent may be newer than memoryd.", "pip install --upgrade memoryd"
        )
    rights = "u+rx" if os.path.isdir(path) else "u+r"
    return Problem(f"{path} cannot be read: {why}.", f"chmod {rights} {shlex.quote(path)}")


def failing_sessions(failing: list[tuple[str, int]], hold: Hold | None) -> Iterator[Problem]:
    """Sessions that could not be worked on; those that failed by the hold are told by it."""
    for why, number in failing[:_NAMED]:
        if hold is None or why != hold.text:
            yield Problem(f"{count(number, 'session')} could not be worked on: {why.rstrip('.')}.", "memoryd retry")


def failing_dreams(failing: list[queries.FailingDreams], hold: Hold | None) -> Iterator[Problem]:
    """Projects whose dreams failed more than once. After the first failure a dream is tried again by itself."""
    for dream in failing[:_NAMED]:
        if hold is not None and dream.detail == hold.text:
            continue
        name = os.path.basename(dream.project_root) or dream.project_root
        why = f"{dream.outcome}: {dream.detail.rstrip('.')}" if dream.detail else dream.outcome
        yield Problem(
            f"{dream.times} dreams in a row of {name} came to nothing ({why}). Its memories are as they were.",
            f"memoryd dream-now --project {shlex.quote(dream.project_root)}",
        )


def wrong_index(root: str, fault: str, paths: Paths) -> Problem:
    """An index that somebody deleted or cut. A running memoryd makes it right at its next look."""
    return Problem(
        f"The index of {short(root, paths.home)} {fault}. A running memoryd makes it right within a minute.",
        f"memoryd dream-now --project {shlex.quote(root)}",
    )


def moved_repository(root: str, former: str, number: int, paths: Paths) -> Problem:
    return Problem(
        f"{short(root, paths.home)} is the repository that was at {short(former, paths.home)}; its"
        f" {count(number, 'memory')} stayed there.",
        f"memoryd projects adopt --project {shlex.quote(root)}",
    )


def collision(root: str, older: str, paths: Paths) -> Problem:
    """Two projects whose memory directories would be the same."""
    config = short(paths.config_file, paths.home)
    return Problem(
        f"The project {short(root, paths.home)} is skipped (slug_collision): its memory directory already belongs"
        f" to {short(older, paths.home)}, which was seen first.",
        f'add to {config}: [projects.memory_dirs] "{root}" = "~/a/directory/of/its/own"',
    )
