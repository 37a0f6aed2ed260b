"""The daemon's child: a process of its own, so that it can be killed at any instant and gives its memory back."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Child:
    """At most one `memoryd work` at a time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, *arguments: str) -> None:
        # -P: the daemon may have been started in a repository, whose modules are none of ours.
        # A session of its own: Ctrl-C in the terminal is for the daemon, which lets the child finish its step.
        self._process = subprocess.Popen(  # noqa: S603 - our own program; the arguments are paths from the database
            [sys.executable, "-P", "-m", "memoryd", "work", *arguments],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def ended(self) -> int | None:
        """The exit code of a child that has ended since the last time; None where none has."""
        if self._process is None or self._process.poll() is None:
            return None
        code, self._process = self._process.returncode, None
        return code

    def stop(self, seconds: float) -> None:
        """Let the child finish what it is at, then end it: what it has not closed, recovery will."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(seconds)
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as error:
            self._process.kill()
            self._process.wait()
            if isinstance(error, KeyboardInterrupt):
                raise
