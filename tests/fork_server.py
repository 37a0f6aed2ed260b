"""`python -m MODULE` a thousand times: a server that has imported the program forks a process for each.

Most of what a command costs is to import it. Each of these is a process of its own, with its own arguments, environment and
streams, and as fresh as the server, which imports and does nothing else.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import os
import pickle
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import weakref
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

_PR_SET_PTRACER = 0x59616D61
_MESSAGE_BYTES = 1 << 20
_NUMBER_BYTES = 20
"""Of a number in a reply: a process may have ended before its pid is read, and both must not be read as one."""


class Request(NamedTuple):
    module: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    waits: bool = False
    """Whether it begins only when its standard input, which it else has none of, is closed: until then it can be traced."""


class Forked:
    """A process that was started, with what is asked of a `Popen`; `pid` is its number."""

    def __init__(self, reply: int) -> None:
        self._reply = reply
        self._code: int | None = None
        self._lock = threading.Lock()  # a test waits for it while the thread that answers it kills it
        weakref.finalize(self, os.close, reply)
        self.pid = int(os.read(reply, _NUMBER_BYTES))

    def poll(self) -> int | None:
        """Its exit code, or the negative number of the signal that ended it; None while it runs."""
        with self._lock:
            if self._code is None and select.select([self._reply], [], [], 0)[0]:
                self._code = int(os.read(self._reply, _NUMBER_BYTES))
            return self._code

    def wait(self, seconds: float) -> int:
        """The same when it has ended. Kills it where that takes too long."""
        if self._code is None and not select.select([self._reply], [], [], seconds)[0]:
            self.kill()
            raise subprocess.TimeoutExpired(str(self.pid), seconds)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """Started when it is first needed, and ended with the process that needs it."""

    def __init__(self, *modules: str, environment: dict[str, str] | None = None) -> None:
        self._modules = modules
        self._environment = environment
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def start(self, request: Request, stdin: int, stdout: int, stderr: int) -> Forked:
        with self._lock:
            if self._socket is None:
                self._socket = self._begin()
            mine, its = os.pipe()
            socket.send_fds(self._socket, [pickle.dumps(request)], [stdin, stdout, stderr, its])
            os.close(its)
        return Forked(mine)

    def _begin(self) -> socket.socket:
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.fork_server", str(its.fileno()), *self._modules]
        process = subprocess.Popen(command, pass_fds=[its.fileno()], env=self._environment, stdin=subprocess.DEVNULL)
        its.close()

        def end() -> None:
            mine.close()
            process.wait()

        atexit.register(end)
        return mine


# --- in the server ----------------------------------------------------------------------------------------------------


def serve(connection: socket.socket) -> None:
    """Fork for every request, and tell the exit code of every process that ended, until nobody asks any more."""
    ended, ending = os.pipe()
    os.set_blocking(ending, False)
    signal.set_wakeup_fd(ending)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    replies: dict[int, int] = {}
    while True:
        ready = select.select([connection.fileno(), ended], [], [])[0]
        if ended in ready:
            os.read(ended, 4096)
            for pid in list(replies):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    _answer(replies.pop(pid), os.waitstatus_to_exitcode(status), is_last=True)
        if connection.fileno() in ready:
            message, descriptors, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES, 4)
            if not message:
                return
            *streams, reply = descriptors
            pid = os.fork()
            if not pid:
                for other in (connection.fileno(), ended, ending, reply, *replies.values()):
                    os.close(other)
                _become(pickle.loads(message), streams)  # noqa: S301 - from the test that started us
            replies[pid] = reply
            _answer(reply, pid, is_last=False)
            for stream in streams:
                os.close(stream)


def _answer(reply: int, number: int, *, is_last: bool) -> None:
    with suppress(BrokenPipeError):  # who asked waits no longer
        os.write(reply, b"%*d" % (_NUMBER_BYTES, number))
    if is_last:
        os.close(reply)


def _become(request: Request, streams: list[int]) -> NoReturn:
    """Be what `python -m MODULE` would be, to the end."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # Those of the server may be files, which can seek, where these are pipes.
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.chdir(request.directory)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    sys.argv = [request.module, *request.arguments]
    if request.waits:
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)  # strace is no parent of ours
        os.read(0, 1)
    code: Any = 0
    try:
        runpy.run_module(request.module, run_name="__main__", alter_sys=True)
    except SystemExit as error:
        code = error.code
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _import_all(package: str) -> None:
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not module.name.endswith(".__main__"):
            importlib.import_module(module.name)


if __name__ == "__main__":
    _import_all("memoryd")
    for name in sys.argv[2:]:
        importlib.import_module(name)
    gc.freeze()  # a collection would copy every page that the processes share
    serve(socket.socket(fileno=int(sys.argv[1])))
