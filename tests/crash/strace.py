"""Runs the victim under strace: which system calls it makes that touch the disk, and what happens if one of them fails."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from typing import NamedTuple

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


def run_module(home: str, module: tuple[str, ...], *inject: str) -> Run:
    """Run any module that marks its begin and end as the victim does."""
    strace = shutil.which("strace")
    assert strace, "this test kills a process at every system call, which strace does: apt-get install strace"
    log = os.path.join(home, "strace.log")
    done = subprocess.run(
        [
            *(strace, "-f", "-y", "-s", "200", "-o", log, "-e", f"trace={','.join(DISK)}"),
            *(part for one in inject for part in ("-e", f"inject={one}")),
            *(sys.executable, "-m", *module),
        ],
        # Every run makes the same calls: nothing is compiled, nothing depends on hashes.
        env={"PATH": os.defpath, "HOME": home, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stdout, done.stdout
    assert "strace:" not in done.stdout, done.stdout
    with open(log, encoding="utf-8", errors="replace") as file:
        calls, marks = _read(file.read().splitlines())
    return Run(done.returncode, calls, marks)


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
