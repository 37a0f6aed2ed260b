"""`memoryd logs`, and what the daemon writes for it and for the journal, as real processes."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd import cli
from memoryd.cli import child
from memoryd.log.writer import open_log
from tests.acceptance.command import PATIENCE_SECONDS, memoryd
from tests.transcript import Session, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths

WORD = "zanzibar"
COMMAND = [sys.executable, "-m", "memoryd"]


def line(at: str, level: str = "info", event: str = "look", **facts: Any) -> str:
    return json.dumps({"at": f"2026-10-{at}Z", "level": level, "event": event, **facts}) + "\n"


OLDER = [line("15T08:00:00", number=1), line("15T09:00:00.5", "debug", number=2, project="/code/acme")]
NEWER = [
    line("16T07:40:18", "warning", "job", job=41, kind="dream", project="/code/acme", outcome="failed", detail="no"),
    line("16T07:41:00", "error", number=4, project="/code/beta"),
    line("16T07:42:00", number=5, reason="\x1b[31m red \u202e"),
]


@pytest.fixture
def place(paths: Paths, environment: dict[str, str]) -> Path:
    """A state directory with a log of two files, for a user in UTC."""
    environment["TZ"] = "UTC"
    os.makedirs(paths.state_dir)
    Path(f"{paths.log_file}.1").write_text("".join(OLDER))
    Path(paths.log_file).write_text("".join(NEWER))
    return Path(paths.state_dir)


def shown(environment: dict[str, str], *arguments: str) -> list[int]:
    """Which of the lines above are shown."""
    done = memoryd(environment, "logs", "--json", *arguments)
    assert done.returncode == 0
    all_lines = [json.loads(line) for line in (*OLDER, *NEWER)]
    return [1 + all_lines.index(json.loads(line)) for line in done.stdout.splitlines()]


# --- showing ----------------------------------------------------------------------------------------------------------


def test_lines_are_told_in_words_in_order_with_their_date(environment: dict[str, str], place: Path) -> None:
    assert place.is_dir()
    done = memoryd(environment, "logs")
    assert done.stdout.splitlines() == [
        "2026-10-15 08:00:00  info      look  number=1",
        "2026-10-15 09:00:00  debug     look in acme  number=2",
        "2026-10-16 07:40:18  warning   job 41: dream in acme: failed: no",
        "2026-10-16 07:41:00  error     look in beta  number=4",
        "2026-10-16 07:42:00  info      look: \\x1b[31m red \\u202e  number=5",
    ]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        ((), [1, 2, 3, 4, 5]),
        (("-n", "2"), [4, 5]),
        (("-n", "0"), []),
        (("--level", "warning"), [3, 4]),
        (("--level", "ERROR"), [4]),
        (("--level", "info", "-n", "2"), [4, 5]),
        (("--job", "41"), [3]),
        (("--job", "4"), []),
        (("--project", "acme"), [2, 3]),
        (("--project", "/code/acme/deep/below"), [2, 3]),
        (("--project", "/code"), []),
        (("--project", "me"), []),
        (("--since", "2026-10-16"), [3, 4, 5]),
        (("--since", "2026-10-16T07:41"), [4, 5]),
        (("--since", "2026-10-16T09:41+02:00"), [4, 5]),
        (("--since", "9000d"), [1, 2, 3, 4, 5]),
        (("--since", "2026-10-15", "--level", "warning", "-n", "1"), [4]),
    ],
)
def test_what_is_shown_can_be_chosen(
    environment: dict[str, str], place: Path, arguments: tuple[str, ...], numbers: list[int]
) -> None:
    assert place.is_dir()
    assert shown(environment, *arguments) == numbers


def test_json_is_the_lines_as_they_are_unless_they_could_harm_a_terminal(
    environment: dict[str, str], place: Path
) -> None:
    spaced = NEWER[1].replace('": ', '" :  ')
    (place / "memoryd.log").write_text(spaced + NEWER[2].replace("\\u202e", "\u202e"))
    assert memoryd(environment, "logs", "--json", "-n", "2").stdout == spaced + NEWER[2]


def test_by_itself_it_shows_fifty_lines_and_all_since_a_time(environment: dict[str, str], place: Path) -> None:
    (place / "memoryd.log").write_text("".join(line("16T07:00:00", number=number) for number in range(500)))
    assert len(memoryd(environment, "logs").stdout.splitlines()) == 50
    assert len(memoryd(environment, "logs", "--level", "info").stdout.splitlines()) == 50
    assert len(memoryd(environment, "logs", "--since", "2026-10-15").stdout.splitlines()) == 502


def test_damaged_lines_are_left_out_and_counted(environment: dict[str, str], place: Path) -> None:
    bad = ["\x1b]0;owned\x07\n", "[1]\n", "{}\n", '{"at": 3, "level": [], "event": {}}\n', "\n", '{"at": "2026-1']
    (place / "memoryd.log").write_text("".join((NEWER[0], *bad)))
    done = memoryd(environment, "logs", "-n", "3")
    assert [line[21:28] for line in done.stdout.splitlines()] == ["info   ", "debug  ", "warning"]
    assert done.stderr == "5 lines could not be read: left out.\n"


def test_without_a_log_it_says_what_to_do(environment: dict[str, str]) -> None:
    done = memoryd(environment, "logs")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Nothing is logged yet.\n  fix: memoryd run\n")


def test_a_log_without_such_lines_says_so(environment: dict[str, str], place: Path) -> None:
    assert place.is_dir()
    done = memoryd(environment, "logs", "--project", "gamma")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "No line of the log is about that.\n")


def test_a_broken_config_does_not_keep_one_from_reading_about_it(
    environment: dict[str, str], paths: Paths, place: Path
) -> None:
    assert place.is_dir()
    os.makedirs(os.path.dirname(paths.config_file))
    Path(paths.config_file).write_text("[log\n")
    assert shown(environment) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--since", "yesterdayish"), "2h, 30min, 3d, 14:30, 2026-10-18 and 2026-10-18T14:30 are"),
        (("--level", "loud"), "none of debug, info, warning, error, critical"),
        (("-n", "-1"), "0 or more"),
        (("--job", "last"), "takes a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(environment: dict[str, str], arguments: tuple[str, ...], sentence: str) -> None:
    done = memoryd(environment, "logs", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert "  fix: memoryd logs" in done.stderr


@pytest.mark.parametrize("has_colour", [True, False])
def test_on_a_terminal_the_day_stands_above_and_levels_have_colours(
    environment: dict[str, str], place: Path, has_colour: bool
) -> None:
    assert place.is_dir()
    ours, theirs = pty.openpty()
    more = {"TERM": "xterm-256color", "COLUMNS": "100"} | ({} if has_colour else {"NO_COLOR": "1"})
    subprocess.run([*COMMAND, "logs", "-n", "4"], env=environment | more, stdout=theirs, check=True)
    os.close(theirs)
    text = os.read(ours, 65_536).decode()
    os.close(ours)
    assert ("\x1b[33m" in text) is has_colour
    assert [word for word in text.split() if "2026-10-1" in word] == [
        word for word in text.split() if word.removeprefix("\x1b[1m").startswith("2026-10-1")
    ]
    assert text.count("2026-10-15") == text.count("2026-10-16") == 1
    assert "\x1b[31m red" not in text


# --- following --------------------------------------------------------------------------------------------------------


@contextmanager
def following(environment: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, "logs", "-f", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    impatience = threading.Timer(PATIENCE_SECONDS, process.kill)
    impatience.start()
    try:
        yield process
    finally:
        impatience.cancel()
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def following_lines(process: subprocess.Popen[str], number: int) -> list[dict[str, Any]]:
    assert process.stdout is not None
    return [json.loads(process.stdout.readline()) for _ in range(number)]


def test_it_waits_for_a_file_and_follows_it_through_rotation_until_ctrl_c(
    environment: dict[str, str], paths: Paths
) -> None:
    with following(environment, "--json", "--level", "warning") as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "Nothing is logged yet.\n"
        os.makedirs(paths.state_dir)
        log = open_log(paths, "info", file_bytes=2000)
        for number in range(40):
            log.info("not this", number=number)
            log.warning("this", number=number)
            (seen,) = following_lines(process, 1)
            assert seen["number"] == number
        log.close()
        assert os.path.exists(f"{paths.log_file}.2")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_SECONDS) == 130
        assert process.stderr.read() == "Waiting for: memoryd run\n"


def test_it_ends_when_nobody_reads_any_more(environment: dict[str, str], place: Path) -> None:
    """Also where nothing more is logged: `memoryd logs -f | head -1` gives the terminal back."""
    assert place.is_dir()
    with following(environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


# --- what the daemon writes -------------------------------------------------------------------------------------------


def test_a_word_that_was_said_reaches_neither_log_nor_journal(
    environment: dict[str, str], paths: Paths, tmp_path: Path
) -> None:
    """Of a job that saves, one that fails, one that finds nothing. Where the journal listens, nobody is talked to."""
    os.makedirs(os.path.dirname(paths.config_file))
    Path(paths.config_file).write_text(
        '[scan]\ninterval_seconds = 0.1\n[turns]\nquiet_seconds = 0\n[log]\nlevel = "debug"\n'
    )
    journal = tmp_path / "journal"
    with journal.open("w") as stderr, following(environment, "--json") as follower:
        status = os.fstat(stderr.fileno())
        stream = {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
        daemon = subprocess.Popen([*COMMAND, "run"], env=environment | stream, stderr=stderr)
        try:
            while following_lines(follower, 1)[0]["event"] != "first look":
                pass
            in_the_way = Path(paths.transcripts_root, "-code-beta", "memory")
            in_the_way.parent.mkdir(parents=True)
            in_the_way.touch()
            for cwd, words in (
                ("/code/acme", f"from now on, keep {WORD} commits small"),
                ("/code/beta", f"from now on, use {WORD} tabs"),
                ("/code/gamma", f"what is {WORD}?"),
            ):
                session = Session(cwd, cwd=cwd)
                write(paths.transcripts_root, session, session.turn(words), folder=cwd.replace("/", "-"))
            ended: dict[str, str] = {}
            while len(ended) < 3:
                (seen,) = following_lines(follower, 1)
                if seen["event"] == "job":
                    ended[seen["project"]] = seen["outcome"]
        finally:
            daemon.terminate()
            assert daemon.wait(PATIENCE_SECONDS) == 0
    assert ended == {"/code/acme": "succeeded", "/code/beta": "failed", "/code/gamma": "succeeded_no_output"}
    assert list(Path(paths.transcripts_root, "-code-acme", "memory").glob(f"*{WORD}*.md"))
    assert WORD not in Path(paths.log_file).read_text()
    told = journal.read_text()
    assert WORD not in told
    assert all(line.startswith("<") and line[1].isdigit() and line[2] == ">" for line in told.splitlines())
    assert "in beta" in told


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError(WORD), "A fault of memoryd's own: ValueError in test_logs.py:"),
        (OSError(5, "Input/output error", f"feedback_{WORD}.md"), "Input/output error.\n"),
    ],
)
def test_a_fault_of_a_child_is_told_without_what_it_quotes(
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    error: Exception,
    sentence: str,
) -> None:
    assert environment

    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(child, "execute", fail)
    assert cli.main(["child"]) == 1
    told = capfd.readouterr().err
    assert WORD not in told
    assert told.startswith(f"memoryd: {sentence}")
