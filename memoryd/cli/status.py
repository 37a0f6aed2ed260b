"""Show whether memoryd runs, what it has seen, what waits, and every problem with the command that fixes it.

Exits with 0 if all is well, 1 if there is a problem, 3 if memoryd is not running.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd import __version__
from memoryd.cli.dream_words import summary
from memoryd.cli.output import add_json_option, print_json
from memoryd.model import Run, Skip, Wait
from memoryd.words import ago, clock_time, count, short, shown, size

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.state.dreams import DreamReport
    from memoryd.status import Dreams, NextDream, Status

NAME = "status"
HELP = "what runs, what waits, what is wrong"


_DAMAGE_WORDS = {
    "nul": "NUL bytes, taken out",
    "utf8": "not UTF-8, replaced",
    "joined": "newline missing, split",
    "spliced": "torn, rest recovered",
    "unreadable": "not JSON, left out",
    "unknown_shape": "of unknown shape, left out",
    "too_long": "too long, left out",
}

_UNTIL = {
    "engine_stopped": "when the config or the key changes",
    "switched_off": "not by itself",
    "too_few_sessions": "when more was said",  # it is counted again before, which is no promise
}

_NAMED = 8
"""So many of a kind are named; `--json` names all."""

_GATES = 5
"""Of so many projects the gates of dreams are asked for a person."""
_DREAM_TURNS = 5
_DREAMS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd import status

    most_gates = None if context.arguments.json else _GATES
    current = status.gather(context.paths, context.config, context.clock.now(), most_gates=most_gates)
    if context.arguments.json:
        from memoryd.cli.status_json import as_json

        print_json(as_json(current))
    else:
        print(_as_text(current))
    return status.exit_code(current)


def _as_text(status: Status) -> str:
    """One screen for a person."""
    lines = [_headline(status), ""]
    totals = status.totals
    lines.append(_row("watches", short(status.root, status.home) + ("" if status.root_exists else "  (not there yet)")))
    engine = status.engine
    if engine.model:
        spent = f"{engine.spent_usd:.2f} of {engine.usd_per_day:g} USD spent today" if engine.has_price else "free"
        lines.append(_row("engine", f"{engine.model} at {engine.base_url.partition('://')[2]}, {spent}"))
    else:
        lines.append(_row("engine", "offline: no model, no network, free"))
        if engine.base_url:
            lines.append(_row("", f'{engine.base_url} is not used without a key: engine = "anthropic" would'))
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
        skipped = status.skipped_turns
        left_alone = f", {skipped:,} skipped" if skipped else ""
        vanished = f", {totals.vanished_turns:,} taken back before they were read" if totals.vanished_turns else ""
        lines.append(
            _row(
                "turns",
                f"{totals.waiting_turns - skipped:,} waiting{left_alone}, {totals.open_turns:,} open,"
                f" {totals.history_turns:,} history{vanished}",
            )
        )
    lines += _working_lines(status)
    lines += _waiting_lines(status)
    lines += _last_lines(status)
    lines += _dream_lines(status)
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


def _working_lines(status: Status) -> list[str]:
    lines = []
    for job in status.working[:_NAMED]:
        name = _name(job.project_root)
        lines.append(f"    {name:<20}  {shown(job.session_id[:8])}  being read for {ago(status.now - job.started_at)}")
    return ["", "  working", *lines] if lines else []


def _waiting_lines(status: Status) -> list[str]:
    if not status.waiting:
        return []
    lines = ["", "  waiting"]
    in_order = sorted(status.waiting, key=lambda pair: isinstance(pair[1], Skip))
    for session, decision in in_order[:_NAMED]:
        if isinstance(decision, Run):
            what = f"ready: {decision.why}"
        elif isinstance(decision, Wait):
            what = _wait(decision, status.now)
        else:
            what = f"skipped({decision.reason}): {decision.why}"
        name = _name(session.project_root)
        turns = count(len(session.turn_ids), "turn")
        lines.append(f"    {name:<20}  {shown(session.session_id[:8])}  {turns:<8}  {what}")
    return lines + _more(len(status.waiting))


def _wait(decision: Wait, now: float) -> str:
    when = _UNTIL.get(decision.reason, "when it grows")
    if decision.until is not None and decision.reason not in _UNTIL:
        when = f"in {ago(decision.until - now)}"
    return f"{when} ({decision.reason}): {shown(decision.why)}"


def _name(project_root: str) -> str:
    return shown(os.path.basename(project_root) or project_root)


def _last_lines(status: Status) -> list[str]:
    """What the last jobs brought; those that found nothing say nothing."""
    told = [job for job in status.last if job.outcome != "succeeded_no_output" or job.detail]
    lines = []
    for job in told:
        name = _name(job.project_root)
        what = [f"saved {', '.join(map(shown, job.saved))}"] if job.saved else []
        what += [f"took back {', '.join(map(shown, job.removed))}"] if job.removed else []
        what = what or [job.outcome]
        what += [shown(job.detail)] if job.detail else []
        what += [f"{job.usd:.4f} USD"] if job.usd else []
        when = f"{ago(status.now - job.ended_at)} ago"
        lines.append(f"    {name:<20}  {shown(job.session_id[:8])}  {when:<10}  {'; '.join(what)}")
    return ["", "  last", *lines] if lines else []


def _dream_lines(status: Status) -> list[str]:
    """The dream that goes on, what the gates say of the next ones, what came of the last ones."""
    dreams, now = status.dreams, status.now
    lines = []
    if dreams.running:
        lines += ["", "  dreaming"]
        for one, is_alive in dreams.running:
            lines += _running_lines(one, now, is_alive=is_alive)
    at_work = {one.memory_dir for one, is_alive in dreams.running if is_alive}
    upcoming = [one for one in dreams.upcoming if one.memory_dir not in at_work]
    if upcoming:
        lines += ["", f"  dreams    {_counted(dreams) or 'none yet'}; next:"]
        lines += _upcoming_lines(upcoming, status)
    elif _counted(dreams):
        lines += ["", f"  dreams    {_counted(dreams)}"]
    if dreams.not_asked:
        lines.append(f"    and {count(dreams.not_asked, 'project')} more: memoryd status --json")
    told = [one for one in dreams.last if one.state != "skipped(dry_run)"][:_DREAMS]
    if told:
        lines += ["", "  dreamt"]
        lines += [
            f"    {_name(one.project_root):<20}  {ago(now - (one.ended_at or now)) + ' ago':<10}  {_ending(one, dreams)}"
            for one in told
        ]
    return lines


def _counted(dreams: Dreams) -> str:
    """`3 succeeded, 1 refused`: one word for all guards that refused one."""
    words: dict[str, int] = {}
    for outcome, number in dreams.outcomes:
        word = "succeeded" if outcome.startswith("succeeded") else outcome.partition("(")[0]
        words[word] = words.get(word, 0) + number
    return ", ".join(f"{number:,} {word}" for word, number in words.items())


def _upcoming_lines(upcoming: list[NextDream], status: Status) -> list[str]:
    off = {one.decision.why for one in upcoming if isinstance(one.decision, Wait) and one.decision.until is None}
    if len(off) == 1 and all(isinstance(one.decision, Wait) and one.decision.why in off for one in upcoming):
        return [f"    {_wait(one.decision, status.now)}" for one in upcoming[:1] if isinstance(one.decision, Wait)]
    lines = []
    for one in upcoming:
        if isinstance(one.decision, Wait):
            what = _wait(one.decision, status.now)
        else:
            what = f"{'at the next check' if status.running else 'as soon as memoryd runs'}: {one.decision.why}"
        lines.append(f"    {_name(one.project_root):<20}  {what}")
    return lines


def _running_lines(dream: DreamReport, now: float, *, is_alive: bool) -> list[str]:
    if not is_alive:
        fix = "its process died: memoryd dream-stop, or the next dream, puts right what it left"
        return [f"    {_name(dream.project_root):<20}  {fix}"]
    facts = [f"{'stopping' if dream.stop_requested else dream.state} for {ago(now - dream.started_at)}"]
    facts += [count(dream.tools, "tool call")] if dream.tools else []
    facts += [count(len(set(dream.files)), "file")] if dream.files else []
    facts += [f"{dream.usd:.4f} USD"] if dream.usd else []
    turns = [
        f"      {ago(now - turn.at) + ' ago':<18}  {turn.phase:<12}{shown(turn.line)}"
        for turn in dream.turns[-_DREAM_TURNS:]
    ]
    return [f"    {_name(dream.project_root):<20}  {', '.join(facts)}", *turns]


def _ending(dream: DreamReport, dreams: Dreams) -> str:
    change, why = dreams.changes.get(dream.job_id, (None, ""))
    what = "nothing to change" if dream.state == "succeeded_no_output" else dream.state
    if change is not None:
        what = f"{summary(why)}: memoryd diff {change}"
    detail = f": {shown(dream.detail.rstrip('.'))}" if dream.detail else ""
    return f"{what}{detail}" + (f", {dream.usd:.4f} USD" if dream.usd else "")


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
