"""The contract of `status --json`, described in docs/json.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoryd import __version__
from memoryd.clock import iso
from memoryd.model import Run, Wait

if TYPE_CHECKING:
    from memoryd.model import Skip
    from memoryd.state.dreams import DreamReport
    from memoryd.status import Dreams, NextDream, Status


def as_json(status: Status) -> dict[str, Any]:
    totals = status.totals
    return {
        "version": __version__,
        "running": {"pid": status.running.pid, "since": iso(status.running.since)} if status.running else None,
        "root": {"path": status.root, "exists": status.root_exists},
        "engine": {
            "name": status.engine.name,
            "model": status.engine.model or None,
            "base_url": (status.engine.base_url or None) if status.engine.model else None,
            "spent_today_usd": round(status.engine.spent_usd, 6),
            "usd_per_day": status.engine.usd_per_day if status.engine.model else None,
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
            "outcomes": dict(totals.outcomes) if totals else {},
        },
        "working": [
            {"session": one.session_id, "project": one.project_root, "since": iso(one.started_at)}
            for one in status.working
        ],
        "waiting": _waiting(status),
        "last": _last(status),
        "dreams": _dreams(status.dreams),
        "damaged": [{"path": damage.path, "lines": damage.lines} for damage in status.damaged],
        "not_transcripts": [{"path": path, "kind": kind} for path, kind in status.odd],
        "full_indexes": [
            {"path": one.path, "lines": one.lines, "bytes": one.bytes, "left_out": list(one.left_out)}
            for one in status.full
        ],
        "unreadable": [{"path": path, "error": error} for path, error in status.unreadable],
        "problems": [{"problem": problem.text, "fix": problem.fix} for problem in status.problems],
    }


def _waiting(status: Status) -> list[dict[str, Any]]:
    return [
        {
            "session": session.session_id,
            "project": session.project_root,
            "transcript": session.path,
            "turns": len(session.turn_ids),
            **_decision(decision),
        }
        for session, decision in status.waiting
    ]


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


def _dreams(dreams: Dreams) -> dict[str, Any]:
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
        "next": [_next(one) for one in dreams.upcoming],
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


def _next(one: NextDream) -> dict[str, Any]:
    return {
        "project": one.project_root,
        "memory_dir": one.memory_dir,
        **_decision(one.decision),
        "gate": next((gate.name for gate in one.gates if isinstance(gate.decision, Wait)), None),
        "gates": {gate.name: None if gate.decision is None else isinstance(gate.decision, Run) for gate in one.gates},
    }


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
