"""What may be wrong with memoryd here, and what mends it: one examination a file, and nothing is changed by any.

1. every examination looks (`look`: the world to facts) and judges (`judge`: facts to checks, pure)
2. all of them at once, each in a thread: one that hangs on a dead file system is left behind when the time is over
3. one that fails is a problem of its own, never the end of the others
"""

from __future__ import annotations

import shlex
import threading
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import elapsed
from memoryd.doctor.check import Check
from memoryd.errors import BusyError, MemorydError, StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.doctor.check import World

LONGEST_SECONDS = 20.0

Examination = tuple[str, "Callable[[World], Sequence[Check]]"]


def _examination(title: str, name: str) -> Examination:
    def look_and_judge(world: World) -> Sequence[Check]:
        module = import_module(
            f"memoryd.doctor.{name}"
        )  # here, so that a library that is missing costs one of them only
        return list(module.judge(module.look(world)))

    return title, look_and_judge


EXAMINATIONS = (
    _examination("memoryd", "service"),
    _examination("program", "program"),
    _examination("config", "settings"),
    _examination("files", "files"),
    _examination("database", "database"),
    _examination("space", "space"),
    _examination("watching", "watching"),
    _examination("clock", "times"),
    _examination("engine", "engine"),
    _examination("Claude Code", "client"),
    _examination("hooks", "hooks"),
    _examination("memories", "memories"),
    _examination("who else remembers", "neighbours"),
)


class Examined(NamedTuple):
    title: str
    checks: tuple[Check, ...]


def examine(
    world: World, examinations: Sequence[Examination] = EXAMINATIONS, longest_seconds: float = LONGEST_SECONDS
) -> list[Examined]:
    """Everything that is examined, in order; it takes no longer than that, however broken the machine is."""
    found: dict[str, Sequence[Check]] = {}

    def run(title: str, examination: Callable[[World], Sequence[Check]]) -> None:
        try:
            found[title] = examination(world)
        except Exception as error:  # noqa: BLE001 - the last border before a person, who came because things are broken
            found[title] = (_failed(error),)

    # Daemons: the end of the program does not wait for one that hangs.
    threads = [threading.Thread(target=run, args=one, daemon=True) for one in examinations]
    for thread in threads:
        thread.start()
    deadline = elapsed() + longest_seconds
    for thread in threads:
        thread.join(max(0.0, deadline - elapsed()))
    late = Check(
        "examination",
        "problem",
        f"this could not be looked at within {longest_seconds:g} s: a disk or a command hangs",
        "df -h",
    )
    return [Examined(title, tuple(found.get(title, (late,)))) for title, _ in examinations]


def _failed(error: Exception) -> Check:
    if isinstance(error, StateError | BusyError):
        return Check("examination", "note", "not looked at: the database cannot be asked")  # of which another one tells
    if isinstance(error, ModuleNotFoundError):
        text = f"this could not be looked at: the library {error.name} is missing"
        return Check("examination", "problem", text, "pip install --upgrade memoryd")
    if isinstance(error, MemorydError):
        return Check("examination", "problem", error.sentence.rstrip("."), error.fix or "memoryd status")
    if isinstance(error, OSError) and error.filename:
        text = f"{error.filename} cannot be looked at: {error.strerror}"
        return Check("examination", "problem", text, f"ls -ld {shlex.quote(str(error.filename))}")
    # Only its kind: what it says may quote a file.
    text = f"this could not be looked at: a fault of memoryd's own ({type(error).__name__})"
    return Check("examination", "problem", text, "pip install --upgrade memoryd")
