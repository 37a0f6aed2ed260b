"""Daemon and service: what runs, its troubles, a pause, the last failure, and what the service manager says."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd import __version__
from memoryd.clock import SystemClock
from memoryd.daemon.last_failure import last
from memoryd.diagnosis.problems import Check, check_failure, check_instance
from memoryd.errors import ServiceError
from memoryd.formatting import ago, short
from memoryd.service import manager
from memoryd.service.systemd import lingers
from memoryd.state import pauses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.daemon.last_failure import Failure
    from memoryd.daemon.single_instance import Instance
    from memoryd.diagnosis.facts import World
    from memoryd.service.state import State
    from memoryd.state.pauses import Pause

_UNIT_BYTES = 65_536
_INSTALL = "memoryd service install"


class DaemonFacts(NamedTuple):
    now: float
    home: str
    version: str
    """Of this program."""
    running: Instance | None
    pause: Pause | None = None
    failure: Failure | None = None
    service: State | None = None
    service_error: ServiceError | None = None
    names_this_python: bool = True
    """Whether the service starts the interpreter that runs now."""
    python: str = ""
    lingers: bool | None = None
    """Whether it goes on without a login; None where that is not a question."""


def read_daemon(world: World) -> DaemonFacts:
    with world.database() as database:
        pause = pauses.current_pause(database, world.now) if database else None
    paths, running, failure = world.paths, world.running, last(world.paths)
    facts = DaemonFacts(world.now, paths.home, __version__, running, pause, failure, python=sys.executable)
    try:
        state = manager(paths, world.environment, SystemClock()).state()
    except ServiceError as error:
        return facts._replace(service_error=error)
    return facts._replace(
        service=state,
        names_this_python=_names(state.file, sys.executable) if state.is_installed else True,
        lingers=lingers() if state.manager == "systemd" else None,
    )


def _names(file: str, program: str) -> bool:
    with suppress(OSError), open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as unit:
        return os.fsencode(program) in unit.read(_UNIT_BYTES)
    return False


def judge_daemon(facts: DaemonFacts) -> Iterator[Check]:
    state, running = facts.service, facts.running
    if running is None:
        is_installed = state is not None and state.is_installed
        fix = "memoryd service restart" if is_installed else _INSTALL if state else "memoryd run"
        yield Check("daemon", "problem", "memoryd is not running: nothing you say is remembered by itself", fix)
    else:
        how = {"events": ", woken by what the system reports", "polling": ", looking by the clock alone"}
        since = ago(facts.now - running.since)
        yield Check("daemon", "ok", f"running for {since} (process {running.pid}){how.get(running.watching, '')}")
        yield from check_instance(running, facts.version, is_service=state is not None and state.pid == running.pid)
    if facts.pause is not None:
        yield Check("pause", "note", facts.pause.sentence, "memoryd resume")
    if state is not None:
        yield from _judge_service(facts, state)
    elif facts.service_error is not None:
        yield Check("service", "note", f"no service: {facts.service_error.sentence}", facts.service_error.fix)
    yield from check_failure(facts.failure, facts.now, is_running=running is not None)


def _judge_service(facts: DaemonFacts, state: State) -> Iterator[Check]:
    name = short(state.file, facts.home)
    if not state.is_installed:
        yield Check("service", "note", "memoryd is no service yet: it ends with the terminal it runs in", _INSTALL)
    elif not state.is_ours:
        text = f"{name} was not written by memoryd; it is left alone"
        yield Check("service", "note", text, f"mv {state.file} {state.file}.aside && {_INSTALL}")
    elif not facts.names_this_python:
        yield Check("service", "problem", f"{name} starts another Python than {facts.python}", _INSTALL)
    elif state.active == "failed":
        text = f"{state.manager} gave up on the service" + (f": {state.text}" if state.text else "")
        yield Check("service", "problem", text, "memoryd service restart")
    elif not state.is_enabled:
        yield Check("service", "problem", "the service does not start at login", _INSTALL)
    else:
        again = f", restarted {state.restarts:,} times" if state.restarts else ""
        yield Check("service", "ok", f"{state.manager}: installed, starts at login, {state.active}{again}")
        if facts.lingers is False:
            text = "it ends when you have logged out everywhere, and goes on at the next login"
            yield Check("lingering", "ok", f"{text} (loginctl enable-linger keeps it running)")
