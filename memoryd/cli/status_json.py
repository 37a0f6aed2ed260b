"""The contract of `status --json`, described in docs/json.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoryd import __version__
from memoryd.clock import iso
from memoryd.memory.stats import TYPES
from memoryd.model import Due, Wait

if TYPE_CHECKING:
    from memoryd.diagnosis.projects import NextDream, ProjectStatus
    from memoryd.diagnosis.status import Status
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
            {"session": one.session_id, "project": one.project_root, "since": iso(one.started_at)}
            for one in status.working
        ],
        "waiting": [_session(session, decision) for session, decision in status.waiting],
        "skipped": [_session(session, decision) for session, decision in status.skipped],
        "last": _last(status),
        "memories": [_project(one) for one in status.projects.named],
        "recall": status.recall._asdict() if status.recall is not None else None,
        "dreams": _dreams(status),
        "to_review": status.to_review,
        "damaged": [{"path": damage.path, "lines": damage.lines} for damage in status.damaged],
        "not_transcripts": [{"path": path, "kind": kind} for path, kind in status.odd],
        "full_indexes": [
            {
                "path": one.path,
                "lines": one.fill.lines,
                "bytes": one.fill.bytes,
                "over": one.fill.is_over,
                "left_out": list(one.left_out),
            }
            for one in status.projects.full
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
        "troubles": [{"name": one.name, "text": one.text, "fix": one.fix or None} for one in running.troubles],
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
        "project": session.project_root,
        "transcript": session.path,
        "turns": len(session.turn_ids),
        **_decision(decision),
    }


def _project(one: ProjectStatus) -> dict[str, Any]:
    counted = one.counted
    return {
        "project": one.root,
        "memory_dir": one.memory_dir,
        "sessions": one.sessions,
        "waiting_turns": one.waiting_turns,
        "active_at": None if one.active_at is None else iso(one.active_at),
        "extracted_at": None if one.extracted is None else iso(one.extracted[0]),
        "extraction": None if one.extracted is None else one.extracted[1],
        "types": {kind or "none": counted.types.get(kind, 0) if counted else 0 for kind in (*TYPES, "")},
        "index": {"lines": counted.fill.lines, "bytes": counted.fill.bytes} if counted else None,
        "outdated": one.outdated,
    }


def _last(status: Status) -> list[dict[str, Any]]:
    return [
        {
            "session": job.session_id,
            "project": job.project_root,
            "at": iso(job.ended_at),
            "outcome": job.outcome,
            "detail": job.detail or None,
            "saved": list(job.saved),
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
                **_dream(one),
                "since": iso(one.started_at),
                "alive": is_alive,
                "stopping": one.stop_requested,
                "turns": [
                    {"at": iso(turn.at), "phase": turn.phase, "line": turn.line, "text": turn.text or None}
                    for turn in one.turns
                ],
            }
            for one, is_alive in dreams.running
        ],
        "next": [_next(one, one.dream) for one in status.projects.named if one.dream is not None],
        "last": [
            {
                **_dream(one),
                "at": iso(one.ended_at or one.started_at),
                "detail": one.detail or None,
                "change": dreams.changes.get(one.job_id, (None, ""))[0],
            }
            for one in dreams.last
        ],
        "outcomes": dict(dreams.outcomes),
    }


def _dream(one: DreamReport) -> dict[str, Any]:
    return {
        "job": one.job_id,
        "project": one.project_root,
        "memory_dir": one.memory_dir,
        "engine": one.engine,
        "state": one.state,
        "phase": one.phase or None,
        "line": one.line or None,
        "tools": one.tools,
        "files": list(one.files),
        "usd": round(one.usd, 6),
    }


def _next(project: ProjectStatus, dream: NextDream) -> dict[str, Any]:
    return {
        "project": project.root,
        "memory_dir": project.memory_dir,
        **_decision(dream.decision),
        "gate": next((gate.name for gate in dream.gates if isinstance(gate.decision, Wait)), None),
        "gates": {gate.name: isinstance(gate.decision, Due) for gate in dream.gates},
        "checks": [{"gate": gate.name, **_decision(gate.decision)} for gate in dream.gates],
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
