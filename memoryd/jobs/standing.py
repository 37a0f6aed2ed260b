"""Whether the engine that the config names can work now; if not, why and until when. Light: `status` asks it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.anthropic import account
from memoryd.model import Wait
from memoryd.state import holds

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.holds import Hold


def hold_of(database: Database, paths: Paths, config: Config, now: float) -> Hold | None:
    if not account.is_chosen(config):
        return None
    settings = account.settings_digest(paths.config_file, config.anthropic)
    return holds.standing(database, account.NAME, settings, now)


def as_wait(hold: Hold | None) -> Wait | None:
    return None if hold is None else Wait(hold.until, hold.reason, hold.text.rstrip("."))
