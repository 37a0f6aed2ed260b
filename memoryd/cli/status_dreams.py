"""Dreams on the status screen: the one that goes on, what the next one waits for, how the last ones ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.dream_wording import summary
from memoryd.cli.screen import dim, good, warn
from memoryd.formatting import ago, count
from memoryd.model import Due, Wait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.cli.screen import Word, Words
    from memoryd.diagnosis.projects import NextDream
    from memoryd.diagnosis.status import Status
    from memoryd.state.dreams import DreamReport

_WAITS_FOR = {
    "switched_off": "only by memoryd dream-now, as dreams are switched off",
    "paused": "not while memoryd is paused",
    "engine_stopped": "not while the engine is stopped",
    "engine_busy": "when the model has time again",
    "engine_missing": "when there is a claude command",
    "engine_logged_out": "when claude is logged in",
    "engine_outdated": "when claude is newer",
    "engine_hung": "when claude answers again",
    "engine_replaced": "when claude was looked at again",
    "limit_reached": "when the plan has room again",
    "claude_at_work": "when claude has finished something else",
    "extraction_waits": "when all sessions are read",
    "budget_reached": "when the budget has room again",
    "no_new_lines": "when a daily log has a new line",
    "lock_held": "when another process has put these memories in order",
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
    """What it waits for: `in 4 h at the earliest, after 5 sessions (3 so far)`."""
    if isinstance(dream.decision, Due):
        yield good("at the next check" if status.running else "as soon as memoryd runs")
        yield f", {dream.decision.why}"
        return
    waits = [gate.decision for gate in dream.gates if isinstance(gate.decision, Wait)]
    if dream.gates and isinstance(dream.gates[0].decision, Wait):  # the switch: nothing else matters while it is off
        waits = waits[:1]
    if len(waits) > 1:  # when sessions are counted again tells nothing where something else is awaited too
        waits = [wait for wait in waits if wait.reason != "counted_recently"]
    yield ", ".join(_awaited(wait, status.now, is_all=len(waits) == 1) for wait in waits)
    if dream.lines:
        yield f"; {count(dream.lines, 'line')} of daily logs wait{'s' if dream.lines == 1 else ''} for it"


def _awaited(wait: Wait, now: float, *, is_all: bool) -> str:
    if wait.reason == "too_few_sessions":
        number, least = wait.why.split()[0:3:2]
        return f"after {least} sessions ({number} so far)"
    left = ago(wait.until - now) if wait.until is not None else ""
    if known := _WAITS_FOR.get(wait.reason):
        more = "for" if known.startswith("not while") else "in"
        return f"{known}, {more} {left}" if left else known
    failed = ", as the last one failed" if wait.reason == "backing_off" else ""
    return f"in {left}{'' if is_all else ' at the earliest'}{failed}"


def dream_ending(dream: DreamReport, status: Status) -> str:
    change, why = status.dreams.changes.get(dream.job_id, (None, ""))
    what = "nothing to change" if dream.state == "succeeded_no_output" else dream.state
    if change is not None:
        what = f"{summary(why)}: memoryd diff {change}"
    detail = f": {dream.detail.rstrip('.')}" if dream.detail else ""
    return f"{what}{detail}" + (f", {dream.usd:.4f} USD" if dream.usd else "")
