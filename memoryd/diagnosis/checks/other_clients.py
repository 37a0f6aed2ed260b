"""Other clients than Claude Code: whose sessions are read, whether all of their lines are understood, and who gets memories."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.connections import state_of
from memoryd.clients.memory_reader import MEMORY_READER
from memoryd.clients.registry import ALL, CONNECTED, present_clients
from memoryd.diagnosis.problems import Check
from memoryd.formatting import ago, count, short
from memoryd.state import projects as known_projects
from memoryd.state import queries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.clients.connections import Obstacle
    from memoryd.clients.settings import State
    from memoryd.diagnosis.facts import World


class OtherClient(NamedTuple):
    title: str
    sessions: int
    newest_at: float | None
    deletes_early: bool = False
    unknown_lines: int = 0
    """Lines of a type or shape that this memoryd does not know."""
    unknown_databases: tuple[str, ...] = ()
    """Databases with tables that this memoryd does not know."""
    compressed: int = 0
    """Sessions that it has compressed, which are not read."""
    connection: State | None = None
    """Whether memoryd is in its settings; None: it has none for that."""
    obstacle: Obstacle | None = None


class OtherClientFacts(NamedTuple):
    now: float
    clients: tuple[OtherClient, ...]
    home: str = ""


def read_other_clients(world: World) -> OtherClientFacts:
    with world.database() as database:
        damaged = queries.damaged(database) if database else []
        roots = [project.root for project in known_projects.all_projects(database)] if database else []
    found = []
    present = present_clients(world.paths)
    for client in ALL:
        listed = [client.inventory(place) for place in client.session_places(world.paths, roots)]
        files = [file for inventory in listed for file in inventory.found]
        if client is MEMORY_READER or not (files or client in present):
            continue
        odd = [file for inventory in listed for file in inventory.odd.items()]
        tables = tuple(path for path, kind in odd if kind == "unknown tables")
        compressed = sum(kind == "compressed" for _, kind in odd)
        newest = max((file.mtime_ns / 1e9 for file in files), default=None)
        own = [damage.lines for damage in damaged if damage.client == client.name]
        unknown = sum(lines.get("unknown_type", 0) + lines.get("unknown_shape", 0) for lines in own)
        facts = OtherClient(client.title, len(files), newest, client.deletes_early, unknown, tables, compressed)
        connected = next((other for other in CONNECTED if other.name == client.name), None)
        if connected is not None:
            state = state_of(connected.pieces(world.paths, sys.executable))
            obstacle = connected.obstacle(world.paths, sys.executable) if state == "installed" else None
            facts = facts._replace(connection=state, obstacle=obstacle)
        found.append(facts)
    return OtherClientFacts(world.now, tuple(found), world.paths.home)


def judge_other_clients(facts: OtherClientFacts) -> Iterator[Check]:
    if not facts.clients:
        yield Check("client", "ok", "no other agent that memoryd reads is used here")
    for client in facts.clients:
        newest = f", the newest {ago(facts.now - client.newest_at)} old" if client.newest_at is not None else ""
        early = "; it deletes some at its next start, so they are read first" if client.deletes_early else ""
        yield Check("transcripts", "ok", f"{client.title}: {count(client.sessions, 'session')}{newest}{early}")
        yield from _judge_connection(client)
        if client.compressed:
            sessions = count(client.compressed, "old session")
            text = f"{client.title} has compressed {sessions}, which memoryd cannot read; what it read before stays"
            yield Check("transcripts", "note", text)
        if client.unknown_lines:
            text = f"{client.title}: {count(client.unknown_lines, 'line')} of a kind that this memoryd does not know"
            fix = "pip install --upgrade memoryd"
            yield Check("unknown_lines", "note", f"{text}, left out; it may be newer than memoryd", fix)
        for path in client.unknown_databases:
            text = f"{client.title}: {short(path, facts.home)} has tables that this memoryd does not know"
            fix = "pip install --upgrade memoryd"
            yield Check(
                "unknown_lines", "note", f"{text}; what else is in it is read. It may be newer than memoryd", fix
            )


def _judge_connection(client: OtherClient) -> Iterator[Check]:
    if client.connection == "missing":
        yield Check(
            "hooks", "note", f"{client.title} gets no memories: memoryd is not in its settings", "memoryd setup"
        )
    elif client.connection == "outdated":
        text = f"what {client.title} runs is of another Python or an older memoryd than this one, or not whole"
        yield Check("hooks", "problem", text, "memoryd setup")
    elif client.obstacle:
        yield Check("hooks", "problem", *client.obstacle)
    elif client.connection == "installed":
        yield Check("hooks", "ok", f"{client.title} gets memories from this memoryd")
