"""Synchronisation: memory directories are exchanged with the stores that the config names."""

from __future__ import annotations

import getpass
import hashlib
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import MemorydError
from memoryd.jobs.process_lock import only_process
from memoryd.jobs.repository_identity import record_identities, recorded_identity, remote_of
from memoryd.jobs.team import reindex_project, team_dir_of
from memoryd.memory.tier_names import GLOBAL_FOLDER
from memoryd.projects import is_excluded
from memoryd.security.invisible import without_invisible
from memoryd.security.redact import redact
from memoryd.state import queries, sync
from memoryd.state.projects import all_projects, owner_of
from memoryd.stores.base import StoreError
from memoryd.stores.git import MACHINES_REF, TEAM_REF
from memoryd.stores.git_runner import GitRunner
from memoryd.stores.open_store import FOLDER_SCHEME, open_store
from memoryd.stores.protocol import exchange
from memoryd.stores.replica import Replica

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoryd.config import Config
    from memoryd.jobs.repository_identity import RepositoryIdentity
    from memoryd.paths import Paths
    from memoryd.projects import Project
    from memoryd.state.database import Database
    from memoryd.stores.base import SharedStore
    from memoryd.stores.protocol import RoundResult

_AT_WORK_SECONDS = 14 * 86_400.0
"""The team of a project that nobody works on any more is not asked, unless it has shared something here."""
_NAME_CHARACTERS = 60
_NOT_IN_NAMES = re.compile(r"[^a-z0-9._-]+")


class Shared(NamedTuple):
    """What is exchanged with one store."""

    address: str
    ref: str
    replicas: tuple[Replica, ...]
    staying: Mapping[str, str]
    """Roots of projects that are not exchanged, and why."""
    is_team: bool = False
    """For a team; else for one's own machines."""

    def open(self, paths: Paths, environment: Mapping[str, str]) -> SharedStore:
        return open_store(self.address, self.ref, paths, environment)


class SyncOutcome(NamedTuple):
    """What came of one store: a result or an error."""

    shared: Shared
    store: str
    """Its address, as the database knows it."""
    result: RoundResult | None = None
    error: MemorydError | None = None


def all_shared(database: Database, config: Config, now: float) -> list[Shared]:
    """What is exchanged, by store: with one's own machines, and with the team of each project."""
    machines = [_machines(database, config)] if config.sync.remote else []
    return [*machines, *(_teams(database, config, now) if config.is_team_on else ())]


def _teams(database: Database, config: Config, now: float) -> list[Shared]:
    """The team's memories of the projects that are worked on, by store: each on its own remote, or all in one."""
    stores: dict[str, list[Replica]] = {}
    staying: dict[str, dict[str, str]] = {}
    projects = {project.root: project for project in all_projects(database)}
    for report in queries.projects(database):
        is_at_work = report.active_at is None or now - report.active_at < _AT_WORK_SECONDS
        if is_excluded(report.root, config.projects.exclude):
            continue
        team_dir = team_dir_of(report.memory_dir)
        if not os.path.isdir(report.root) or not (is_at_work or os.path.isdir(team_dir)):
            continue
        if config.team.store == "folder":
            address, prefix = FOLDER_SCHEME + report.root, ""
        elif config.team.store == "ref":
            address, prefix = remote_of(report.root), ""
        else:
            prefix = prefix_of(recorded_identity(database, report.root), "team")
            address = config.team.store if prefix else ""
        if not address:
            continue
        replicas = stores.setdefault(address, [])
        if reason := reason_to_stay(database, projects[report.root]):
            staying.setdefault(address, {})[report.root] = reason
        else:
            replicas.append(Replica(team_dir, prefix))
    return [
        Shared(address, TEAM_REF, tuple(replicas), staying.get(address, {}), is_team=True)
        for address, replicas in stores.items()
    ]


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
            staying[project.root] = (
                "it is no git repository with a remote or a commit, so other machines cannot know it"
            )
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
        for shared in all_shared(database, config, now):
            if shared.is_team and not shared.replicas:
                continue  # all its projects stay
            address = shared.address
            try:
                store = shared.open(paths, environment)
                address = store.address
                author = person_name(paths, environment) if shared.is_team else machine_name()
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


def person_name(paths: Paths, environment: Mapping[str, str]) -> str:
    """Name of the user, as the team is told it: the one that git puts on commits, else that of the account."""
    found = GitRunner(os.path.join(paths.state_dir, "stores"), environment).run("config", "--get", "user.name")
    name = found.out.decode("utf-8", "replace").strip() if not found.code else ""
    return without_invisible(name)[:_NAME_CHARACTERS] or getpass.getuser()
