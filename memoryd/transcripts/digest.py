"""Digest of a session as plain lines to be searched: who said what when, without secrets, of bounded size.

Tool calls and their results are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memoryd.model import Prompt, Reply, UserMessage
from memoryd.security.redact import redacted_excerpt
from memoryd.transcripts.opt_out import is_opt_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.clients.base import CodingClient
    from memoryd.model import Entry

MOST_BYTES = 262_144
LINE_CHARACTERS = 400
"""A longer message goes on in the next line: what a search finds is to be seen at once."""
_READ_BYTES = 64 << 20
"""Bytes that are read from the end of a longer transcript."""
_MESSAGE_CHARACTERS = 12_000
_ANSWER_CHARACTERS = 1_500
_HEAD_SHARE = 0.25
_BREAK = re.compile(rf"\S.{{0,{LINE_CHARACTERS - 1}}}(?!\S)|\S{{{LINE_CHARACTERS}}}")


class Digest(NamedTuple):
    text: str
    said: tuple[UserMessage, ...]
    """The user's messages in it, in order."""
    cwd: str
    """Where the session was last at work."""


def digest_of(client: CodingClient, path: str) -> Digest | None:
    """One transcript; None where its user wants it to be left out. Raises OSError and NotATranscriptError."""
    lines: list[str] = []
    said: list[UserMessage] = []
    answer = cwd = ""
    at: float | None = None
    for entry in _entries(client, path):
        if isinstance(entry, Prompt):
            if is_opt_out(entry.text):
                return None
            text = redacted_excerpt(entry.text, _MESSAGE_CHARACTERS)
            said.append(UserMessage(entry.session_id, entry.ids[0], entry.said_at, text, answer, entry.cwd))
            answer, at = "", entry.said_at
            lines += _lines("user", at, text)
        elif isinstance(entry, Reply):
            for words in filter(str.strip, entry.texts):
                answer = redacted_excerpt(words, _ANSWER_CHARACTERS)
                if said:
                    said[-1] = said[-1]._replace(reply=answer)
                lines += _lines("agent", at, answer)  # replies have no time of their own: that of the prompt
        else:
            continue
        cwd = entry.cwd or cwd
    return Digest(_without_middle(lines), tuple(said), cwd)


def _entries(client: CodingClient, path: str) -> Iterator[Entry]:
    damage: Counter[str] = Counter()
    with client.open_session(path) as session:
        decode = client.decoder(path)
        start = max(0, session.end - _READ_BYTES)
        for line in session.lines(start):
            is_torn = start > 0 and line.start == start
            if line.data is not None and not is_torn:
                yield from decode(line.data, damage)


def _lines(who: str, at: float | None, text: str) -> list[str]:
    when = "" if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M ")
    pieces = _BREAK.findall(" ".join(text.split()))
    return [
        f"{when if number == 0 else ''}{who}{':' if number == 0 else ' …'} {piece}"
        for number, piece in enumerate(pieces)
    ]


def _without_middle(lines: list[str]) -> str:
    """Lines that fit: the beginning and, mostly, the end."""
    sizes = [len(line.encode("utf-8", "replace")) + 1 for line in lines]
    if sum(sizes) <= MOST_BYTES:
        return "".join(f"{line}\n" for line in lines)
    first, head = 0, MOST_BYTES * _HEAD_SHARE
    while head >= sizes[first]:
        head -= sizes[first]
        first += 1
    last, tail = len(lines), MOST_BYTES * (1 - _HEAD_SHARE)
    while tail >= sizes[last - 1]:
        tail -= sizes[last - 1]
        last -= 1
    kept = [*lines[:first], f"[{last - first} lines are left out here]", *lines[last:]]
    return "".join(f"{line}\n" for line in kept)
