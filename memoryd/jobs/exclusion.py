"""Turns that the client has already turned into memories: its main agent, or its own extractor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.memory.directory import HEAD_BYTES
from memoryd.memory.document import parse
from memoryd.memory.tier_names import is_global
from memoryd.state import history

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memoryd.memory.snapshot import Snapshot
    from memoryd.state.database import Database
    from memoryd.state.jobs import WaitingTurn
    from memoryd.transcripts.read import ReadTurn


class CoveredTurn(NamedTuple):
    """Turn to be skipped, and the file that was saved for it."""

    turn_id: int
    by: Literal["main_agent_saved", "client_saved"]
    name: str


def covered_turns(
    database: Database, snapshot: Snapshot, session_id: str, turns: Iterable[WaitingTurn], read: Mapping[str, ReadTurn]
) -> list[CoveredTurn]:
    """Turns that the client has saved something for.

    Writes of the main agent are in the transcript. The client's extractor leaves no trace there: its memories are those
    that name this session and were not written by memoryd; they belong to the turn in whose time they appeared.
    """
    found = []
    turns = list(turns)
    since = min((turn.said_at for turn in turns if turn.said_at is not None), default=0.0)
    appeared: list[tuple[str, float]] | None = None
    for turn in turns:
        if saved := read[turn.prompt_id].saved:
            found.append(CoveredTurn(turn.id, "main_agent_saved", saved[0]))
            continue
        if turn.said_at is None:
            continue
        if appeared is None:
            appeared = _foreign_memories(database, snapshot, session_id, since)
        end = turn.next_said_at if turn.next_said_at is not None else float("inf")
        name = next((name for name, at in appeared if turn.said_at <= at < end), None)
        if name is not None:
            found.append(CoveredTurn(turn.id, "client_saved", name))
    return found


def _foreign_memories(database: Database, snapshot: Snapshot, session_id: str, since: float) -> list[tuple[str, float]]:
    """Files that name this session as their origin, changed since then, and never written by us."""
    found = []
    ours = history.names_written(database, snapshot.path)
    for name, mtime_ns in snapshot.mtimes_ns.items():
        if mtime_ns / 1e9 < since or name in ours or is_global(name):  # no client writes there
            continue
        state = snapshot.read(name)
        if state is None or os.fsencode(session_id) not in state.data[:HEAD_BYTES]:
            continue
        if parse(state.data[:HEAD_BYTES]).origin_session_id == session_id:
            found.append((name, mtime_ns / 1e9))
    return found
