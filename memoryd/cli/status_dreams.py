"""Dreams on the status screen: the one that goes on, what the next one waits for, how the last ones ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.dream_wording import summary
from memoryd.cli.screen import dim, good, strong, warn
from memoryd.formatting import ago, count
from memoryd.model import Due, Wait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.cli.screen import Word, Words
    from memoryd.diagnosis.projects import NextDream
    from memoryd.diagnosis.status import Status
    from memoryd.state.dreams import DreamReport

_GATE_WORDS = {
    "switched_off": "off",
    "paused": "paused",
    "engine_stopped": "engine stopped",
    "engine_busy": "engine busy",
    "engine_missing": "claude is missing",
    "engine_logged_out": "claude is logged out",
    "engine_outdated": "claude is too old",
    "engine_hung": "claude hung",
    "engine_replaced": "claude was replaced",
    "limit_reached": "limit reached",
    "claude_at_work": "claude is at work",
    "extraction_waits": "sessions are read first",
    "budget_reached": "budget used up",
    "backing_off": "waits after a failure",
    "lock_held": "held",
}


def running_dream(dream: DreamReport, now: float, *, is_alive: bool) -> Words:
    if not is_alive:
        return warn("its process died: memoryd dream-stop, or the next dream, puts right what it left")
    facts = [f"dreaming for {ago(now - dream.started_at)}, {'stopping' if dream.stop_requested else dream.state}"]
    facts += [count(dream.tools, "tool call")] if dream.tools else []
    facts += [count(len(set(dream.files)), "file")] if dream.files else []
    facts += [f"{dream.usd:.4f} USD"] if dream.usd else []
    return good(", ".join(facts))


def dream_step(at: float, phase: str, line: str, now: float) -> Words:
    return [dim(f"{ago(now - at) + ' ago':<11} "), f"{phase:<12}{line}"]


def next_dream(dream: NextDream, status: Status) -> Iterator[str | Word]:
    """Closed gates with what each waits for, then the open gates."""
    if isinstance(dream.decision, Due):
        yield good("at the next check" if status.running else "as soon as memoryd runs")
        yield f", {dream.decision.why}"
        return
    for gate in dream.gates:
        if isinstance(gate.decision, Wait):
            yield strong(f"{gate.name} {_awaited(gate.decision, status.now)}")
            yield dim(" · ")
    if dream.lines:
        yield f"{count(dream.lines, 'line')} of daily logs wait{'s' if dream.lines == 1 else ''} for it"
        yield dim(" · ")
    is_open = [gate.name for gate in dream.gates if isinstance(gate.decision, Due)]
    yield dim(f"{', '.join(is_open) or 'none'} ok")


def _awaited(decision: Wait, now: float) -> str:
    """What a gate waits for: `in 5 h`, `2 of 5`."""
    if decision.reason == "too_few_sessions":  # sessions are counted again earlier, so the time would mislead
        return decision.why.partition(" sessions")[0]
    if decision.reason == "no_new_lines":
        return "none new"
    said = _GATE_WORDS.get(decision.reason, "")
    if decision.until is None:
        return said
    left = ago(decision.until - now)
    return f"{said} for {left}" if said else f"in {left}"


def dream_ending(dream: DreamReport, status: Status) -> str:
    change, why = status.dreams.changes.get(dream.job_id, (None, ""))
    what = "nothing to change" if dream.state == "succeeded_no_output" else dream.state
    if change is not None:
        what = f"{summary(why)}: memoryd diff {change}"
    detail = f": {dream.detail.rstrip('.')}" if dream.detail else ""
    return f"{what}{detail}" + (f", {dream.usd:.4f} USD" if dream.usd else "")
