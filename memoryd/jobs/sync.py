"""Synchronisation: memory directories are exchanged with the stores that the config names."""

from __future__ import annotations

import getpass
import hashlib
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import MemorydError
from memoryd.jobs.process_lock import only_process
from memoryd.jobs.repository_identity import record_identities, recorded_identity
from memoryd.jobs.team import reindex_project, team_dir_of
from memoryd.jobs.team_answers import apply_switch, reason_not_to, team_place
from memoryd.memory.tier_names import GLOBAL_FOLDER
from memoryd.projects import is_excluded
from memoryd.security.redact import redact
from memoryd.state import sync, team
from memoryd.state.projects import all_projects, owner_of
from memoryd.stores.base import StoreError
from memoryd.stores.git import MACHINES_REF, TEAM_REF
from memoryd.stores.git_runner import GitRunner
from memoryd.stores.keys import clean_author
from memoryd.stores.open_store import open_store
from memoryd.stores.protocol import exchange
from memoryd.stores.replica import Replica

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoryd.config import Config
    from memoryd.jobs.repository_identity import RepositoryIdentity
    from memoryd.paths import Paths
    from memoryd.projects import Project
    from memoryd.state.database import Database
    from memoryd.state.team import TeamAnswer
    from memoryd.stores.base import SharedStore
    from memoryd.stores.protocol import RoundResult

_UNKNOWN_ELSEWHERE = "it is no git repository with a remote or a commit, so it is not known elsewhere"
_ADDRESS = re.compile(r"<?[^\s@]+@[^\s@]+>?")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9._-]+")


class Shared(NamedTuple):
    """What is exchanged with one store."""

    address: str
    ref: str
    replicas: tuple[Replica, ...]
    staying: Mapping[str, str]
    """Roots of projects that are not exchanged, and why."""
    team_root: str = ""
    """For a team: the root of a project of it. Empty: for one's own machines."""

    @property
    def is_team(self) -> bool:
        return bool(self.team_root)

    def open(self, paths: Paths, environment: Mapping[str, str]) -> SharedStore:
        return open_store(self.address, self.ref, paths, environment)


class SyncOutcome(NamedTuple):
    """What came of one store: a result or an error."""

    shared: Shared
    store: str
    """Its address, as the database knows it."""
    result: RoundResult | None = None
    error: MemorydError | None = None


def all_shared(database: Database, config: Config) -> list[Shared]:
    """What is exchanged, by store: with one's own machines, and with the team of each project."""
    machines = [_machines(database, config)] if config.sync.remote else []
    return [*machines, *(_teams(database, config) if config.is_team_on else ())]


def _teams(database: Database, config: Config) -> list[Shared]:
    """The team's memories of the projects that take part, by store: each on its own remote, or all in one."""
    stores: dict[str, list[Replica]] = {}
    roots: dict[str, str] = {}
    answers = team.answers(database)
    for project in all_projects(database):
        answer = answers.get(project.memory_dir)
        if answer is None or not answer.place or reason_without_team(database, config, project, answer):
            continue
        place = team_place(config, project.root)
        prefix = prefix_of(recorded_identity(database, project.root), "team") if place.has_prefix else ""
        stores.setdefault(place.address, []).append(Replica(team_dir_of(project.memory_dir), prefix))
        roots.setdefault(place.address, project.root)
    return [Shared(address, TEAM_REF, tuple(replicas), {}, roots[address]) for address, replicas in stores.items()]


def projects_without_team(database: Database, config: Config) -> dict[str, str]:
    """Roots of projects that are exchanged with no team although teams are on, and why."""
    answers = team.answers(database) if config.is_team_on else {}
    reasons = {
        project.root: reason_without_team(database, config, project, answers.get(project.memory_dir))
        for project in (all_projects(database) if config.is_team_on else ())
        if os.path.lexists(os.path.join(project.root, ".git"))
    }
    return {root: reason for root, reason in reasons.items() if reason}


def reason_without_team(database: Database, config: Config, project: Project, answer: TeamAnswer | None) -> str:
    """Why the memories of a project are exchanged with no team. Empty: they are."""
    if not os.path.isdir(project.root):
        return "it is not there"
    if is_excluded(project.root, config.projects.exclude):
        return "it is excluded in the config"
    if reason := reason_to_stay(database, project) or reason_not_to(config, project, answer):
        return reason
    if team_place(config, project.root).has_prefix and not prefix_of(recorded_identity(database, project.root)):
        return _UNKNOWN_ELSEWHERE
    return ""


def _machines(database: Database, config: Config) -> Shared:
    """The memories about the person, and of all projects that are known by more than a path, for one's own machines."""
    replicas: dict[str, Replica] = {}
    staying: dict[str, str] = {}
    if database.paths is not None and database.paths.global_dir:
        replicas[database.paths.global_dir] = Replica(database.paths.global_dir, f"{GLOBAL_FOLDER}/")
    for project in all_projects(database):
        prefix = prefix_of(recorded_identity(database, project.root))
        if is_excluded(project.root, config.projects.exclude):
            staying[project.root] = "it is excluded in the config"
        elif reason := reason_to_stay(database, project):
            staying[project.root] = reason
        elif not prefix:
            staying[project.root] = _UNKNOWN_ELSEWHERE
        elif os.path.isdir(project.root) or os.path.isdir(project.memory_dir):
            replicas[project.memory_dir] = Replica(project.memory_dir, prefix)
    return Shared(config.sync.remote, MACHINES_REF, tuple(replicas.values()), staying)


def reason_to_stay(database: Database, project: Project) -> str:
    """Why the memory directory of a project is exchanged with nobody: it is not this project's alone. Empty: it is.

    A project without a root is a memory directory that was named by its path.
    """
    owner = owner_of(database, project.memory_dir)
    is_shared = project.is_shared or (
        not project.root
        and not owner
        and any(other.memory_dir == project.memory_dir for other in all_projects(database))
    )
    if is_shared:
        return "it shares its memory directory with other projects"
    if project.root and owner not in ("", project.root):
        return "its memory directory is that of another project"
    return ""


def prefix_of(identity: RepositoryIdentity, top: str = "projects") -> str:
    """Folder of a project in the store: the same on every machine. Empty where nothing tells what the project is.

    `top` keeps what is for one's own machines (`projects`) apart from what is for the team (`team`).
    """
    told = identity.remote or identity.first_commit
    if not told:
        return ""
    name = _NOT_IN_NAMES.sub("-", told.rpartition("/")[2].lower()).strip(".-")[:60] if identity.remote else "commit"
    return f"{top}/{name or 'project'}-{hashlib.sha256(told.encode()).hexdigest()[:16]}/"


def sync_all(
    database: Database, paths: Paths, config: Config, environment: Mapping[str, str], now: float
) -> Iterator[SyncOutcome]:
    """Exchange with each store, one after the other; one that fails does not keep the others back.

    Raises BusyError where another process is at it.
    """
    with only_process(paths, "", "sync", "Another memoryd is exchanging memories right now."):
        record_identities(paths, [project.root for project in all_projects(database)], now)
        apply_switch(database, config, now)
        for shared in all_shared(database, config):
            address = shared.address
            try:
                store = shared.open(paths, environment)
                address = store.address
                author = person_name(environment, shared.team_root) if shared.is_team else machine_name()
                result = exchange(database, store, shared.replicas, author, now)
                if shared.is_team and result.taken + result.dropped:
                    for replica in shared.replicas:
                        reindex_project(database, os.path.dirname(replica.memory_dir), now)
            except MemorydError as error:
                yield _failed(database, shared, address, error, now)
            except Exception as error:  # noqa: BLE001 - one store must not keep the others back, whatever is wrong with it
                told = StoreError(
                    f"{address} cannot be used: {type(error).__name__}: {redact(str(error))}", "memoryd doctor"
                )
                yield _failed(database, shared, address, told, now)
            else:
                yield SyncOutcome(shared, address, result)


def _failed(database: Database, shared: Shared, address: str, error: MemorydError, now: float) -> SyncOutcome:
    """Record that the exchange with a store failed, so that `status` tells of it."""
    last = sync.last_round(database, address)
    sync.put_round(database, last._replace(at=now, error=error.sentence, fix=error.fix))
    return SyncOutcome(shared, address, error=error)


def machine_name() -> str:
    """Name of this machine, as the others are told it."""
    return os.uname().nodename.partition(".")[0] or "a machine"


def person_name(environment: Mapping[str, str], root: str) -> str:
    """Name of the user, as the team of a project is told it: the one that git puts on commits there, else the account's.

    Of a name that is an e-mail address, only what stands before the @.
    """
    told = GitRunner(os.path.join(root, ".git"), environment).run("config", "--get", "user.name")
    name = told.out.decode("utf-8", "replace").strip() if not told.code else ""
    return clean_author(name.partition("@")[0] if _ADDRESS.fullmatch(name) else name) or getpass.getuser()
