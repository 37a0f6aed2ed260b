"""systemd unit of the user manager."""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING

from memoryd.errors import ServiceError
from memoryd.service.state import State
from memoryd.service.tools import call, read_own, remove_own, write_own
from memoryd.service.units import UNIT, is_ours, unit_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.paths import Paths
    from memoryd.service.tools import Done

_LINGER = "/var/lib/systemd/linger"
_BOOTED = "/run/systemd/system"
_NO_PROGRAM = "203"
_FACTS = "LoadState,LoadError,FragmentPath,UnitFileState,ActiveState,MainPID,NRestarts,StatusText,Result,ExecMainStatus"


class Systemd:
    def __init__(self, paths: Paths, environment: Mapping[str, str]) -> None:
        self._environment = environment
        default = os.path.join(paths.home, ".config")
        chosen = environment.get("XDG_CONFIG_HOME", "")
        places = [os.path.join(place, "systemd", "user") for place in (chosen, default) if os.path.isabs(place)]
        # The manager has variables of its own, and reads units where those say. (A path with odd letters is quoted in
        # its answer and not found here; `start` sees whether the manager takes the file.)
        known = self._ask("show", "--property=UnitPath", "--value").split()
        self.file = os.path.join(next((place for place in places if place in known), places[0]), UNIT)

    def state(self) -> State:
        facts = self._facts()
        text = read_own(self.file)
        status = facts.get("StatusText", "")
        if facts.get("ActiveState") == "failed" and not status:
            status = f"systemd gave up: {facts.get('Result', '?')} (status {facts.get('ExecMainStatus', '?')})"
        if facts.get("ExecMainStatus") == _NO_PROGRAM:
            status = "The Python that the unit names cannot be started any more; `memoryd service install` mends that."
        return State(
            manager="systemd",
            file=self.file,
            is_installed=text is not None,
            is_ours=text is not None and is_ours(text),
            is_enabled=facts.get("UnitFileState") == "enabled",
            active=facts.get("ActiveState", "inactive"),
            pid=int(facts.get("MainPID", "0")) or None,
            restarts=int(facts.get("NRestarts", "0")),
            text=status,
        )

    def write(self, python: str, variables: Mapping[str, str]) -> None:
        write_own(self.file, unit_text(python, variables).encode())

    def start(self) -> None:
        self._ask("daemon-reload")
        facts = self._facts()
        if facts.get("LoadState") != "loaded" or not os.path.samefile(facts["FragmentPath"], self.file):
            why = facts.get("LoadError") or f"it takes {facts.get('FragmentPath') or 'nothing'} instead"
            raise ServiceError(
                f"systemd does not take {self.file}: {why}.", "systemctl --user show --property=UnitPath"
            )
        self._ask("enable", UNIT)
        self._systemctl("reset-failed", UNIT)
        self._systemctl("restart", UNIT)  # what came of it is told by the state: a failure has its reason there

    def remove(self) -> None:
        self._systemctl("stop", UNIT)
        self._systemctl("disable", UNIT)
        remove_own(self.file)
        wanted = os.path.join(os.path.dirname(self.file), "default.target.wants", UNIT)
        if os.path.islink(wanted):  # where somebody has deleted the unit before, systemctl leaves this
            remove_own(wanted)
        self._ask("daemon-reload")
        self._systemctl("reset-failed", UNIT)

    def _facts(self) -> dict[str, str]:
        lines = self._ask("show", UNIT, f"--property={_FACTS}").splitlines()
        return {name: value for name, _, value in (line.partition("=") for line in lines)}

    def _ask(self, *arguments: str) -> str:
        """What systemctl answers; ServiceError where it fails."""
        done = self._systemctl(*arguments)
        if done.code:
            raise ServiceError(
                f"systemctl --user {arguments[0]} failed: {done.error or done.code}.", "systemctl --user status"
            )
        return done.out

    def _systemctl(self, *arguments: str) -> Done:
        done = call(self._environment, "systemctl", "--user", *arguments)
        if done.code and ("connect to bus" in done.error or "not been booted" in done.error):
            raise unreachable(self._environment, f"/run/user/{os.getuid()}", booted=os.path.isdir(_BOOTED))
        return done


def unreachable(environment: Mapping[str, str], runtime: str, *, booted: bool) -> ServiceError:
    """Why there is no user manager to talk to, and the way out. `runtime`: where it is if the user has logged in."""
    if not booted:
        return ServiceError(
            "This machine was not started by systemd (a container, perhaps), so it has no services.", "memoryd run"
        )
    if os.path.isdir(runtime) and environment.get("XDG_RUNTIME_DIR") != runtime:
        return ServiceError(
            "Your systemd cannot be reached: su and sudo leave XDG_RUNTIME_DIR behind.",
            f"export XDG_RUNTIME_DIR={runtime}",
        )
    return ServiceError(
        "Your own systemd does not run; a login on this machine starts it.",
        f"sudo loginctl enable-linger {user_name()}",
    )


def lingers() -> bool:
    """Whether the user's services go on without a login."""
    return os.path.exists(os.path.join(_LINGER, user_name()))


def user_name() -> str:
    return pwd.getpwuid(os.getuid()).pw_name
