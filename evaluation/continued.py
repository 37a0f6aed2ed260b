"""How often somebody who goes on with a compacted session has to ask again: sessions continued from what is handed back.

    python -m evaluation.continued [--verbose]
    python -m evaluation.continued --for-players DIRECTORY [--model URL]

Between the turns that matter stand turns of routine work, and the session ends with some: what matters is not the last that
was said. A fact that the next prompt needs and that is not in the handed back text is a question asked again. By code alone,
and with what a player wrote who was shown the session as the agent for notes is (`notes_cases.py`).

`--for-players` writes the ten longer sessions of `long_sessions.json` as somebody gets them who knows nothing else: what is
handed back, and the next message; and into DIRECTORY-truth what the user had said. With `--model` a second text of each has what
a model at that address has added to the notes while the session went on.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evaluation.notes_cases import CASES
from memoryd.clients.registry import ALL
from memoryd.clock import SystemClock
from memoryd.config import Anthropic, Budget, Config
from memoryd.jobs.ingest import Ingester
from memoryd.jobs.notes import read_on, update_due
from memoryd.jobs.notes_by_model import add_to_due
from memoryd.notes.facts import SessionFacts
from memoryd.notes.hand_back import handed_back
from memoryd.paths import paths_from
from memoryd.recall.surface import HOOK_CHARACTERS, marked
from memoryd.state import notes as kept_notes
from memoryd.state.database import open_database
from memoryd.state.notes import NotedSession
from tests.notes.working_session import WorkingSession

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evaluation.notes_cases import Call, ContinuedCase

LONG = json.loads(Path(__file__).with_name("long_sessions.json").read_text(encoding="utf-8"))
_NOW = 1_795_000_000.0
_ROUTINE = 12
"""Turns of routine work behind each turn that matters; fewer at the end."""
_TURNS_A_LOOK = 50
"""A model looks at a growing session after so many turns: all of them fit into its request."""
_PLAYED_SECONDS = 7200.0
_MESSAGES = (
    "ok, next",
    "fine. please also look at the file beside it",
    "there is a typo in the comment above, correct it",
    "hm, can the name be shorter?",
    "format it, and go on",
)


class WorkTurn(NamedTuple):
    said: str
    calls: Iterable[Call]
    answer: str
    routine: int
    """Turns of routine work behind it."""


def main() -> int:
    if sys.argv[1:2] == ["--for-players"]:
        place = Path(sys.argv[2])
        place.mkdir(parents=True, exist_ok=True)
        return _write_with_model(place, sys.argv[4]) if sys.argv[3:4] == ["--model"] else _write_for_players(place)
    for name, with_model in (("by code", False), ("with a model, played", True)):
        again = []
        for case in CASES:
            missing = asked_again(case, case.written if with_model else {})
            again.append(len(missing))
            if missing and "--verbose" in sys.argv:
                print(f"  {case.name}: {'; '.join(missing)}")
        facts = sum(len(case.needed) for case in CASES)
        print(
            f"{name}: {sum(again)} of {facts} facts asked for again in {len(CASES)} sessions = {sum(again) / len(CASES):.1f} a session"
        )
    return 0


def asked_again(case: ContinuedCase, written: Mapping[str, str]) -> list[str]:
    """The questions that the handed back text does not answer."""
    last = len(case.turns)
    turns = [WorkTurn(*turn, _ROUTINE if number < last else 2) for number, turn in enumerate(case.turns, 1)]
    facts = facts_of(case.name, session_of(case.name, turns, _MESSAGES))
    text = " ".join(handed_back(facts, written, "/state/notes.md", HOOK_CHARACTERS).split())
    return [question for question, answers in case.needed if not any(answer in text for answer in answers)]


def facts_of(name: str, session: bytes) -> SessionFacts:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, f"{name}.jsonl")
        path.write_bytes(session)
        _, facts, _ = read_on(NotedSession(name, ALL[0].name, str(path)), None, _NOW)
    return facts


def session_of(name: str, turns: Iterable[WorkTurn], routine: Iterable[str]) -> bytes:
    session = WorkingSession(name, cwd="/code")
    draw = random.Random(name)  # noqa: S311 - sessions, not secrets
    messages, data = tuple(routine), []
    for turn in turns:
        data.append(session.prompt(turn.said))
        data += [session.use(tool, result, is_error=is_error, **given) for tool, given, result, is_error in turn.calls]
        data.append(session.reply(turn.answer))
        for _ in range(turn.routine):
            names = ["_".join(draw.sample(LONG["words"], 2)) for _ in range(3)]
            file = f"/code/{draw.choice(LONG['words'])}/{names[0]}.py"
            data.append(session.prompt(draw.choice(messages).format(file=file[6:], old=names[1], new=names[2])))
            data.append(session.use("Read", "lines of a file " * 300, file_path=file))
            data.append(session.use("Edit", file_path=file, old_string="a", new_string="b"))
            data.append(session.use("Bash", "All checks passed!", command=f"ruff check {file}"))
            data.append(
                session.reply(
                    f"Done: {names[1]} is called {names[2]} in {file[6:]} now, the tests pass and the file is formatted."
                )
            )
    return b"".join(data)


def _write_for_players(place: Path) -> int:
    truth = place.with_name(f"{place.name}-truth")
    truth.mkdir(exist_ok=True)
    for number, case in enumerate(LONG["sessions"], 1):
        turns = _turns_of(case)
        facts = facts_of(case["name"], _long_session(case))
        said = "\n".join(f"- {turn.said}\n  (the agent: {turn.answer})" for turn in turns)
        _write_handed_back(place / f"{number:02}-code.md", facts, {})
        (place / f"{number:02}-next.md").write_text(case["next"] + "\n", encoding="utf-8")
        (truth / f"{number:02}-truth.md").write_text(
            f"# {case['name']}\n\n{said}\n\nNext message: {case['next']}\n", encoding="utf-8"
        )
    return 0


def _turns_of(case: dict[str, Any]) -> list[WorkTurn]:
    return [
        WorkTurn(turn["said"], [_call(*call) for call in turn["calls"]], turn["answer"], turn["routine"])
        for turn in case["turns"]
    ]


def _long_session(case: dict[str, Any]) -> bytes:
    return session_of(case["name"], _turns_of(case), LONG["routine"][case["language"]])


def _write_handed_back(file: Path, facts: SessionFacts, written: Mapping[str, str]) -> None:
    text = marked(handed_back(facts, written, "/state/notes.md", HOOK_CHARACTERS - len(marked(""))))
    file.write_text(text, encoding="utf-8")


def _write_with_model(place: Path, url: str) -> int:
    """All sessions at once, as whoever plays the model may take long over an answer."""
    with ThreadPoolExecutor(len(LONG["sessions"])) as pool:
        running = [
            pool.submit(_note_with_model, place / f"{number:02}-model.md", case, url)
            for number, case in enumerate(LONG["sessions"], 1)
        ]
        failed = [
            f"{case['name']}: {why}"
            for case, run in zip(LONG["sessions"], running, strict=True)
            if (why := run.result())
        ]
    print("\n".join(failed) or "The model has added to the notes of all sessions.")
    return 1 if failed else 0


def _note_with_model(file: Path, case: dict[str, Any], url: str) -> str:
    """Let a session grow, with a look of the model after each piece; why the last look failed, if it did."""
    lines = _long_session(case).splitlines(keepends=True)
    prompts = [at for at, line in enumerate(lines) if isinstance(json.loads(line)["message"]["content"], str)]
    settings = Anthropic(api_key_variable="MODEL_KEY", base_url=url, longest_run_seconds=_PLAYED_SECONDS)
    config = Config()._replace(anthropic=settings, budget=Budget(usd_per_day=1000.0))
    with tempfile.TemporaryDirectory() as home:
        paths = paths_from({"HOME": home})
        transcript = Path(paths.transcripts_root, "-code", f"{case['name']}.jsonl")
        transcript.parent.mkdir(parents=True)
        with closing(open_database(paths)) as database:
            ingester = Ingester(ALL, database, paths, config)
            for end in [*prompts[_TURNS_A_LOOK::_TURNS_A_LOOK], len(lines)]:
                transcript.write_bytes(b"".join(lines[:end]))
                ingester.ingest(time.time())
                update_due(database, paths, config, time.time())
                add_to_due(database, paths, config, {"MODEL_KEY": "played"}, SystemClock())
            (notes,) = kept_notes.all_notes(database)
    _write_handed_back(file, SessionFacts(notes.facts), notes.written)
    return f"{notes.failures} runs in a row failed" if notes.failures else ""


def _call(kind: str, what: str, answer: str, is_error: bool) -> Call:
    if kind == "run":
        return ("Bash", {"command": what}, f"Exit code 1\n{answer}" if is_error else answer, is_error)
    if kind == "edit":
        return ("Edit", {"file_path": f"/code/{what}", "old_string": "x", "new_string": answer}, "done", is_error)
    given: dict[str, Any] = {"file_path": f"/code/{what}"}
    return ("Read", given, "…", is_error)


if __name__ == "__main__":
    sys.exit(main())
