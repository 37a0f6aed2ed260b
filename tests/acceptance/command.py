"""Runs the real `memoryd` as a user does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from tests.fork_server import ForkServer, Request

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from tests.fork_server import Forked

PATIENCE_SECONDS = 180
STARTED_BEFORE = "STARTED_BEFORE"
"""The variable with a folder that all workers of a run of tests share: it has a file for each command that was started."""
SERVER = ForkServer("anthropic", "httpx2")


def memoryd(environment: dict[str, str], *arguments: str, lines: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with these lines to read."""
    done = memoryd_given(environment, lines.encode(), *arguments)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def memoryd_given(
    environment: dict[str, str], given: bytes, *arguments: str, directory: str = "", module: str = "memoryd"
) -> subprocess.CompletedProcess[bytes]:
    """Run a command with this on its standard input.

    The first time in a run of tests that a command is used it is a new interpreter, afterwards a fork of one that has imported
    it all; a new one too where the environment has a word for the interpreter itself.
    """
    is_known = _was_started(module, *arguments[:1])
    if is_known and _for_python(environment) == _for_python(os.environ):
        return _forked(Request(module, arguments, environment, directory or os.getcwd()), given)
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=environment,
        cwd=directory or None,
        input=given,
        capture_output=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def _was_started(*command: str) -> bool:
    """Whether this was asked before, by this worker or another one."""
    try:
        os.mkdir(os.path.join(os.environ[STARTED_BEFORE], quote(" ".join(command), safe="")))
    except FileExistsError:
        return True
    return False


def _for_python(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(("PYTHON", "LC_", "LANG"))}


def _forked(request: Request, given: bytes) -> subprocess.CompletedProcess[bytes]:
    with TemporaryFile() as standard_input, TemporaryFile() as output, TemporaryFile() as errors:
        standard_input.write(given)
        standard_input.seek(0)
        streams = (standard_input.fileno(), output.fileno(), errors.fileno())
        code = SERVER.start(request, *streams).wait(PATIENCE_SECONDS)
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess([request.module, *request.arguments], code, output.read(), errors.read())


def memoryd_at_once(environment: dict[str, str], *commands: tuple[str, ...]) -> list[tuple[int, str]]:
    """Run commands at the same time; the exit code and all that was said, of each."""
    done = []
    with ExitStack() as stack:
        nothing = stack.enter_context(open(os.devnull, "rb")).fileno()
        said = [stack.enter_context(TemporaryFile()) for _ in commands]
        started = [
            SERVER.start(
                Request("memoryd", command, environment, os.getcwd()), nothing, output.fileno(), output.fileno()
            )
            for command, output in zip(commands, said, strict=True)
        ]
        for process, output in zip(started, said, strict=True):
            code = process.wait(PATIENCE_SECONDS)
            output.seek(0)
            done.append((code, output.read().decode()))
    return done


def as_json(environment: dict[str, str], *arguments: str) -> Any:
    return json.loads(memoryd(environment, *arguments, "--json").stdout)


class Daemon:
    """A running `memoryd run`; what it says can be awaited."""

    def __init__(self, environment: dict[str, str], *before: str, is_new: bool = False) -> None:
        """`before`: a command that becomes it, as `nice` does; `is_new`: not a fork, so that its start is as for a user."""
        stderr, its_stderr = os.pipe()
        with open(os.devnull, "r+b") as nothing:
            streams = (nothing.fileno(), nothing.fileno(), its_stderr)
            self.process: subprocess.Popen[bytes] | Forked
            if before or is_new or not _was_started("memoryd", "run"):
                command = [*before, sys.executable, "-m", "memoryd", "run"]
                self.process = subprocess.Popen(
                    command, env=environment, stdin=streams[0], stdout=streams[1], stderr=streams[2]
                )
            else:
                self.process = SERVER.start(Request("memoryd", ("run",), environment, os.getcwd()), *streams)
        os.close(its_stderr)
        self._stderr = open(stderr, encoding="utf-8")  # noqa: SIM115 - closed with the daemon
        self._lines: list[str] = []
        self._spoke = threading.Condition()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self) -> None:
        for line in self._stderr:
            with self._spoke:
                self._lines.append(line.rstrip("\n"))
                self._spoke.notify_all()
        with self._spoke:
            self._lines.append("")
            self._spoke.notify_all()

    def says(self, text: str) -> str:
        """Wait until a line holds this text and return it."""

        def heard() -> str | None:
            return next((line for line in self._lines if text in line), None)

        with self._spoke:
            if not self._spoke.wait_for(heard, PATIENCE_SECONDS):
                raise AssertionError(f"never said {text!r}:\n" + "\n".join(self._lines))
        return heard() or ""

    def said_again(self, text: str) -> None:
        """Wait until a second line holds this text."""
        with self._spoke:
            if not self._spoke.wait_for(lambda: sum(text in line for line in self._lines) > 1, PATIENCE_SECONDS):
                raise AssertionError(f"never said {text!r} again:\n" + "\n".join(self._lines))

    @property
    def said(self) -> str:
        return "\n".join(self._lines)

    def stop(self, signal_number: int) -> int:
        self.process.send_signal(signal_number)
        code = self.process.wait(PATIENCE_SECONDS)
        self._listener.join(PATIENCE_SECONDS)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        self._listener.join()
        self._stderr.close()
