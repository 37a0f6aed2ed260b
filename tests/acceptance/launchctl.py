"""A small launchd with its launchctl, for machines that are no Mac: it really starts, restarts and stops an agent.

    python launchctl.py FOLDER bootstrap gui/501 FILE | bootout | enable | print gui/501[/LABEL]

Like the real one, it starts and stops in the background. A second of ThrottleInterval takes ten milliseconds.
"""

from __future__ import annotations

import json
import os
import plistlib
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

KEYS = {
    "EnvironmentVariables",
    "ExitTimeOut",
    "HardResourceLimits",
    "KeepAlive",
    "Label",
    "LowPriorityIO",
    "Nice",
    "ProcessType",
    "ProgramArguments",
    "RunAtLoad",
    "StandardErrorPath",
    "ThrottleInterval",
    "Umask",
}
NOT_FOUND, FAILED = 113, 5
_NOTICE_SECONDS = 0.3
"""How long a process that has ended is still told to be running."""


def main(folder: Path, command: str, *arguments: str) -> int:
    target = arguments[0]
    state = folder / f"{target.split('/')[2]}.json" if target.count("/") == 2 else None
    if command == "bootstrap":
        return bootstrap(folder, Path(arguments[1]))
    if (command == "print" and state is None) or command == "enable":
        return 0
    if state is None or not state.exists():
        print("Could not find service", file=sys.stderr)
        return NOT_FOUND
    facts = json.loads(state.read_text())
    if command == "print":
        print(f"{target} = {{")
        for name, value in facts["shown"].items():
            print(f"\t{name} = {value}")
        print("}")
    elif command == "bootout":
        os.kill(facts["keeper"], signal.SIGTERM)
    return 0


def bootstrap(folder: Path, file: Path) -> int:
    agent = plistlib.loads(file.read_bytes())
    if unknown := agent.keys() - KEYS:
        raise SystemExit(f"no keys of launchd: {unknown}")
    state = folder / f"{agent['Label']}.json"
    if state.exists():
        print("Bootstrap failed: 5: Input/output error", file=sys.stderr)
        return FAILED
    subprocess.Popen(
        [sys.executable, __file__, str(folder), "keep", str(file)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not state.exists():
        signal.sigtimedwait([], 0.01)
    return 0


class Keeper:
    """Keeps one agent as its file says, until it is told to let go."""

    def __init__(self, state: Path, agent: dict[str, Any]) -> None:
        self._state = state
        self._agent = agent
        self._stop = threading.Event()
        self._runs = 0
        self._exit = "(never exited)"
        self._process: subprocess.Popen[bytes] | None = None
        signal.signal(signal.SIGTERM, self._let_go)

    def _let_go(self, *_: object) -> None:
        self._stop.set()
        if self._process is not None:
            self._process.terminate()

    def keep(self) -> None:
        agent = self._agent
        self._write("spawn scheduled", None)
        while not self._stop.is_set():
            code = self._run()
            self._stop.wait(_NOTICE_SECONDS)
            self._exit = str(code if code >= 0 else 128 - code)
            wants_more = code != 0 or agent["KeepAlive"]["SuccessfulExit"]
            self._write("spawn scheduled" if wants_more else "not running", None)
            self._stop.wait(agent["ThrottleInterval"] / 100 if wants_more else None)
        self._state.unlink()

    def _run(self) -> int:
        agent = self._agent
        with open(agent["StandardErrorPath"], "ab") as errors:
            self._process = subprocess.Popen(
                agent["ProgramArguments"],
                env={"HOME": os.environ["HOME"], **agent["EnvironmentVariables"]},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                umask=agent["Umask"],
                cwd="/",
            )
        self._runs += 1
        self._write("running", self._process.pid)
        while not self._stop.is_set():
            try:
                return self._process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        try:
            return self._process.wait(agent["ExitTimeOut"])
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _write(self, state: str, pid: int | None) -> None:
        shown = {"state": state, "runs": self._runs, "last exit code": self._exit, **({"pid": pid} if pid else {})}
        fresh = self._state.with_suffix(".new")
        fresh.write_text(json.dumps({"keeper": os.getpid(), "shown": shown}))
        fresh.replace(self._state)


if __name__ == "__main__":
    place, verb, *rest = sys.argv[1:]
    if verb == "keep":
        read = plistlib.loads(Path(rest[0]).read_bytes())
        Keeper(Path(place, f"{read['Label']}.json"), read).keep()
    else:
        sys.exit(main(Path(place), verb, *rest))
