"""Labelled cases of consolidation, tried in memory on the embedded engine: quick, for whoever works on its rules.

    python -m evaluation.dreams [--verbose] [--show] FILE... [CASE]

FILE holds cases, as JSON or as a case a line. Without files the cases in training/dreams are tried. `--verbose` names
what is wrong, `--show` prints what changed. The command itself, with files, locks and commits, is scored by `make eval`.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoryd.engines.base import Signal
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.memory import index as indexing
from memoryd.memory.daily_logs import said_in_log
from memoryd.memory.directory import FileState
from memoryd.memory.document import parse
from memoryd.memory.limits import INDEX_NAME, MOST_BYTES, MOST_LINES
from memoryd.memory.snapshot import Contents, Snapshot
from memoryd.model import Exchange, IndexEdit, UserMessage
from memoryd.review.context import ReviewContext
from memoryd.review.review import Review

if TYPE_CHECKING:
    from collections.abc import Mapping

TRAINING = Path(__file__).parent.parent / "training"
LOCK_SECONDS = 6 * 86400.0
_CHECKED = ("must_contain", "must_not_contain", "merged", "absolute_dates", "keep_untouched")


def main() -> int:
    names = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    files = [Path(file) for file in names if Path(file).exists()] or sorted((TRAINING / "dreams").glob("*.jsonl"))
    wanted = [word for word in names if not Path(word).exists()]
    whole = wrong = checks = number = 0
    for case in (case for file in files for case in cases_in(file)):
        if wanted and case["id"] not in wanted:
            continue
        after, lines = dreamt(case)
        problems = problems_of(case, after)
        number += 1
        whole += not problems
        wrong += len(problems)
        checks += sum(len(case["expect"].get(key, [])) for key in _CHECKED) + 2
        print(f"{case['id']:36} {'ok' if not problems else len(problems)}")
        if "--verbose" in sys.argv:
            print("".join(f"    {problem}\n" for problem in problems), end="")
        if "--show" in sys.argv:
            print("".join(f"    > {line}\n" for line in lines), end="")
            for name in sorted({*after, *case["files"]}):
                if case["files"].get(name) != after.get(name):
                    print(f"  --- {name}\n{after.get(name, 'gone')}")
    print(f"{whole} of {number} whole, {wrong} of {checks} wrong, score {1 - wrong / max(checks, 1):.3f}")
    return 0


def cases_in(file: Path) -> list[dict[str, Any]]:
    text = file.read_text("utf-8")
    cases: list[dict[str, Any]] = (
        json.loads(text) if file.suffix == ".json" else [json.loads(line) for line in text.splitlines()]
    )
    return cases


def dreamt(case: dict[str, Any]) -> tuple[dict[str, str], list[str]]:
    """The files of a case after a dream and its review, and what it told."""
    files = dict(case["files"])
    now = _at(case["now"])
    snapshot = _snapshot(files, now)
    lines: list[str] = []
    signal = Signal(
        0,
        now,
        [Exchange(said) for said in _said(case, now)],
        tell=lambda told: lines.append(f"{told.phase}: {told.line}"),
    )
    review = Review(ReviewContext("dream", snapshot, signal.messages, now))
    groups = OfflineEngine().dream(snapshot, signal, review).groups
    index = files.get(INDEX_NAME, "")
    refresh: dict[str, str | None] = {}
    for group, verdict in zip(groups, review.judge(groups), strict=True):
        names = [change.name for change in group.changes]
        if verdict.state != "accepted":
            lines.append(f"NOT DONE {group.reason} {names}: {verdict.state}, {verdict.reason}")
            continue
        lines.append(f"{group.reason} {names}: {group.why}")
        index = indexing.edited(index, IndexEdit(without=group.from_index))
        for change in group.changes:
            if change.before is not None:
                refresh[change.name] = indexing.entry(change.name, _topic(files[change.name]))
            if change.after is None:
                del files[change.name]
            else:
                files[change.name] = change.after.decode()
    topics = {name: 1 for name in files if "/" not in name and name.endswith(".md") and name != INDEX_NAME}
    built = indexing.rebuild(
        index, topics, lambda name: _topic(files[name]), refresh=refresh, exists=files.__contains__
    )
    if built.text or INDEX_NAME in files:
        files[INDEX_NAME] = built.text
    return files, lines


def problems_of(case: dict[str, Any], files: dict[str, str]) -> list[str]:
    """What is not as the case expects it."""
    expect = case["expect"]
    topics = {
        name: text
        for name, text in files.items()
        if name.endswith(".md") and not name.endswith(INDEX_NAME) and "logs/" not in name
    }
    own = {name: text for name, text in topics.items() if text.startswith("---")}
    everything = "\n".join(own.values())
    wrong = [
        f"lost or never learnt: {rule['all_of']}"
        for rule in expect.get("must_contain", ())
        if not any(
            all(any(word.lower() in text.lower() for word in group) for group in rule["all_of"])
            for text in own.values()
        )
    ]
    wrong += [
        f"still there: {words}"
        for words in expect.get("must_not_contain", ())
        if re.search(words, everything, re.IGNORECASE | re.MULTILINE)
    ]
    wrong += [f"not merged: {group}" for group in expect.get("merged", ()) if sum(name in files for name in group) > 1]
    wrong += [
        f"{relative!r} is not {absolute}"
        for relative, absolute in expect.get("absolute_dates", ())
        if absolute not in everything or relative.lower() in everything.lower()
    ]
    wrong += [f"touched: {name}" for name in expect.get("keep_untouched", ()) if files.get(name) != case["files"][name]]
    if not expect.get("min_files", 0) <= len(own) <= expect.get("max_files", 1_000_000):
        wrong.append(f"{len(own)} files, not {expect.get('min_files')} to {expect.get('max_files')}")
    if expect.get("index_rules"):
        wrong += _index_problems(files, own)
    return wrong


def _index_problems(files: dict[str, str], own: dict[str, str]) -> list[str]:
    text = files.get(INDEX_NAME, "")
    lines = text.splitlines()
    named = {indexing.entry_of(line) for line in lines} - {None}
    wrong = [f"index: no file {name}" for name in named if name not in files]
    wrong += [f"index: no line for {name}" for name in own if "/" not in name and name not in named]
    wrong += [f"index: a line of {len(line)} characters" for line in lines if len(line) > indexing.LINE_CHARACTERS]
    if len(lines) > MOST_LINES or len(text.encode()) > MOST_BYTES:
        wrong.append("index: over its limits")
    return wrong[:1]


def _snapshot(files: Mapping[str, str], now: float) -> Snapshot:
    """The memories of a case, as old as they say, none of them made by memoryd."""
    states = {}
    for name, text in files.items():
        if "/" not in name and name.endswith(".md"):
            written = re.search(r"(?:modified|written_at|updated)\W+(\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?)", text)
            written_at = _at(written[1]) if written else now - 3 * 86400
            states[name] = FileState(text.encode(), int(written_at * 1e9), 0o600)
    index = states.pop(INDEX_NAME, None)
    oldest_first = dict(sorted(states.items(), key=lambda item: (item[1].mtime_ns, item[0])))
    return Snapshot("", lambda: Contents(oldest_first, {}, index))


def _said(case: dict[str, Any], now: float) -> list[UserMessage]:
    """What was said in sessions that changed since the last dream, and what the daily logs say."""
    said: list[UserMessage] = []
    for session in case["sessions"]:
        at = _at(session["started_at"])
        answer = ""
        before: tuple[str, ...] = ()
        if at < now - LOCK_SECONDS:
            continue
        for number, turn in enumerate(session["turns"]):
            name = f"{session['id']}-{number}"
            said.append(UserMessage(session["id"], name, at + 60 * number, turn["user"], answer, "", before))
            answer, before = turn["assistant"], (name, *before)[:3]
    for name, text in case["files"].items():
        if name.startswith("logs/"):
            said += said_in_log(name, text)
    return sorted(said, key=lambda message: message.said_at or 0.0)


def _topic(text: str) -> indexing.Topic:
    document = parse(text.encode())
    words = document.name.replace("_", " ").replace("-", " ")
    return indexing.Topic(words[:1].upper() + words[1:], document.description)


def _at(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


if __name__ == "__main__":
    sys.exit(main())
