"""Gates of a dream, evaluated with the state of disk and database."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import StateError
from memoryd.jobs import gates
from memoryd.jobs.agent_memory import agent_memories
from memoryd.jobs.holds import engine_wait
from memoryd.memory.limits import INDEX_NAME, LOCK_NAME
from memoryd.model import Due, Wait
from memoryd.projects import is_excluded
from memoryd.state import dreams, waiting
from memoryd.state import projects as known_projects
from memoryd.state.quotes import logs_with_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.dreams import DreamGateState


class Gate(NamedTuple):
    """Gate and its decision, independent of the gates before it."""

    name: str
    decision: Due | Wait


class Checks:
    """Checks of one memory directory at one moment. `status` evaluates all of them and records nothing."""

    def __init__(
        self,
        database: Database,
        paths: Paths,
        config: Config,
        memory_dir: str,
        now: float,
        *,
        has_sessions: bool = True,
    ) -> None:
        """Without `has_sessions` it is no project's directory: a memory that changed counts, not a session."""
        self._has_sessions = has_sessions
        self._database = database
        self._paths = paths
        self._config = config
        self._memory_dir = memory_dir
        self._now = now
        self._known: DreamGateState = dreams.dream_gate_state(database, memory_dir)
        self._lock_at = lock_time(memory_dir)
        roots = known_projects.roots_of(database, memory_dir)
        self._has_daily_log = any(config.has_daily_log(root) for root in roots)

    def decision(self) -> Due | Wait:
        """Decision of the first closed gate, or Due; what gates need next time is recorded."""
        why = Due("")
        for name, ask in self._gates(self._dreamt(note=True).since):
            if name == "sessions":
                dreams.note_count(self._database, self._memory_dir, self._now)
            answer = ask()
            if isinstance(answer, Wait):
                if name == "lines":  # this night is over: lines that come now wait for the next one
                    dreams.note_count(self._database, self._memory_dir, self._now)
                return answer
            why = answer or why
        return why

    def all(self) -> list[Gate]:
        """Decisions of all gates."""
        return [Gate(name, ask() or Due("")) for name, ask in self._gates(self._dreamt(note=False).since)]

    def signal_since(self) -> float:
        """Time from which turns that nobody worked on are part of a dream, history included."""
        # Where there is a lock its time alone counts: turns that were history at first sight may be newer.
        return self._counted_from(self._first_seen_at if self._lock_at is None else 0.0, note=False).since

    def _gates(self, since: float) -> Iterator[tuple[str, Callable[[], Due | Wait | None]]]:
        """Gates, the cheapest first."""
        config, now, known = self._config, self._now, self._known
        yield "switch", lambda: gates.dream_switch(config, engine_wait(self._database, self._paths, config, now))
        if self._has_daily_log or self.lines:
            yield "time", lambda: self._night(since) or gates.dream_retry(known.retry_at, known.failures, now)
            yield "lines", lambda: gates.dream_lines(self.lines, config, now)
        else:
            yield from self._gates_of_sessions(since)
        if config.engine == "claude":
            yield "extraction", lambda: gates.dream_after_extraction(self._to_be_read())
        yield "lock", self._held

    def _gates_of_sessions(self, since: float) -> Iterator[tuple[str, Callable[[], Due | Wait | None]]]:
        config, now, known = self._config, self._now, self._known
        yield (
            "time",
            lambda: (
                gates.dream_time(since, self._lock_at, config, now)
                or gates.dream_retry(known.retry_at, known.failures, now)
            ),
        )
        if not self._has_sessions:
            yield "changes", lambda: gates.dream_changes(len(self._written), sum(at >= since for at in self._written))
            return
        yield "throttle", lambda: gates.dream_throttle(known.counted_at, config, now)
        yield "sessions", lambda: gates.dream_sessions(self._counted(since), config, now)

    def _night(self, since: float) -> Wait | None:
        """The time of day; lines that still wait when the mode was switched off are distilled at once."""
        if not self._has_daily_log:
            return None
        counted_at = self._known.counted_at or 0.0
        return gates.dream_night(max(since, counted_at if counted_at <= self._now else 0.0), self._config, self._now)

    @cached_property
    def lines(self) -> int:
        """Lines of daily logs that wait to be distilled."""
        if not self._has_daily_log and not logs_with_lines(self._database, self._memory_dir):
            return 0
        from memoryd.jobs.new_log_lines import waiting_lines  # noqa: PLC0415 - only where there are daily logs

        return waiting_lines(
            self._database, self._memory_dir, self.signal_since(), self._now, is_on=self._has_daily_log
        )

    def _counted(self, since: float) -> int:
        changed = dreams.sessions_since(self._database, self._memory_dir, since)
        sessions = [(session.session, session.has_open_turn) for session in changed]
        return gates.counted(sessions, self._config, self._paths.state_dir, self._now)

    @cached_property
    def _written(self) -> list[float]:
        """When each memory was written, or came here."""
        with suppress(OSError), os.scandir(self._memory_dir) as entries:
            return [
                entry.stat(follow_symlinks=False).st_ctime
                for entry in entries
                if entry.name.endswith(".md") and entry.name != INDEX_NAME
            ]
        return []

    def _to_be_read(self) -> int:
        """Sessions of all projects that extraction will work on by itself."""
        decisions = (
            gates.extraction(session, self._config, self._paths.state_dir, self._now)
            for session in waiting.waiting_sessions(self._database)
        )
        return sum(
            isinstance(decision, Due)
            or (isinstance(decision, Wait) and decision.reason in ("session_active", "throttled"))
            for decision in decisions
        )

    def _held(self) -> Wait | None:
        if _names_nobody(self._memory_dir):
            return None
        from memoryd.memory import lock  # noqa: PLC0415 - 25 ms that `status` seldom needs
        from memoryd.memory.directory import open_directory  # noqa: PLC0415

        try:
            with open_directory(self._memory_dir) as directory:
                judged = lock.judge(lock.read(directory.descriptor), now=self._now, is_live=lock.holder_is_alive)
        except FileNotFoundError:
            return None
        return gates.dream_lock(judged.pid, judged.until) if isinstance(judged, lock.LockHeld) else None

    def _dreamt(self, *, note: bool) -> gates.LastDream:
        if note and self._first_seen_at > self._now:  # the clock was set back since
            dreams.note_first_sight(self._database, self._memory_dir, self._now)
        return self._counted_from(self._first_seen_at, note=note)

    @property
    def _first_seen_at(self) -> float:
        if not self._has_sessions:  # nobody notes it; the first memory is there since about then
            return min([self._now, *self._written])
        return self._known.first_seen_at if self._known.first_seen_at is not None else self._now

    def _counted_from(self, first_seen_at: float, *, note: bool) -> gates.LastDream:
        ahead_ns = int((self._lock_at or 0.0) * 1e9)
        noticed_at = self._known.noticed_at if self._known.ahead_ns == ahead_ns else None
        least = self._config.dream.least_hours * 3600
        dreamt = gates.last_dreamt(self._lock_at, first_seen_at, noticed_at, least, self._now)
        if note and dreamt.is_ahead and (noticed_at is None or noticed_at > self._now):
            dreams.note_ahead(self._database, self._memory_dir, ahead_ns, self._now)
        return dreamt


def lock_time(memory_dir: str) -> float | None:
    """Time of the last successful dream, of memoryd or the client; None if there was none."""
    try:
        return os.stat(os.path.join(memory_dir, LOCK_NAME), follow_symlinks=False).st_mtime
    except OSError:
        return None


def _names_nobody(memory_dir: str) -> bool:
    """Whether there is no lock file, or an empty one, which a dream leaves when it ends."""
    try:
        found = os.stat(os.path.join(memory_dir, LOCK_NAME), follow_symlinks=False)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and not found.st_size


def due(database: Database, paths: Paths, config: Config, now: float) -> Iterator[tuple[str, str]]:
    """The memory directories whose gates are all open, with the root of their project, if they have one."""
    seen: set[str] = set()
    for project in known_projects.all_projects(database):
        if project.memory_dir in seen or not os.path.isdir(project.memory_dir):
            continue
        seen.add(project.memory_dir)
        try:
            decision = Checks(database, paths, config, project.memory_dir, now).decision()
        except StateError:  # the lock's name is no regular file: `status` shows it, and the other projects go on
            continue
        if isinstance(decision, Due):
            yield project.memory_dir, project.root
    for memory_dir, root in _without_sessions(database, paths, config):
        with suppress(StateError):
            checks = Checks(database, paths, config, memory_dir, now, has_sessions=False)
            if memory_dir not in seen and os.path.isdir(memory_dir) and isinstance(checks.decision(), Due):
                yield memory_dir, root


def _without_sessions(database: Database, paths: Paths, config: Config) -> Iterator[tuple[str, str]]:
    """Directories that no sessions lead to: the memories about the person, and those of sub-agents where that is on."""
    if paths.global_dir:
        yield paths.global_dir, ""
    if config.features.agent_memory:
        for agent in agent_memories(paths, [project.root for project in known_projects.all_projects(database)]):
            if not (agent.root and is_excluded(agent.root, config.projects.exclude)):
                yield agent.path, agent.root
