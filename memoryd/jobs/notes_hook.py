"""Session notes for a hook: brought up to date before a compaction, handed back after it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from memoryd.clock import SystemClock
from memoryd.jobs.notes import hand_back, update_before_compaction
from memoryd.recall.surface import HOOK_CHARACTERS
from memoryd.state.database import open_database
from memoryd.state.notes import NotedSession

if TYPE_CHECKING:
    from memoryd.clients.base import HookCall
    from memoryd.config import Config
    from memoryd.paths import Paths

_DATABASE_SECONDS = 2.0
"""Longest wait for the database: a user waits for the client."""


def update_notes(client: str, call: HookCall, paths: Paths, config: Config) -> None:
    place = NotedSession(call.session_id, client, call.transcript, call.cwd)
    with closing(open_database(paths, _DATABASE_SECONDS)) as database:
        update_before_compaction(database, paths, config, place, SystemClock().now())


def notes_for(client: str, call: HookCall, paths: Paths, config: Config, taken: int) -> str:
    place = NotedSession(call.session_id, client, call.transcript, call.cwd)
    room, now = HOOK_CHARACTERS - taken - 1, SystemClock().now()
    with closing(open_database(paths, _DATABASE_SECONDS)) as database:
        return hand_back(database, paths, config, place, now, is_compacted=call.is_compacted, most_characters=room)
