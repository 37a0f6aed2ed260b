"""Sessions whose notes are due. It imports little, as the daemon asks at every look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.clients.registry import ALL
from memoryd.clock import day_of
from memoryd.engines.model import credentials
from memoryd.jobs import gates
from memoryd.state import model_calls
from memoryd.state import notes as kept_notes

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.notes import KeptNotes, NotedSession


def due(database: Database, paths: Paths, config: Config, now: float) -> list[NotedSession]:
    """Live sessions whose notes are behind."""
    if not config.features.notes:
        return []
    counting_rows = [client.name for client in ALL if client.counts_rows]
    return [
        place
        for place in kept_notes.due(database, now, counting_rows)
        if not gates.place_left_alone(place.cwd, place.project_root, config, paths.state_dir)
    ]


def due_by_model(database: Database, config: Config, now: float) -> list[KeptNotes]:
    """Notes to which a model may add something."""
    if not config.features.notes or not config.notes.model_share or not credentials.is_chosen(config):
        return []
    found = kept_notes.due_by_model(database, now)
    return found if found and has_share(database, config, now) else []


def has_share(database: Database, config: Config, now: float) -> bool:
    """Whether notes may still use the model today: they leave a part of its budget to those who read turns."""
    share, today = config.notes.model_share, day_of(now)
    if config.engine != credentials.CLAUDE:
        return model_calls.spent_between(database, *today) < share * config.budget.usd_per_day
    used, claude = model_calls.plan_use_between(database, credentials.CLAUDE, *today), config.claude
    return used.runs < share * claude.runs_per_day and used.tokens < share * claude.tokens_per_day
