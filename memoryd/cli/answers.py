"""Answers of a person to a question: single keys on a terminal, lines where they come from a pipe."""

from __future__ import annotations

import os
import signal
import sys
import termios
import tty
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from memoryd.cli.screen import Paragraph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from memoryd.cli.screen import Screen

END = "q"
"""What the end of the input, or Ctrl-D, means."""
_CTRL_D = b"\x04"


class Answers:
    """Reads one answer after the other. A key that was pressed before its question was asked is no answer to it."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.is_by_keys = screen.is_terminal and sys.stdin is not None and sys.stdin.isatty()

    def read(self, question: str) -> str:
        """The first letter of the answer, in lower case; empty for an empty line, a space for the space bar."""
        if not self.is_by_keys:
            line = sys.stdin.readline() if sys.stdin is not None else ""
            return line.strip()[:1].lower() if line else END
        descriptor = sys.stdin.fileno()
        with _single_keys(descriptor):
            self._screen.write("\n".join(self._screen.lines([Paragraph(question)])) + " ")
            pressed = os.read(descriptor, 1024)
        letter = pressed[:1].decode("ascii", "replace").lower() if pressed and pressed[:1] != _CTRL_D else END
        self._screen.write(f"{letter if letter.isprintable() else ''}\n")
        return letter


@contextmanager
def _single_keys(descriptor: int) -> Iterator[None]:
    """Terminal mode in which a key needs no newline and is not echoed; restored on every way out, signals included."""
    modes = termios.tcgetattr(descriptor)

    def restore() -> None:
        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(descriptor, termios.TCSADRAIN, modes)

    def end(number: int, _: FrameType | None) -> None:
        restore()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        tty.setcbreak(descriptor)
        yield
    finally:
        restore()
        for number, handler in before.items():
            signal.signal(number, handler)
