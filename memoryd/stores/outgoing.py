"""Batches of what goes to a store: a first exchange of many memories that is cut off has not been for nothing. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.stores.replica import LocalFiles, Replica

BATCH_FILES = 200
BATCH_BYTES = 1 << 20


class Outgoing(NamedTuple):
    """What goes from one directory to the store."""

    replica: Replica
    local: LocalFiles
    puts: dict[str, bytes]
    deletes: list[str]


def batches(outgoing: list[Outgoing]) -> Iterator[list[Outgoing]]:
    """What goes out, in pieces that are written one after the other; the deletions last, behind what replaces them."""
    batch: list[Outgoing] = []
    files = size = 0
    for each in outgoing:
        puts: dict[str, bytes] = {}
        for key, data in each.puts.items():
            if files and (files >= BATCH_FILES or size + len(data) > BATCH_BYTES):
                yield [*batch, each._replace(puts=puts, deletes=[])]
                batch, puts, files, size = [], {}, 0, 0
            puts[key] = data
            files, size = files + 1, size + len(data)
        batch.append(each._replace(puts=puts, deletes=[]))
    last = [*batch, *(each._replace(puts={}) for each in outgoing)]
    if any(each.puts or each.deletes for each in last):
        yield last
