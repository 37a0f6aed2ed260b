"""Guard of a process: runs a command, and ends it with all that it started when whoever wanted it is gone.

A job can be killed at any instant, and `claude`, or a git that waits for a server, would go on for minutes. The job holds the
other end of the lifeline, a pipe that closes with it. Run as a script without the package, so that it is there in an instant.
"""

import os
import select
import signal
import sys

NICENESS = 10
PATIENCE_SECONDS = 3.0
"""Told to end, a command puts away what it has begun; `claude` takes a quarter of a second for it."""
NOT_STARTED = 127
_IGNORED = (signal.SIGINT, signal.SIGHUP)


def guarded(lifeline: int, command: list[str]) -> list[str]:
    """The command below a guard, which has to inherit this end of the lifeline."""
    # -I -S: nothing but the standard library, from where it is
    return [sys.executable, "-I", "-S", __file__, str(lifeline), *command]


class Guard:
    """One command, from its start to the end of its process group."""

    def __init__(self, lifeline: int, command: list[str]) -> None:
        self._lifeline = lifeline
        self._is_told = False
        self._code: int | None = None
        self._woken, waker = os.pipe()
        for end in (self._woken, waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._tell)
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        os.set_inheritable(lifeline, False)
        os.nice(NICENESS)
        self._pid = os.fork()
        if not self._pid:
            _become(command)

    def run(self) -> int:
        """Wait for the command's end; returns its exit code, or 128 and the number of the signal that ended it."""
        while not self._has_ended() and not self._is_told:
            ready, _, _ = select.select([self._woken, self._lifeline], [], [])
            self._drain()
            self._is_told |= self._lifeline in ready
        if not self._has_ended():
            self._end()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)  # what it started, if that has not noticed yet
        return self._code or 0

    def _tell(self, *_: object) -> None:
        self._is_told = True

    def _end(self) -> None:
        os.kill(self._pid, signal.SIGTERM)
        left = PATIENCE_SECONDS
        while not self._has_ended():
            if left <= 0:
                os.killpg(0, signal.SIGKILL)  # this process too
            ready, _, _ = select.select([self._woken], [], [], 0.1)
            self._drain()
            left -= 0.0 if ready else 0.1

    def _drain(self) -> None:
        try:
            os.read(self._woken, 512)
        except BlockingIOError:
            return

    def _has_ended(self) -> bool:
        if self._code is None:
            found, status = os.waitpid(self._pid, os.WNOHANG)
            if found:
                code = os.waitstatus_to_exitcode(status)
                self._code = code if code >= 0 else 128 - code
        return self._code is not None


def _become(command: list[str]) -> None:
    """Run the command in this process, which is a fresh copy of the guard."""
    signal.set_wakeup_fd(-1)
    for number in (*_IGNORED, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(command[0], command)  # noqa: S606 - without a shell, as it is meant
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(NOT_STARTED)


if __name__ == "__main__":
    sys.exit(Guard(int(sys.argv[1]), sys.argv[2:]).run())
