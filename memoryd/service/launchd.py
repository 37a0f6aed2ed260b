"""launchd agent, in the session of the user who is logged in."""

from __future__ import annotations

import os
import re
import threading
from typing import TYPE_CHECKING

from memoryd.daemon import last_failure
from memoryd.daemon.single_instance import running_instance
from memoryd.errors import ServiceError
from memoryd.service.state import State
from memoryd.service.tools import call, make_directory, read_own, remove_own, write_own
from memoryd.service.units import AGENT, LABEL, agent, is_ours

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoryd.clock import Clock
    from memoryd.paths import Paths
    from memoryd.service.tools import Done

_LOOK_SECONDS = 0.1
_START_SECONDS = 60.0
_STOP_SECONDS = 60.0
"""More than ExitTimeOut: launchctl does not wait for the end."""


class Launchd:
    def __init__(self, paths: Paths, environment: Mapping[str, str], clock: Clock) -> None:
        self._paths = paths
        self._environment = environment
        self._clock = clock
        self._session = f"gui/{os.getuid()}"
        self._target = f"{self._session}/{LABEL}"
        self.file = os.path.join(paths.home, "Library", "LaunchAgents", AGENT)
        if self._launchctl("print", self._session).code:
            raise ServiceError(
                "launchd has no session for you: nobody is logged in at the screen of this Mac.", "memoryd run"
            )

    def state(self) -> State:
        text = read_own(self.file)
        done = self._launchctl("print", self._target)
        facts = dict(re.findall(r"^\t([a-z ]+) = (.+)$", done.out, re.MULTILINE))
        code = facts.get("last exit code", "0").partition(":")[0]
        failed = code.lstrip("-").isdigit() and int(code) != 0
        state = facts.get("state", "")
        active = {"running": "active", "spawn scheduled": "activating"}.get(state, "failed" if failed else "inactive")
        return State(
            manager="launchd",
            file=self.file,
            is_installed=text is not None,
            is_ours=text is not None and is_ours(text),
            is_enabled=text is not None,
            active=active if not done.code else "inactive",
            pid=int(facts["pid"]) if facts.get("pid", "").isdigit() else None,
            restarts=max(0, int(facts.get("runs", "1")) - 1),
            text=f"It last ended with {code}." if failed and active != "active" else "",
        )

    def write(self, python: str, variables: Mapping[str, str]) -> None:
        write_own(self.file, agent(python, variables, self._paths))

    def start(self) -> None:
        self._unload()
        make_directory(self._paths.state_dir)  # launchd opens StandardErrorPath there
        self._launchctl("enable", self._target)
        done = self._launchctl("bootstrap", self._session, self.file)
        if done.code:
            raise ServiceError(f"launchd does not take {self.file}: {done.error or done.code}.", f"plutil {self.file}")

        def decided() -> bool:
            running = running_instance(self._paths)
            is_ready = running is not None and running.watching != ""  # known after the first look
            return is_ready or last_failure.last(self._paths) is not None

        self._wait(decided, _START_SECONDS)

    def remove(self) -> None:
        self._unload()
        remove_own(self.file)

    def _unload(self) -> None:
        if self._launchctl("print", self._target).code:
            return
        done = self._launchctl("bootout", self._target)
        if not self._wait(lambda: self._launchctl("print", self._target).code != 0, _STOP_SECONDS):
            raise ServiceError(f"launchd does not stop memoryd: {done.error or done.code}.", "memoryd status")

    def _wait(self, is_so: Callable[[], bool], seconds: float) -> bool:
        until = self._clock.now() + seconds
        while not is_so():
            if self._clock.now() > until:
                return False
            self._clock.wait(threading.Event(), _LOOK_SECONDS)
        return True

    def _launchctl(self, *arguments: str) -> Done:
        return call(self._environment, "launchctl", *arguments)
