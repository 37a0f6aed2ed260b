"""What is measured with: the clock, and what the kernel counts for a process."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

COUNTS_READS = os.path.exists("/proc/self/io")


def seconds(work: Callable[[], object]) -> float:
    """By the clock on the wall."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def best(rounds: int, contestants: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """The least processor seconds of each, for work that waits for nothing: what else the machine does hardly counts.

    They take turns, so that a slow moment meets all of them.
    """
    taken = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, work in contestants.items():
            began = time.process_time()
            work()
            taken[name] = min(taken[name], time.process_time() - began)
    return taken


def bytes_read() -> int:
    """What this process has read so far by system calls, from the page cache too. Linux only; see COUNTS_READS."""
    with open("/proc/self/io", "rb") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(b"rchar:"))


def peak_resident_bytes() -> int:
    """The most memory this process ever had. Linux's getrusage counts the parent's before exec too; status does not."""
    try:
        with open("/proc/self/status", "rb") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith(b"VmHWM:"))
    except FileNotFoundError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak << 10


def processor_seconds_of_run(command: Sequence[str], environment: Mapping[str, str], cwd: str, given: bytes) -> float:
    """What a process uses from its start to its exit, in the kernel too; what it prints is thrown away."""
    with subprocess.Popen(
        command, env=environment, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return used.ru_utime + used.ru_stime


# --- of another process; Linux only ---------------------------------------------------------------------------------


def processor_seconds(pid: int) -> float:
    """What all threads of a process have used so far, those that ended included, to the nanosecond."""
    return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid(3) makes the number of another process's clock


def wakeups(pid: int) -> int:
    """How often the threads of a process have gone to sleep so far: each time somebody, or a timer, woke them.

    The kernel's voluntary context switches. They count short waits for a lock or the disk too, so it is rather too many.
    """
    count = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", "rb") as file:
            count += next(int(line.split()[1]) for line in file if line.startswith(b"voluntary_ctxt_switches:"))
    return count


def resident_bytes(pid: int) -> int:
    """What a process has in memory now."""
    with open(f"/proc/{pid}/status", "rb") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(b"VmRSS:"))
