"""The running daemon and its service."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.daemon.last_failure import Failure
from memoryd.daemon.single_instance import Instance, Trouble, only_instance
from memoryd.diagnosis.checks import daemon
from memoryd.errors import ServiceError
from memoryd.service.state import State
from memoryd.state import pauses
from memoryd.state.pauses import Pause
from tests.diagnosis.checks.checking import NOW, verdicts

if TYPE_CHECKING:
    from memoryd.diagnosis.facts import World
    from memoryd.paths import Paths
    from memoryd.state.database import Database


INSTALLED = State("systemd", "/home/me/u", True, True, True, "active", 7, 0, "")
RUNNING = Instance(7, NOW - 60, "events", version="1.0")


def serving(**more: Any) -> daemon.DaemonFacts:
    return daemon.DaemonFacts(NOW, "/home/me", "1.0", RUNNING, service=INSTALLED, lingers=True)._replace(**more)


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (serving(), [("daemon", "ok", ""), ("service", "ok", "")]),
        (serving(lingers=False), [("daemon", "ok", ""), ("service", "ok", ""), ("lingering", "ok", "")]),
        (
            serving(running=None),
            [("daemon", "problem", "memoryd service restart"), ("service", "ok", "")],
        ),
        (
            serving(running=None, service=INSTALLED._replace(is_installed=False)),
            [("daemon", "problem", "memoryd service install"), ("service", "note", "memoryd service install")],
        ),
        (
            serving(running=None, service=None, service_error=ServiceError("No systemd.", "memoryd run")),
            [("daemon", "problem", "memoryd run"), ("service", "note", "memoryd run")],
        ),
        (
            serving(version="1.1"),
            [("daemon", "ok", ""), ("daemon_version", "problem", "memoryd service restart"), ("service", "ok", "")],
        ),
        (
            serving(running=RUNNING._replace(version="", pid=9)),
            [("daemon", "ok", ""), ("daemon_version", "problem", "kill 9 && memoryd run"), ("service", "ok", "")],
        ),
        (
            serving(running=RUNNING._replace(troubles=(Trouble("a", "One.", "mend"), Trouble("b", "Two.")))),
            [("daemon", "ok", ""), ("trouble", "problem", "mend"), ("trouble", "note", ""), ("service", "ok", "")],
        ),
        (
            serving(pause=Pause(NOW, None)),
            [("daemon", "ok", ""), ("pause", "note", "memoryd resume"), ("service", "ok", "")],
        ),
        (
            serving(names_this_python=False),
            [("daemon", "ok", ""), ("service", "problem", "memoryd service install")],
        ),
        (
            serving(service=INSTALLED._replace(active="failed", text="It broke.")),
            [("daemon", "ok", ""), ("service", "problem", "memoryd service restart")],
        ),
        (
            serving(service=INSTALLED._replace(is_enabled=False)),
            [("daemon", "ok", ""), ("service", "problem", "memoryd service install")],
        ),
        (
            serving(running=None, failure=Failure(NOW - 60, 78, "Bad config.", "vi c")),
            [
                ("daemon", "problem", "memoryd service restart"),
                ("service", "ok", ""),
                ("last_failure", "problem", "vi c"),
            ],
        ),
    ],
)
def test_how_memoryd_runs(facts: daemon.DaemonFacts, found: list[tuple[str, str, str]]) -> None:
    assert [(check.name, check.verdict, check.fix) for check in daemon.judge_daemon(facts)] == found


def test_a_running_daemon_and_a_pause_are_seen(world: World, paths: Paths, database: Database) -> None:
    pauses.begin(database, None, NOW)
    with only_instance(paths, since=NOW - 5) as held:
        held.write_state("polling", [Trouble("polling_only", "Slow.", "mend")])
        facts = daemon.read_daemon(world)
    assert facts.running is not None
    assert (facts.running.pid, facts.running.troubles) == (os.getpid(), (Trouble("polling_only", "Slow.", "mend"),))
    assert facts.pause == Pause(NOW, None)
    assert verdicts(daemon.judge_daemon(facts))[:3] == [("daemon", "ok"), ("trouble", "problem"), ("pause", "note")]
