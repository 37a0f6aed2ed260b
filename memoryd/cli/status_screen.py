"""`memoryd status` as a screen: what runs at the top, problems at the bottom, where a reader ends."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING

from memoryd import __version__
from memoryd.cli.screen import (
    Column,
    Command,
    Gap,
    Paragraph,
    Rows,
    Section,
    Table,
    Word,
    bad,
    dim,
    good,
    strong,
    warn,
)
from memoryd.cli.status_dreams import dream_ending, dream_step, next_dream, running_dream
from memoryd.cli.status_engine import engine_lines
from memoryd.clients.memory_reader import MEMORY_READER
from memoryd.clients.registry import title_of
from memoryd.formatting import ago, clock_time, count, short, size
from memoryd.memory.limits import MOST_BYTES, MOST_LINES
from memoryd.memory_types import MEMORY_TYPES
from memoryd.model import Due

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.cli.screen import Block, Words
    from memoryd.diagnosis.projects import FullIndex, ProjectStatus
    from memoryd.diagnosis.status import Status
    from memoryd.memory.stats import Counted, Fill
    from memoryd.model import Wait
    from memoryd.state.sync import Round

DAMAGE_WORDS = {
    "nul": "NUL bytes, taken out",
    "utf8": "not UTF-8, replaced",
    "joined": "newline missing, split",
    "spliced": "torn, rest recovered",
    "unreadable": "not JSON, left out",
    "unknown_shape": "of unknown shape, left out",
    "unknown_type": "of a type that this memoryd does not know, left out",
    "too_long": "too long, left out",
}
_UNTIL = {
    "engine_stopped": "when the config or the key changes",
    "switched_off": "not by itself",
    "paused": "after the pause",
}
_NAMED = 5
"""Items of a kind that are named; `--json` names all."""
_LAST = 6
_NAMES = 3
_NAME = 18
"""Widest column of project names."""
_DAY_SECONDS = 86_400


def blocks(status: Status) -> Iterator[Block]:
    yield from _head(status)
    yield Gap()
    yield Rows(list(_facts(status)))
    yield from _now(status)
    yield from _projects(status)
    yield from _waiting(status)
    yield from _last(status)
    yield from _notes(status)
    if status.problems:
        lines: list[Block] = []
        for problem in status.problems:
            lines += [Paragraph(problem.text), Command(problem.fix)] if problem.fix else [Paragraph(problem.text)]
        yield Section(bad("problem" if len(status.problems) == 1 else "problems"), lines)
    elif status.running is not None:
        yield Section(good("All is well."), [])


# --- at the top -------------------------------------------------------------------------------------------------------


def _head(status: Status) -> Iterator[Block]:
    running = status.running
    name = strong(f"memoryd {running.version if running else __version__}")
    if running is None:
        yield Paragraph([bad("○ "), name, bad(" is not running")])
        if status.is_installed:
            yield Command("memoryd service restart", before="  start it: ")
        elif status.is_set_up:
            yield Command("memoryd run", before="  start it in this terminal, as it is no service here: ")
        else:
            yield Command("memoryd setup", before="  set it up, to run now and from every login on: ")
            yield Command("memoryd run", before="  or only here: ")
    elif not running.pid:
        yield Paragraph([warn("● "), name, " is about to start"])
    else:
        since = f"{_moment(running.since, status.now)} ({ago(status.now - running.since)}, process {running.pid})"
        yield Paragraph([good("● ") if status.pause is None else warn("● "), name, f" running since {since}"])
    if status.pause is not None:
        yield Paragraph(warn(status.pause.sentence), 2)
        yield Command("memoryd resume", before="  go on: ")


def _moment(at: float, now: float) -> str:
    """Time of day, with the date if it is not today."""
    if abs(now - at) < _DAY_SECONDS:
        return clock_time(at)
    return f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M}"


def _facts(status: Status) -> Iterator[tuple[str, Words]]:
    place: list[str | Word] = [short(status.root, status.home)]
    if not status.root_exists:
        place.append(dim("  (not there yet)") if not status.totals or not status.totals.sessions else warn("  (gone)"))
    elif status.running and status.running.watching:
        how = f", by {status.running.watching}"
        place.append(dim(how) if status.running.watching == "events" else warn(how))
    yield "watches", place
    yield from engine_lines(status)
    totals = status.totals
    if totals is None:
        yield "sessions", dim("not looked at yet")
        return
    unread = f", {totals.unread:,} not read to the end yet" if totals.unread else ""
    gone = f", {totals.missing:,} no longer there" if totals.missing else ""
    yield "sessions", f"{totals.sessions:,} ({size(totals.bytes)}) of {count(totals.projects, 'project')}{unread}{gone}"
    if set(status.clients) - {MEMORY_READER.name}:
        yield "agents", ", ".join(f"{title_of(name)} {number:,}" for name, number in status.clients.items())
    vanished = f", {totals.vanished_turns:,} taken back before they were read" if totals.vanished_turns else ""
    pending = totals.waiting_turns - status.skipped_turns
    going_on = f", {totals.open_turns:,} going on" if totals.open_turns else ""
    before = f", {totals.history_turns:,} from before memoryd came" if totals.history_turns else ""
    yield "turns", f"{f'{pending:,}' if pending else 'none'} waiting to be read{going_on}{before}{vanished}"
    if status.skipped:
        reasons: dict[str, int] = {}
        for _, skip in status.skipped:
            reasons[skip.reason] = reasons.get(skip.reason, 0) + 1
        why = ", ".join(f"{number:,} {reason}" for reason, number in sorted(reasons.items()))
        yield "skipped", f"{count(status.skipped_turns, 'turn')} of {count(len(status.skipped), 'session')} ({why})"
    if status.dreams.outcomes:
        yield "dreams", _counted_dreams(status)
    if status.recall is not None and status.recall.shown:
        use = status.recall
        shown_words = "1 memory" if use.shown == 1 else f"{use.shown:,} memories"
        yield (
            "recall",
            f"{shown_words} shown to {count(use.sessions, 'session')} in 7 days, {use.used:,} read or quoted",
        )
        yield "", f"about {use.in_words}"
    yield from _rules(status)
    if status.to_review:
        wait = "waits" if status.to_review == 1 else "wait"
        yield "review", f"{count(status.to_review, 'change')} {wait} for your yes or no: memoryd review"
    for done, apart in status.sync:
        yield "sync", exchanged(done, apart, status.now)
    if status.team_projects is not None:
        part = f"{count(status.team_projects, 'project')} {'takes' if status.team_projects == 1 else 'take'} part"
        yield "team", part if status.team_projects else f"{part} yet: memoryd share --join, in one of them"


def exchanged(done: Round, apart: int, now: float) -> str:
    """When memories were last exchanged with a store, with whom, and what did not travel."""
    when = f"{ago(now - done.succeeded_at)} ago" if done.succeeded_at is not None else "never yet"
    author = f", last changed by {done.author}" if done.author else ""
    facts = done.facts
    came, went = (facts.get(one, 0) + facts.get(two, 0) for one, two in (("taken", "dropped"), ("given", "deleted")))
    last = f"; {came:,} came and {went:,} went {ago(now - done.exchanged_at)} ago" if done.exchanged_at else ""
    left = f"; {count(apart, 'file')} kept apart: memoryd sync status" if apart else ""
    return f"{done.store}, {when}{author}{last}{left}"


def _rules(status: Status) -> Iterator[tuple[str, Words]]:
    """What came of rules in seven days, and each memory that binds."""
    rules = status.rules
    if rules.with_calls or rules.followed or rules.corrected:
        handed = f"{count(rules.with_calls, 'time')} with a tool call in 7 days"
        yield "rules", f"{handed}; not kept to {rules.followed:,}, said again {rules.corrected:,}"
    for rule in rules.binding[:_NAMED]:
        if rule.refuses:
            counts = f"({rule.outcome.refused:,} refused, {rule.outcome.allowed:,} allowed)"
            yield "binding", f"{rule.file}: {'; '.join(rule.refuses)} {counts}"
        if rule.request:
            yield "binding", f"{rule.file}: {rule.request}"
    if len(rules.binding) > _NAMED:
        yield "binding", f"and {len(rules.binding) - _NAMED:,} more"


def _counted_dreams(status: Status) -> str:
    """Dreams by result: `3 succeeded, 1 refused`. All guards count as `refused`."""
    words: dict[str, int] = {}
    for outcome, number in status.dreams.outcomes:
        word = "succeeded" if outcome.startswith("succeeded") else outcome.partition("(")[0]
        words[word] = words.get(word, 0) + number
    return ", ".join(f"{number:,} {word}" for word, number in words.items())


# --- what goes on -----------------------------------------------------------------------------------------------------


def _now(status: Status) -> Iterator[Block]:
    rows: list[list[Words]] = [
        [_name(job.project_root), f"reading session {job.session_id[:8]} for {ago(status.now - job.started_at)}"]
        for job in status.working[:_NAMED]
    ]
    for dream, is_alive in status.dreams.running:
        rows.append([_name(dream.project_root), running_dream(dream, status.now, is_alive=is_alive)])
        if is_alive:
            rows += [["", dream_step(turn.at, turn.phase, turn.line, status.now)] for turn in dream.turns[-_NAMED:]]
    if rows:
        yield Section("now", [Table([Column(), Column()], rows), *_more(len(status.working))])


# --- projects ---------------------------------------------------------------------------------------------------------


def _projects(status: Status) -> Iterator[Block]:
    named, others, person = status.projects.named, status.projects.others, status.projects.person
    if not named and person is None:
        return
    dreaming = {dream.memory_dir for dream, is_alive in status.dreams.running if is_alive}
    rows: list[list[Words]] = []
    for project in named:
        rows.append([strong(_name(project.root)), _sessions(project, status.now)])
        rows.append(["", "no memories yet" if project.counted is None else _memories(project.counted)])
        if project.outdated:
            rows.append(["", _outdated(project.outdated)])
        if project.memory_dir in dreaming:
            rows.append(["", ["dream: ", good("now")]])
        elif project.dream is not None:
            rows.append(["", ["next dream: ", *next_dream(project.dream, status)]])
    if person is not None and person.types:
        rows.append([strong("global"), _memories(person)])
    more = [Paragraph(dim(f"and {count(others, 'project')} more: memoryd projects"))] if others else []
    yield Section("projects", [Table([Column(most=_NAME), Column()], rows), *more])


def _sessions(project: ProjectStatus, now: float) -> Words:
    words: list[str | Word] = [count(project.sessions, "session")]
    if project.active_at is not None:
        words.append(f", active {ago(now - project.active_at)} ago")
    if project.extracted is not None:
        words.append(f", read {ago(now - project.extracted[0])} ago")
    if project.waiting_turns:
        words += [", ", strong(f"{count(project.waiting_turns, 'turn')} pending")]
    return words


def _memories(counted: Counted) -> Words:
    total = sum(counted.types.values())
    if not total:
        return "no memories yet"
    kinds = [f"{counted.types[kind]:,} {kind}" for kind in MEMORY_TYPES if counted.types.get(kind)]
    kinds += [f"{counted.types['']:,} without a type"] if counted.types.get("") else []
    return [f"{total:,} {'memory' if total == 1 else 'memories'}: {', '.join(kinds)}; index ", _filled(counted.fill)]


def _outdated(number: int) -> Words:
    names = "1 memory names" if number == 1 else f"{number:,} memories name"
    return warn(f"{names} what the repository no longer has: memoryd verify")


def _filled(fill: Fill) -> Word:
    text = f"{fill.lines:,} of {MOST_LINES} lines, {fill.bytes / 1000:.1f} of {MOST_BYTES // 1000} kB"
    if fill.is_over:
        return bad(f"{text}: over what clients load")
    return warn(f"{text}: nearly full") if fill.is_near else Word(text)


# --- sessions and results ---------------------------------------------------------------------------------------------


def _waiting(status: Status) -> Iterator[Block]:
    rows: list[list[Words]] = []
    for session, decision in status.waiting[:_NAMED]:
        what: Words = (
            f"ready: {decision.why}"
            if isinstance(decision, Due)
            else _wait(decision, status.now, is_running=status.running is not None)
        )
        turns = count(len(session.turn_ids), "turn")
        rows.append([_name(session.project_root), dim(session.session_id[:8]), turns, what])
    if rows:
        columns = [Column(most=_NAME), Column(), Column(), Column()]
        yield Section("waiting", [Table(columns, rows), *_more(len(status.waiting))])


def _wait(decision: Wait, now: float, *, is_running: bool) -> Words:
    when = _UNTIL.get(decision.reason, "when it grows")
    if decision.until is not None:
        when = f"in {ago(decision.until - now)}" if is_running else "once memoryd runs"
    return [when, dim(f" ({decision.reason}): {decision.why}")]


def _last(status: Status) -> Iterator[Block]:
    """Results of the last jobs and dreams; jobs without a result are left out."""
    found: list[tuple[float, str, Words]] = []
    for job in status.last:
        if job.outcome != "succeeded_no_output" or job.detail:
            from memoryd.memory.daily_logs import split_names  # which imports what a fresh home does not need

            memories, logs = split_names(job.saved)
            what = [f"saved {', '.join(memories)}"] if memories else []
            what += [f"noted {count(lines, 'line')} in {log}" for log, lines in logs.items()]
            what += [f"took back {', '.join(job.removed)}"] if job.removed else []
            what = what or [job.outcome]
            what += [job.detail] if job.detail else []
            what += [f"{job.usd:.4f} USD"] if job.usd else []
            found.append((job.ended_at, job.project_root, _toned("; ".join(what), job.outcome)))
    for dream in status.dreams.last:
        if dream.state != "skipped(dry_run)":
            words = _toned(f"dream: {dream_ending(dream, status)}", dream.state)
            found.append((dream.ended_at or dream.started_at, dream.project_root, words))
    found.sort(key=lambda result: result[0], reverse=True)
    rows: list[list[Words]] = [
        [dim(f"{ago(status.now - at)} ago"), _name(root), what] for at, root, what in found[:_LAST]
    ]
    if rows:
        yield Section("last", [Table([Column(), Column(most=_NAME), Column()], rows)])


def _toned(text: str, outcome: str) -> Word:
    return warn(text) if outcome.startswith(("failed", "refused", "gave_up")) else Word(text)


# --- what is no problem, and good to know -----------------------------------------------------------------------------


def _notes(status: Status) -> Iterator[Block]:
    notes: list[Block] = [Paragraph([warn(f"{note.name}: "), note.text]) for note in status.notes]
    named = {project.memory_dir for project in status.projects.named}  # how full theirs are stands there already
    full = [index for index in status.projects.full if index.left_out or os.path.dirname(index.path) not in named]
    notes += [Paragraph(_full(index, status.home)) for index in full[:_NAMED]]
    notes += _more(len(full))
    if status.damaged:
        notes.append(Paragraph(f"damage in {count(len(status.damaged), 'transcript')}; the rest was read"))
        for damage in status.damaged[:_NAMES]:
            kinds = "; ".join(f"{number:,}x {DAMAGE_WORDS.get(kind, kind)}" for kind, number in damage.lines.items())
            notes.append(Paragraph(dim(f"{short(damage.path, status.home)}: {kinds}"), 2))
        notes += _more(len(status.damaged), _NAMES)
    if status.odd:
        notes.append(Paragraph(f"{len(status.odd):,} named like a transcript and not read"))
        notes += [Paragraph(dim(f"{short(path, status.home)}: {kind}"), 2) for path, kind in status.odd[:_NAMES]]
        notes += _more(len(status.odd), _NAMES)
    if notes:
        yield Section("notes", notes)


def _full(index: FullIndex, home: str) -> Words:
    words: list[str | Word] = [f"{short(index.path, home)}: ", _filled(index.fill)]
    if index.left_out:
        names = ", ".join(index.left_out[:_NAMES])
        others = len(index.left_out) - _NAMES
        words.append(f"; no line for {names}" + (f" and {others:,} more" if others > 0 else ""))
    return words


def _name(project_root: str) -> str:
    return os.path.basename(project_root) or project_root


def _more(number: int, named: int = _NAMED) -> list[Block]:
    return [Paragraph(dim(f"and {number - named:,} more: memoryd status --json"))] if number > named else []
