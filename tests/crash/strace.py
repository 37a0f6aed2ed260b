"""Runs the victim under strace: which system calls it makes that touch the disk, and what happens if one of them fails."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from tests.fork_server import ForkServer, Request

DISK = (
    *("openat", "creat", "write", "writev", "pwrite64", "pwritev", "pwritev2", "fsync", "fdatasync", "sync_file_range"),
    *("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat", "rmdir"),
    *("mkdir", "mkdirat", "mknod", "mknodat", "truncate", "ftruncate", "fallocate", "copy_file_range", "sendfile"),
    *("chmod", "fchmod", "fchmodat", "chown", "fchown", "fchownat", "utime", "utimes", "utimensat", "futimesat"),
    *("setxattr", "fsetxattr", "io_uring_setup", "io_submit"),
)
_CALL = re.compile(r"^\d+ +(\w+)\((.*)")
_MARK = re.compile(r'"[^"]*/mark-(\w+)"')
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Every run makes the same calls: nothing is compiled, nothing depends on hashes.
_ENVIRONMENT = {"PATH": os.defpath, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
_SERVER = ForkServer(environment=_ENVIRONMENT)


class Call(NamedTuple):
    """The n-th call of its kind in the life of the process, counted as strace counts."""

    kind: str
    number: int
    arguments: str

    @property
    def is_of_the_database(self) -> bool:
        return "sqlite3" in self.arguments


class Run(NamedTuple):
    returncode: int
    calls: tuple[Call, ...]
    """Those that touch the disk, after the mark `begin` and up to `end`."""
    marks: dict[str, int]
    """Where in `calls` each mark stands."""

    @property
    def was_killed(self) -> bool:
        return self.returncode == -signal.SIGKILL


def run(home: str, scenario: str, action: str, *inject: str) -> Run:
    """Run the victim; `inject` are expressions for strace -e inject."""
    return run_module(home, ("tests.crash.victim", home, scenario, action), *inject)


def run_module(home: str, module: tuple[str, ...], *inject: str, is_new: bool = False) -> Run:
    """Run any module that marks its begin and end as the victim does."""
    log = os.path.join(home, "strace.log")
    returncode, said = run_traced(home, module, log, *inject, is_new=is_new)
    assert "Traceback" not in said, said
    assert "strace:" not in said, said
    with open(log, encoding="utf-8", errors="replace") as file:
        calls, marks = _read(file.read().splitlines())
    return Run(returncode, calls, marks)


def run_traced(
    home: str, module: tuple[str, ...], log: str, *inject: str, is_new: bool = False, server: ForkServer = _SERVER
) -> tuple[int, str]:
    """Run a module under strace; its exit code, and all that both of them said.

    `is_new`: in a new interpreter, for what happens before SQLite is imported; else strace is attached to a fork of `server`.
    """
    program = shutil.which("strace")
    assert program, "this test kills a process at every system call, which strace does: apt-get install strace"
    argv = [program, "-f", "-y", "-s", "200", "-o", log, "-e", f"trace={','.join(DISK)}"]
    argv += [part for expression in inject for part in ("-e", f"inject={expression}")]
    environment = {**_ENVIRONMENT, "HOME": home}
    with TemporaryFile() as said:
        if is_new:
            argv += [sys.executable, "-m", *module]
            done = subprocess.run(argv, env=environment, cwd=_ROOT, stdout=said, stderr=said, timeout=60, check=False)
            returncode, told = done.returncode, ""
        else:
            returncode, told = _attached(
                server, argv, Request(module[0], module[1:], environment, _ROOT, waits=True), said
            )
        said.seek(0)
        return returncode, said.read().decode("utf-8", "replace") + told


def _attached(server: ForkServer, argv: list[str], request: Request, said: IO[bytes]) -> tuple[int, str]:
    """Its exit code, and what strace said."""
    waits, begin = os.pipe()
    process = server.start(request, waits, said.fileno(), said.fileno())
    os.close(waits)
    with subprocess.Popen([*argv, "-p", str(process.pid)], stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        attached = strace.stderr.readline()
        os.close(begin)
        assert attached.endswith(f": Process {process.pid} attached\n"), attached
        return process.wait(60), strace.stderr.read()


def _read(lines: list[str]) -> tuple[tuple[Call, ...], dict[str, int]]:
    counts: dict[str, int] = {}
    calls: list[Call] = []
    marks: dict[str, int] = {}
    for line in lines:
        match = _CALL.match(line)
        if match is None:
            continue
        kind, arguments = match[1], match[2]
        counts[kind] = counts.get(kind, 0) + 1
        if kind == "openat":
            if mark := _MARK.search(arguments):
                marks[mark[1]] = len(calls)
                continue
            if not re.search("O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", arguments):
                continue
        if "begin" in marks and "end" not in marks and not arguments.endswith("(INJECTED)"):
            calls.append(Call(kind, counts[kind], arguments))
    return tuple(calls), marks
