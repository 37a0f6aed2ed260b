"""Search in sessions: the messages that hold some words, in the user's and the agent's own text.

Most lines of a transcript are bulk, and most lines do not hold the words: bytes are searched first, and only lines that may
hold a match are decoded. So a gigabyte takes seconds, whatever the client.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.model import Prompt, Reply
from memoryd.security.redact import redact
from memoryd.sources.session import NotATranscriptError
from memoryd.transcripts.opt_out import MARKERS, is_opt_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.clients.base import CodingClient, Decoder
    from memoryd.model import Entry

_WRITTEN_AS_IT_IS = re.compile(r"[a-z0-9_ -]+")
"""Letters that no writer of JSON escapes."""
_LONG_CHARACTERS = 65_536
"""Of a longer message only the surroundings of a match are looked at for secrets and shown;"""
_SLACK_CHARACTERS = 16_384
"""this much on either side, which is longer than any secret."""

Speaker = Literal["user", "agent"]


class SaidText(NamedTuple):
    """A message, or a text of the agent, that holds the words."""

    who: Speaker
    text: str
    """Redacted."""
    session_id: str
    cwd: str
    said_at: float | None


class SearchWords:
    """The words of a search. All of them have to be in a text, also inside of longer words, in capitals or not."""

    def __init__(self, given: Sequence[str]) -> None:
        # Nobody types control characters, and every writer of JSON has its own way to escape them.
        printable = ("".join(letter if letter.isprintable() else " " for letter in text) for text in given)
        self._words = tuple(dict.fromkeys(_plain(word) for text in printable for word in text.split()))
        needles = sorted((_needles(word) for word in self._words), key=lambda needles: -min(map(len, needles)))
        self._first, self._others = (needles[0], needles[1:]) if needles else ((), [])

    def __bool__(self) -> bool:
        return bool(self._words)

    def place_in(self, text: str) -> int | None:
        """Where the first of the words stands in a text that has all of them; None where it has not."""
        plain = _plain(text)
        places = [plain.find(word) for word in self._words]
        return None if -1 in places else min(places, default=0)

    def lines_in(self, block: bytes) -> Iterator[bytes]:
        """The lines of a block that may hold all words. A line is yielded once."""
        low = block.lower()
        starts: set[int] = set()
        for needle in self._first:
            at = low.find(needle)
            while at >= 0:
                start = low.rfind(b"\n", 0, at) + 1
                end = low.find(b"\n", at) + 1
                if start not in starts and all(
                    any(low.find(other, start, end) >= 0 for other in others) for others in self._others
                ):
                    starts.add(start)
                    yield block[start:end]
                at = low.find(needle, end)


def said_with(client: CodingClient, path: str, words: SearchWords) -> list[SaidText]:
    """What was said with these words in one session, in order; nothing where its user wants it to be left out.

    A session that is gone or cannot be read holds nothing.
    """
    found: list[SaidText] = []
    for entry in _entries(client, path, words):
        if isinstance(entry, Prompt):
            texts: tuple[tuple[Speaker, str], ...] = (("user", entry.text),)
        elif isinstance(entry, Reply):
            texts = tuple(("agent", text) for text in entry.texts)
        else:
            continue
        for who, text in texts:
            if (shown := _redacted(text, words)) is not None:
                found.append(SaidText(who, shown, entry.session_id, entry.cwd, entry.said_at))
    return found if found and not _is_opted_out(client, path) else []


def _entries(client: CodingClient, path: str, words: SearchWords) -> Iterator[Entry]:
    damage: Counter[str] = Counter()
    try:
        with client.open_session(path) as session:
            decode: Decoder | None = None
            for block in session.blocks():
                for line in words.lines_in(block):
                    decode = decode or client.decoder(path)
                    yield from decode(line, damage)
    except (OSError, NotATranscriptError):  # gone, or the disk fails: what was found so far counts
        return


def _redacted(text: str, words: SearchWords) -> str | None:
    """The text without secrets, if it still holds the words: nobody finds a secret by a piece of it."""
    place = words.place_in(text)
    if place is None:
        return None
    if len(text) > _LONG_CHARACTERS:
        text = text[max(0, place - 2 * _SLACK_CHARACTERS) : place + 2 * _SLACK_CHARACTERS]
        text = redact(text)[_SLACK_CHARACTERS if place > 2 * _SLACK_CHARACTERS else 0 : -_SLACK_CHARACTERS]
    else:
        text = redact(text)
    return text if words.place_in(text) is not None else None


def _is_opted_out(client: CodingClient, path: str) -> bool:
    return any(
        isinstance(entry, Prompt) and is_opt_out(entry.text)
        for marker in MARKERS
        for entry in _entries(client, path, SearchWords([marker]))
    )


def _plain(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).lower()


def _needles(word: str) -> tuple[bytes, ...]:
    """Bytes of which a line with this word has to hold at least one, in a line whose ASCII letters are small.

    A word may be written with escapes or composed otherwise: the longest piece that is always written as it is, else its
    first character in every way to write it.
    """
    if pieces := _WRITTEN_AS_IT_IS.findall(word):
        return (max(pieces, key=len).encode(),)
    ways = {form for letter in (word[0], word[0].upper()) for form in (letter, unicodedata.normalize("NFD", letter))}
    if all(letter == letter.upper() == unicodedata.normalize("NFD", letter) > "\x7f" for letter in word):
        ways = {word}  # neither capitals nor accents: all of it
    written = {way.encode("utf-8", "surrogatepass") for way in ways}
    escaped = {
        b"".join(b"\\u%04x" % unit for unit in memoryview(way.encode("utf-16-le", "surrogatepass")).cast("H"))
        for way in ways
    }
    usual = {json.dumps(way)[1:-1].encode() for way in ways}
    return tuple(sorted({one.lower() for one in written | escaped | usual}))
