"""Process of `claude` below its guard, in a group of its own: started, written to, read from, ended. The only one that starts it."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from signal import SIGKILL
from typing import TYPE_CHECKING

from memoryd.process_guard import guarded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

END_SECONDS = 10.0
"""The guard ends everything in less; a machine may be busy."""
_STDERR_BYTES = 4_096


class GuardedProcess:
    """Its pipes do not block. What it says on standard error goes into a file, to be looked at when it has failed."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: str, errors: str) -> None:
        self._errors = errors
        theirs, self._lifeline = os.pipe()
        try:
            with open(errors, "xb") as file:
                self._process = subprocess.Popen(  # noqa: S603 - the user's own command, by its absolute path
                    guarded(theirs, list(command)),
                    env=dict(environment),
                    cwd=cwd,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=file,
                    pass_fds=(theirs,),
                    start_new_session=True,
                )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(theirs)
        assert self._process.stdin is not None  # noqa: S101 - as asked for
        assert self._process.stdout is not None  # noqa: S101
        self.stdin = self._process.stdin.fileno()
        self.stdout = self._process.stdout.fileno()
        for descriptor in (self.stdin, self.stdout):
            os.set_blocking(descriptor, False)

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.poll()

    def wait_for_code(self) -> int | None:
        """How it ended, for one that has closed its output; None where it does not end."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        return self._process.poll()

    def said(self) -> str:
        """The end of what it said on standard error, in one line."""
        try:
            with open(self._errors, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _STDERR_BYTES))
                return " ".join(file.read().decode("utf-8", "replace").split())
        except OSError:
            return ""

    def end(self) -> None:
        """End it and all that it started. The lifeline is what the guard watches, also where this process is killed."""
        with suppress(OSError):
            os.close(self._lifeline)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not read by it any more
                    pipe.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:  # pragma: no cover - a guard that was stopped or killed
            pass
        finally:
            with suppress(ProcessLookupError, PermissionError):  # nobody is left, which is what is wanted
                os.killpg(self._process.pid, SIGKILL)
            self._process.wait()
