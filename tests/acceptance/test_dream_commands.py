"""What a person sees of dreams: the real command, in a fresh home."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clients.claude_code.folders import slug_of
from memoryd.clock import SystemClock
from memoryd.model import Progress
from memoryd.state import dreams
from tests.acceptance.command import PATIENCE_SECONDS, Daemon, as_json
from tests.acceptance.command import memoryd as run_memoryd
from tests.acceptance.model import hire
from tests.messages_server import Hang, MessagesServer
from tests.transcript import Session, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.messages_server import Request

WRITTEN = 1_780_000_000
LOCK = ".consolidate-lock"
BOARD = "https://boards.example.dev/d/latency"
DASHBOARD, ONCALL, FREEZE = "reference_latency_dashboard.md", "reference_oncall_board.md", "project_release_freeze.md"
NOTE = "The staging server is restarted every night at 3, so nothing that runs there survives the night."


class Shop:
    """A project with memories, and a terminal in it."""

    def __init__(self, environment: dict[str, str], paths: Paths, place: Path) -> None:
        self.environment, self.paths, self.place = environment, paths, place
        place.mkdir()
        self.folder = slug_of(str(place.resolve()))
        self.memory = Path(paths.transcripts_root, self.folder, "memory")
        self.memory.mkdir(parents=True)

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_memoryd(self.environment, *arguments, *self._here(arguments[0]))

    def json(self, *arguments: str) -> Any:
        return as_json(self.environment, *arguments, *self._here(arguments[0]))

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "memoryd", *arguments, *self._here(arguments[0])],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _here(self, command: str) -> list[str]:
        return [] if command in ("status", "extract-now", "config") else ["--project", str(self.place)]

    def put(self, name: str, text: str) -> None:
        path = self.memory / name
        path.write_text(text)
        os.utime(path, (WRITTEN, WRITTEN))

    def keep(self, name: str, description: str, body: str) -> None:
        kind, _, topic = name.removesuffix(".md").partition("_")
        title = topic.replace("_", "-")
        self.put(name, f'---\nname: {title}\ndescription: "{description}"\ntype: {kind}\n---\n{body}\n')

    def say(self, text: str) -> None:
        """A session of this project in which that was said."""
        session = Session(text, cwd=str(self.place.resolve()))
        write(self.paths.transcripts_root, session, session.turn(text), folder=self.folder)

    def files(self) -> dict[str, tuple[bytes, int]]:
        """Every file but the lock, with its bytes and its time."""
        return {path.name: _state(path) for path in self.memory.iterdir() if path.name != LOCK}


def _state(path: Path) -> tuple[bytes, int]:
    return path.read_bytes(), path.stat().st_mtime_ns


@pytest.fixture
def shop(environment: dict[str, str], paths: Paths, tmp_path: Path) -> Shop:
    return Shop(environment, paths, tmp_path / "shop")


@pytest.fixture
def cluttered(shop: Shop) -> Shop:
    """Two memories that say the same, a freeze that is long over, a note in the index, and one that is fine."""
    shop.keep(DASHBOARD, "Where the latency dashboard is", f"The oncall latency dashboard is {BOARD}.")
    shop.keep(ONCALL, "Latency dashboard of oncall", f"Oncall latency dashboard: {BOARD}\n\n**Why:** It has a filter.")
    shop.keep(FREEZE, "The release is frozen until 2026-06-10", "The release is frozen until 2026-06-10.")
    shop.keep("feedback_small_commits.md", "Keep commits small", "Keep commits small, one change each.")
    shop.put(
        "MEMORY.md",
        f"# Memory\n\n- [Latency dashboard]({DASHBOARD}) — Where the latency dashboard is\n"
        f"- [Oncall board]({ONCALL}) — Latency dashboard of oncall\n"
        f"- [Release freeze]({FREEZE}) — The release is frozen until 2026-06-10\n"
        f"- [Small commits](feedback_small_commits.md) — Keep commits small\n\n## Notes\n\n{NOTE}\n",
    )
    return shop


# --- what it does, and what it leaves ---------------------------------------------------------------------------------


def test_a_dream_is_told_explained_and_undone_to_the_byte(cluttered: Shop) -> None:
    before = cluttered.files()
    done = cluttered("dream-now")
    assert done.returncode == 0, done.stderr
    assert f"archived: {FREEZE}\n" in done.stdout
    assert f"merged: {DASHBOARD} into {ONCALL}\n" in done.stdout
    assert "Change 1: memoryd diff 1 shows it, memoryd undo 1 takes it back.\n" in done.stderr
    merged = (cluttered.memory / ONCALL).read_text()
    assert f"Oncall latency dashboard: {BOARD}\n\n**Why:** It has a filter.\n" in merged
    assert "Where the latency dashboard is" in merged
    assert not (cluttered.memory / FREEZE).exists()
    assert cluttered.files()["feedback_small_commits.md"] == before["feedback_small_commits.md"]
    assert (cluttered.memory / LOCK).read_bytes() == b""

    told = cluttered("history").stdout
    assert "1 merged" in told
    assert "1 archived" in told
    diff = cluttered("diff", "1").stdout
    assert "\n--- MEMORY.md before\n" in diff
    assert f"\n-{NOTE}\n" in diff, "what was moved out of the index is shown"
    (change,) = cluttered.json("history")
    assert (change["kind"], change["fates"]) == ("dream", [])

    assert cluttered("undo", "1").returncode == 0
    assert cluttered.files() == before
    again = cluttered("dream-now")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "Nothing to change.\n")
    assert cluttered.files() == before, "what was undone is not done again"


def test_a_trial_shows_everything_and_changes_nothing(cluttered: Shop) -> None:
    cluttered.put(LOCK, "")
    before, lock = cluttered.files(), _state(cluttered.memory / LOCK)
    directory = cluttered.memory.stat().st_mtime_ns
    tried = cluttered("dream-now", "--dry-run")
    assert tried.returncode == 0
    assert tried.stdout.startswith("--- ")
    assert f"\n-{NOTE}\n" in tried.stdout
    assert f"would be merged: {DASHBOARD} into {ONCALL}\n" in tried.stderr
    assert tried.stderr.endswith("Nothing was changed: memoryd dream-now does it.\n")
    assert (cluttered.files(), _state(cluttered.memory / LOCK)) == (before, lock)
    assert cluttered.memory.stat().st_mtime_ns == directory, "not even for a moment"
    assert cluttered.json("history") == []
    assert "dreamt" not in cluttered("status").stdout


def test_where_nothing_is_to_be_done_no_byte_changes(shop: Shop) -> None:
    shop.keep("feedback_small_commits.md", "Keep commits small", "Keep commits small, one change each.")
    shop.put("MEMORY.md", "- [Small commits](feedback_small_commits.md) — Keep commits small\n")
    before = shop.files()
    assert shop("dream-now").stderr == "Nothing to change.\n"
    assert shop.files() == before
    assert shop.json("history") == []


def test_an_index_that_was_not_right_is_told(shop: Shop) -> None:
    shop.keep("feedback_small_commits.md", "Keep commits small", "Keep commits small, one change each.")
    assert shop("dream-now").stderr == "The index was made right: memoryd diff 1 shows it.\n"
    assert shop("history").stdout.endswith("  dream     the index made right\n")
    assert "+- [Small commits](feedback_small_commits.md) — Keep commits small\n" in shop("diff", "1").stdout


def test_without_memories_there_is_nothing_to_dream_of(shop: Shop) -> None:
    shop.memory.rmdir()
    done = shop("dream-now")
    assert done.returncode == 0
    assert done.stderr.startswith("Nothing to change: there are no memories in /")
    assert not shop.memory.exists()


def test_without_a_model_newer_words_stand_beside_a_memory(shop: Shop) -> None:
    shop.keep("project_deploy_day.md", "The shop deploys on Thursdays", "The shop deploys on Thursdays.")
    shop.say("please look at the parser")
    assert shop("extract-now").returncode == 0  # the project is known from here on
    before = shop.files()["project_deploy_day.md"]
    shop.say("Remember that the shop deploys on Tuesdays now, not on Thursdays.")
    assert shop("dream-now").stdout.startswith("learnt: ")
    assert shop.files()["project_deploy_day.md"] == before


def test_a_merged_memory_rests_on_what_its_sources_rested_on(shop: Shop) -> None:
    said = f"the oncall latency dashboard is {BOARD}", f"Oncall latency dashboard: {BOARD}"
    for words in said:
        assert shop("remember", "--type", "reference", words).returncode == 0
    (revised,) = shop.json("dream-now")["revised"]
    kept, gone = revised["files"]
    told = shop("why", kept)
    assert told.stdout.startswith(f"{gone} became part of {kept}, with what it rested on.\n")
    assert all(f'"{words}"' in told.stdout for words in said)
    assert shop.json("why", kept)["merged_from"] == [gone]
    assert shop("why", gone).stdout.startswith(
        f"{gone} became part of {kept}.\nto put it back: memoryd restore {gone}\n"
    )
    assert shop.json("why", gone)["merged_into"] == kept


def test_the_result_as_json(cluttered: Shop) -> None:
    result = cluttered.json("dream-now")
    assert {key: result[key] for key in ("outcome", "detail", "change", "refused", "set_aside", "diff")} == {
        "outcome": "succeeded",
        "detail": None,
        "change": 1,
        "refused": [],
        "set_aside": [],
        "diff": None,
    }
    assert {"reason": "expired", "files": [FREEZE]}.items() <= next(
        revision for revision in result["revised"] if revision["reason"] == "expired"
    ).items()
    nothing = cluttered.json("dream-now", "--dry-run")
    assert (nothing["outcome"], nothing["revised"], nothing["diff"]) == ("skipped(dry_run)", [], None)


# --- beside others ----------------------------------------------------------------------------------------------------


def test_while_another_process_consolidates_it_gives_way(cluttered: Shop) -> None:
    (cluttered.memory / LOCK).write_text(str(os.getpid()))
    before, lock = cluttered.files(), _state(cluttered.memory / LOCK)
    done = cluttered("dream-now")
    assert done.returncode == 75
    assert done.stderr.startswith(f"memoryd: Process {os.getpid()} is consolidating this memory directory.\n  fix: ")
    assert (cluttered.files(), _state(cluttered.memory / LOCK)) == (before, lock)


def test_an_unknown_place_is_said(shop: Shop) -> None:
    done = run_memoryd(shop.environment, "dream-now", "--project", str(shop.place / "nowhere"))
    assert (done.returncode, "There is no directory" in done.stderr) == (2, True)


class Hanging:
    """A model that never answers; `asked` says that a dream is waiting for it."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.gate = threading.Event()

    def __call__(self, _: Request) -> Hang:
        self.asked.set()
        return Hang(self.gate)


@pytest.fixture
def dreaming(cluttered: Shop, paths: Paths) -> Iterator[subprocess.Popen[str]]:
    """A `dream-now` that is in the middle of it."""
    model = Hanging()
    with MessagesServer(model) as server:
        hire(paths, server)
        with cluttered.begin("dream-now") as process:
            assert model.asked.wait(PATIENCE_SECONDS)
            yield process
            process.kill()


def test_ctrl_c_ends_a_dream_and_nothing_has_changed(cluttered: Shop, dreaming: subprocess.Popen[str]) -> None:
    assert (cluttered.memory / LOCK).read_text() == str(dreaming.pid)
    before = cluttered.files()
    dreaming.send_signal(signal.SIGINT)
    out, told = dreaming.communicate(timeout=PATIENCE_SECONDS)
    assert (dreaming.returncode, out, told) == (130, "", "Interrupted: nothing was changed.\n")
    assert cluttered.files() == before
    assert not (cluttered.memory / LOCK).exists(), "there was none before"
    assert cluttered.json("history") == []
    assert "killed" in cluttered("status").stdout


def test_dream_stop_ends_the_dream_of_another_process(cluttered: Shop, dreaming: subprocess.Popen[str]) -> None:
    before = cluttered.files()
    running = cluttered.json("status")["dreams"]["running"]
    assert [(dream["alive"], dream["state"], dream["phase"]) for dream in running] == [(True, "starting", "gather")]
    assert [turn["phase"] for turn in running[0]["turns"]] == ["orient", "gather"]
    shown = cluttered("status").stdout
    assert re.search(r"\nnow\n  shop  dreaming for \d+ s, starting\n", shown)
    assert "gather      Reading 0 sessions\n" in shown
    stopped = cluttered("dream-stop")
    assert (stopped.returncode, stopped.stderr) == (0, "The dream has ended; nothing was changed.\n")
    _, told = dreaming.communicate(timeout=PATIENCE_SECONDS)
    assert (dreaming.returncode, told) == (
        1,
        "The dream ended as killed: it was asked to stop, and changed nothing.\n",
    )
    assert cluttered.files() == before
    assert not (cluttered.memory / LOCK).exists()


def test_a_dream_whose_process_died_is_put_right(cluttered: Shop, dreaming: subprocess.Popen[str]) -> None:
    before = cluttered.files()
    dreaming.kill()
    dreaming.wait()
    assert "its process died: memoryd dream-stop" in cluttered("status").stdout
    stopped = cluttered("dream-stop")
    assert (stopped.returncode, stopped.stderr) == (
        0,
        "Its process had died already. What it left has been cleaned up.\n",
    )
    assert cluttered.files() == before
    assert not (cluttered.memory / LOCK).exists()


def test_without_a_dream_there_is_none_to_stop(shop: Shop) -> None:
    done = shop("dream-stop")
    assert (done.returncode, done.stderr) == (
        1,
        "memoryd: No dream is going on in this project.\n  fix: memoryd status\n",
    )


# --- on a terminal ----------------------------------------------------------------------------------------------------


def _on_a_terminal(shop: Shop, **variables: str) -> str:
    ours, its = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "memoryd", "dream-now", "--project", str(shop.place)],
        env=shop.environment | variables,
        stdout=subprocess.DEVNULL,
        stderr=its,
    ) as process:
        os.close(its)
        said = b""
        while part := _read(ours):
            said += part
        os.close(ours)
        assert process.wait(PATIENCE_SECONDS) == 0
    return said.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # the other end is closed
        return b""


def test_on_a_terminal_one_line_tells_how_far_it_is(cluttered: Shop) -> None:
    said = _on_a_terminal(cluttered, TERM="xterm")
    live, _, rest = said.rpartition("\r\x1b[K")
    phases = [step.split()[0] for step in live.split("\r\x1b[K")[1:]]
    assert list(dict.fromkeys(phases)) == ["start", "orient", "gather", "consolidate", "prune"]
    assert "consolidate  Archiving" in live
    assert rest.startswith("Change 1: ")


def test_a_terminal_that_can_do_little_gets_plain_lines(cluttered: Shop) -> None:
    assert "\x1b" not in _on_a_terminal(cluttered, TERM="dumb")


# --- status -----------------------------------------------------------------------------------------------------------


def _ask_gates(shop: Shop) -> dict[str, Any]:
    (asked,) = shop.json("status")["dreams"]["next"]
    assert isinstance(asked, dict)
    return asked


def test_status_tells_which_gate_says_no_and_until_when(cluttered: Shop, paths: Paths) -> None:
    cluttered.say("please look at the parser")
    cluttered("extract-now")
    asked = _ask_gates(cluttered)
    assert (asked["project"], asked["memory_dir"]) == (str(cluttered.place.resolve()), str(cluttered.memory))
    assert (asked["decision"], asked["gate"], asked["reason"]) == ("wait", "time", "too_soon")
    assert asked["gates"] == {"switch": True, "time": False, "throttle": True, "sessions": False, "lock": True}
    assert [(check["gate"], check["reason"]) for check in asked["checks"] if check["until"]] == [
        ("time", "too_soon"),
        ("sessions", "too_few_sessions"),
    ]
    assert asked["until"]
    assert asked["why"] == "the project was first seen less than 24 h ago"
    assert "next dream: in 23 h at the earliest, after 5 sessions (0 so far)\n" in cluttered("status").stdout

    config = Path(paths.config_file)
    config.parent.mkdir(parents=True)
    config.write_text("[dream]\nleast_hours = 0\n[turns]\nquiet_seconds = 0\n")
    assert "next dream: after 5 sessions (0 so far)\n" in cluttered("status").stdout
    config.write_text("[dream]\nleast_hours = 0\nleast_sessions = 1\n[turns]\nquiet_seconds = 0\n")
    cluttered.say("and at the lexer")
    cluttered("extract-now")
    assert _ask_gates(cluttered)["decision"] == "ready"
    assert "dream: as soon as memoryd runs, 1 session changed\n" in cluttered("status").stdout
    (cluttered.memory / LOCK).write_text(str(os.getpid()))
    os.utime(cluttered.memory / LOCK, (0, 0))
    assert _ask_gates(cluttered)["decision"] == "ready", "an old lock holds nobody up"
    (cluttered.memory / LOCK).unlink()
    (cluttered.memory / LOCK).mkdir()
    os.utime(cluttered.memory / LOCK, (0, 0))
    (problem,) = cluttered.json("status")["problems"]
    assert LOCK in problem["problem"], "what the gates cannot look at is a problem, not an error"


def test_a_daemon_dreams_by_itself_when_every_gate_is_open(cluttered: Shop, paths: Paths) -> None:
    config = Path(paths.config_file)
    config.parent.mkdir(parents=True)
    config.write_text("[dream]\nleast_hours = 0\nleast_sessions = 1\n[turns]\nquiet_seconds = 0\n")
    cluttered.say("please look at the parser")
    cluttered("extract-now")  # the first sight of the project
    cluttered.say("and at the lexer")
    cluttered("extract-now")
    with Daemon(cluttered.environment) as daemon:
        daemon.says("shop: dreaming")
        daemon.says("memoryd history shows what it did")
    (change,) = cluttered.json("history")
    assert change["kind"] == "dream"
    assert cluttered.json("status")["dreams"]["outcomes"] == {"succeeded": 1}


def test_between_two_counts_status_tells_what_the_next_one_will_find(
    cluttered: Shop, paths: Paths, database: Database
) -> None:
    cluttered.say("please look at the parser")
    cluttered("extract-now")
    Path(paths.config_file).parent.mkdir(parents=True)
    Path(paths.config_file).write_text("[dream]\nleast_hours = 0\n")
    dreams.note_count(database, str(cluttered.memory), SystemClock().now())
    assert "next dream: after 5 sessions (0 so far)\n" in cluttered("status").stdout


def test_status_tells_what_came_of_the_last_dreams(cluttered: Shop) -> None:
    cluttered.say("please look at the parser")
    cluttered("extract-now")
    cluttered("dream-now")
    status = cluttered.json("status")
    assert (status["last"], status["working"]) == ([], []), "a dream is no job on a session"
    (last,) = status["dreams"]["last"]
    assert (last["state"], last["change"], last["engine"]) == ("succeeded", 1, "offline")
    assert status["dreams"]["outcomes"] == {"succeeded": 1}
    shown = cluttered("status").stdout
    assert "\ndreams    1 succeeded\n" in shown
    assert re.search(r"\nlast\n  \d+ s ago  shop  dream: .*1 merged.*: memoryd diff 1\n", shown)


def test_the_environment_turns_background_dreams_off(cluttered: Shop) -> None:
    cluttered.say("please look at the parser")
    cluttered("extract-now")
    cluttered.environment["MEMORYD_DISABLE_DREAM"] = "1"
    assert _ask_gates(cluttered)["reason"] == "switched_off"
    assert "next dream: only by memoryd dream-now, as dreams are switched off\n" in cluttered("status").stdout
    assert cluttered.json("config")["features"]["dream"] is False
    assert cluttered("dream-now", "--dry-run").returncode == 0, "asked for, it comes all the same"
    cluttered.environment["MEMORYD_DISABLE_DREAM"] = "0"
    assert _ask_gates(cluttered)["reason"] == "too_soon"


def test_a_dream_that_fails_again_is_a_problem(shop: Shop, database: Database) -> None:
    problems = []
    for outcome in ("failed", "refused(no fact lost)"):
        job = dreams.begin(database, str(shop.memory), str(shop.place), "offline", 1.0)
        dreams.note_progress(database, job.id, Progress("orient", "Reading the memories"), 1.0)
        dreams.end(database, job, outcome, 2.0, detail="4 of its changes would lose something")
        problems.append(shop.json("status")["problems"])
    assert problems == [
        [],
        [
            {
                "problem": "2 dreams in a row of shop came to nothing (refused(no fact lost): 4 of its changes would lose"
                " something). Its memories are as they were.",
                "fix": f"memoryd dream-now --project {shop.place}",
            }
        ],
    ]
    assert "\ndreams    1 failed, 1 refused\n" in shop("status").stdout


def test_a_screen_names_a_few_projects_and_json_all(environment: dict[str, str], paths: Paths, tmp_path: Path) -> None:
    for number in range(7):
        Shop(environment, paths, tmp_path / f"shop{number}").say("please look at the parser")
    run_memoryd(environment, "extract-now")
    shown = run_memoryd(environment, "status").stdout
    assert shown.count("1 session, active ") == 6
    assert "\n  and 1 project more: memoryd projects\n" in shown
    assert len(as_json(environment, "status")["memories"]) == 7
