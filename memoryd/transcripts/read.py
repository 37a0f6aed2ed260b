"""Reading of turns by their place in a transcript: the user's words, the reply, calls, and memories that were saved."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.model import Prompt, Reply, Results, UserMessage
from memoryd.sources.session import NotATranscriptError
from memoryd.transcripts.recent_activity import tail_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.clients.base import CodingClient, Decoder
    from memoryd.model import Entry
    from memoryd.sources.session import OpenSession


class TurnPlace(NamedTuple):
    """Where a turn stands in its transcript."""

    prompt_id: str
    start: int
    end: int
    before: int | None = None
    """Where the turn before it begins; None where there is none."""
    before_ids: tuple[str, ...] = ()
    """The prompts of the turns before it, the last one first."""


class ReadTurn(NamedTuple):
    """One turn: what the user said and got as a reply, what the assistant did, and the memories that it wrote itself."""

    said: UserMessage
    saved: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


class _Stretch(NamedTuple):
    """Content between two places of a transcript."""

    prompts: tuple[Prompt, ...]
    """Of the first line."""
    answer: str
    """The assistant's last words."""
    saved: tuple[str, ...]
    """The files that it wrote into its memory."""
    calls: tuple[str, ...]


def read_turns(
    client: CodingClient, path: str, places: Iterable[TurnPlace], memory_dir: str, *, with_calls: bool = False
) -> dict[str, ReadTurn]:
    """The turns at these places, by the id of their prompt; one that is no longer there is left out.

    Every line is decoded once. Tool calls are returned only `with_calls`.

    Raises OSError and NotATranscriptError like the client's `open_session`.
    """
    found: dict[str, ReadTurn] = {}
    read: dict[int, _Stretch] = {}
    with client.open_session(path) as session:
        reader = _Reader(client, client.decoder(path), session, memory_dir, with_calls=with_calls)
        for place in places:
            if place.start not in read:
                read[place.start] = reader.read(place.start, place.end)
            turn = read[place.start]
            # A copy has its original's id too, and stands for it where that is gone.
            prompt = next((prompt for prompt in turn.prompts if place.prompt_id in prompt.ids), None)
            if prompt is None:
                continue
            if place.before is not None and place.before not in read:
                read[place.before] = reader.read(place.before, place.start)
            answer = read[place.before].answer if place.before is not None else ""
            said = UserMessage(
                prompt.session_id,
                place.prompt_id,
                prompt.said_at,
                prompt.text,
                answer,
                prompt.cwd,
                place.before_ids,
                turn.answer,
            )
            found[place.prompt_id] = ReadTurn(said, turn.saved, turn.calls)
    return found


def recent_replies(client: CodingClient, path: str) -> Iterator[str]:
    """What the assistant said lately."""
    decode = client.decoder(path)
    damage: Counter[str] = Counter()
    for line in tail_of(client, path).split(b"\n"):
        for entry in decode(line, damage):
            if isinstance(entry, Reply):
                yield from entry.texts


def first_cwd(client: CodingClient, path: str) -> str:
    """The working directory that a session names first; empty where it names none, or cannot be read."""
    said = (entry for entry in entries_in(client, path) if isinstance(entry, Prompt | Reply))
    return next((entry.cwd for entry in said if entry.cwd), "")


def entries_in(client: CodingClient, path: str) -> Iterator[Entry]:
    """All entries of a session; of one that cannot be read, those up to there."""
    damage: Counter[str] = Counter()
    with suppress(OSError, NotATranscriptError), client.open_session(path) as session:
        decode = client.decoder(path)
        for line in session.lines(0):
            if line.data is not None:
                yield from decode(line.data, damage)


class _Reader:
    def __init__(
        self, client: CodingClient, decode: Decoder, session: OpenSession, memory_dir: str, *, with_calls: bool
    ) -> None:
        self._client = client
        self._decode = decode
        self._session = session
        self._damage: Counter[str] = Counter()
        self._memory_dir = memory_dir
        self._with_calls = with_calls

    def read(self, start: int, end: int) -> _Stretch:
        prompts: tuple[Prompt, ...] = ()
        answer = ""
        calls: list[str] = []
        saved: dict[str, str] = {}
        for line in self._session.lines(start):
            if line.start >= end:
                break
            entries = self._decode(line.data or b"", self._damage)
            if line.start == start:
                prompts = tuple(entry for entry in entries if isinstance(entry, Prompt))
            for entry in entries:
                if isinstance(entry, Reply):
                    answer = entry.texts[-1] if entry.texts else answer
                    for call in entry.calls:
                        if written := self._client.written_below(call, self._memory_dir):
                            saved[call.id] = written[0]
                        if self._with_calls:
                            calls.append(self._client.summarize_call(call))
                elif isinstance(entry, Results):
                    for call_id in entry.failed:
                        saved.pop(call_id, None)
        return _Stretch(prompts, answer, tuple(dict.fromkeys(saved.values())), tuple(calls))
