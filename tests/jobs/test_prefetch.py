"""Prefetch: a model picks while the agent works; what it picked is handed over once, with the next thing that is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Recall
from memoryd.jobs.prefetch import prefetch, take_ready
from memoryd.jobs.recall import RecallAnswer, ready_memories
from memoryd.recall import shown as shown_log
from memoryd.recall.outcomes import session_costs
from memoryd.recall.surface import LATER, MARK
from tests.jobs.model_workspace import VARIABLE, ToldClock, config_with_model
from tests.messages_server import MessagesServer, Reply, text
from tests.recall.memories import FIVE, FREEZE, RELEASE, TESTS, Library

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from tests.messages_server import Answer, Request

pytestmark = pytest.mark.usefixtures("loaded_sdk")

PROMPT = "get this out of the door"


def picks(*names: str) -> Reply:
    return Reply(text(json.dumps({"selected_memories": names})))


class Place:
    """Five memories, and a session that asks for them."""

    def __init__(self, paths: Paths, memory: Path, server: MessagesServer) -> None:
        self.paths, self.clock = paths, ToldClock()
        self.library = Library(paths, memory)
        self.library.write(FIVE)
        self.config = config_with_model(server)._replace(recall=Recall("model"))

    def prefetch(self, session_id: str = "s") -> str:
        given = {"prompt": PROMPT, "tools": [], "read": [TESTS]}
        environment = {VARIABLE: "test-key"}
        return prefetch(self.paths, self.config, environment, self.clock, str(self.library.place), session_id, given)

    def ready(self, session_id: str = "s") -> RecallAnswer:
        return ready_memories(self.paths, self.config, str(self.library.place), session_id, self.clock.now())


def test_what_a_model_picked_comes_once_and_is_marked(paths: Paths, tmp_path: Path) -> None:
    with MessagesServer(lambda _: picks(RELEASE, TESTS)) as server:
        place = Place(paths, tmp_path / "memory", server)
        assert place.ready() == RecallAnswer()
        assert place.prefetch() == ""
        assert place.ready("other") == RecallAnswer()
        ready = place.ready()
        assert [memory.name for memory in ready.memories] == [RELEASE]
        assert ready.text.startswith(f"<{MARK}>\n{LATER}")
        assert place.ready() == RecallAnswer()
        assert [one.name for one in shown_log.shown_to(paths, "s", str(place.library.place))] == [RELEASE]
        assert TESTS not in json.dumps(server.requests[0].body)  # the session has read it
        assert server.violations == []


def test_what_was_shown_meanwhile_or_is_gone_is_left_out(paths: Paths, tmp_path: Path) -> None:
    with MessagesServer(lambda _: picks(RELEASE, FREEZE)) as server:
        place = Place(paths, tmp_path / "memory", server)
        place.prefetch()
        shown_log.record(paths, "s", str(place.library.place), [shown_log.Shown(RELEASE, 10)], place.clock.now())
        (place.library.place / FREEZE).unlink()
        assert place.ready().memories == ()


def test_what_was_picked_long_ago_or_for_another_project_is_about_something_else(paths: Paths, tmp_path: Path) -> None:
    with MessagesServer(lambda _: picks(RELEASE)) as server:
        place = Place(paths, tmp_path / "memory", server)
        place.prefetch()
        assert take_ready(paths, "s", "/elsewhere", place.clock.now()) == ()
        place.prefetch()
        assert take_ready(paths, "s", str(place.library.place), place.clock.now() + 3601) == ()


def test_what_a_model_picked_comes_with_the_next_tool_call_once_unless_memory_is_left_aside(
    environment: dict[str, str], paths: Paths, tmp_path: Path
) -> None:
    environment |= {"MEMORYD_MEMORY_DIR": str(tmp_path / "memory"), "PYTHONPATH": os.getcwd()}
    sent = {"cwd": str(tmp_path), "transcript_path": "", "tool_name": "Bash", "tool_use_id": "t"}

    def call(session_id: str, command: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "memoryd", "hook", "pre-tool-use"],
            env=environment,
            cwd=tmp_path,
            input=json.dumps({**sent, "session_id": session_id, "tool_input": {"command": command}}).encode(),
            capture_output=True,
            check=True,
        )
        return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]) if done.stdout else ""

    with MessagesServer(lambda _: picks(RELEASE)) as server:
        place = Place(paths, tmp_path / "memory", server)
        place.clock.at = time.time()
        place.prefetch("s")
        place.prefetch("aside")
    shown_log.set_aside(paths, "aside", place.clock.now(), is_aside=True)
    text = call("s", "ls")
    assert text.startswith(f"<{MARK}>\n{LATER}")
    assert text.endswith(f"</{MARK}>")
    assert FIVE[RELEASE][0] in text
    assert call("s", "ls -l") == ""
    assert call("aside", "ls") == ""
    (cost,) = session_costs(paths)
    assert (cost.session, cost.with_prompts, cost.with_calls) == ("s", (), (-(-len(text.encode()) // 4),))


def test_a_prompt_does_not_wait_for_the_model_and_the_next_one_gets_its_choice(
    environment: dict[str, str], paths: Paths, tmp_path: Path
) -> None:
    """The real hook and the process that it starts; the model answers only once the prompt is answered."""
    is_answered, is_picked = threading.Event(), threading.Event()

    def answer(_: Request) -> Answer:
        assert is_answered.wait(120)
        is_picked.set()
        return picks(RELEASE)

    with MessagesServer(answer) as server:
        project = tmp_path / "project"
        project.mkdir()
        environment |= {VARIABLE: "test-key", "MEMORYD_MEMORY_DIR": str(tmp_path / "memory")}
        Library(paths, tmp_path / "memory").write(FIVE)
        os.makedirs(os.path.dirname(paths.config_file), exist_ok=True)
        Path(paths.config_file).write_text(
            f'[anthropic]\napi_key_variable = "{VARIABLE}"\nbase_url = "{server.url}"\n[recall]\nselector = "model"\n'
        )

        def say(prompt: str) -> str:
            call = {"session_id": "s", "cwd": str(project), "prompt": prompt, "transcript_path": ""}
            done = subprocess.run(
                [sys.executable, "-m", "memoryd", "hook", "user-prompt-submit"],
                env=environment | {"PYTHONPATH": os.getcwd()},
                cwd=project,
                input=json.dumps(call).encode(),
                capture_output=True,
                check=True,
            )
            return done.stdout.decode()

        assert RELEASE not in say(PROMPT)
        is_answered.set()
        assert is_picked.wait(120)
        ready = Path(paths.state_dir, "prefetched", "s.json")
        watched = threading.Event()
        for _ in range(600):
            if ready.exists():
                break
            watched.wait(0.1)
        assert RELEASE in say("thanks, go on with it")
        kept = [path.read_bytes() for path in Path(paths.state_dir).rglob("*") if path.is_file()]
        assert not any(PROMPT.encode() in data for data in kept)
