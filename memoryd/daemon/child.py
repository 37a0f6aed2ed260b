"""Child process of the daemon: it can be killed at any moment, and its memory is freed when it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.clock import elapsed
from memoryd.process_guard import guarded

if TYPE_CHECKING:
    from collections.abc import Mapping


class Child:
    """At most one `memoryd child` at a time.

    `is_guarded`: it ends when the daemon is killed, with all that it started. Others finish their step, and recovery
    closes what they leave.
    """

    def __init__(self, environment: Mapping[str, str], *, is_guarded: bool = False) -> None:
        self._environment = dict(environment)
        self._is_guarded = is_guarded
        self._lifeline: int | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether a child runs, or has ended and `ended` has not returned its exit code yet."""
        return self._process is not None

    def start(self, *arguments: str, config_file: str | None = None) -> None:
        """Start the child. `config_file`: where its settings are, if not in the usual place."""
        # -P: the daemon may have been started in a repository, whose modules must not be imported.
        # A session of its own: Ctrl-C in the terminal is for the daemon, which lets the child finish its step.
        command = [sys.executable, "-P", "-m", "memoryd", "child", *arguments]
        theirs: tuple[int, ...] = ()
        if self._is_guarded:
            lifeline, self._lifeline = os.pipe()
            theirs, command = (lifeline,), guarded(lifeline, command)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own program; the arguments are paths from the database
                command,
                env=self._environment | ({"MEMORYD_CONFIG": config_file} if config_file else {}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=theirs,
                start_new_session=True,
            )
        finally:
            for descriptor in theirs:
                os.close(descriptor)

    def ended(self) -> int | None:
        """The exit code of a child that has ended since the last time; None where none has."""
        if self._process is None or self._process.poll() is None:
            return None
        code, self._process = self._process.returncode, None
        self._close_lifeline()
        return code

    def _close_lifeline(self) -> None:
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

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
            if self._process.poll() is None:
                with suppress(ProcessLookupError, PermissionError):  # it may not have its session yet
                    os.killpg(self._process.pid, signal.SIGKILL)  # with a guard, what it guards
                self._process.kill()
                self._process.wait()
            self._process = None
            self._close_lifeline()


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
