"""Whether memoryd runs, by itself and for good: the daemon, its troubles, a pause, the service, the last failure."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd import __version__
from memoryd.clock import SystemClock
from memoryd.doctor.check import Check, readable_database
from memoryd.errors import ServiceError
from memoryd.failure import last
from memoryd.instance import running_instance
from memoryd.service import manager
from memoryd.service.systemd import lingers
from memoryd.state import pauses
from memoryd.words import ago, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.doctor.check import Verdict, World
    from memoryd.failure import Failure
    from memoryd.instance import Instance
    from memoryd.service.state import State
    from memoryd.state.pauses import Pause

_UNIT_BYTES = 65_536
_INSTALL = "memoryd service install"


class Facts(NamedTuple):
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


def look(world: World) -> Facts:
    with readable_database(world.paths) as database:
        pause = pauses.standing(database, world.now) if database else None
    facts = Facts(
        world.now,
        world.paths.home,
        __version__,
        running_instance(world.paths),
        pause,
        last(world.paths),
        python=sys.executable,
    )
    try:
        state = manager(world.paths, world.environment, SystemClock()).state()
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


def judge(facts: Facts) -> Iterator[Check]:
    yield from _judge_daemon(facts)
    if facts.pause is not None:
        yield Check("pause", "note", facts.pause.sentence.rstrip("."), "memoryd resume")
    yield from _judge_service(facts)
    if facts.failure is not None:
        text = f"the last start failed {ago(facts.now - facts.failure.at)} ago: {facts.failure.sentence.rstrip('.')}"
        verdict: Verdict = "problem" if facts.running is None else "note"
        yield Check("last_failure", verdict, text, facts.failure.fix or "memoryd run")


def _judge_daemon(facts: Facts) -> Iterator[Check]:
    running = facts.running
    if running is None:
        is_installed = facts.service is not None and facts.service.is_installed
        fix = "memoryd service restart" if is_installed else _INSTALL if facts.service else "memoryd run"
        yield Check("daemon", "problem", "memoryd is not running: nothing you say is remembered by itself", fix)
        return
    how = {"events": ", woken by what the system reports", "polling": ", looking by the clock alone"}
    since = ago(facts.now - running.since)
    yield Check("daemon", "ok", f"running for {since} (process {running.pid}){how.get(running.watching, '')}")
    if running.version != facts.version:
        older = running.version or "an older one"
        text = f"the daemon that runs is {older}, this program is {facts.version}"
        is_service = facts.service is not None and facts.service.pid == running.pid
        fix = "memoryd service restart" if is_service else f"kill {running.pid} && memoryd run"
        yield Check("daemon_version", "problem", text, fix)
    for trouble in running.troubles:
        yield Check("trouble", "problem" if trouble.fix else "note", trouble.text.rstrip("."), trouble.fix)


def _judge_service(facts: Facts) -> Iterator[Check]:
    state = facts.service
    if state is None:
        error = facts.service_error
        if error is not None:
            yield Check("service", "note", f"no service: {error.sentence.rstrip('.')}", error.fix)
        return
    name = short(state.file, facts.home)
    if not state.is_installed:
        yield Check("service", "note", "memoryd is no service yet: it ends with the terminal it runs in", _INSTALL)
    elif not state.is_ours:
        text = f"{name} was not written by memoryd; it is left alone"
        yield Check("service", "note", text, f"mv {state.file} {state.file}.aside && {_INSTALL}")
    elif not facts.names_this_python:
        yield Check("service", "problem", f"{name} starts another Python than {facts.python}", _INSTALL)
    elif state.active == "failed":
        text = f"{state.manager} gave up on the service" + (f": {state.text.rstrip('.')}" if state.text else "")
        yield Check("service", "problem", text, "memoryd service restart")
    elif not state.is_enabled:
        yield Check("service", "problem", "the service does not start at login", _INSTALL)
    else:
        again = f", restarted {state.restarts:,} times" if state.restarts else ""
        yield Check("service", "ok", f"{state.manager}: installed, starts at login, {state.active}{again}")
        if facts.lingers is False:
            text = "it ends when you have logged out everywhere, and goes on at the next login"
            yield Check("lingering", "ok", f"{text} (loginctl enable-linger keeps it running)")
