"""What is the matter: gathered into one value, shown as text or JSON."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd import __version__, gates
from memoryd.clock import iso
from memoryd.errors import BusyError, StateError
from memoryd.instance import running_instance
from memoryd.model import Run, Skip, Wait
from memoryd.state import notices, report, waiting
from memoryd.state import projects as known_projects
from memoryd.state.database import open_for_reading
from memoryd.words import ago, clock_time, count, short, shown, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.config import Config
    from memoryd.instance import Instance
    from memoryd.model import WaitingSession
    from memoryd.paths import Paths
    from memoryd.state.database import Database

_NAMED = 8
"""So many of a kind are named on the screen; `--json` names all."""

_SMALL_INDEX_BYTES = 3_000

_DAMAGE_WORDS = {
    "nul": "NUL bytes, taken out",
    "utf8": "not UTF-8, replaced",
    "joined": "newline missing, split",
    "spliced": "torn, rest recovered",
    "unreadable": "not JSON, left out",
    "unknown_shape": "of unknown shape, left out",
    "too_long": "too long, left out",
}


class Problem(NamedTuple):
    text: str
    fix: str


class FullIndex(NamedTuple):
    """An index that is near what clients load of it, or beyond."""

    path: str
    lines: int
    bytes: int
    left_out: tuple[str, ...]
    """Memories that have no line in it for want of room."""


class Status(NamedTuple):
    now: float
    home: str
    root: str
    root_exists: bool
    running: Instance | None
    totals: report.Totals | None
    waiting: tuple[tuple[WaitingSession, Run | Wait | Skip], ...]
    last: tuple[report.JobResult, ...]
    """The last jobs, newest first."""
    damaged: tuple[report.Damage, ...]
    odd: tuple[tuple[str, str], ...]
    unreadable: tuple[tuple[str, str], ...]
    full: tuple[FullIndex, ...]
    problems: tuple[Problem, ...]


def gather(paths: Paths, config: Config, now: float) -> Status:
    """Look at the lock and the database; neither is changed. A database that cannot be read is a problem, not an error."""
    problems: list[Problem] = []
    try:
        database = open_for_reading(paths)
    except (StateError, BusyError) as error:
        problems.append(Problem(error.sentence, error.fix))
        database = None
    try:
        return _gather(paths, config, now, database, problems)
    except (StateError, BusyError) as error:
        problems.append(Problem(error.sentence, error.fix))
        return _gather(paths, config, now, None, problems)
    finally:
        if database is not None:
            database.close()


def _gather(paths: Paths, config: Config, now: float, database: Database | None, problems: list[Problem]) -> Status:
    root = paths.transcripts_root
    running = running_instance(paths)
    if running is not None and running.trouble:
        problems.append(Problem(running.trouble, running.fix))
    unreadable: list[tuple[str, str]] = []
    if database is not None:
        problems += [Problem(notice.text, notice.fix) for notice in notices.standing(database)]
        unreadable = report.unreadable(database)
        problems += [_unreadable(path, why) for path, why in unreadable[:_NAMED]]
        if len(unreadable) > _NAMED:
            problems.append(
                Problem(f"{len(unreadable) - _NAMED} more transcripts cannot be read.", "memoryd status --json")
            )
        problems += [
            Problem(f"{count(number, 'session')} could not be worked on: {why.rstrip('.')}.", "memoryd retry")
            for why, number in report.failing(database)[:_NAMED]
        ]
        problems += [_collision(root, older, paths) for root, older in report.collisions(database)]
    return Status(
        now=now,
        home=paths.home,
        root=root,
        root_exists=os.path.isdir(root),
        running=running,
        totals=report.totals(database) if database else None,
        waiting=tuple(
            (session, gates.extraction(session, config, paths.state_dir, now))
            for session in (waiting.waiting_sessions(database) if database else ())
        ),
        last=tuple(report.last_jobs(database, _NAMED)) if database else (),
        damaged=tuple(report.damaged(database)) if database else (),
        odd=tuple(report.oddities(database)) if database else (),
        unreadable=tuple(unreadable),
        full=tuple(_full_indexes(database)) if database else (),
        problems=tuple(problems),
    )


def _collision(root: str, older: str, paths: Paths) -> Problem:
    return Problem(
        f"The project {short(root, paths.home)} is skipped (slug_collision): its memory directory already belongs"
        f" to {short(older, paths.home)}, which was seen first.",
        f'add to {short(paths.config_file, paths.home)}: [projects.memory_dirs] "{root}" = "~/a/directory/of/its/own"',
    )


def _unreadable(path: str, why: str) -> Problem:
    rights = "u+rx" if os.path.isdir(path) else "u+r"
    return Problem(f"{path} cannot be read: {why}.", f"chmod {rights} {shlex.quote(path)}")


def _full_indexes(database: Database) -> Iterator[FullIndex]:
    """Look at the indexes of all projects; only one that is large enough to matter is read."""
    for project in known_projects.all_projects(database):
        path = os.path.join(project.memory_dir, "MEMORY.md")
        try:
            if os.stat(path).st_size < _SMALL_INDEX_BYTES:
                continue
        except OSError:
            continue
        from memoryd.memory import index  # noqa: PLC0415 - 10 ms that most calls need not pay
        from memoryd.memory.directory import open_directory  # noqa: PLC0415

        try:
            with open_directory(project.memory_dir) as directory:
                state = directory.read(index.NAME)
                topics = directory.listing().topics
        except (OSError, StateError):
            continue
        text = state.data.decode("utf-8", "replace") if state else ""
        lines = text.count("\n")
        if lines >= index.WARN_LINES or len(text.encode()) >= index.MOST_BYTES * 4 // 5:
            named = {index.entry_of(line) for line in text.splitlines()}
            left_out = sorted((name for name in topics if name not in named), key=lambda name: topics[name])
            yield FullIndex(path, lines, len(text.encode()), tuple(left_out))


def exit_code(status: Status) -> int:
    """0 all is well, 1 there is a problem, 3 no daemon runs."""
    if status.running is None:
        return 3
    return 1 if status.problems else 0


def as_json(status: Status) -> dict[str, Any]:
    """The contract of `status --json`, described in docs/json.md."""
    totals = status.totals
    return {
        "version": __version__,
        "running": {"pid": status.running.pid, "since": iso(status.running.since)} if status.running else None,
        "root": {"path": status.root, "exists": status.root_exists},
        "scanned_at": iso(totals.scanned_at) if totals and totals.scanned_at else None,
        "projects": totals.projects if totals else 0,
        "sessions": {
            "known": totals.sessions if totals else 0,
            "bytes": totals.bytes if totals else 0,
            "unread": totals.unread if totals else 0,
            "missing": totals.missing if totals else 0,
        },
        "turns": {
            "waiting": (totals.waiting_turns if totals else 0) - _skipped_turns(status),
            "skipped": _skipped_turns(status),
            "open": totals.open_turns if totals else 0,
            "history": totals.history_turns if totals else 0,
            "vanished": totals.vanished_turns if totals else 0,
            "outcomes": dict(totals.outcomes) if totals else {},
        },
        "waiting": [
            {
                "session": session.session_id,
                "project": session.project_root,
                "transcript": session.path,
                "turns": len(session.turn_ids),
                **_decision(decision),
            }
            for session, decision in status.waiting
        ],
        "last": [
            {
                "session": job.session_id,
                "project": job.project_root,
                "at": iso(job.ended_at),
                "outcome": job.outcome,
                "detail": job.detail or None,
                "saved": list(job.saved),
                "removed": list(job.removed),
            }
            for job in status.last
        ],
        "damaged": [{"path": damage.path, "lines": damage.lines} for damage in status.damaged],
        "not_transcripts": [{"path": path, "kind": kind} for path, kind in status.odd],
        "full_indexes": [
            {"path": one.path, "lines": one.lines, "bytes": one.bytes, "left_out": list(one.left_out)}
            for one in status.full
        ],
        "unreadable": [{"path": path, "error": error} for path, error in status.unreadable],
        "problems": [{"problem": problem.text, "fix": problem.fix} for problem in status.problems],
    }


def _skipped_turns(status: Status) -> int:
    return sum(len(session.turn_ids) for session, decision in status.waiting if isinstance(decision, Skip))


def _decision(decision: Run | Wait | Skip) -> dict[str, Any]:
    if isinstance(decision, Run):
        return {"decision": "ready", "reason": None, "why": decision.why, "until": None}
    if isinstance(decision, Wait):
        until = iso(decision.until) if decision.until is not None else None
        return {"decision": "wait", "reason": decision.reason, "why": decision.why, "until": until}
    return {
        "decision": f"skipped({decision.reason})",
        "reason": decision.reason,
        "why": decision.why,
        "until": None,
    }


def as_text(status: Status) -> str:
    """One screen for a person."""
    lines = [_headline(status), ""]
    totals = status.totals
    lines.append(_row("watches", short(status.root, status.home) + ("" if status.root_exists else "  (not there yet)")))
    if totals is None:
        lines.append(_row("sessions", "not looked at yet: memoryd run"))
    else:
        unread = f", {totals.unread:,} not read to the end yet" if totals.unread else ""
        gone = f", {totals.missing:,} no longer there" if totals.missing else ""
        lines.append(
            _row(
                "sessions",
                f"{totals.sessions:,} ({size(totals.bytes)}) of {count(totals.projects, 'project')}{unread}{gone}",
            )
        )
        skipped = _skipped_turns(status)
        left_alone = f", {skipped:,} skipped" if skipped else ""
        vanished = f", {totals.vanished_turns:,} taken back before they were read" if totals.vanished_turns else ""
        lines.append(
            _row(
                "turns",
                f"{totals.waiting_turns - skipped:,} waiting{left_alone}, {totals.open_turns:,} open,"
                f" {totals.history_turns:,} history{vanished}",
            )
        )
    lines += _waiting_lines(status)
    lines += _last_lines(status)
    lines += _left_out_lines(status)
    lines += _index_lines(status)
    if status.problems:
        lines += ["", "  problems"]
        for problem in status.problems:
            lines += [f"    {shown(problem.text)}", f"      fix: {shown(problem.fix)}"]
    return "\n".join(lines)


def _headline(status: Status) -> str:
    running = status.running
    if running is None:
        return f"memoryd {__version__} is not running. Start it: memoryd run"
    return (
        f"memoryd {__version__} is running since {clock_time(running.since)}"
        f" ({ago(status.now - running.since)}, process {running.pid})"
    )


def _row(name: str, text: str) -> str:
    return f"  {name:<10}{text}"


def _waiting_lines(status: Status) -> list[str]:
    if not status.waiting:
        return []
    lines = ["", "  waiting"]
    in_order = sorted(status.waiting, key=lambda pair: isinstance(pair[1], Skip))
    for session, decision in in_order[:_NAMED]:
        if isinstance(decision, Run):
            what = f"ready: {decision.why}"
        elif isinstance(decision, Wait):
            when = "when it grows" if decision.until is None else f"in {ago(decision.until - status.now)}"
            what = f"{when} ({decision.reason}): {decision.why}"
        else:
            what = f"skipped({decision.reason}): {decision.why}"
        name = shown(os.path.basename(session.project_root) or session.project_root)
        turns = count(len(session.turn_ids), "turn")
        lines.append(f"    {name:<20}  {shown(session.session_id[:8])}  {turns:<8}  {what}")
    return lines + _more(len(status.waiting))


def _last_lines(status: Status) -> list[str]:
    """What the last jobs brought; those that found nothing say nothing."""
    told = [job for job in status.last if job.outcome != "succeeded_no_output" or job.detail]
    lines = []
    for job in told:
        name = shown(os.path.basename(job.project_root) or job.project_root)
        what = [f"saved {', '.join(map(shown, job.saved))}"] if job.saved else []
        what += [f"took back {', '.join(map(shown, job.removed))}"] if job.removed else []
        what = what or [job.outcome]
        what += [shown(job.detail)] if job.detail else []
        when = f"{ago(status.now - job.ended_at)} ago"
        lines.append(f"    {name:<20}  {shown(job.session_id[:8])}  {when:<8}  {'; '.join(what)}")
    return ["", "  last", *lines] if lines else []


def _left_out_lines(status: Status) -> list[str]:
    lines = []
    if status.damaged:
        lines += ["", f"  damage    in {count(len(status.damaged), 'transcript')}; the rest was read"]
        for damage in status.damaged[:_NAMED]:
            kinds = "; ".join(f"{number:,}x {_DAMAGE_WORDS.get(kind, kind)}" for kind, number in damage.lines.items())
            lines.append(f"    {short(damage.path, status.home)}: {kinds}")
        lines += _more(len(status.damaged))
    if status.odd:
        lines += ["", f"  no file   {len(status.odd):,} named like a transcript, left alone"]
        lines += [f"    {short(path, status.home)}: {kind}" for path, kind in status.odd[:_NAMED]]
        lines += _more(len(status.odd))
    return lines


def _index_lines(status: Status) -> list[str]:
    lines = []
    for one in status.full[:_NAMED]:
        left_out = f"; no room for {count(len(one.left_out), 'memory')}" if one.left_out else ""
        lines.append(
            f"    {short(one.path, status.home)}: {one.lines:,} of 200 lines, {size(one.bytes)} of 25 kB"
            + left_out.replace("memorys", "memories")
        )
    return ["", "  index     near what clients load of it", *lines, *_more(len(status.full))] if lines else []


def _more(number: int) -> list[str]:
    return [f"    and {number - _NAMED:,} more: memoryd status --json"] if number > _NAMED else []
