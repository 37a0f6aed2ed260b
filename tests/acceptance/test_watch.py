"""`memoryd status --watch` on a real terminal: drawn again in place, and the terminal left as it was, whatever happens."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, Self

import pytest

from memoryd.daemon import last_failure
from memoryd.daemon.last_failure import Failure
from tests.acceptance.command import PATIENCE_SECONDS, memoryd

if TYPE_CHECKING:
    from types import TracebackType

    from memoryd.paths import Paths

ENTER, LEAVE, CLEAR = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l", "\x1b[2J"
# The terminal becomes its own, so that keys and a change of size become signals as in a real one.
PROGRAM = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    " os.execv(sys.executable, [sys.executable, '-m', 'memoryd', 'status', '--watch'])"
)


class Watching:
    """`status --watch` in a terminal of its own."""

    def __init__(self, environment: dict[str, str], lines: int = 40) -> None:
        self._ours, self.its = pty.openpty()
        self.resize(80, lines)
        self.modes = termios.tcgetattr(self.its)
        self.said = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**environment, "TERM": "xterm-256color", "LANG": "C.UTF-8"},
            stdin=self.its,
            stdout=self.its,
            stderr=self.its,
            start_new_session=True,
        )

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def until(self, text: str) -> str:
        """What it writes from now on, up to a frame with this text."""
        begin = len(self.said)
        while text not in self.said[begin:]:
            ready, _, _ = select.select([self._ours], [], [], PATIENCE_SECONDS)
            assert ready, f"never wrote {text!r}:\n{self.said}"
            self.said += os.read(self._ours, 65_536).decode()
        return self.said[begin:]

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def ended(self) -> int:
        return self.process.wait(PATIENCE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for descriptor in {self._ours, self.its} - {-1}:
            os.close(descriptor)

    def hang_up(self) -> None:
        os.close(self._ours)
        os.close(self.its)
        self._ours = self.its = -1


@pytest.mark.parametrize(
    ("keys", "code"), [(b"q", 3), (b"xQ", 3), (b"\x04", 3), (b"\x03", 130)], ids=["q", "Q", "ctrl-d", "ctrl-c"]
)
def test_a_key_ends_it_and_the_terminal_is_as_it_was(environment: dict[str, str], keys: bytes, code: int) -> None:
    with Watching(environment) as watching:
        first = watching.until("q ends")
        assert first.startswith(ENTER)
        assert "is not running" in first
        assert termios.tcgetattr(watching.its) != watching.modes
        watching.press(keys)
        assert watching.until(LEAVE).endswith(LEAVE)
        assert watching.ended() == code
        assert termios.tcgetattr(watching.its) == watching.modes


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_and_the_terminal_is_as_it_was(environment: dict[str, str], number: signal.Signals) -> None:
    with Watching(environment) as watching:
        watching.until("q ends")
        watching.process.send_signal(number)
        assert watching.until(LEAVE).endswith(LEAVE)
        assert watching.ended() == (130 if number == signal.SIGINT else -number)
        assert termios.tcgetattr(watching.its) == watching.modes


def test_a_terminal_that_goes_away_ends_it(environment: dict[str, str]) -> None:
    with Watching(environment) as watching:
        watching.until("q ends")
        watching.hang_up()
        assert watching.ended() == -signal.SIGHUP


def test_ctrl_z_gives_the_terminal_back_until_it_goes_on(environment: dict[str, str]) -> None:
    with Watching(environment) as watching:
        watching.until("q ends")
        # By its number: the group of a session's first process has nobody to stop it for a key.
        watching.process.send_signal(signal.SIGTSTP)
        _, how = os.waitpid(watching.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(how)
        assert termios.tcgetattr(watching.its) == watching.modes
        assert watching.until(LEAVE).endswith(LEAVE)
        watching.process.send_signal(signal.SIGCONT)
        again = watching.until("q ends")
        assert again.startswith(ENTER)
        assert "is not running" in again
        watching.press(b"q")
        assert watching.ended() == 3


def test_only_lines_that_have_changed_are_drawn_again(environment: dict[str, str], paths: Paths) -> None:
    with Watching(environment) as watching:
        assert CLEAR in watching.until("q ends")
        last_failure.record(paths, Failure(1.0, 78, "The config is broken.", "vi config.toml"))
        more = watching.until("q ends")
        assert "The config is broken." in more
        assert CLEAR not in more
        assert "is not running" not in more
        assert "watches" not in more


def test_a_new_size_is_drawn_at_once(environment: dict[str, str]) -> None:
    with Watching(environment) as watching:
        assert "\x1b[9;1H" not in watching.until("q ends")
        watching.resize(40, 30)
        again = watching.until("q ends")
        assert CLEAR in again
        assert "\x1b[9;1H" in again, "in a narrow one there are more lines"


def test_what_is_wrong_is_seen_also_where_there_is_no_room(environment: dict[str, str], paths: Paths) -> None:
    last_failure.record(paths, Failure(1.0, 78, "The config is broken.", "vi config.toml"))
    with Watching(environment, lines=9) as watching:
        shown = watching.until("q ends")
    assert "lines more: memoryd status" in shown
    assert "The config is broken." in shown
    assert "vi config.toml" in shown
    assert "\x1b[10;1H" not in shown
    assert "\x1b[9;1H" in shown


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_hardly_any_room_is_no_crash(environment: dict[str, str], lines: int) -> None:
    with Watching(environment, lines) as watching:
        watching.until("q ends")
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
