"""The user's answer, project by project, whether it takes part in its team: without a yes nothing travels and nothing comes.

The config says where teams are in general, and a repository which remote it has; neither is a person's word for a project.
"""

from __future__ import annotations

import os
import re
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import BusyError, StateError
from memoryd.jobs.repository_identity import normalised, remote_of
from memoryd.jobs.team import reindex_project
from memoryd.state import team
from memoryd.state.database import open_for_reading
from memoryd.stores.folder import FOLDER
from memoryd.stores.open_store import FOLDER_SCHEME

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.projects import Project
    from memoryd.state.database import Database
    from memoryd.state.team import TeamAnswer

JOIN = "memoryd share --join"
_WITH_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://[^/]*?(?::(?P<port>\d+))?(?:/|$)")
_PORTS = {"https": "443", "ssh": "22"}


class TeamPlace(NamedTuple):
    """Where the memories of a project's team live."""

    address: str
    """Empty: there is no such place."""
    has_prefix: bool = False
    """Whether it is for several projects."""

    @property
    def name(self) -> str:
        """What a user agrees to: the same for ssh, https and `git@`, without a login.

        Another port may be another server, and a scheme without encryption is read by others: they are part of it.
        """
        if self.address.startswith(FOLDER_SCHEME):
            return os.path.join(self.address.removeprefix(FOLDER_SCHEME), *FOLDER)
        same = normalised(self.address)
        told = _WITH_SCHEME.match(self.address)
        if not same or told is None:
            return same or self.address
        scheme, port = told["scheme"].lower(), told["port"]
        if port in (None, _PORTS.get(scheme)):
            return same if scheme in _PORTS else f"{scheme}://{same}"
        host, _, path = same.partition("/")
        return f"{scheme}://{host}:{port}/{path}"


def team_place(config: Config, root: str) -> TeamPlace:
    """The place that the config and the project's remote name; git is asked for the remote."""
    if config.team.store == "folder":
        return TeamPlace(FOLDER_SCHEME + root)
    if config.team.store == "ref":
        return TeamPlace(remote_of(root))
    return TeamPlace(config.team.store, has_prefix=True)


def reason_not_to(config: Config, project: Project, answer: TeamAnswer | None) -> str:
    """Why a project is not exchanged with its team, as far as the user's answer goes. Empty: it is."""
    if answer is None:
        return f"you have not said yet that it takes part in its team ({JOIN})"
    if not answer.place:
        return f"you have left its team ({JOIN} to come back)"
    place = team_place(config, project.root)
    if not place.address:
        return "it has no remote that a team could share"
    if place.name != answer.place:
        return f"its team would be at {place.name} now, and you agreed to {answer.place} ({JOIN})"
    return ""


def join(database: Database, config: Config, project: Project, author: str, now: float) -> str:
    """Keep the user's yes for a project, by the name that the team is told; returns the place, empty where there is none."""
    place = team_place(config, project.root).name
    if place:
        team.put_answer(database, project.memory_dir, place, author, now)
        reindex_project(database, project.memory_dir, now)
    return place


def leave(database: Database, project: Project, now: float) -> None:
    """Keep the user's no: nothing is exchanged or shown any more. What came stays in its folder."""
    team.put_answer(database, project.memory_dir, "", "", now)
    reindex_project(database, project.memory_dir, now)


def dirs_with_team(paths: Paths, config: Config) -> frozenset[str]:
    """Memory directories in which the team's memories are shown beside the user's own."""
    with suppress(StateError, BusyError):  # without the database, the user's own
        database = open_for_reading(paths) if config.is_team_on else None
        if database is not None:
            with closing(database):
                return frozenset(name for name, answer in team.answers(database).items() if answer.is_on)
    return frozenset()


def apply_switch(database: Database, config: Config, now: float) -> None:
    """Make the indexes as the switch in the config says: with the team's lines, or without them."""
    for answer in team.answers(database).values():
        is_on = config.is_team_on and bool(answer.place)
        if answer.is_on != is_on and os.path.isdir(answer.memory_dir):
            team.switch(database, answer.memory_dir, is_on=is_on)
            reindex_project(database, answer.memory_dir, now)
