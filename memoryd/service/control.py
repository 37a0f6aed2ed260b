"""Starting the service: written for this Python, started, and asked why where it does not run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.daemon import last_failure
from memoryd.daemon.single_instance import running_instance
from memoryd.errors import BusyError, ServiceError
from memoryd.service.tools import read_own
from memoryd.service.units import kept_variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.paths import Paths
    from memoryd.service import Manager
    from memoryd.service.state import State


def start(paths: Paths, service: Manager) -> State:
    """Start it, wait until it is ready. Raises ServiceError with its own reason where it is not."""
    last_failure.clear(paths)  # what is found there afterwards is of this start
    service.start()
    state = service.state()
    failed = last_failure.last(paths)
    if failed is not None:  # whatever the state says: a manager may not have seen yet that the process ends
        raise ServiceError(f"memoryd does not start: {failed.sentence}", failed.fix)
    if state.active == "active":
        return state
    raise ServiceError(f"memoryd does not start: {state.text or state.active}", "memoryd service status")


def refuse_another(paths: Paths, state: State) -> None:
    """One daemon per user: with another the service would end at once, with 75. Raises BusyError."""
    running = running_instance(paths)
    if running is not None and running.pid != state.pid:
        raise BusyError(
            f"memoryd already runs as process {running.pid}, which is not the service.", f"kill {running.pid}"
        )


def is_up_to_date(paths: Paths, environment: Mapping[str, str], service: Manager, python: str, version: str) -> bool:
    """Write the unit for this Python; whether it was so already, and this version of memoryd runs by it."""
    before, state = read_own(service.file), service.state()
    service.write(python, kept_variables(environment, paths))
    running = running_instance(paths)
    is_running = state.active == "active" and running is not None and running.version == version
    return is_running and before == read_own(service.file)
