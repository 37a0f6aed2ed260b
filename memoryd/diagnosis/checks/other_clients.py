"""Other clients than Claude Code: whose sessions are read, and whether all of their lines are understood."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients import MEMORY_READER, present_clients
from memoryd.diagnosis.problems import Check
from memoryd.formatting import ago, count
from memoryd.state import queries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.diagnosis.facts import World


class OtherClient(NamedTuple):
    title: str
    sessions: int
    newest_at: float | None
    deletes_early: bool = False
    unknown_lines: int = 0
    """Lines of a type or shape that this memoryd does not know."""


class OtherClientFacts(NamedTuple):
    now: float
    clients: tuple[OtherClient, ...]


def read_other_clients(world: World) -> OtherClientFacts:
    with world.database() as database:
        damaged = queries.damaged(database) if database else []
    found = []
    for client in present_clients(world.paths):
        if client is MEMORY_READER:
            continue
        files = [file for place in client.session_places(world.paths, ()) for file in client.inventory(place).found]
        newest = max((file.mtime_ns / 1e9 for file in files), default=None)
        own = [damage.lines for damage in damaged if damage.client == client.name]
        unknown = sum(lines.get("unknown_type", 0) + lines.get("unknown_shape", 0) for lines in own)
        found.append(OtherClient(client.title, len(files), newest, client.deletes_early, unknown))
    return OtherClientFacts(world.now, tuple(found))


def judge_other_clients(facts: OtherClientFacts) -> Iterator[Check]:
    if not facts.clients:
        yield Check("client", "ok", "no other agent that memoryd reads is used here")
    for client in facts.clients:
        newest = f", the newest {ago(facts.now - client.newest_at)} old" if client.newest_at is not None else ""
        early = "; it deletes some at its next start, so they are read first" if client.deletes_early else ""
        yield Check("transcripts", "ok", f"{client.title}: {count(client.sessions, 'session')}{newest}{early}")
        if client.unknown_lines:
            text = f"{client.title}: {count(client.unknown_lines, 'line')} of a kind that this memoryd does not know"
            fix = "pip install --upgrade memoryd"
            yield Check("unknown_lines", "note", f"{text}, left out; it may be newer than memoryd", fix)
