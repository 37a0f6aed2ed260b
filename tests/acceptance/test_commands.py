"""The other commands, as a user types them: output, JSON, exit codes, errors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.cli import COMMANDS, EVERYDAY, command_of
from memoryd.cli.docs import pages_by_name
from memoryd.clients.registry import ALL
from memoryd.config import Config, load
from memoryd.jobs.ingest import Ingester
from memoryd.projects import project_at, root_of
from tests.acceptance.command import as_json, memoryd
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database

NOW = 2_000_000_000.0


@pytest.fixture
def looked(database: Database, paths: Paths, config: Config) -> Session:
    """One session with a history turn and a waiting turn, one damaged line, one fifo."""
    session = Session()
    path = write(paths.transcripts_root, session, session.turn() + b"not json\n")
    os.mkfifo(path.parent / "pipe.jsonl")
    ingester = Ingester(ALL, database, paths, config)
    ingester.ingest(NOW)
    with path.open("ab") as file:
        file.write(session.turn())
    os.utime(path, (NOW, NOW))
    ingester.ingest(NOW + 60)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return session


def test_status_of_a_fresh_home_says_how_to_start(environment: dict[str, str], paths: Paths) -> None:
    done = memoryd(environment, "status")
    assert done.returncode == 3
    assert done.stdout == (
        "○ memoryd 0.1.0 is not running\n"
        "  set it up, to run now and from every login on: memoryd setup\n"
        "  or only here: memoryd run\n\n"
        "watches   ~/.claude/projects  (not there yet)\n"
        "engine    offline: no model, no network, free\n"
        "sessions  not looked at yet\n"
    )
    assert not os.path.exists(paths.state_dir), "looking changes nothing"


def test_status_names_what_waits_and_what_was_left_out(environment: dict[str, str], looked: Session) -> None:
    done = memoryd(environment, "status")
    assert done.returncode == 3
    assert "turns     1 waiting to be read, 1 from before memoryd came" in done.stdout
    assert f"acme  {looked.id[:8]}  1 turn  once memoryd runs (session_active)" in done.stdout
    assert f"~/.claude/projects/-code-acme/{looked.id}.jsonl: 1x not JSON, left out" in done.stdout
    assert "~/.claude/projects/-code-acme/pipe.jsonl: fifo" in done.stdout


def test_status_json(environment: dict[str, str], looked: Session, paths: Paths) -> None:
    transcript = f"{paths.transcripts_root}/-code-acme/{looked.id}.jsonl"
    status = as_json(environment, "status")
    assert status == {
        "version": "0.1.0",
        "global": {"user": 0, "feedback": 0, "project": 0, "reference": 0, "none": 0},
        "running": None,
        "service_installed": False,
        "last_failure": None,
        "pause": None,
        "root": {"path": paths.transcripts_root, "exists": True},
        "engine": {
            "name": "offline",
            "model": None,
            "base_url": None,
            "spent_today_usd": 0.0,
            "usd_per_day": None,
            "plan": None,
        },
        "scanned_at": "2033-05-18T03:34:20Z",
        "team_projects": None,
        "projects": 1,
        "sessions": {
            "known": 1,
            "bytes": os.path.getsize(transcript),
            "unread": 0,
            "missing": 0,
            "clients": {"claude-code": 1},
        },
        "turns": {"waiting": 1, "skipped": 0, "open": 0, "history": 1, "vanished": 0, "outcomes": {}},
        "working": [],
        "waiting": [
            {
                "session": looked.id,
                "client": "claude-code",
                "project": "/code/acme",
                "transcript": transcript,
                "turns": 1,
                "decision": "wait",
                "reason": "session_active",
                "why": "the session is being written",
                "until": "2033-05-18T03:33:40Z",
            }
        ],
        "skipped": [],
        "last": [],
        "memories": [
            {
                "project": "/code/acme",
                "memory_dir": f"{paths.transcripts_root}/-code-acme/memory",
                "sessions": 1,
                "waiting_turns": 1,
                "active_at": "2033-05-18T03:33:20Z",
                "extracted_at": None,
                "extraction": None,
                "types": {"user": 0, "feedback": 0, "project": 0, "reference": 0, "none": 0},
                "index": None,
                "outdated": 0,
            }
        ],
        "recall": None,
        "rules": {"binding": [], "with_calls": 0, "followed": 0, "corrected": 0},
        "dreams": {"running": [], "next": [], "last": [], "outcomes": {}},
        "to_review": 0,
        "sync": [],
        "damaged": [{"path": transcript, "client": "claude-code", "lines": {"unreadable": 1}}],
        "not_transcripts": [{"path": f"{paths.transcripts_root}/-code-acme/pipe.jsonl", "kind": "fifo"}],
        "full_indexes": [],
        "unreadable": [],
        "problems": [],
    }


def test_status_says_when_an_index_is_nearly_full(environment: dict[str, str], looked: Session, paths: Paths) -> None:
    memory = f"{paths.transcripts_root}/-code-acme/memory"
    os.makedirs(memory)
    assert looked.cwd == "/code/acme"
    with open(f"{memory}/MEMORY.md", "w", encoding="utf-8") as index:
        for number in range(150):
            index.write(f"- [Memory {number}](memory_{number}.md) — a hook of some length\n")
            with open(f"{memory}/memory_{number}.md", "w", encoding="utf-8") as file:
                file.write("x\n")
    with open(f"{memory}/without_a_line.md", "w", encoding="utf-8") as file:
        file.write("x\n")
    (full,) = as_json(environment, "status")["full_indexes"]
    assert (full["lines"], full["over"], full["left_out"]) == (150, False, ["without_a_line.md"])
    shown = memoryd(environment, "status").stdout
    assert "150 of 200 lines, 8.2 of 25 kB: nearly full; no line for without_a_line.md\n" in shown


def test_status_of_a_damaged_database_is_a_problem_and_no_crash(environment: dict[str, str], paths: Paths) -> None:
    os.makedirs(paths.state_dir)
    with open(paths.database, "wb") as file:
        file.write(b"no database " * 1000)
    done = memoryd(environment, "status")
    assert done.returncode == 3
    assert "is damaged" in done.stdout
    assert "fix: memoryd run" in done.stdout


def test_projects(environment: dict[str, str], looked: Session, paths: Paths) -> None:
    assert looked.cwd == "/code/acme"
    assert as_json(environment, "projects") == [
        {
            "root": "/code/acme",
            "memory_dir": f"{paths.transcripts_root}/-code-acme/memory",
            "sessions": 1,
            "clients": ["claude-code"],
            "turns": {"waiting": 1, "history": 1},
            "active_at": "2033-05-18T03:33:20Z",
            "excluded": False,
            "collides_with": None,
            "same_as": None,
        }
    ]
    assert memoryd(environment, "projects").stdout == (
        "/code/acme\n    1 session of Claude Code, 1 turn waiting to be read, 1 from before memoryd came\n    memory: ~/.claude/projects/-code-acme/memory\n"
    )


def test_projects_of_a_fresh_home(environment: dict[str, str]) -> None:
    done = memoryd(environment, "projects")
    assert (done.returncode, done.stdout) == (0, "")
    assert "memoryd run" in done.stderr
    assert as_json(environment, "projects") == []


def test_config_prints_toml_that_means_the_same(environment: dict[str, str], paths: Paths) -> None:
    os.makedirs(os.path.dirname(paths.config_file))
    text = (
        '[projects]\nexclude = ["/a/\\"b\\"", "~/c"]\nmemory_dirs = { "/x" = "/y" }\n[scan]\ninterval_seconds = 0.25\n'
    )
    with open(paths.config_file, "w", encoding="utf-8") as file:
        file.write(text)
    before = load(paths)
    printed = memoryd(environment, "config").stdout
    with open(paths.config_file, "w", encoding="utf-8") as file:
        file.write(printed)
    assert load(paths) == before != Config()
    assert as_json(environment, "config")["scan"]["interval_seconds"] == 0.25


@pytest.mark.parametrize("command", ["run", "projects", "config", "paths", "extract-now"])
def test_a_bad_config_stops_a_command_with_78(environment: dict[str, str], paths: Paths, command: str) -> None:
    os.makedirs(os.path.dirname(paths.config_file))
    with open(paths.config_file, "w", encoding="utf-8") as file:
        file.write("[turns]\nquit_seconds = 5\n")
    done = memoryd(environment, command)
    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr == (
        f"memoryd: {paths.config_file}, line 2: there is no key `turns.quit_seconds`;"
        f" did you mean `turns.quiet_seconds`?\n  fix: ${{EDITOR:-vi}} +2 {paths.config_file}\n"
    )


def test_a_bad_config_is_a_problem_that_status_tells(environment: dict[str, str], paths: Paths) -> None:
    os.makedirs(os.path.dirname(paths.config_file))
    with open(paths.config_file, "w", encoding="utf-8") as file:
        file.write("[turns]\nquit_seconds = 5\n")
    done = memoryd(environment, "status")
    assert done.returncode == 3
    assert "there is no key `turns.quit_seconds`; did you mean `turns.quiet_seconds`?" in done.stdout
    assert f"fix: ${{EDITOR:-vi}} +2 {paths.config_file}" in done.stdout
    assert memoryd(environment, "pause").returncode == 0


def test_paths_prints_one_or_all(environment: dict[str, str], paths: Paths, tmp_path: Path) -> None:
    assert memoryd(environment, "paths", "database").stdout == paths.database + "\n"
    assert as_json(environment, "paths", "--project", str(tmp_path)) == {
        "config": paths.config_file,
        "state": paths.state_dir,
        "database": paths.database,
        "log": paths.log_file,
        "lock": paths.daemon_lock,
        "claude": paths.claude_dir,
        "transcripts": paths.transcripts_root,
        "memory": project_at(root_of(str(tmp_path)), paths, Config()).memory_dir,
    }


def test_the_config_can_name_the_clients_directory(environment: dict[str, str], paths: Paths) -> None:
    os.makedirs(os.path.dirname(paths.config_file))
    with open(paths.config_file, "w", encoding="utf-8") as file:
        file.write('[claude_code]\nconfig_dir = "/srv/claude"\n')
    assert memoryd(environment, "paths", "transcripts").stdout == "/srv/claude/projects\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stats"], "there is no command `stats`; did you mean `status`?"),
        ([], "a command is missing; new here: `memoryd audit`"),
        (["status", "--jsn"], "unrecognized arguments: --jsn"),
        (["paths", "nowhere"], "argument name: invalid choice: 'nowhere'"),
        (["audit", "--days", "x"], "--days takes a number, not 'x'"),
        (["audit", "--limit", "1.5"], "--limit takes a whole number, not '1.5'"),
    ],
)
def test_a_mistyped_line_exits_2_and_says_what_helps(
    environment: dict[str, str], arguments: list[str], message: str
) -> None:
    done = memoryd(environment, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"memoryd: {message}")
    assert done.stderr.endswith(" --help\n")


def test_what_people_try_is_answered_with_what_helps(environment: dict[str, str], paths: Paths) -> None:
    done = memoryd(environment, "config", "set", "engine", "claude")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"they are changed in the file.\n  fix: ${{EDITOR:-vi}} {paths.config_file}\n")
    done = memoryd(environment, "forget", " ")
    assert (done.returncode, done.stderr[:32]) == (2, "memoryd: Which memory is meant? ")


@pytest.mark.parametrize("days", ["0", "-3", "nan", "inf"])
def test_audit_refuses_days_that_are_none(environment: dict[str, str], days: str) -> None:
    done = memoryd(environment, "audit", f"--days={days}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "memoryd: --days takes a number of days, more than 0.\n  fix: memoryd audit --days 30\n"


def test_every_page_that_a_help_text_names_can_be_shown(environment: dict[str, str]) -> None:
    texts = [
        (command_of(name).__doc__ or "") + memoryd(environment, name, "--help").stdout for name in ("status", "mcp")
    ]
    texts += [command_of(name).__doc__ or "" for name in COMMANDS if name != "docs"]
    named = {name for text in texts for name in re.findall(r"memoryd docs ([a-z-]+)", " ".join(text.split()))}
    assert {"json", "mcp", "rules"} <= named <= set(pages_by_name())
    assert memoryd(environment, "docs", "json").stdout == Path(pages_by_name()["json"]).read_text()
    done = memoryd(environment, "docs", "jsn")
    assert (done.returncode, done.stderr) == (2, "memoryd: There is no page jsn.\n  fix: memoryd docs json\n")


def test_help_of_every_command_can_be_learned_from(environment: dict[str, str]) -> None:
    top = memoryd(environment, "--help").stdout
    assert re.findall(r"^  ([a-z-]+)  ", top, re.MULTILINE) == list(EVERYDAY)
    assert len(EVERYDAY) == 10
    every = memoryd(environment, "--help", "all").stdout
    assert re.findall(r"^  ([a-z-]+)  ", every, re.MULTILINE) == list(COMMANDS)
    assert memoryd(environment, "--help", "forget").stdout == memoryd(environment, "forget", "--help").stdout
    for command in ("run", "status", "projects", "config", "paths"):
        assert len(memoryd(environment, command, "--help").stdout.splitlines()) > 5


def test_a_closed_pipe_is_no_traceback(environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m memoryd paths | true"], env=environment, capture_output=True, check=False
    )
    assert done.stderr == b""


def test_status_without_any_output_still_has_its_exit_code(environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m memoryd status >&-"], env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (3, b"")


def test_a_terminal_without_utf8_is_no_error(environment: dict[str, str], database: Database, paths: Paths) -> None:
    session = Session(cwd="/code/größe")
    write(paths.transcripts_root, session, session.turn())
    Ingester(ALL, database, paths, Config()).ingest(NOW)
    done = memoryd({**environment, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}, "projects")
    assert done.returncode == 0
    assert "/code/gr\\xf6\\xdfe" in done.stdout


def test_status_imports_nothing_heavy(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "memoryd", "status"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    imported = {line.rsplit("|", 1)[1].strip().split(".")[0] for line in done.stderr.splitlines() if "|" in line}
    assert "memoryd" in imported
    assert not imported & {
        "anthropic",
        "watchdog",
        "apscheduler",
        "yaml",
        "structlog",
        "msgspec",
        "logging",
        "asyncio",
        "rich",
    }
    assert not imported & {"subprocess", "hashlib", "random", "tomllib", "dataclasses"}, (
        "nor what a fresh home does not need"
    )


def test_names_from_files_cannot_steer_the_terminal(
    environment: dict[str, str], database: Database, paths: Paths
) -> None:
    """A folder name may hold escape sequences and line breaks: they are shown, not sent."""
    session = Session(cwd="/code/ev\x1b[31mil\nproj")
    write(paths.transcripts_root, session, session.turn())
    Ingester(ALL, database, paths, Config()).ingest(NOW)
    for command in ("projects", "status"):
        printed = memoryd(environment, command).stdout
        assert "\x1b" not in printed
    assert "/code/ev\\x1b[31mil\\nproj\n" in memoryd(environment, "projects").stdout


def test_a_full_disk_behind_the_output_is_said(environment: dict[str, str]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "memoryd", "paths"],
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        1,
        b"memoryd: The output cannot be written: no space left.\n  fix: df -h .\n",
    )


def test_an_empty_home_is_that_of_the_user(environment: dict[str, str]) -> None:
    state = memoryd({**environment, "HOME": ""}, "paths", "state").stdout
    assert state.startswith("/")
    assert not state.startswith("/.local")


def test_a_relative_home_is_refused_and_not_replaced(environment: dict[str, str]) -> None:
    done = memoryd({**environment, "HOME": "relative"}, "paths", "state")
    assert done.returncode == 78
    assert "HOME is 'relative', which is not an absolute path." in done.stderr
    assert f"export HOME={os.path.abspath('relative')}" in done.stderr


def test_a_relative_directory_of_the_client_is_an_error(environment: dict[str, str]) -> None:
    done = memoryd({**environment, "CLAUDE_CONFIG_DIR": "cc"}, "paths")
    assert done.returncode == 78
    assert "CLAUDE_CONFIG_DIR is 'cc', which is not an absolute path." in done.stderr


def test_json_stays_json_in_every_case(environment: dict[str, str]) -> None:
    for command in ("status", "projects", "config", "paths"):
        json.loads(memoryd(environment, command, "--json").stdout)


def test_a_command_that_does_not_exist_is_answered_without_those_of_the_daemon(environment: dict[str, str]) -> None:
    done = memoryd(environment, "xyzzy")
    assert done.returncode == 2
    assert done.stderr == "memoryd: there is no command `xyzzy`\n  fix: memoryd --help all\n"
    assert "child" not in memoryd(environment, "chid").stderr
