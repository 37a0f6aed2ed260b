"""How well review tells right proposals from wrong ones, on labelled cases.

    python -m evaluation.review SET.json [--endpoint URL] [--model NAME] [--json]

Without an endpoint only code judges: hard checks and doubts. With one, a model behind any Messages endpoint is asked for the
meaning, at most four cases at a time. All changes of a case stand or fall together: the worst verdict counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoryd.engines.model.client import Client
from memoryd.engines.model.credentials import Account
from memoryd.engines.model.meaning_request import request_of, text_of
from memoryd.language.evidence import evidence_of, find_quote
from memoryd.memory.directory import FileState
from memoryd.memory.document import parse
from memoryd.memory.snapshot import Contents, Snapshot
from memoryd.model import FileChange, Group, UserMessage
from memoryd.review.context import ReviewContext
from memoryd.review.review import Review

if TYPE_CHECKING:
    from memoryd.model import ChangeReason, Verdict
    from memoryd.review.meaning import Ask, Question

STATES = ("accepted", "repairable", "held", "refused")
_SEVERITY = {state: number for number, state in enumerate(("accepted", "held", "repairable", "refused"))}
_SECONDS = 3600.0
_PARALLEL = 4
_LONG_BEFORE = 30 * 86400.0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("set", type=Path)
    parser.add_argument("--endpoint", default="")
    parser.add_argument("--model", default="claude-sonnet-4-5")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    os.environ["TZ"] = "UTC"  # the days of the cases are those of UTC
    time.tzset()
    cases = json.loads(arguments.set.read_text(encoding="utf-8"))
    ask = asker(arguments.endpoint, arguments.model) if arguments.endpoint else None
    with ThreadPoolExecutor(_PARALLEL if ask else 1) as pool:
        verdicts = list(pool.map(lambda case: judged(case, ask), cases))
    result = summary(cases, verdicts)
    if arguments.json:
        print(json.dumps(result, ensure_ascii=False, indent=1))
    else:
        show(cases, result)
    return 0


def score(proposals: Path) -> bool:
    """Score one set by code alone, in a process of its own: days are counted in UTC there; False where it failed."""
    return subprocess.run([sys.executable, "-m", "evaluation.review", str(proposals)], check=False).returncode == 0


def judged(case: dict[str, Any], ask: Ask | None = None) -> Verdict:
    """The worst verdict on the changes of a case."""
    messages = messages_of(case)
    context = ReviewContext(
        case["job"], snapshot_of_case(case, messages), messages, _moment(f"{case['today']}T12:00:00Z")
    )
    verdicts = Review(context, ask).judge(groups_of_case(case, messages))
    return max(verdicts, key=lambda verdict: _SEVERITY[verdict.state])


def messages_of(case: dict[str, Any]) -> list[UserMessage]:
    found: list[UserMessage] = []
    answer = ""
    for number, turn in enumerate(case["turns"]):
        before = tuple(message.text for message in reversed(found))
        found.append(UserMessage(case["id"], f"m{number}", _moment(turn["at"]), turn["user"], answer, "", before))
        answer = turn["assistant"]
    return found


def snapshot_of_case(case: dict[str, Any], messages: list[UserMessage]) -> Snapshot:
    """The memories of a case; one that does not say when it was written is older than all that was said."""
    earlier = min((message.said_at or 0.0 for message in messages), default=0.0) - _LONG_BEFORE
    files = {}
    for name, text in case["memories"].items():
        modified = parse(text.encode()).metadata.get("modified")
        written = _moment(modified) if modified else earlier
        files[name] = FileState(text.encode(), int(written * 1e9), 0o600)
    return Snapshot("", lambda: Contents(files, {}, None))


def groups_of_case(case: dict[str, Any], messages: list[UserMessage]) -> list[Group]:
    """Changes that belong together: what a dream does without a quote, and a memory with those that it takes the place of."""
    together: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    has_write = any(change["op"] == "write" for change in case["proposal"])
    for number, change in enumerate(case["proposal"]):
        is_merge = not change["quote"] or has_write
        together["merge" if is_merge and case["job"] == "dream" else number].append(change)
    return [_group(changes, case, messages) for changes in together.values()]


def _group(changes: list[dict[str, Any]], case: dict[str, Any], messages: list[UserMessage]) -> Group:
    files, evidence = [], []
    for change in changes:
        before = case["memories"].get(change["file"])
        after = change["content"].encode() if change["op"] == "write" else None
        files.append(FileChange(change["file"], before.encode() if before is not None else None, after))
        if quote := change["quote"]:
            unsaid = UserMessage(case["id"], "", None, quote)
            evidence.append((change["file"], find_quote(quote, messages) or evidence_of(unsaid, quote)))
    return Group(tuple(files), case["kind"], tuple(evidence), _reason(changes))


def _reason(changes: list[dict[str, Any]]) -> ChangeReason:
    operations = {change["op"] for change in changes}
    if any(change["quote"] for change in changes):
        return "taken_back" if operations == {"remove"} else "learnt"
    if operations == {"remove"}:
        return "expired"
    return "merged" if "remove" in operations else "dated"


def asker(url: str, model: str) -> Ask:
    """A function that asks a model behind a Messages endpoint, through the SDK."""
    client = Client(lambda: Account(url.rstrip("/"), os.environ.get("MEMORYD_REVIEW_KEY", "local")), time.time)

    def ask(question: Question) -> str:
        return text_of(client.send(request_of(question, model), time.time() + _SECONDS))

    return ask


def summary(cases: list[dict[str, Any]], verdicts: list[Verdict]) -> dict[str, Any]:
    counts: dict[str, Counter[str]] = {"right": Counter(), "wrong": Counter()}
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for case, verdict in zip(cases, verdicts, strict=True):
        counts[case["verdict"]][verdict.state] += 1
        kinds[f"{case['verdict']} {case['kind']}"][verdict.state] += 1
    return {
        **{label: {state: count[state] for state in STATES} for label, count in counts.items()},
        "kinds": {kind: {state: count[state] for state in STATES} for kind, count in sorted(kinds.items())},
        "cases": [
            {"id": case["id"], "verdict": verdict.state, "reason": verdict.reason}
            for case, verdict in zip(cases, verdicts, strict=True)
        ],
    }


def show(cases: list[dict[str, Any]], result: dict[str, Any]) -> None:
    rows = {**result["kinds"], "all right": result["right"], "all wrong": result["wrong"]}
    print(f"{'':32}" + "".join(f"{state:>12}" for state in STATES))
    for kind, count in rows.items():
        print(f"{kind:32}" + "".join(f"{count[state]:12}" for state in STATES))
    for case, judgement in zip(cases, result["cases"], strict=True):
        if (case["verdict"] == "right") != (judgement["verdict"] == "accepted"):
            print(f"{case['id']} {case['verdict']} {case['kind']}: {judgement['verdict']} {judgement['reason']}")


def _moment(written: str) -> float:
    return datetime.fromisoformat(written).timestamp()


if __name__ == "__main__":
    raise SystemExit(main())
