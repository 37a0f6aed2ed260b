"""How often somebody who goes on with a compacted session has to ask again: ten sessions, continued from what is handed back.

    python -m evaluation.continued [--verbose]

Between the turns that matter stand turns of routine work, and the session ends with some: what matters is not the last that
was said. A fact that the next prompt needs and that is not in the handed back text is a question asked again. By code alone,
and with what a player wrote who was shown the session as the agent for notes is (`notes_cases.py`).
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from evaluation.notes_cases import CASES
from memoryd.clients import ALL
from memoryd.jobs.notes import read_on
from memoryd.notes.hand_back import handed_back
from memoryd.recall.surface import HOOK_CHARACTERS
from memoryd.state.notes import NotedSession
from tests.notes.working_session import WorkingSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluation.notes_cases import ContinuedCase

_NOW = 1_795_000_000.0
_ROUTINE = 12
"""Turns of routine work behind each turn that matters; fewer at the end."""
_MESSAGES = (
    "ok, next",
    "fine. please also look at the file beside it",
    "there is a typo in the comment above, correct it",
    "hm, can the name be shorter?",
    "format it, and go on",
)


def main() -> int:
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
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, f"{case.name}.jsonl")
        path.write_bytes(session_of(case))
        _, facts, _ = read_on(NotedSession(case.name, ALL[0].name, str(path)), None, _NOW)
    text = " ".join(handed_back(facts, written, "/state/notes.md", HOOK_CHARACTERS).split())
    return [question for question, answers in case.needed if not any(answer in text for answer in answers)]


def session_of(case: ContinuedCase) -> bytes:
    session = WorkingSession(case.name, cwd="/code")
    draw = random.Random(case.name)  # noqa: S311 - sessions, not secrets
    data = []
    for number, (message, calls, answer) in enumerate(case.turns, 1):
        data.append(session.prompt(message))
        data += [session.use(tool, result, is_error=is_error, **given) for tool, given, result, is_error in calls]
        data.append(session.reply(answer))
        for _ in range(_ROUTINE if number < len(case.turns) else 2):
            file = f"/code/misc/{draw.choice('abcdefghij')}{draw.randrange(30)}.py"
            data.append(session.prompt(draw.choice(_MESSAGES)))
            data.append(session.use("Read", "lines of a file " * 300, file_path=file))
            data.append(session.use("Edit", file_path=file, old_string="a", new_string="b"))
            data.append(session.use("Bash", "All checks passed!", command=f"ruff check {file}"))
            data.append(session.reply("Done. " + "The comment is corrected and the file formatted. " * 4))
    return b"".join(data)


if __name__ == "__main__":
    sys.exit(main())
