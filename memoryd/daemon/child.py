"""Child process of the daemon: it can be killed at any moment, and its memory is freed when it ends."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from memoryd.clock import elapsed

if TYPE_CHECKING:
    from collections.abc import Mapping


class Child:
    """At most one `memoryd child` at a time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether a child runs, or has ended and `ended` has not returned its exit code yet."""
        return self._process is not None

    def start(self, *arguments: str, config_file: str | None = None) -> None:
        """Start the child. `config_file`: where its settings are, if not in the usual place."""
        # -P: the daemon may have been started in a repository, whose modules must not be imported.
        # A session of its own: Ctrl-C in the terminal is for the daemon, which lets the child finish its step.
        self._process = subprocess.Popen(  # noqa: S603 - our own program; the arguments are paths from the database
            [sys.executable, "-P", "-m", "memoryd", "child", *arguments],
            env=self._environment | ({"MEMORYD_CONFIG": config_file} if config_file else {}),
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

    def terminate(self) -> None:
        if self._process is not None:
            self._process.terminate()

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, now or within these seconds."""
        try:
            if self._process is not None:
                self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """Kill the child; recovery closes what it left open."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def stop_all(children: list[Child], seconds: float) -> None:
    """Let the children finish their step within these seconds, then kill them. Ctrl-C kills them at once."""
    until = elapsed() + seconds
    try:
        for child in children:
            child.terminate()
        for child in children:
            child.wait(max(0.0, until - elapsed()))
    finally:
        for child in children:
            child.kill()
