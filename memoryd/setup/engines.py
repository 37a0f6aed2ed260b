"""Engines to choose from at setup: which are there, and what each would have used on the last thirty days."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, NamedTuple

from memoryd import atomic_file
from memoryd.config import parse
from memoryd.errors import ConfigError
from memoryd.jobs.estimate import estimate
from memoryd.jobs.gates import left_alone
from memoryd.setup.config_text import with_setting, without_setting
from memoryd.state import waiting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database

USED_SECONDS = 30 * 86_400.0
_MOST_BYTES = 8 << 20
_CENTS = 0.1
_KEYS = ("api_key_file", "api_key_command", "api_key_variable")
_OF_LOCAL = ("base_url", "extraction_model", "dream_model")


class RecentUse(NamedTuple):
    """What was said in the last thirty days, as a model would be sent it."""

    sessions: int
    turns: int
    tokens: int
    usd: float
    """At the price of the models that the config names."""


class EngineChoice(NamedTuple):
    name: str
    """As the config has it; a local model is `anthropic` at another address."""
    key_file: str = ""
    base_url: str = ""
    model: str = ""


def recent_use(database: Database, paths: Paths, config: Config, now: float) -> RecentUse:
    """Measured from the transcripts, also those that were read already; nothing is sent."""
    sessions = [
        session
        for session in waiting.recent_sessions(database, now - USED_SECONDS)
        if session.memory_dir and left_alone(session, config, paths.state_dir) is None
    ]
    turns = sum(len(session.turn_ids) for session in sessions)
    found = estimate(database, paths, config, sessions, again=True)
    return RecentUse(len(sessions), turns, found.tokens, found.usd)


def in_words(name: str, use: RecentUse) -> str:
    """What an engine would have used, for the user who chooses; empty where there is nothing to measure."""
    if not use.turns:
        return ""
    if name == "claude":
        return f"your last 30 days: about {use.sessions:,} runs and {use.tokens:,} tokens of your plan"
    if name == "anthropic":
        return f"your last 30 days: about {use.usd:.{2 if use.usd >= _CENTS else 4}f} USD"
    if name == "local":
        return f"your last 30 days: about {use.tokens:,} tokens on your own machine, free"
    return "your last 30 days: nothing; free, no network"


def has_logged_in_claude(paths: Paths, environment: Mapping[str, str]) -> bool:
    """Whether the user's own `claude` is there and has an account, as its files say; nothing is started."""
    if shutil.which("claude", path=environment.get("PATH")) is None:
        return False
    if os.path.isfile(os.path.join(paths.claude_dir, ".credentials.json")):
        return True
    places = (os.path.join(paths.claude_dir, ".claude.json"), os.path.join(paths.home, ".claude.json"))
    for place in places:
        try:
            known = json.loads(atomic_file.read_regular(place, _MOST_BYTES) or b"null")
        except (ValueError, RecursionError):
            continue
        if isinstance(known, dict) and known.get("oauthAccount"):
            return True
    return False


def config_text(text: str | None, choice: EngineChoice, paths: Paths) -> str:
    """The config file with this engine chosen. Raises ConfigError where it could not be used then.

    A key is not sent to the address of a local model, nor a local model asked for with a key: what was for the other goes.
    """
    new = text or ""
    for key in _KEYS if choice.base_url else _OF_LOCAL if choice.key_file else ():
        new = without_setting(new, "anthropic", key)
    settings = [("", "engine", choice.name)]
    settings += [("anthropic", "api_key_file", choice.key_file)] if choice.key_file else []
    settings += [("anthropic", "base_url", choice.base_url)] if choice.base_url else []
    if choice.model:
        settings += [("anthropic", "extraction_model", choice.model), ("anthropic", "dream_model", choice.model)]
    for table, key, value in settings:
        new = with_setting(new, table, key, value)
    if parse(new.encode(), paths).engine != choice.name:
        raise ConfigError(
            f"{paths.config_file} is written in a way in which the engine cannot be set by a program.",
            f'put engine = "{choice.name}" into it by hand',
        )
    return new
