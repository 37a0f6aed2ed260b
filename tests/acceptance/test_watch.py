"""`memoryd status --watch` on a real terminal: drawn again in place, and the terminal left as it was, whatever happens."""

from __future__ import annotations

import os
import signal
import termios
from typing import TYPE_CHECKING

import pytest

from memoryd.daemon import last_failure
from memoryd.daemon.last_failure import Failure
from tests.acceptance.command import memoryd
from tests.acceptance.terminal import Terminal

if TYPE_CHECKING:
    from memoryd.paths import Paths

ENTER, LEAVE, CLEAR = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l", "\x1b[2J"
WIDE = {"TERM": "xterm-256color", "LANG": "C.UTF-8"}


class Watching(Terminal):
    """`status --watch` in a terminal of its own."""

    def __init__(self, environment: dict[str, str], lines: int = 40) -> None:
        super().__init__(environment | WIDE, "status", "--watch", lines=lines)


@pytest.mark.parametrize(
    ("keys", "code"), [(b"q", 3), (b"xQ", 3), (b"\x04", 3), (b"\x03", 130)], ids=["q", "Q", "ctrl-d", "ctrl-c"]
)
def test_a_key_ends_it_and_the_terminal_is_as_it_was(environment: dict[str, str], keys: bytes, code: int) -> None:
    with Watching(environment) as watching:
        first = watching.raw_until("q ends")
        assert first.startswith(ENTER)
        assert "is not running" in first
        assert termios.tcgetattr(watching.its) != watching.modes
        watching.press(keys)
        assert watching.raw_until(LEAVE).endswith(LEAVE)
        assert watching.ended() == code
        assert termios.tcgetattr(watching.its) == watching.modes


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_and_the_terminal_is_as_it_was(environment: dict[str, str], number: signal.Signals) -> None:
    with Watching(environment) as watching:
        watching.raw_until("q ends")
        watching.process.send_signal(number)
        assert watching.raw_until(LEAVE).endswith(LEAVE)
        assert watching.ended() == (130 if number == signal.SIGINT else -number)
        assert termios.tcgetattr(watching.its) == watching.modes


def test_a_terminal_that_goes_away_ends_it(environment: dict[str, str]) -> None:
    with Watching(environment) as watching:
        watching.raw_until("q ends")
        watching.hang_up()
        assert watching.ended() == -signal.SIGHUP


def test_ctrl_z_gives_the_terminal_back_until_it_goes_on(environment: dict[str, str]) -> None:
    with Watching(environment) as watching:
        watching.raw_until("q ends")
        # By its number: the group of a session's first process has nobody to stop it for a key.
        watching.process.send_signal(signal.SIGTSTP)
        _, how = os.waitpid(watching.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(how)
        assert termios.tcgetattr(watching.its) == watching.modes
        assert watching.raw_until(LEAVE).endswith(LEAVE)
        watching.process.send_signal(signal.SIGCONT)
        again = watching.raw_until("q ends")
        assert again.startswith(ENTER)
        assert "is not running" in again
        watching.press(b"q")
        assert watching.ended() == 3


def test_only_lines_that_have_changed_are_drawn_again(environment: dict[str, str], paths: Paths) -> None:
    with Watching(environment) as watching:
        assert CLEAR in watching.raw_until("q ends")
        last_failure.record(paths, Failure(1.0, 78, "The config is broken.", "vi config.toml"))
        more = watching.raw_until("q ends")
        assert "The config is broken." in more
        assert CLEAR not in more
        assert "is not running" not in more
        assert "watches" not in more


def test_a_new_size_is_drawn_at_once(environment: dict[str, str]) -> None:
    with Watching(environment) as watching:
        assert "\x1b[9;1H" not in watching.raw_until("q ends")
        watching.resize(40, 30)
        again = watching.raw_until("q ends")
        assert CLEAR in again
        assert "\x1b[9;1H" in again, "in a narrow one there are more lines"


def test_what_is_wrong_is_seen_also_where_there_is_no_room(environment: dict[str, str], paths: Paths) -> None:
    last_failure.record(paths, Failure(1.0, 78, "The config is broken.", "vi config.toml"))
    with Watching(environment, lines=9) as watching:
        shown = watching.raw_until("q ends")
    assert "lines more: memoryd status" in shown
    assert "The config is broken." in shown
    assert "vi config.toml" in shown
    assert "\x1b[10;1H" not in shown
    assert "\x1b[9;1H" in shown


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_hardly_any_room_is_no_crash(environment: dict[str, str], lines: int) -> None:
    with Watching(environment, lines) as watching:
        watching.raw_until("q ends")
        watching.press(b"q")
        assert watching.ended() == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--watch"], "--watch needs a terminal that can be drawn on.\n  fix: memoryd status\n"),
        (["--watch", "--json"], "--watch is for people, --json for programs.\n  fix: memoryd status --json\n"),
    ],
)
def test_without_a_terminal_there_is_nothing_to_watch(
    environment: dict[str, str], arguments: list[str], message: str
) -> None:
    done = memoryd(environment, "status", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"memoryd: {message}")
