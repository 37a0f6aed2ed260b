"""Checks of everything that may keep memoryd from working here, and none changes anything.

1. each examination reads facts (`read_...`: from the world) and judges them (`judge_...`: pure, facts to checks)
2. all of them run at once, each in a thread: one that hangs on a dead file system is left behind when the time is over
3. one that fails is a problem of its own, never the end of the others
"""

from __future__ import annotations

import shlex
import threading
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import elapsed
from memoryd.diagnosis.problems import Check
from memoryd.errors import BusyError, MemorydError, StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.diagnosis.facts import World

LONGEST_SECONDS = 20.0

Examination = tuple[str, "Callable[[World], Sequence[Check]]"]


def _examination(title: str, module: str, subject: str) -> Examination:
    def read_and_judge(world: World) -> Sequence[Check]:
        # Imported here, so that a library that is missing costs this examination only.
        found = import_module(f"memoryd.diagnosis.checks.{module}")
        return list(getattr(found, f"judge_{subject}")(getattr(found, f"read_{subject}")(world)))

    return title, read_and_judge


EXAMINATIONS = (
    _examination("memoryd", "daemon", "daemon"),
    _examination("program", "program", "program"),
    _examination("config", "files", "config"),
    _examination("files", "files", "files"),
    _examination("database", "database", "database"),
    _examination("space", "disk", "disk"),
    _examination("watching", "watches", "watches"),
    _examination("clock", "program", "clock"),
    _examination("engine", "engine", "engine"),
    _examination("Claude Code", "client", "client"),
    _examination("hooks", "client", "hooks"),
    _examination("other agents", "other_clients", "other_clients"),
    _examination("memories", "database", "memories"),
    _examination("who else remembers", "other_tools", "other_tools"),
)


class Examined(NamedTuple):
    title: str
    checks: tuple[Check, ...]


def examine(world: World, examinations: Sequence[Examination] = EXAMINATIONS) -> list[Examined]:
    """Run all examinations and return them in order; it takes no longer than that, however broken the machine is."""
    found: dict[str, Sequence[Check]] = {}

    def run(title: str, examination: Callable[[World], Sequence[Check]]) -> None:
        try:
            found[title] = examination(world)
        except Exception as error:  # noqa: BLE001 - the last border before a person, who came because things are broken
            found[title] = (_failed(error),)

    # Daemons: the end of the program does not wait for one that hangs.
    threads = [threading.Thread(target=run, args=examination, daemon=True) for examination in examinations]
    for thread in threads:
        thread.start()
    deadline = elapsed() + LONGEST_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - elapsed()))
    text = f"this could not be looked at within {LONGEST_SECONDS:g} s: a disk or a command hangs"
    late = (Check("examination", "problem", text, "df -h"),)
    return [Examined(title, tuple(map(_as_line, found.get(title, late)))) for title, _ in examinations]


def _as_line(check: Check) -> Check:
    """A line of a list ends without a period; `status` shows the same sentences with it."""
    return check._replace(text=check.text.rstrip("."))


def _failed(error: Exception) -> Check:
    if isinstance(error, StateError | BusyError):
        return Check("examination", "note", "not looked at: the database cannot be asked")  # of which another one tells
    if isinstance(error, ModuleNotFoundError):
        text = f"this could not be looked at: the library {error.name} is missing"
        return Check("examination", "problem", text, "pip install --upgrade memoryd")
    if isinstance(error, MemorydError):
        return Check("examination", "problem", error.sentence, error.fix or "memoryd status")
    if isinstance(error, OSError) and error.filename:
        text = f"{error.filename} cannot be looked at: {error.strerror}"
        return Check("examination", "problem", text, f"ls -ld {shlex.quote(str(error.filename))}")
    # Only its kind: what it says may quote a file.
    text = f"this could not be looked at: a fault of memoryd's own ({type(error).__name__})"
    return Check("examination", "problem", text, "pip install --upgrade memoryd")
