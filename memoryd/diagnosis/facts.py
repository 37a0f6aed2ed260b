"""Facts that `status` and `doctor` both show, and the world that they are read from."""

from __future__ import annotations

import os
import re
from contextlib import closing, contextmanager, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import day_of
from memoryd.config import load
from memoryd.daemon.single_instance import running_instance
from memoryd.engines.model import credentials
from memoryd.errors import BusyError, ConfigError, StateError
from memoryd.jobs.holds import hold_of
from memoryd.recall.store import store_to_look
from memoryd.state import model_calls, queries
from memoryd.state import settings as stored_settings
from memoryd.state.database import open_for_reading
from memoryd.state.model_calls import PlanUse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoryd.config import Config
    from memoryd.daemon.single_instance import Instance
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.engine_holds import Hold
    from memoryd.state.model_calls import LastAnswer

_SERVICE_FILES = ("{config}/systemd/user/memoryd.service", "{home}/Library/LaunchAgents/local.memoryd.plist")

_UNIT_CHARACTERS = 100_000


class World(NamedTuple):
    """Places and settings that facts are read from. Nothing in them is changed."""

    paths: Paths
    config: Config
    """The defaults where the file cannot be used."""
    now: float
    environment: Mapping[str, str] = MappingProxyType({})
    is_offline: bool = False
    """Nothing is asked over the network, and no command for the key is run."""

    @property
    def running(self) -> Instance | None:
        """The daemon that runs now."""
        return running_instance(self.paths)

    @contextmanager
    def database(self) -> Iterator[Database | None]:
        """The database if it can be read. What is wrong with one that cannot is told by its own check, once for all."""
        try:
            database = open_for_reading(self.paths)
        except (StateError, BusyError):
            database = None
        try:
            yield database
        finally:
            if database is not None:
                database.close()

    def memory_dirs(self) -> list[str]:
        """The memory directories of all projects, most recently active first."""
        with self.database() as database:
            return [place.memory_dir for place in queries.dream_directories(database)] if database else []


class PlanFacts(NamedTuple):
    """The user's own `claude`: which one was used last, and what was taken of the plan today."""

    command: str
    version: str = ""
    """Empty: it was not used yet."""
    since: float | None = None
    """When this program was first used."""
    answered: LastAnswer | None = None
    used: PlanUse = PlanUse()
    runs_per_day: int = 0
    tokens_per_day: int = 0

    @property
    def sentence(self) -> str:
        return (
            f"{self.used.runs} of {self.runs_per_day} runs and {self.used.tokens:,} of {self.tokens_per_day:,} tokens today,"
            f" on your plan; at list price {self.used.usd:.2f} USD"
        )


class ChosenEngine(NamedTuple):
    """The engine that reads the turns, and today's spending on it."""

    name: str
    model: str = ""
    base_url: str = ""
    spent_usd: float = 0.0
    """Today, with what is reserved."""
    usd_per_day: float = 0.0
    has_price: bool = True
    hold: Hold | None = None
    """What keeps it from working; never the user's pause."""
    plan: PlanFacts | None = None
    """None: it is not the user's own command."""


def read_chosen_engine(world: World, database: Database | None) -> ChosenEngine:
    config, settings = world.config, world.config.anthropic
    if not credentials.is_chosen(config):
        is_unused = config.engine == "auto" and settings.base_url != credentials.OFFICIAL
        return ChosenEngine("offline", base_url=settings.base_url if is_unused else "")
    hold = hold_of(database, config, world.now) if database else None
    hold = None if hold is None or hold.reason == "paused" else hold
    if config.engine == credentials.CLAUDE:
        return ChosenEngine(credentials.CLAUDE, config.claude.extraction_model, hold=hold, plan=_plan(world, database))
    models = (settings.extraction_model, settings.dream_model)
    return ChosenEngine(
        credentials.NAME,
        settings.extraction_model,
        settings.base_url,
        model_calls.spent_between(database, *day_of(world.now)) if database else 0.0,
        config.budget.usd_per_day,
        any(config.budget.price_of(model) is not None for model in models),
        hold,
    )


def _plan(world: World, database: Database | None) -> PlanFacts:
    claude = world.config.claude
    facts = PlanFacts(claude.command, runs_per_day=claude.runs_per_day, tokens_per_day=claude.tokens_per_day)
    if database is None:
        return facts
    if (known := stored_settings.get(database, stored_settings.CLAUDE)) is not None:
        facts = facts._replace(command=known.value["path"], version=known.value["version"], since=known.at)
    return facts._replace(
        answered=model_calls.last_answer(database, credentials.CLAUDE),
        used=model_calls.plan_use_between(database, credentials.CLAUDE, *day_of(world.now)),
    )


def read_config_error(paths: Paths) -> ConfigError | None:
    """Why the config file cannot be used; the command line has let that pass."""
    try:
        load(paths)
    except ConfigError as error:
        return error
    return None


def read_outdated(paths: Paths) -> dict[str, int]:
    """How many memories name what the repository no longer has, by memory directory, as the last rot check found."""
    store = store_to_look(paths)
    if store is not None:
        with closing(store), suppress(StateError, BusyError):
            return {os.fsdecode(path): number for path, number in store.outdated()}
    return {}


def is_service_installed(paths: Paths) -> bool:
    """Whether the service has a file. Asking the service manager takes longer than the rest of `status`."""
    return any(map(os.path.exists, _service_files(paths)))


def read_service_path(paths: Paths) -> str | None:
    """The PATH that the installed service has; None: there is no service, or its file names none."""
    for name in _service_files(paths):
        try:
            with open(name, encoding="utf-8", errors="replace") as file:
                text = file.read(_UNIT_CHARACTERS)
        except OSError:
            continue
        found = re.search(r'^Environment="?PATH=([^"\n]*)|<key>PATH</key>\s*<string>([^<]*)', text, re.MULTILINE)
        if found:
            return found[1] or found[2]
    return None


def _service_files(paths: Paths) -> list[str]:
    places = {os.path.dirname(os.path.dirname(paths.config_file)), os.path.join(paths.home, ".config")}
    return [name.format(config=place, home=paths.home) for name in _SERVICE_FILES for place in sorted(places)]
