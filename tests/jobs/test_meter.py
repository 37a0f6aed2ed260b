"""The meter: what a session did after a rule was handed to it, counted from its transcript, each thing once."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.registry import ALL
from memoryd.jobs.meter import measure
from memoryd.recall import shown
from memoryd.recall.outcomes import MemoryOutcome, outcomes
from tests.recall.memories import NOW, topic
from tests.transcript import Session, line, write

if TYPE_CHECKING:
    from memoryd.paths import Paths

NPM = "feedback_npm.md"
RULE = "Never run npm install in this repository"


class Measured:
    """A session that was handed a rule between its first turn and its second."""

    def __init__(self, paths: Paths, place: Path) -> None:
        self.paths, self.memory_dir = paths, str(place)
        place.mkdir()
        (place / NPM).write_bytes(topic(RULE, RULE, kind="feedback"))
        self.session = Session()
        self.data = b""
        self.calls = 0

    def say(self, prompt: str, *commands: str) -> None:
        self.data += self.session.prompt(prompt)
        for command in commands:
            self.calls += 1
            call = {"type": "tool_use", "id": f"call-{self.calls}", "name": "Bash", "input": {"command": command}}
            message = {"role": "assistant", "content": [call], "stop_reason": "tool_use"}
            self.data += line(self.session.entry("assistant", message=message)) + self.session.result(
                f"call-{self.calls}"
            )
        self.data += self.session.reply("Done.")

    def hand_over(self) -> None:
        """Between two entries of the session."""
        stamp = json.loads(self.data.splitlines()[-1])["timestamp"]
        at = datetime.fromisoformat(stamp).timestamp() + 0.5
        shown.record(self.paths, self.session.id, self.memory_dir, [shown.Shown(NPM, 400)], at)

    def measure(self) -> MemoryOutcome:
        path = write(self.paths.transcripts_root, self.session, self.data)
        measure(self.paths, ALL[0], self.session.id, str(path), self.memory_dir, NOW)
        return outcomes(self.paths).get((self.memory_dir, NPM), MemoryOutcome())


@pytest.fixture
def measured(paths: Paths, tmp_path: Path) -> Measured:
    return Measured(paths, tmp_path / "memory")


def test_what_a_session_does_after_it_was_told_is_counted_once(measured: Measured) -> None:
    measured.say("Get the packages ready.", "npm install")  # before it was told
    measured.hand_over()
    measured.say("And now the web folder.", "cd web && npm i left-pad", "npm run build")
    first = measured.measure()
    assert (first.shown, first.followed, first.corrected) == (1, 1, 0)
    assert measured.measure() == first
    measured.say("Never run npm install in this repository!", "pnpm install")
    measured.say("Thanks, what does npm install do anyway?")
    measured.say("Go on.", "npm install")
    last = measured.measure()
    assert (last.followed, last.corrected) == (2, 1)
    assert last.tokens == 100


def test_only_new_bytes_are_read_and_a_rewritten_transcript_is_read_anew(measured: Measured) -> None:
    measured.say("Begin.")
    measured.hand_over()
    measured.say("Go on.", "npm install")
    assert measured.measure().followed == 1
    log = shown.session_log(measured.paths, measured.session.id)
    assert shown.measured_to(log, measured.memory_dir) == len(measured.data)
    measured.data = measured.data[: len(measured.data) // 2].rpartition(b"\n")[0] + b"\n"
    measured.measure()
    assert measured.measure().followed == 1  # the same call, noted by its id


def test_a_call_that_was_refused_was_not_made(measured: Measured) -> None:
    measured.say("Begin.")
    measured.hand_over()
    measured.say("Go on.", "npm install")
    shown.record_refusal(measured.paths, measured.session.id, measured.memory_dir, NPM, "call-1", NOW, is_allowed=False)
    outcome = measured.measure()
    assert (outcome.refused, outcome.followed) == (1, 0)


def test_a_kill_between_leaves_nothing_counted_twice(measured: Measured) -> None:
    measured.say("Begin.")
    measured.hand_over()
    measured.say("Go on.", "npm install")
    measured.measure()
    (file,) = (shown_file for shown_file in Path(measured.paths.state_dir, "recalled").iterdir())
    whole = file.read_bytes()
    for size in range(len(whole.splitlines(keepends=True)[0]), len(whole)):  # its last write, cut anywhere
        file.write_bytes(whole[:size])
        assert measured.measure().followed == 1


def test_a_vanished_session_and_one_that_was_told_nothing_are_left_alone(measured: Measured) -> None:
    measured.say("Begin.", "npm install")
    assert measured.measure() == MemoryOutcome()
    measured.hand_over()
    measure(measured.paths, ALL[0], measured.session.id, "/none.jsonl", measured.memory_dir, NOW)
    assert measured.measure().followed == 0


def test_the_last_look_counts_after_a_rewrite_to_a_shorter_file(paths: Paths) -> None:
    for end in (900, 300):
        shown.record_measured(paths, "0f8d3c1e", "/memory", [], end, NOW)
    assert shown.measured_to(shown.session_log(paths, "0f8d3c1e"), "/memory") == 300
