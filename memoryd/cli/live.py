"""A screen that is drawn again and again, until q, Ctrl-C or a signal; the terminal is left as it was found."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from memoryd.cli.screen import Paragraph, dim
from memoryd.clock import elapsed
from memoryd.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

    from memoryd.cli.screen import Block, Screen

_SECONDS = 1.0
_SHARE = 20
"""A slow look is followed by a pause of this many times its duration."""
_ENTER = "\x1b[?1049h\x1b[?25l"
_LEAVE = "\x1b[?25h\x1b[?1049l"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"  # what stands between them appears at once, where the terminal knows that
_CLEAR = "\x1b[2J"
_QUIT = b"qQ\x04"

Seen = TypeVar("Seen")


class _EndedError(BaseException):
    """A signal has asked for the end."""


def watch(screen: Screen, look: Callable[[], Seen], describe: Callable[[Seen], Iterable[Block]]) -> Seen:
    """Look and draw until q is pressed; returns what was seen last. Raises KeyboardInterrupt on Ctrl-C."""
    if not screen.can_redraw:
        raise UsageError("--watch needs a terminal that can be drawn on.", "memoryd status")
    try:
        with _taken(screen) as terminal:
            while True:
                begun = elapsed()
                seen = look()
                until = elapsed() + max(_SECONDS, _SHARE * (elapsed() - begun))
                while (left := until - elapsed()) > 0:
                    terminal.draw(list(describe(seen)))  # again also when its size has changed
                    if terminal.quits_within(left):
                        return seen
    except _EndedError as ended:
        number = ended.args[0]  # the terminal is as it was: now the signal may do what it does to everybody
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        raise


class _Terminal:
    """Terminal in full-screen mode: the alternate screen, no cursor, keys that need no newline."""

    def __init__(self, screen: Screen, woken: int) -> None:
        self._screen = screen
        self._woken = woken
        self._keys = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
        self._modes = None if self._keys is None else termios.tcgetattr(self._keys)
        self._size = (0, 0)
        self._lines: list[str] = []
        self._is_to_stop = False

    def take(self) -> None:
        if self._keys is not None:
            tty.setcbreak(self._keys)
        self._screen.write(_ENTER)
        self._size = (0, 0)  # all is to be drawn

    def give_back(self) -> None:
        with suppress(OSError):  # the terminal may be gone
            self._screen.write(_LEAVE)
        if self._keys is not None and self._modes is not None:
            with suppress(termios.error):
                termios.tcsetattr(self._keys, termios.TCSADRAIN, self._modes)

    def note_stop(self, *_: object) -> None:
        """Note Ctrl-Z for later: a signal handler may run in the middle of a write."""
        self._is_to_stop = True

    def _stop(self) -> None:
        """Stop the process: the shell gets the terminal as it was; it is set up again when the job continues."""
        self._is_to_stop = False
        self.give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self.take()

    def draw(self, blocks: list[Block]) -> None:
        """Write the lines that have changed; writing all of them would flicker."""
        size = self._screen.size
        lines = self._fitting(blocks, size[1])
        before = self._lines if size == self._size else []
        codes = [] if size == self._size else [_CLEAR]
        for number in range(max(len(lines), len(before))):
            line = lines[number] if number < len(lines) else ""
            if number >= len(before) or before[number] != line:
                codes.append(f"\x1b[{number + 1};1H\x1b[2K{line}")
        self._size, self._lines = size, lines
        if codes:
            self._screen.write(f"{_BEGIN}{''.join(codes)}{_END}")

    def _fitting(self, blocks: list[Block], height: int) -> list[str]:
        """Lines that fit the height. The last block has the problems, so it is cut last."""
        body, end = (self._screen.lines(some, is_whole=False) for some in (blocks[:-1], blocks[-1:]))
        room = height - 1 - len(end)
        if len(body) > room:
            left_out = len(body) - max(room - 1, 1)
            body = body[:-left_out] + self._screen.lines([Paragraph(dim(f"… {left_out} lines more: memoryd status"))])
        foot = self._screen.lines([Paragraph(dim("q ends"))])
        return [*(body + end)[: height - 1], *foot]

    def quits_within(self, seconds: float) -> bool:
        """Wait for a key, a signal or the time; True if it was a key that quits."""
        ready = select.select([self._woken, *([] if self._keys is None else [self._keys])], [], [], seconds)[0]
        if self._woken in ready:
            os.read(self._woken, 1024)
        if self._is_to_stop:
            self._stop()
        if self._keys not in ready or self._keys is None:
            return False
        pressed = os.read(self._keys, 1024)
        return not pressed or any(key in pressed for key in _QUIT)


@contextmanager
def _taken(screen: Screen) -> Iterator[_Terminal]:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    terminal = _Terminal(screen, reading)
    handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]] = {
        signal.SIGTERM: _end,
        signal.SIGHUP: _end,
        signal.SIGTSTP: terminal.note_stop,
        signal.SIGWINCH: lambda *_: None,  # the wake-up pipe is enough
    }
    before = {number: signal.getsignal(number) for number in handlers}
    woke_before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        terminal.take()
        yield terminal
    finally:
        # A second signal waits until the terminal is restored.
        signal.pthread_sigmask(signal.SIG_BLOCK, {*handlers, signal.SIGINT})
        terminal.give_back()
        for number, former in before.items():
            signal.signal(number, former)
        signal.set_wakeup_fd(woke_before)
        os.close(reading)
        os.close(writing)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {*handlers, signal.SIGINT})


def _end(number: int, _frame: FrameType | None) -> None:
    raise _EndedError(number)
