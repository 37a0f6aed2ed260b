"""Resources of the MCP server: the index, and the memories of a project and of the person."""

from __future__ import annotations

import os
from urllib.parse import quote, unquote

from memoryd.mcp.protocol import McpResource
from memoryd.memory.directory import HEAD_BYTES, open_directory, problem_of
from memoryd.memory.document import parse
from memoryd.memory.tier_names import as_global, place_of
from memoryd.recall.context import index_of
from memoryd.security.redact import redact

_INDEX_URI = "memoryd://index"
_MEMORY_URI = "memoryd://memory/"
_MOST_LISTED = 500


def resources(memory_dir: str, global_dir: str) -> list[McpResource]:
    """The index and the memories that were changed last; nothing where there are none yet."""
    found: list[tuple[int, McpResource]] = []
    can_read = os.R_OK | os.X_OK
    places = [
        place
        for place in dict.fromkeys((memory_dir, global_dir))
        if os.path.isdir(place) and (place == memory_dir or problem_of(place, can_read) is None)
    ]
    for place in places:
        with open_directory(place) as directory:
            topics = directory.listing().topics
            for name in sorted(topics, key=lambda name: -topics[name])[:_MOST_LISTED]:
                state = directory.read(name, HEAD_BYTES)
                description = parse(state.data).description if state else ""
                shown_as = name if place == memory_dir else as_global(name)
                resource = McpResource(_MEMORY_URI + quote(shown_as), shown_as, redact(description))
                found.append((topics[name], resource))
    newest = sorted(found, key=lambda pair: -pair[0])[:_MOST_LISTED]
    about_index = "The index: a line for each memory of this project, and for the global ones."
    index = McpResource(_INDEX_URI, "MEMORY.md", about_index)
    return [index, *(resource for _, resource in newest)] if places else []


def text_of(memory_dir: str, global_dir: str, uri: str) -> str | None:
    """The text of a resource, without secrets; None where there is no such memory."""
    if uri == _INDEX_URI:
        return index_of(memory_dir, global_dir=global_dir).text or "There are no memories yet."
    wanted = unquote(uri.removeprefix(_MEMORY_URI)) if uri.startswith(_MEMORY_URI) else ""
    place, name = place_of(wanted, memory_dir, global_dir)
    if not os.path.isdir(place):
        return None
    with open_directory(place) as directory:
        state = directory.read(name) if name in directory.listing().topics else None
    return redact(state.data.decode("utf-8", "replace")) if state else None
