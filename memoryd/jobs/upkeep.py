"""Upkeep, once a night: deletes old history, leftovers of dead processes and old logs, and gives space back.

It can be killed anywhere: each step is a small transaction or the removal of one file, and the next upkeep does the rest.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import hour_of
from memoryd.errors import BusyError, CorruptStateError, StateError
from memoryd.jobs import gates
from memoryd.model import Due
from memoryd.state import inbox, jobs, purge, retention, settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.retention import Content, Plan
    from memoryd.state.settings import Setting

_DAY_SECONDS = 86_400.0
_BELIEVED_DAYS = 7
"""A clock that is further ahead than this of the time that the last upkeep used may be wrong, and deleted history is lost. So
a wrong clock costs a week for every night, and after a long sleep the time is caught up with night by night."""
_BATCH = 50
_BATCH_BYTES = 1 << 20
_BETWEEN_SECONDS = 0.02
"""Pause between two transactions, so that other processes get the database."""
_DATABASE_SECONDS = 0.05
_SPARE_BYTES = 64 << 20
_ROTATED = re.compile(r"\.\d+")
_CRASH_BYTES = 1 << 20


class UpkeepOutcome(NamedTuple):
    """Result of an upkeep."""

    at: float
    contents: int = 0
    """File contents that were deleted; their changes can no longer be shown or undone."""
    content_bytes: int = 0
    history_bytes: int = 0
    """Size of the history that is left."""
    jobs: int = 0
    """Jobs of which only the outcome is kept now."""
    copies: int = 0
    """Private copies of memories that dead processes left."""
    locks: int = 0
    logs: int = 0
    freed_bytes: int = 0
    """Bytes by which the database file shrank."""
    left: str = ""
    """Why the database was not made smaller although it could be."""
    expired: int = 0
    """Changes that waited too long for a yes or no."""
    notes: int = 0
    """Notes of sessions that are over."""


def upkeep_due(database: Database, now: float) -> bool:
    """Whether upkeep is due. The first check counts as an upkeep, so that none runs right after the installation."""
    known = settings.get(database, settings.UPKEEP)
    if known is None:
        settings.put(database, settings.UPKEEP, {"tried_at": None, "did": None}, now)
        return False
    if purge.is_unfinished(database):
        return True
    return isinstance(gates.upkeep(known.at, known.value["tried_at"], now, hour_of(now)), Due)


def last_upkeep(database: Database) -> UpkeepOutcome | None:
    """Result of the last upkeep that finished; None if there was none yet."""
    known = settings.get(database, settings.UPKEEP)
    if known is None or known.value["did"] is None:
        return None
    return UpkeepOutcome(**{name: value for name, value in known.value["did"].items() if name in UpkeepOutcome._fields})


def excess(database: Database, config: Config, now: float) -> Plan:
    """Contents that are older than history is kept, or beyond its size: the next upkeep deletes them."""
    since = _believed(settings.get(database, settings.UPKEEP), now) - config.history.keep_days * _DAY_SECONDS
    return retention.plan(database, since, config.history.keep_megabytes * 1e6, now)


def upkeep(database: Database, paths: Paths, config: Config, clock: Clock) -> UpkeepOutcome:
    """Clean up the state directory.

    1. record the begin, so that one that fails is not begun again at once
    2. delete old history, and rows that have waited too long in the inbox
    3. remove notes of sessions that are over, old logs and leftovers of dead processes
    4. give space back, if no other process works
    5. record the result
    """
    from memoryd.jobs.notes import KEPT_DAYS, remove_old  # noqa: PLC0415 - megabytes that the daemon need not hold
    from memoryd.jobs.recovery import remove_leftovers  # noqa: PLC0415 - as above

    now = clock.now()
    known = settings.get(database, settings.UPKEEP)
    begun = {"did": None, **(known.value if known is not None else {}), "tried_at": now}
    settings.put(database, settings.UPKEEP, begun, known.at if known is not None else now)
    believed = _believed(known, now)
    since = believed - config.history.keep_days * _DAY_SECONDS
    plan = retention.plan(database, since, config.history.keep_megabytes * 1e6, now)
    dropped = _drop_contents(database, plan, clock)
    ended = _drop_notes(database, since, clock)
    expired = inbox.expire(database, believed - inbox.KEPT_DAYS * _DAY_SECONDS, now)
    inbox.drop_contents(database, since)
    notes = remove_old(database, paths, believed - KEPT_DAYS * _DAY_SECONDS, now)
    logs = _remove_logs(paths, since)
    removed = remove_leftovers(paths, since)
    freed, left = _give_back(database, paths)
    done = UpkeepOutcome(
        at=now,
        contents=len(dropped),
        content_bytes=sum(content.bytes for content in dropped),
        history_bytes=plan.kept_bytes,
        jobs=ended,
        copies=removed.copies,
        locks=removed.locks,
        logs=logs,
        freed_bytes=freed,
        left=left,
        expired=expired,
        notes=notes,
    )
    # The latest time that was used: after one boot in 1970 it would take years to catch up.
    latest = max(believed, known.value.get("believed", known.at)) if known is not None else believed
    settings.put(database, settings.UPKEEP, {"tried_at": None, "did": done._asdict(), "believed": latest}, now)
    return done


def _believed(known: Setting | None, now: float) -> float:
    """Time by which the age of history is measured."""
    return now if known is None else min(now, known.value.get("believed", known.at) + _BELIEVED_DAYS * _DAY_SECONDS)


def _drop_contents(database: Database, plan: Plan, clock: Clock) -> list[Content]:
    dropped: list[Content] = []
    for batch in _batches(plan.contents):
        dropped += retention.drop(database, plan, batch, clock.now())
        clock.wait(threading.Event(), _BETWEEN_SECONDS)
    return dropped


def _batches(contents: Sequence[Content]) -> Iterator[list[Content]]:
    """Batches small enough for a transaction that nobody notices."""
    batch: list[Content] = []
    size = 0
    for content in contents:
        batch.append(content)
        size += content.bytes
        if len(batch) >= _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _drop_notes(database: Database, since: float, clock: Clock) -> int:
    ended = retention.jobs_with_notes(database, since)
    for number in range(0, len(ended), _BATCH):
        retention.drop_notes(database, ended[number : number + _BATCH])
        clock.wait(threading.Event(), _BETWEEN_SECONDS)
    return len(ended)


def _remove_logs(paths: Paths, since: float) -> int:
    """Remove rotated logs that were not written since then; the log in use rotates by itself."""
    name = os.path.basename(paths.log_file)
    removed = 0
    with os.scandir(paths.state_dir) as entries:
        for entry in list(entries):
            if not entry.name.startswith(name) or not _ROTATED.fullmatch(entry.name[len(name) :]):
                continue
            with suppress(FileNotFoundError):  # it was rotated meanwhile
                if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < since:
                    os.unlink(entry.path)
                    removed += 1
    with suppress(OSError):  # where there is none
        if os.lstat(paths.crash_log).st_size > _CRASH_BYTES and not os.path.islink(paths.crash_log):
            os.truncate(paths.crash_log, 0)  # launchd appends to it, so it stays
            removed += 1
    return removed


def _give_back(database: Database, paths: Paths) -> tuple[int, str]:
    """Bytes by which the database file shrank, and the reason why it did not where it could."""
    try:
        with database.waiting(_DATABASE_SECONDS):  # whoever else uses the database goes first
            retention.optimize(database)
            before = retention.database_size(database)
            is_purged = purge.is_unfinished(database)
            if not before.is_wasted and not is_purged:
                return 0, ""
            if jobs.number_running(database):
                return 0, "a job was running"
            needed = 2 * (before.bytes - before.free_bytes)  # a copy, which then goes through the log
            if shutil.disk_usage(paths.state_dir).free < needed + _SPARE_BYTES:
                return 0, "the disk has no room for a copy"
            (purge.rewrite if is_purged else retention.compact)(database)
            return before.bytes - retention.database_size(database).bytes, ""
    except BusyError:
        return 0, "another process used the database"
    except CorruptStateError:
        raise
    except StateError as error:  # it is as it was; the rest of the upkeep counts all the same
        return 0, error.sentence
