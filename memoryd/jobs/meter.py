"""Meter of rules: what a session did after a memory was handed to it, by code, from its transcript.

1. the memories that it was handed, and since when
2. what is new in the transcript since the last look, read once
3. a call that a memory forbids, and a message that says the memory again, each noted once

Called behind the work on a session. Whatever is killed in between is looked at again; what was noted twice counts once.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.tool_actions import action_of
from memoryd.language.sentences import sentences_of
from memoryd.memory.tiers import Tiers
from memoryd.model import Prompt, Reply
from memoryd.projects import root_of
from memoryd.recall import shown
from memoryd.recall.again import is_restated
from memoryd.recall.reading import read_memory
from memoryd.recall.restated import restated_of
from memoryd.rules.calls import call_of
from memoryd.rules.forbidden import forbidden_in, read_patterns
from memoryd.rules.triggers import rule_of
from memoryd.sources.session import NotATranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.clients.base import CodingClient, Decoder
    from memoryd.paths import Paths
    from memoryd.recall.restated import Restated
    from memoryd.rules.match import Forbidden
    from memoryd.sources.lines import Line


class _Handed(NamedTuple):
    """A memory that the session was handed."""

    at: float
    forbids: tuple[Forbidden, ...]
    says: tuple[Restated, ...]


def measure(paths: Paths, client: CodingClient, session_id: str, path: str, memory_dir: str, now: float) -> None:
    """Note what a session did since the last look. Raises OSError where that cannot be noted."""
    log = shown.session_log(paths, session_id)
    tiers = Tiers(memory_dir, paths.global_dir)
    handed = {name: _handed(*tiers.place_of(name), at) for name, at in shown.first_shown(log, memory_dir).items()}
    if not handed:
        return
    refused = {str(line.get("call")) for line in log if "refused" in line}
    start = shown.measured_to(log, memory_dir)
    try:
        with client.open_session(path) as session:
            start = start if start <= session.end else 0  # it was rewritten
            notes, end = _read(client.decoder(path), session.lines(start), start, handed, refused)
    except (OSError, NotATranscriptError):
        return  # a session that vanished is measured no further
    if end > start:
        shown.record_measured(paths, session_id, memory_dir, notes, end, now)


def _handed(memory_dir: str, name: str, at: float) -> _Handed:
    memory = read_memory(memory_dir, name)
    forbids = read_patterns(memory.enforce) or () if memory.enforce else forbidden_in(memory.description, memory.body)
    texts = {memory.description, *sentences_of(rule_of(memory.body).strip().partition("\n\n")[0])}
    return _Handed(at, forbids, tuple(restated_of(text) for text in texts if text.strip()))


def _read(
    decode: Decoder, lines: Iterable[Line], start: int, handed: dict[str, _Handed], refused: set[str]
) -> tuple[list[dict[str, str]], int]:
    """What is to be noted, and how far the transcript was read."""
    damage: Counter[str] = Counter()
    notes: list[dict[str, str]] = []
    end = start
    for line in lines:
        end = line.end
        for entry in decode(line.data or b"", damage):
            if isinstance(entry, Reply):
                notes += _followed(entry, handed, refused)
            elif isinstance(entry, Prompt):
                notes += _corrected(entry, handed)
    return notes, end


def _followed(reply: Reply, handed: dict[str, _Handed], refused: set[str]) -> Iterator[dict[str, str]]:
    for call in reply.calls:
        if call.id in refused:
            continue
        meant = call_of(action_of(call), reply.cwd, root_of(reply.cwd) if os.path.isdir(reply.cwd) else "")
        for name, memory in handed.items():
            if (reply.said_at or 0.0) > memory.at and any(pattern.fits(meant) for pattern in memory.forbids):
                yield {"followed": name, "call": call.id}


def _corrected(prompt: Prompt, handed: dict[str, _Handed]) -> Iterator[dict[str, str]]:
    said = [restated_of(sentence) for sentence in sentences_of(prompt.text[:4000])]
    for name, memory in handed.items():
        is_again = any(is_restated(one, other) for one in said for other in memory.says)
        if is_again and (prompt.said_at or 0.0) > memory.at:
            yield {"corrected": name, "call": prompt.ids[0]}
