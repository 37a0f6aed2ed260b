"""Other tools that extract or dream here: the client itself, and other memory tools."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.claude_code.settings import read_settings
from memoryd.clients.registry import present_clients
from memoryd.diagnosis.checks import machine
from memoryd.diagnosis.checks.files import MOST_DIRECTORIES
from memoryd.diagnosis.problems import Check
from memoryd.errors import StateError
from memoryd.formatting import short
from memoryd.memory import lock
from memoryd.memory.directory import open_directory
from memoryd.state import dreams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.clients.settings import ClientSettings, Switch
    from memoryd.diagnosis.facts import World


class Tool(NamedTuple):
    name: str
    words: tuple[str, ...]
    """One of them stands in its hooks, its plugin, its server or the name of its process."""
    places: tuple[str, ...] = ()
    """Below the user's home."""


TOOLS = (
    Tool("claude-mem", ("claude-mem",), (".claude-mem",)),
    Tool("episodic-memory", ("episodic-memory",), (".config/superpowers/conversation-archive",)),
    Tool("mem0", ("mem0", "openmemory"), (".mem0",)),
    Tool("memsearch", ("memsearch",), (".memsearch",)),
    Tool("basic-memory", ("basic-memory", "basic_memory"), (".basic-memory",)),
    Tool("mcp-memory-service", ("mcp-memory-service", "mcp_memory_service", "memory-awareness")),
    Tool("memory server of MCP", ("@modelcontextprotocol/server-memory", "mcp-server-memory")),
    Tool("supermemory", ("supermemory",)),
    Tool("letta", ("letta",), (".letta",)),
    Tool("cognee", ("cognee",)),
    Tool("graphiti", ("graphiti",)),
    Tool("engram", ("engram",), (".engram",)),
)


_PLACES = 3
"""Of one client that are named."""


class Seen(NamedTuple):
    tool: str
    where: tuple[str, ...]
    """`hook`, `plugin`, `server`, `process 12`, or its directory."""


class LockHolder(NamedTuple):
    memory_dir: str
    pid: int
    name: str
    is_ours: bool


class OtherToolFacts(NamedTuple):
    home: str
    auto_memory: Switch
    auto_dream: Switch
    extracts: bool
    """Whether memoryd does, by its own switches."""
    dreams: bool
    tools: tuple[Seen, ...]
    holders: tuple[LockHolder, ...]
    """Who consolidates a memory directory right now."""


def read_other_tools(world: World) -> OtherToolFacts:
    settings = read_settings(world.paths, world.environment)
    return OtherToolFacts(
        world.paths.home,
        settings.auto_memory,
        settings.auto_dream,
        world.config.features.extraction,
        world.config.features.dream,
        (*_tools(settings, world.paths.home, list(machine.processes())), *_clients(world)),
        tuple(_holders(world)),
    )


def _tools(settings: ClientSettings, home: str, processes: list[tuple[int, str]]) -> Iterator[Seen]:
    kinds = (("hook", settings.hooks), ("plugin", settings.plugins), ("server", settings.servers))
    for tool in TOOLS:
        where = [kind for kind, texts in kinds if any(word in text.lower() for text in texts for word in tool.words)]
        where += [f"process {pid}" for pid, name in processes if name.lower() in tool.words]
        where += [f"~/{place}" for place in tool.places if os.path.isdir(os.path.join(home, place))]
        if where:
            yield Seen(tool.name, tuple(where))


def _clients(world: World) -> Iterator[Seen]:
    """Clients that keep memories of their own, which nobody but they write."""
    for client in present_clients(world.paths):
        places = client.own_memories(world.paths)
        if places:
            more = (f"and {len(places) - _PLACES} more",) if len(places) > _PLACES else ()
            yield Seen(client.title, (*(short(place, world.paths.home) for place in places[:_PLACES]), *more))


def _holders(world: World) -> Iterator[LockHolder]:
    with world.database() as database:
        ours = {held.pid for held in dreams.held_locks(database)} if database else set()
    for path in world.memory_dirs()[:MOST_DIRECTORIES]:
        with suppress(OSError, StateError), open_directory(path) as directory:
            judged = lock.judge(lock.read(directory.descriptor), now=world.now, is_live=lock.holder_is_alive)
            if isinstance(judged, lock.LockHeld):
                yield LockHolder(path, judged.pid, machine.name_of(judged.pid), judged.pid in ours)


def judge_other_tools(facts: OtherToolFacts) -> Iterator[Check]:
    yield _judge_memory(facts)
    yield _judge_dream(facts)
    for seen in facts.tools:
        is_left_over = all(place.startswith(("~/", "and ")) for place in seen.where)
        where = ", ".join(seen.where)
        text = "was or is used here" if is_left_over else "remembers here too, and does not know of memoryd"
        yield Check("other_tools", "note", f"{seen.tool} {text} ({where})")
    if not facts.tools:
        yield Check("other_tools", "ok", "no other tool for memory is known to be here")
    for holder in facts.holders:
        place = short(holder.memory_dir, facts.home)
        if holder.is_ours:
            yield Check("consolidating", "ok", f"memoryd (process {holder.pid}) is dreaming in {place}")
        else:
            text = f"process {holder.pid} ({holder.name or 'unknown'}) consolidates {place} now; memoryd gives way"
            yield Check("consolidating", "note", text)


def _judge_memory(facts: OtherToolFacts) -> Check:
    ours = "memoryd" if facts.extracts else ""
    if facts.auto_memory.is_on is False:
        client = f"Claude Code's own memory is off ({_by(facts.auto_memory, facts.home)})"
        if not ours:
            text = f"nobody extracts: {client}, and so is extraction by memoryd"
            return Check("auto_memory", "note", text, "set features.extraction = true in the config")
        return Check("auto_memory", "note", f"only memoryd extracts: {client}, so it loads no memories either")
    if not ours:
        return Check("auto_memory", "note", "only Claude Code extracts: extraction by memoryd is switched off")
    text = "Claude Code and memoryd both extract; memoryd passes over turns for which Claude Code saved something"
    return Check("auto_memory", "ok", text)


def _judge_dream(facts: OtherToolFacts) -> Check:
    if facts.auto_dream.is_on is None:
        client = "Claude Code dreams if its maker has switched that on"
    elif facts.auto_dream.is_on:
        client = f"Claude Code dreams ({_by(facts.auto_dream, facts.home)})"
    else:
        client = f"Claude Code does not dream ({_by(facts.auto_dream, facts.home)})"
    if not facts.dreams:
        return Check("auto_dream", "note", f"memoryd does not dream: it is switched off; {client}")
    both = "" if facts.auto_dream.is_on is False else "; one lock keeps the two apart"
    return Check("auto_dream", "ok", f"memoryd dreams; {client}{both}")


def _by(switch: Switch, home: str) -> str:
    key, _, place = switch.by.partition(" in ")
    return f"{key} in {short(place, home)}"
