"""The contract of `status --json`, described in docs/json.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoryd import __version__
from memoryd.clock import iso
from memoryd.memory_types import MEMORY_TYPES
from memoryd.model import Due, Wait

if TYPE_CHECKING:
    from memoryd.diagnosis.projects import NextDream, ProjectStatus
    from memoryd.diagnosis.status import Status
    from memoryd.memory.stats import Counted
    from memoryd.model import Skip, WaitingSession
    from memoryd.state.dreams import DreamReport


def as_json(status: Status) -> dict[str, Any]:
    totals = status.totals
    return {
        "version": __version__,
        "running": _running(status),
        "service_installed": status.is_installed,
        "last_failure": _failure(status),
        "pause": _pause(status),
        "root": {"path": status.root, "exists": status.root_exists},
        "engine": {
            "name": status.engine.name,
            "model": status.engine.model or None,
            "base_url": (status.engine.base_url or None) if status.engine.model else None,
            "spent_today_usd": round(status.engine.spent_usd, 6),
            "usd_per_day": status.engine.usd_per_day if status.engine.base_url and status.engine.model else None,
            "plan": _plan(status),
        },
        "scanned_at": iso(totals.scanned_at) if totals and totals.scanned_at else None,
        "projects": totals.projects if totals else 0,
        "sessions": {
            "known": totals.sessions if totals else 0,
            "bytes": totals.bytes if totals else 0,
            "unread": totals.unread if totals else 0,
            "missing": totals.missing if totals else 0,
            "clients": dict(status.clients),
        },
        "turns": {
            "waiting": (totals.waiting_turns if totals else 0) - status.skipped_turns,
            "skipped": status.skipped_turns,
            "open": totals.open_turns if totals else 0,
            "history": totals.history_turns if totals else 0,
            "vanished": totals.vanished_turns if totals else 0,
            "outcomes": dict(status.outcomes),
        },
        "working": [
            {"session": job.session_id, "project": job.project_root, "since": iso(job.started_at)}
            for job in status.working
        ],
        "waiting": [_session(session, decision) for session, decision in status.waiting],
        "skipped": [_session(session, decision) for session, decision in status.skipped],
        "last": _last(status),
        "memories": [_project(project) for project in status.projects.named],
        "global": _types(status.projects.person),
        "recall": status.recall._asdict() if status.recall is not None else None,
        "rules": _rules(status),
        "dreams": _dreams(status),
        "to_review": status.to_review,
        "sync": [
            {
                "store": done.store,
                "succeeded_at": iso(done.succeeded_at) if done.succeeded_at else None,
                "exchanged_at": iso(done.exchanged_at) if done.exchanged_at else None,
                "author": done.author or None,
                "last_exchange": dict(done.facts),
                "error": done.error or None,
                "apart": apart,
            }
            for done, apart in status.sync
        ],
        "team_projects": status.team_projects,
        "damaged": [{"path": damage.path, "client": damage.client, "lines": damage.lines} for damage in status.damaged],
        "not_transcripts": [{"path": path, "kind": kind} for path, kind in status.odd],
        "full_indexes": [
            {
                "path": index.path,
                "lines": index.fill.lines,
                "bytes": index.fill.bytes,
                "over": index.fill.is_over,
                "left_out": list(index.left_out),
            }
            for index in status.projects.full
        ],
        "unreadable": [{"path": path, "error": error} for path, error in status.unreadable],
        "problems": [{"problem": problem.text, "fix": problem.fix} for problem in status.problems],
    }


def _running(status: Status) -> dict[str, Any] | None:
    running = status.running
    if running is None:
        return None
    return {
        "pid": running.pid,
        "since": iso(running.since),
        "version": running.version or None,
        "watching": running.watching or None,
        "troubles": [
            {"name": trouble.name, "text": trouble.text, "fix": trouble.fix or None} for trouble in running.troubles
        ],
    }


def _failure(status: Status) -> dict[str, Any] | None:
    failed = status.failure
    if failed is None:
        return None
    return {
        "at": iso(failed.at),
        "exit_code": failed.exit_code,
        "problem": failed.sentence,
        "fix": failed.fix or None,
    }


def _pause(status: Status) -> dict[str, Any] | None:
    pause = status.pause
    if pause is None:
        return None
    return {"since": iso(pause.since), "until": None if pause.until is None else iso(pause.until)}


def _session(session: WaitingSession, decision: Due | Wait | Skip) -> dict[str, Any]:
    return {
        "session": session.session_id,
        "client": session.client,
        "project": session.project_root,
        "transcript": session.path,
        "turns": len(session.turn_ids),
        **_decision(decision),
    }


def _project(project: ProjectStatus) -> dict[str, Any]:
    counted = project.counted
    return {
        "project": project.root,
        "memory_dir": project.memory_dir,
        "sessions": project.sessions,
        "waiting_turns": project.waiting_turns,
        "active_at": None if project.active_at is None else iso(project.active_at),
        "extracted_at": None if project.extracted is None else iso(project.extracted[0]),
        "extraction": None if project.extracted is None else project.extracted[1],
        "types": _types(counted),
        "index": {"lines": counted.fill.lines, "bytes": counted.fill.bytes} if counted else None,
        "outdated": project.outdated,
    }


def _types(counted: Counted | None) -> dict[str, int]:
    return {kind or "none": counted.types.get(kind, 0) if counted else 0 for kind in (*MEMORY_TYPES, "")}


def _last(status: Status) -> list[dict[str, Any]]:
    return [
        {
            "session": job.session_id,
            "project": job.project_root,
            "at": iso(job.ended_at),
            "outcome": job.outcome,
            "detail": job.detail or None,
            "saved": list(dict.fromkeys(job.saved)),
            "removed": list(job.removed),
            "usd": round(job.usd, 6),
        }
        for job in status.last
    ]


def _dreams(status: Status) -> dict[str, Any]:
    dreams = status.dreams
    return {
        "running": [
            {
                **_dream(dream),
                "since": iso(dream.started_at),
                "alive": is_alive,
                "stopping": dream.stop_requested,
                "turns": [
                    {"at": iso(turn.at), "phase": turn.phase, "line": turn.line, "text": turn.text or None}
                    for turn in dream.turns
                ],
            }
            for dream, is_alive in dreams.running
        ],
        "next": [_next(project, project.dream) for project in status.projects.named if project.dream is not None],
        "last": [
            {
                **_dream(dream),
                "at": iso(dream.ended_at or dream.started_at),
                "detail": dream.detail or None,
                "change": dreams.changes.get(dream.job_id, (None, ""))[0],
            }
            for dream in dreams.last
        ],
        "outcomes": dict(dreams.outcomes),
    }


def _dream(dream: DreamReport) -> dict[str, Any]:
    return {
        "job": dream.job_id,
        "project": dream.project_root,
        "memory_dir": dream.memory_dir,
        "engine": dream.engine,
        "state": dream.state,
        "phase": dream.phase or None,
        "line": dream.line or None,
        "tools": dream.tools,
        "files": list(dream.files),
        "usd": round(dream.usd, 6),
    }


def _next(project: ProjectStatus, dream: NextDream) -> dict[str, Any]:
    return {
        "project": project.root,
        "memory_dir": project.memory_dir,
        **_decision(dream.decision),
        "gate": next((gate.name for gate in dream.gates if isinstance(gate.decision, Wait)), None),
        "gates": {gate.name: isinstance(gate.decision, Due) for gate in dream.gates},
        "checks": [{"gate": gate.name, **_decision(gate.decision)} for gate in dream.gates],
        "lines": dream.lines,
    }


def _decision(decision: Due | Wait | Skip) -> dict[str, Any]:
    if isinstance(decision, Due):
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


def _plan(status: Status) -> dict[str, Any] | None:
    plan = status.engine.plan
    if plan is None:
        return None
    return {
        "command": plan.command,
        "version": plan.version or None,
        "since": iso(plan.since) if plan.since is not None else None,
        "answered_by": plan.answered.model if plan.answered else None,
        "answered_at": iso(plan.answered.at) if plan.answered else None,
        "runs_today": plan.used.runs,
        "runs_per_day": plan.runs_per_day,
        "tokens_today": plan.used.tokens,
        "tokens_per_day": plan.tokens_per_day,
        "list_price_today_usd": round(plan.used.usd, 6),
    }


def _rules(status: Status) -> dict[str, Any]:
    return {
        "binding": [
            {
                "memory_dir": rule.memory_dir,
                "file": rule.file,
                "refuses": list(rule.refuses),
                "asks": list(rule.asks),
                "refused": rule.outcome.refused,
                "allowed": rule.outcome.allowed,
            }
            for rule in status.rules.binding
        ],
        "with_calls": status.rules.with_calls,
        "followed": status.rules.followed,
        "corrected": status.rules.corrected,
    }
