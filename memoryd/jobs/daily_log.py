"""Daily-log mode of extraction: what review accepts becomes lines of daily logs, which a dream distils at night."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline import find
from memoryd.jobs.new_log_lines import undistilled
from memoryd.memory.daily_logs import log_line, log_name
from memoryd.memory.document import parse
from memoryd.model import AT_THE_END, FileChange, Group, StoredMemory
from memoryd.state import log_lines
from memoryd.state.quotes import logs_with_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoryd.engines.base import LoggedFact
    from memoryd.model import UserMessage
    from memoryd.state.database import Database


def as_log_lines(groups: Iterable[Group], said: Sequence[UserMessage], now: float) -> tuple[Group, ...]:
    """A line for each group, in the log of the day on which it was said; it rests on what the group rests on.

    The messages go with it: the dream that distils the log reads what was said, in its own words.
    """
    return tuple(_as_log_line(group, said, now) for group in groups)


def note_outdated_lines(database: Database, memory_dir: str, said: Sequence[UserMessage]) -> None:
    """Note the waiting lines that these words take back or tell anew: recall does not wait for the night.

    By rules, whatever the engine, as if each line were a memory already. The night decides for itself; a kill before this
    leaves a line that is recalled until then.
    """
    logs = logs_with_lines(database, memory_dir)
    new = {message.message_id for message in said}
    waiting = {
        f"{line.log}#{line.digest}": line.fact
        for line in undistilled(database, memory_dir, logs)
        if line.fact is not None and new.isdisjoint(message.message_id for message in line.said)
    }
    found = find(said, lambda: [_as_memory(name, fact) for name, fact in waiting.items()])
    outdated = (name.partition("#") for memory in found.written for name in memory.files)
    log_lines.note_outdated(database, memory_dir, ((log, digest) for log, _, digest in outdated))


def _as_memory(name: str, fact: LoggedFact) -> StoredMemory:
    """The memory that a line is about to become."""
    said_at = max((piece.said_at for piece in fact.evidence if piece.said_at is not None), default=0.0)
    return StoredMemory(name, fact.type, fact.text, fact.text, is_ours=True, evidence=fact.evidence, written_at=said_at)


def _as_log_line(group: Group, said: Sequence[UserMessage], now: float) -> Group:
    cited = {piece.message_id for _, piece in group.evidence}
    written = next((change.after for change in group.changes if change.after is not None), None)
    memory = parse(written) if written is not None else None
    # Of a memory that is taken back there is nothing left but the words that did it.
    fact = memory.body if memory is not None else " ".join(dict.fromkeys(piece.quote for _, piece in group.evidence))
    said_at = max((piece.said_at for _, piece in group.evidence if piece.said_at is not None), default=now)
    name = log_name(min(said_at, now))
    return Group(
        (FileChange(name, None, log_line(min(said_at, now), fact), offset=AT_THE_END),),
        group.why,
        tuple(dict.fromkeys((name, piece) for _, piece in group.evidence)),
        said=tuple(message for message in said if message.message_id in cited),
        type=memory.type if memory is not None else None,
    )
