"""Whether memories are still true to the code, as far as the last look at it tells."""

from __future__ import annotations

import os
import shlex
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.doctor.check import Check, readable_database
from memoryd.errors import BusyError, StateError
from memoryd.recall.store import store_to_look
from memoryd.state.projects import all_projects
from memoryd.words import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoryd.doctor.check import World


class Facts(NamedTuple):
    home: str
    is_switched_off: bool
    outdated: Mapping[str, int]
    """How many memories name what is gone, by the root of their project."""


def look(world: World) -> Facts:
    outdated: dict[str, int] = {}
    store = store_to_look(world.paths)
    with readable_database(world.paths) as database, suppress(StateError, BusyError):
        if store is not None and database is not None:
            with closing(store):
                found = {os.fsdecode(path): number for path, number in store.outdated()}
            outdated = {
                project.root: found[project.memory_dir]
                for project in all_projects(database)
                if project.memory_dir in found
            }
    return Facts(world.paths.home, not world.config.features.rot_check, outdated)


def judge(facts: Facts) -> Iterator[Check]:
    if facts.is_switched_off:
        yield Check("rot", "note", "memories are not compared with the code: features.rot_check is off")
        return
    for root, number in sorted(facts.outdated.items()):
        names = "1 memory names" if number == 1 else f"{number:,} memories name"
        text = f"{names} what {short(root, facts.home)} no longer has"
        yield Check("rot", "note", text, f"memoryd verify --project {shlex.quote(root)}")
    if not facts.outdated:
        yield Check("rot", "ok", "no memory is known to name what the code no longer has")
