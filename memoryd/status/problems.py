"""What a person should look at, each with the command that fixes it."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, NamedTuple

from memoryd import __version__
from memoryd.config import load
from memoryd.engines.anthropic import account
from memoryd.errors import ConfigError
from memoryd.state import notices, report
from memoryd.words import ago, count, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.config import Config
    from memoryd.failure import Failure
    from memoryd.instance import Instance
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.holds import Hold

_NAMED = 8
"""So many of a kind are named."""


class Problem(NamedTuple):
    text: str
    fix: str


def of_the_daemon(
    running: Instance | None, failure: Failure | None, now: float, *, is_installed: bool
) -> Iterator[Problem]:
    """What troubles the one that runs, or why none does."""
    if running is not None:
        if running.version != __version__:
            fix = "memoryd service restart" if is_installed else f"kill {running.pid} && memoryd run"
            yield Problem(f"memoryd {running.version or 'of an older version'} runs, {__version__} is installed.", fix)
        yield from (Problem(one.text, one.fix) for one in running.troubles if one.fix)
    elif failure is not None:
        yield Problem(f"The last start failed {ago(now - failure.at)} ago: {failure.sentence}", failure.fix)


def of_the_config(paths: Paths, told: list[Problem]) -> Iterator[Problem]:
    """A config file that cannot be used, unless it is told already by the daemon, or as why the last start failed."""
    try:
        load(paths)
    except ConfigError as error:
        if not any(error.sentence in one.text for one in told):
            yield Problem(error.sentence, error.fix)


def of_the_ledger(
    database: Database, paths: Paths, config: Config, hold: Hold | None, unread: list[tuple[str, str]]
) -> Iterator[Problem]:
    """What the database knows of."""
    trouble = account.key_problem(config.anthropic) if account.is_chosen(config) else None
    if hold is not None and hold.reason != "paused":  # a pause is what the user wants
        yield Problem(hold.text, hold.fix or "memoryd retry")
    elif trouble is not None:
        yield Problem(trouble.sentence, trouble.fix)
    for notice in notices.standing(database):
        yield Problem(notice.text, notice.fix)
    for path, why in unread[:_NAMED]:
        yield unreadable(path, why)
    if len(unread) > _NAMED:
        yield Problem(f"{len(unread) - _NAMED} more transcripts cannot be read.", "memoryd status --json")
    for why, number in report.failing(database)[:_NAMED]:
        if hold is None or why != hold.text:
            yield Problem(f"{count(number, 'session')} could not be worked on: {why.rstrip('.')}.", "memoryd retry")
    for dream in report.failing_dreams(database)[:_NAMED]:
        if hold is None or dream.detail != hold.text:
            yield _failing(dream)
    for root, older in report.collisions(database):
        yield _collision(root, older, paths)


def unreadable(path: str, why: str) -> Problem:
    rights = "u+rx" if os.path.isdir(path) else "u+r"
    return Problem(f"{path} cannot be read: {why}.", f"chmod {rights} {shlex.quote(path)}")


def _failing(dream: report.FailingDreams) -> Problem:
    """A dream that failed once is tried again by itself, and no problem yet."""
    name = os.path.basename(dream.project_root) or dream.project_root
    why = f"{dream.outcome}: {dream.detail.rstrip('.')}" if dream.detail else dream.outcome
    return Problem(
        f"{dream.times} dreams in a row of {name} came to nothing ({why}). Its memories are as they were.",
        f"memoryd dream-now --project {shlex.quote(dream.project_root)}",
    )


def _collision(root: str, older: str, paths: Paths) -> Problem:
    return Problem(
        f"The project {short(root, paths.home)} is skipped (slug_collision): its memory directory already belongs"
        f" to {short(older, paths.home)}, which was seen first.",
        f'add to {short(paths.config_file, paths.home)}: [projects.memory_dirs] "{root}" = "~/a/directory/of/its/own"',
    )
