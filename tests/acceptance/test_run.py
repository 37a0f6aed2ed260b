"""`memoryd run` as a real process, with real files and real signals."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import Daemon, as_json, memoryd
from tests.acceptance.manager import eventually
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.paths import Paths


@pytest.fixture
def quick(paths: Paths, environment: dict[str, str]) -> dict[str, str]:
    """An environment whose daemon looks ten times a second and waits for no silence."""
    os.makedirs(os.path.dirname(paths.config_file))
    with open(paths.config_file, "w", encoding="utf-8") as file:
        file.write("[scan]\ninterval_seconds = 0.1\n[turns]\nquiet_seconds = 0.2\n")
    return environment


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_it_tells_a_newcomer_what_it_found_and_follows_what_is_said(quick: dict[str, str], paths: Paths) -> None:
    session, other = Session("one"), Session("two", cwd="/code/beta")
    path = write(paths.transcripts_root, session, session.turn() + session.turn())
    with Daemon(quick) as daemon:
        daemon.says("watches ~/.claude/projects")
        daemon.says("Found 1 session")
        daemon.says("is history: memoryd backfill works on it")
        daemon.says("History: 2 turns in 1 session of 1 project.")
        append(path, session.prompt())
        daemon.says(f"acme {session.id[:8]}: 1 prompt; waiting for the end of the turn.")
        append(path, session.reply())
        daemon.says(f"acme {session.id[:8]}: 1 turn ended")
        daemon.says(f"acme {session.id[:8]}: read, nothing to keep.")
        write(paths.transcripts_root, other, other.turn("from now on, keep commits small"), folder="-code-beta")
        daemon.says(f"beta {other.id[:8]}: saved ~/.claude/projects/-code-beta/memory/feedback_keep_commits_small.md.")
        assert as_json(quick, "status")["turns"] == {
            "waiting": 0,
            "skipped": 0,
            "open": 0,
            "history": 2,
            "vanished": 0,
            "outcomes": {"succeeded": 1, "succeeded_no_output": 1},
        }
        assert daemon.stop(signal.SIGINT) == 0
        assert daemon.said.rstrip().endswith("Stopped.")


def test_what_the_client_saved_and_what_fails_is_told_by_name(quick: dict[str, str], paths: Paths) -> None:
    """The main agent saved the first turn's wish itself; the second cannot be saved, and is tried again later."""
    saved, failing = Session("saved"), Session("failing", cwd="/code/beta")
    memory = f"{paths.transcripts_root}/-code-acme/memory"
    call = saved.call("call_1", "Write").replace(b"/code/acme/a.py", f"{memory}/tabs.md".encode())
    with Daemon(quick) as daemon:
        daemon.says("nothing there yet")
        turn = saved.prompt("from now on, use tabs") + call + saved.result("call_1") + saved.reply()
        write(paths.transcripts_root, saved, turn)
        daemon.says("skipped(main_agent_saved): 1 turn left to the main agent, which saved tabs.md")
        beta = write(paths.transcripts_root, failing, b"", folder="-code-beta")
        (beta.parent / "memory").write_text("in the way")
        append(beta, failing.turn("from now on, use tabs"))
        daemon.says(f"beta {failing.id[:8]}: failed: ")
        daemon.says(f"beta {failing.id[:8]}: 1 turn waiting (backing_off): it failed once")
        status = as_json(quick, "status")
        assert status["turns"]["outcomes"] == {"skipped(main_agent_saved)": 1}
        assert [(session["decision"], session["reason"]) for session in status["waiting"]] == [("wait", "backing_off")]
        assert [job["outcome"] for job in status["last"]] == ["failed", "skipped(main_agent_saved)"]
        (problem,) = status["problems"]
        assert problem["problem"].startswith("1 session could not be worked on: The memory directory")
        assert problem["fix"] == "memoryd retry"
    with open(paths.log_file, encoding="utf-8") as log:
        text = log.read()
    assert "waiting(backing_off)" in text
    assert "which saved tabs.md" in text
    assert "use tabs" not in text


def test_a_wish_becomes_an_indexed_memory_once_and_undo_takes_it_back(quick: dict[str, str], paths: Paths) -> None:
    session = Session()
    memory = f"{paths.transcripts_root}/-code-acme/memory"
    with Daemon(quick) as daemon:
        daemon.says("nothing there yet")
        path = write(
            paths.transcripts_root, session, session.turn("from now on, always run the linter, because CI is slow")
        )
        daemon.says("saved")
        with open(f"{memory}/MEMORY.md", encoding="utf-8") as file:
            assert file.read() == "- [Always run the linter](feedback_always_run_the_linter.md) — CI is slow\n"
        (change,) = as_json(quick, "history", "--all")
        assert (change["kind"], change["files"]) == ("extract", ["feedback_always_run_the_linter.md"])
        assert memoryd(quick, "undo", str(change["change"])).returncode == 0
        assert os.listdir(memory) == []  # as before
        append(path, session.turn("thanks"))
        daemon.says("read, nothing to keep")
        path.write_bytes(path.read_bytes()[:-1] + b" \n")
        assert memoryd(quick, "backfill", "--yes").returncode == 0
        assert os.listdir(memory) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it(quick: dict[str, str], number: int) -> None:
    with Daemon(quick) as daemon:
        daemon.says("nothing there yet")
        assert daemon.stop(number) == 0


def test_a_second_one_names_the_first_and_exits_75(quick: dict[str, str]) -> None:
    with Daemon(quick) as daemon:
        daemon.says("watches")
        second = memoryd(quick, "run")
        assert second.returncode == 75
        assert second.stderr == (
            f"memoryd: memoryd is already running (process {daemon.process.pid}).\n  fix: memoryd status\n"
        )
        assert daemon.process.poll() is None


def test_killed_it_goes_on_where_it_was(quick: dict[str, str], paths: Paths) -> None:
    session = Session()
    with Daemon(quick) as daemon:
        daemon.says("nothing there yet")
        path = write(paths.transcripts_root, session, session.turn())
        daemon.says("read, nothing to keep")
        daemon.stop(signal.SIGKILL)
    append(path, session.turn("from now on, never push to main"))
    with Daemon(quick) as daemon:
        daemon.says("feedback_never_push_to_main.md")
    assert as_json(quick, "status")["turns"]["waiting"] == 0


def test_a_damaged_database_is_set_aside_and_said(quick: dict[str, str], paths: Paths) -> None:
    session = Session()
    write(paths.transcripts_root, session, session.turn())
    os.makedirs(paths.state_dir)
    with open(paths.database, "wb") as file:
        file.write(b"no database " * 1000)
    with Daemon(quick) as daemon:
        daemon.says("has been set aside as")
        daemon.says("History: 1 turn")
        status = memoryd(quick, "status")
        assert status.returncode == 1
        assert "no memory is lost" in status.stdout
        kept = [name for name in os.listdir(paths.state_dir) if "damaged" in name]
        assert len(kept) == 1
        assert f"fix: rm {paths.state_dir}/{kept[0]}*" in status.stdout
        os.remove(os.path.join(paths.state_dir, kept[0]))
        assert memoryd(quick, "status").returncode == 0


def test_a_database_damaged_while_it_runs_is_set_aside(quick: dict[str, str], paths: Paths) -> None:
    session = Session()
    path = write(paths.transcripts_root, session, session.turn())
    with Daemon(quick) as daemon:
        daemon.says("History: 1 turn")
        connection = sqlite3.connect(paths.database)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        with open(paths.database, "r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (os.path.getsize(paths.database) - 4096))
        append(path, session.turn())
        daemon.says("has been set aside as")
        daemon.says("History: 2 turns")
        append(path, session.turn())
        daemon.says("read, nothing to keep")


def test_a_locked_database_is_waited_for_and_nothing_is_lost(quick: dict[str, str], paths: Paths) -> None:
    session = Session()
    with Daemon(quick) as daemon:
        daemon.says("nothing there yet")
        connection = sqlite3.connect(paths.database, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        write(paths.transcripts_root, session, session.turn())
        daemon.says("has kept the state database")
        assert "locked" in as_json(quick, "status")["problems"][0]["problem"]
        connection.execute("ROLLBACK")
        connection.close()
        daemon.says("works again")
        assert as_json(quick, "status")["problems"] == []
        daemon.says("read, nothing to keep")


def test_a_deleted_database_is_made_anew(quick: dict[str, str], paths: Paths) -> None:
    session = Session()
    path = write(paths.transcripts_root, session, session.turn())
    with Daemon(quick) as daemon:
        daemon.says("History: 1 turn")
        os.remove(paths.database)
        daemon.says("The state database was deleted")
        daemon.said_again("History: 1 turn")
        (problem,) = as_json(quick, "status")["problems"]
        assert problem["fix"] == "memoryd backfill"
        append(path, session.turn())
        daemon.says("read, nothing to keep")
        assert memoryd(quick, "backfill", "--yes").returncode == 0
        assert as_json(quick, "status")["problems"] == []


def test_a_deleted_state_directory_is_made_anew_and_no_second_daemon_starts(
    quick: dict[str, str], paths: Paths
) -> None:
    session = Session()
    path = write(paths.transcripts_root, session, session.turn())
    with Daemon(quick) as daemon:
        daemon.says("History: 1 turn")
        shutil.rmtree(paths.state_dir)
        daemon.says("The lock file was deleted; it is there again")
        second = memoryd(quick, "run")
        assert second.returncode == 75
        assert f"(process {daemon.process.pid})" in second.stderr
        daemon.said_again("History: 1 turn")
        append(path, session.turn())
        daemon.says("read, nothing to keep")
        assert daemon.stop(signal.SIGTERM) == 0


def test_transcripts_that_were_there_and_are_gone_are_a_problem(quick: dict[str, str], paths: Paths) -> None:
    session = Session()
    write(paths.transcripts_root, session, session.turn())
    with Daemon(quick) as daemon:
        daemon.says("History: 1 turn")
        os.rename(paths.transcripts_root, f"{paths.transcripts_root}-away")
        daemon.says("is gone, in which there were transcripts")
        (problem,) = as_json(quick, "status")["problems"]
        assert problem["fix"] == f"ls -ld {paths.transcripts_root}"
        os.rename(f"{paths.transcripts_root}-away", paths.transcripts_root)
        daemon.says("The transcripts are there.")
        assert as_json(quick, "status")["problems"] == []


def test_without_its_streams_it_runs_all_the_same(quick: dict[str, str], paths: Paths) -> None:
    """A file that is opened then must not become the standard error of a child."""
    session = Session()
    os.makedirs(paths.transcripts_root)
    process = subprocess.Popen(["sh", "-c", 'exec "$0" -m memoryd run <&- >&- 2>&-', sys.executable], env=quick)
    try:
        memory = Path(paths.transcripts_root) / "-code-acme" / "memory" / "MEMORY.md"
        # What it finds at its first look would be history.
        eventually(lambda: (as_json(quick, "status")["running"] or {}).get("watching"))
        write(paths.transcripts_root, session, session.turn("from now on, keep commits small"))
        eventually(memory.exists)
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def test_a_newer_database_is_refused(quick: dict[str, str], paths: Paths) -> None:
    os.makedirs(paths.state_dir)
    connection = sqlite3.connect(paths.database)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    done = memoryd(quick, "run")
    assert done.returncode == 78
    assert "was written by a newer memoryd" in done.stderr


def test_the_log_holds_no_word_of_a_session(quick: dict[str, str], paths: Paths) -> None:
    session = Session()
    with Daemon(quick) as daemon:
        daemon.says("nothing there yet")
        write(paths.transcripts_root, session, session.turn("xyzzy-plugh"))
        daemon.says("read, nothing to keep")
        daemon.stop(signal.SIGTERM)
    with open(paths.log_file, encoding="utf-8") as file:
        log = file.read()
    assert '"event": "job"' in log
    assert "xyzzy" not in log
    assert os.stat(paths.log_file).st_mode & 0o777 == 0o600
