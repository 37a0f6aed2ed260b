"""The daemon's child: a process of its own, so that it can be killed at any instant and gives its memory back."""

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
        """Until `ended` has told how it ended: what comes next must not hide that."""
        return self._process is not None

    def start(self, *arguments: str, config_file: str | None = None) -> None:
        """Begin. `config_file`: where its settings are, if not where they always are."""
        # -P: the daemon may have been started in a repository, whose modules are none of ours.
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
        """What it has not closed, recovery will."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def stop_all(children: list[Child], seconds: float) -> None:
    """Let the children finish what they are at, all of them within these seconds, then end them. Ctrl-C ends them now."""
    until = elapsed() + seconds
    try:
        for child in children:
            child.terminate()
        for child in children:
            child.wait(max(0.0, until - elapsed()))
    finally:
        for child in children:
            child.kill()
