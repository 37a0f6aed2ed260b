"""How fast the bytes of a transcript become turns."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from bench import corpus, table
from bench.measure import best
from memoryd.clients.registry import ALL
from memoryd.model import Cursor
from memoryd.transcripts.tail import read_new_turns

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 200_000_000
ROUNDS = 5
CHUNK_BYTES = 1 << 20
SPOKEN = ("user", "assistant")


def run(directory: str) -> None:
    if block := corpus.real():
        _measure(os.path.join(directory, "real.jsonl"), block, "real sessions", None)
    else:
        print("\nno real transcripts beside the project: only made-up ones are measured")
    _measure(os.path.join(directory, "made-up.jsonl"), corpus.made_up(), "a made-up session", corpus.TURNS)


def _measure(path: str, block: bytes, name: str, turns: int | None) -> None:
    count = corpus.write_repeated(path, block, SIZE)
    size = os.path.getsize(path)
    contestants: dict[str, Callable[[], int]] = {
        "memoryd: follow": partial(_follow, path),
        "json.loads per line": partial(_json, path),
        "filter and typed decode": partial(_filter_and_decode, path),
        "typed decode of every line": partial(_decode_all, path),
        "read from the page cache": partial(_read, path),
        "memcpy": partial(_copy, size),
    }
    taken = best(ROUNDS, contestants)
    own, *_ = taken.values()
    table.show(
        f"parse: MB of {name} per processor second ({len(block) / 1e6:.1f} MB, {count} times), from the file to turns;"
        " and on the same bytes:",
        ("", "MB/s", "memoryd to it"),
        [
            (name, f"{size / seconds / 1e6:,.0f}", "" if seconds is own else table.times(seconds, own))
            for name, seconds in taken.items()
        ],
    )
    by_json, by_types, found = (
        contestants[name]() for name in ("json.loads per line", "filter and typed decode", "memoryd: follow")
    )
    print(f"  spoken lines: {by_json:,} by json, {by_types:,} by filter and typed decode", end="; ")
    print(f"turns: {found:,} by memoryd" + (f", {turns * count:,} written" if turns else ""))
    os.unlink(path)


def _follow(path: str) -> int:
    return len(read_new_turns(ALL[0], path, Cursor(), (), budget_bytes=1 << 60).turns)


def _json(path: str) -> int:
    with open(path, "rb", buffering=CHUNK_BYTES) as file:
        return sum(json.loads(line).get("type") in SPOKEN for line in file)


# The limit for a reader in Python: the fields that memoryd asks for and its filter, written down once more, so that
# nothing which slows down memoryd slows down the limit as well.


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    id: str | None = None
    tool_use_id: str | None = None


class _Message(msgspec.Struct, gc=False):
    role: str | None = None
    content: str | list[_Block] | None = None
    stop_reason: str | None = None


class _Origin(msgspec.Struct, gc=False):
    kind: str | None = None


class _Attachment(msgspec.Struct, gc=False, rename={"command_mode": "commandMode"}):
    type: str = ""
    prompt: str | list[_Block] | None = None
    command_mode: str | None = None
    origin: _Origin | None = None
    source_uuid: str | None = None


class _Fork(msgspec.Struct, gc=False, rename="camel"):
    message_uuid: str | None = None


class _Line(msgspec.Struct, gc=False, rename="camel"):
    type: str = ""
    uuid: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    timestamp: str | None = None
    message: _Message | None = None
    attachment: _Attachment | None = None
    is_meta: bool | None = None
    is_sidechain: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    agent_id: str | None = None
    team_name: str | None = None
    forked_from: _Fork | None = None
    origin: _Origin | None = None
    tool_use_result: msgspec.Raw = msgspec.Raw(b"null")


def _filter_and_decode(path: str) -> int:
    may_count = re.compile(rb'"(?:user|assistant|queued_command)"').search
    decode = msgspec.json.Decoder(_Line).decode
    with open(path, "rb", buffering=CHUNK_BYTES) as file:
        return sum(decode(line).type in SPOKEN for line in file if may_count(line) is not None)


def _decode_all(path: str) -> int:
    decode = msgspec.json.Decoder(_Line).decode
    with open(path, "rb", buffering=CHUNK_BYTES) as file:
        return sum(decode(line).type in SPOKEN for line in file)


def _read(path: str) -> int:
    buffer = bytearray(CHUNK_BYTES)
    size = 0
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            size += count
    return size


def _copy(size: int) -> int:
    """One chunk over and over, so within the processor's caches: nothing that touches bytes is faster."""
    view = memoryview(bytes(range(256)) * (CHUNK_BYTES // 256))
    return sum(len(bytes(view)) for _ in range(size // CHUNK_BYTES))
