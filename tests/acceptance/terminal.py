"""A command in a terminal of its own, with keys and a size."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, Self

from tests.acceptance.command import PATIENCE_SECONDS

if TYPE_CHECKING:
    from types import TracebackType

# The terminal becomes its own, so that keys become signals as in a real one.
_PROGRAM = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    " os.execv(sys.executable, [sys.executable, '-m', 'memoryd', *sys.argv[1:]])"
)
_CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    """`memoryd` with these arguments; what it writes is in `said`, and without escape codes in `text`."""

    def __init__(self, environment: dict[str, str], *arguments: str, columns: int = 80, lines: int = 40) -> None:
        self._ours, self.its = pty.openpty()
        self.resize(columns, lines)
        self.modes = termios.tcgetattr(self.its)
        self.said = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *arguments],
            env={"TERM": "xterm-256color", "LANG": "C.UTF-8", **environment},
            stdin=self.its,
            stdout=self.its,
            stderr=self.its,
            start_new_session=True,
        )

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @property
    def text(self) -> str:
        return _CODES.sub("", self.said).replace("\r\n", "\n")

    def until(self, text: str) -> str:
        """Wait for a text that was not there before; return what was written meanwhile, without escape codes."""
        return _CODES.sub("", self.raw_until(text)).replace("\r\n", "\n")

    def raw_until(self, text: str) -> str:
        """What `until` returns, with its escape codes."""
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
