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
from typing import Any

from memoryd.clock import iso
from memoryd.engines import selfcheck
from memoryd.engines.offline.dream import consolidate
from memoryd.memory import index as indexing
from memoryd.memory.document import new_document, parse
from memoryd.memory.logs import said_in_log
from memoryd.model import Said, Shelved

TRAINING = Path(__file__).parent.parent / "training"
LOCK_SECONDS = 6 * 86400.0
_CHECKED = ("must_contain", "must_not_contain", "merged", "absolute_dates", "keep_untouched")


def main() -> int:
    names = [one for one in sys.argv[1:] if not one.startswith("--")]
    files = [Path(one) for one in names if Path(one).exists()] or sorted((TRAINING / "dreams").glob("*.jsonl"))
    wanted = [one for one in names if not Path(one).exists()]
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
            print("".join(f"    {one}\n" for one in problems), end="")
        if "--show" in sys.argv:
            print("".join(f"    > {one}\n" for one in lines), end="")
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
    """The files of a case after a dream, and what it told."""
    files = dict(case["files"])
    now = _at(case["now"])
    shelf = [_shelved(name, text, now) for name, text in files.items() if "/" not in name and name.endswith(".md")]
    shelf = sorted((one for one in shelf if one.name != indexing.NAME), key=lambda one: (one.written_at, one.name))
    lines: list[str] = []
    revisions = consolidate(
        shelf,
        files.get(indexing.NAME, ""),
        _said(case, now),
        (),
        now,
        lambda phase, line: lines.append(f"{phase}: {line}"),
    )
    index = files.get(indexing.NAME, "")
    refresh: dict[str, str | None] = {}
    on_shelf = {one.name: one for one in shelf}
    for revision in revisions:
        fates = selfcheck.fates_of(revision, [on_shelf[name] for name in revision.files], now)
        if selfcheck.is_refused(fates):
            refused = [one for one in fates if one.fate in ("lost", "invented")]
            lines += [
                f"REFUSED {revision.reason} {revision.files}: {one.fate} {one.statement!r} {one.by!r}"
                for one in refused
            ]
            continue
        lines.append(f"{revision.reason} {revision.files}: {revision.line}")
        for name in revision.files[1:] if revision.body else revision.files:
            del files[name]
        for passage in revision.from_index:
            if passage not in index:
                raise ValueError(passage)
            index = index.replace(passage, "", 1)
        if not revision.body:
            continue
        if revision.files:
            name = revision.files[0]
            document = parse(files[name].encode())
            refresh[name] = indexing.entry(name, _topic(files[name]))
            if document.description != revision.description:
                document = document.with_value(("description",), revision.description)
            document = document.with_body(revision.body.strip("\n") + "\n")
        else:
            if revision.type is None:
                raise ValueError(revision.line)
            name = f"{revision.type}_{revision.title.replace('-', '_')}.md"
            while name in files:
                name = name.replace(".md", "_2.md")
            document = new_document(
                name=revision.title,
                description=revision.description,
                kind=revision.type,
                body=revision.body,
                session_id="",
                evidence="",
                modified=iso(now),
            )
        files[name] = document.text
    topics = {name: 1 for name in files if "/" not in name and name.endswith(".md") and name != indexing.NAME}
    built = indexing.rebuild(
        index, topics, lambda name: _topic(files[name]), refresh=refresh, exists=files.__contains__
    )
    if built.text or indexing.NAME in files:
        files[indexing.NAME] = built.text
    return files, lines


def problems_of(case: dict[str, Any], files: dict[str, str]) -> list[str]:
    """What is not as the case expects it."""
    expect = case["expect"]
    topics = {
        name: text
        for name, text in files.items()
        if name.endswith(".md") and not name.endswith(indexing.NAME) and "logs/" not in name
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
        f"still there: {one}"
        for one in expect.get("must_not_contain", ())
        if re.search(one, everything, re.IGNORECASE | re.MULTILINE)
    ]
    wrong += [f"not merged: {one}" for one in expect.get("merged", ()) if sum(name in files for name in one) > 1]
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
    text = files.get(indexing.NAME, "")
    lines = text.splitlines()
    named = {indexing.entry_of(line) for line in lines} - {None}
    wrong = [f"index: no file {name}" for name in named if name not in files]
    wrong += [f"index: no line for {name}" for name in own if "/" not in name and name not in named]
    wrong += [f"index: a line of {len(line)} characters" for line in lines if len(line) > indexing.LINE_CHARACTERS]
    if len(lines) > indexing.MOST_LINES or len(text.encode()) > indexing.MOST_BYTES:
        wrong.append("index: over its limits")
    return wrong[:1]


def _shelved(name: str, text: str, now: float) -> Shelved:
    document = parse(text.encode())
    written = re.search(r"(?:modified|written_at|updated)\W+(\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?)", text)
    is_fixed = document.is_pinned or document.type is None or document.problem is not None
    written_at = _at(written[1]) if written else now - 3 * 86400
    return Shelved(
        name,
        document.type,
        document.description,
        document.body,
        written_at=written_at,
        as_of=written_at if written else now - LOCK_SECONDS,
        is_fixed=is_fixed,
    )


def _said(case: dict[str, Any], now: float) -> list[Said]:
    """What was said in sessions that changed since the last dream, and what the daily logs say."""
    said: list[Said] = []
    for session in case["sessions"]:
        at = _at(session["started_at"])
        answer = ""
        before: tuple[str, ...] = ()
        if at < now - LOCK_SECONDS:
            continue
        for number, turn in enumerate(session["turns"]):
            name = f"{session['id']}-{number}"
            said.append(Said(session["id"], name, at + 60 * number, turn["user"], answer, "", before))
            answer, before = turn["assistant"], (name, *before)[:3]
    for name, text in case["files"].items():
        if name.startswith("logs/"):
            said += said_in_log(name, text)
    return sorted(said, key=lambda one: one.said_at or 0.0)


def _topic(text: str) -> indexing.Topic:
    document = parse(text.encode())
    words = document.name.replace("_", " ").replace("-", " ")
    return indexing.Topic(words[:1].upper() + words[1:], document.description)


def _at(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


if __name__ == "__main__":
    sys.exit(main())
