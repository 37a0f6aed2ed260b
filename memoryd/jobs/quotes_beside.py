"""Quotes that recall hands over beside memories: unconfirmed ones, and lines of daily logs that are none yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.state.quotes import Quote, logs_with_lines, unconfirmed_quotes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.state.database import Database


def quotes_beside(database: Database, memory_dir: str) -> list[Quote]:
    """Unconfirmed memories, and lines of the logs that extraction appends to, as they stand there now."""
    logs = logs_with_lines(database, memory_dir)
    return [
        *unconfirmed_quotes(database, memory_dir),
        *(_lines_of(database, memory_dir, logs) if logs else ()),
    ]


def _lines_of(database: Database, memory_dir: str, logs: set[str]) -> Iterator[Quote]:
    from memoryd.jobs.new_log_lines import undistilled  # noqa: PLC0415 - only where there are daily logs
    from memoryd.state.log_lines import outdated  # noqa: PLC0415 - as above

    left_out = outdated(database, memory_dir)
    for line in undistilled(database, memory_dir, logs):
        if (line.log, line.digest) in left_out:
            continue
        if line.fact is None:  # the user's own, or edited
            for message in line.said:
                yield _quote(line.log, message.text, message.said_at, "")
        elif line.fact.type is not None:  # else it takes something back
            said_at = max((piece.said_at for piece in line.fact.evidence if piece.said_at is not None), default=None)
            yield _quote(line.log, line.fact.text, said_at, line.fact.type)


def _quote(log: str, text: str, said_at: float | None, kind: str) -> Quote:
    import hashlib  # noqa: PLC0415 - as above

    number = int.from_bytes(hashlib.blake2b(f"{log}\n{text}".encode(), digest_size=7).digest())
    return Quote(-number, log, text.encode(), text, said_at or 0.0, log, kind)
