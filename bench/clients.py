"""How fast the sessions of each client become turns, beside json on the same bytes."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench import table
from bench.measure import best
from memoryd.clients.registry import client_named
from memoryd.model import Cursor
from memoryd.transcripts.tail import read_new_turns
from tests.clients.homes import SCRIBES

if TYPE_CHECKING:
    from tests.clients.homes import Scribe

SIZE = 40_000_000
ROUNDS = 3
_OUTPUT = "the output of a tool, which nobody reads\n" * 200
"""Most bytes of a session are answers of tools."""


def run(directory: str) -> None:
    rows = []
    for scribe_of in SCRIBES:
        path = _write(scribe_of(), Path(directory, scribe_of.client))
        size = os.path.getsize(path)
        taken = best(ROUNDS, {"memoryd": partial(_follow, scribe_of.client, path), "json": partial(_json, path)})
        rows.append(
            (
                scribe_of.client,
                f"{size / taken['memoryd'] / 1e6:,.0f}",
                f"{size / taken['json'] / 1e6:,.0f}",
                table.times(taken["json"], taken["memoryd"]),
            )
        )
        path.unlink()
    table.show(
        "clients: MB of made-up sessions per processor second, from the file to turns, and json.loads on the same lines",
        ("", "memoryd", "json", "memoryd to it"),
        rows,
    )


def _write(scribe: Scribe, home: Path) -> Path:
    path = scribe.write(home, scribe.head())
    size = 0
    while size < SIZE:
        turn = b"".join(
            (
                scribe.prompt("please look at the parser"),
                *(part for _ in range(4) for part in (scribe.call("/code/acme/a.py"), scribe.result(), scribe.bulk())),
                scribe.reply("I looked, and it is all tabs."),
            )
        )
        for short in (b"use tabs", b"Output:\\nok"):
            turn = turn.replace(short, json.dumps(_OUTPUT)[1:-1].encode())
        scribe.write(home, turn)
        size += len(turn)
    return path


def _follow(client: str, path: Path) -> int:
    return len(read_new_turns(client_named(client), str(path), Cursor(), (), budget_bytes=1 << 60).turns)


def _json(path: Path) -> int:
    with path.open("rb", buffering=1 << 20) as file:
        return sum(bool(json.loads(line)) for line in file)
