"""Due extractions, directory by directory, for the daemon's child and `extract-now`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import BusyError, EngineRestsError
from memoryd.jobs import gates
from memoryd.jobs.holds import engine_wait
from memoryd.model import Due, Skip
from memoryd.state import waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.engines.base import Engine
    from memoryd.jobs.extract import Outcome
    from memoryd.model import WaitingSession
    from memoryd.paths import Paths
    from memoryd.state.database import Database


class ExtractedDirectory(NamedTuple):
    """Result of a session, with its project."""

    project_root: str
    memory_dir: str
    outcome: Outcome


def due(
    database: Database, paths: Paths, config: Config, now: float, *, at_once: bool = False, with_history: bool = False
) -> dict[str, list[WaitingSession]]:
    """Sessions to be worked on, by memory directory. `at_once`: also sessions that are still active or have failed."""
    found: dict[str, list[WaitingSession]] = {}
    hold = engine_wait(database, paths, config, now)
    for session in waiting.waiting_sessions(database, with_history=with_history):
        decision = gates.extraction(session, config, paths.state_dir, now, hold)
        if session.memory_dir and (isinstance(decision, Due) or (at_once and not isinstance(decision, Skip))):
            found.setdefault(session.memory_dir, []).append(session)
    return found


def extract_due(
    database: Database,
    paths: Paths,
    sessions: dict[str, list[WaitingSession]],
    now: float,
    *,
    engine: Engine,
    review_mode: str = "doubts",
    has_daily_log: Callable[[str], bool] = lambda _: False,
    with_history: bool = False,
    gives_way: bool = False,
    clock: Clock | None = None,
) -> Iterator[ExtractedDirectory]:
    """Work on these sessions. Raises BusyError in the end where another process works on one, unless it `gives_way`.

    `has_daily_log`: whether what is said in a project, by its root, goes into daily logs.

    Raises EngineStoppedError and EngineRestsError where the engine can do nothing for now.
    """
    from memoryd.jobs.extract import Session, extract  # noqa: PLC0415 - the engine, of which the daemon asks only `due`

    busy: BusyError | None = None
    for memory_dir, waiting_here in sessions.items():
        roots = {session.session_id: session.project_root for session in waiting_here}
        todo = [
            Session(session.transcript_id, session.session_id, session.client, session.path) for session in waiting_here
        ]
        try:
            for outcome in extract(
                database,
                paths,
                memory_dir,
                todo,
                now,
                engine=engine,
                review_mode=review_mode,
                is_daily_log=any(has_daily_log(root) for root in roots.values()),
                with_history=with_history,
                clock=clock,
            ):
                yield ExtractedDirectory(roots[outcome.session_id], memory_dir, outcome)
        except EngineRestsError:
            raise
        except BusyError as error:
            busy = busy or error
    if busy is not None and not gives_way:
        raise busy
