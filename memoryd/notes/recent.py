"""Recent messages of a session, word for word: those that a summary keeps, and those that a model has not noted yet."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.clients.tool_actions import answer_text
from memoryd.model import Prompt, Reply, Results
from memoryd.notes.facts import BYTES_PER_TOKEN
from memoryd.security.redact import redact, redacted_end, redacted_excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.clients.base import CodingClient
    from memoryd.model import Entry

_READ_BYTES = 32 << 20
"""Bytes that are read from the end of a longer transcript,"""
_READ_ROWS = 4_000
"""or rows, where a session is made of them: far more than can be kept."""
_MESSAGE_CHARACTERS = 12_000
_CALL_CHARACTERS = 300
_ANSWER_CHARACTERS = 1_500


class RecentMessage(NamedTuple):
    who: Literal["user", "assistant", "tool"]
    text: str
    has_words: bool = True
    """It says something, beside calling tools or what they answered."""
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    """The calls that it answers."""

    @property
    def tokens(self) -> int:
        return len(self.text.encode("utf-8", "replace")) // BYTES_PER_TOKEN + 1


class KeepLimits(NamedTuple):
    """How much of the end of a conversation is kept: at least, and at most."""

    least_tokens: int = 10_000
    least_texts: int = 5
    most_tokens: int = 40_000


def recent_messages(client: CodingClient, path: str, limits: KeepLimits, *, start: int = 0) -> list[RecentMessage]:
    """The last messages behind a place in the transcript. Raises OSError and NotATranscriptError."""
    found: deque[RecentMessage] = deque()
    tokens = 0
    for message in _messages(client, path, start):
        found.append(message)
        tokens += message.tokens
        while tokens - found[0].tokens > 2 * limits.most_tokens:  # more than can be kept
            tokens -= found.popleft().tokens
    return kept(list(found), limits)


def kept(messages: Sequence[RecentMessage], limits: KeepLimits) -> list[RecentMessage]:
    """The end of a conversation within the limits; no call is there without its result, no result without its call."""
    first = len(messages)
    tokens = texts = 0
    while first and not (tokens >= limits.least_tokens and texts >= limits.least_texts):
        message = messages[first - 1]
        if tokens + message.tokens > limits.most_tokens:
            break
        first -= 1
        tokens += message.tokens
        texts += message.has_words
    while first < len(messages) and not _is_whole(messages, first):  # a call that stands before the first one
        earlier = messages[first - 1].tokens if first else 0
        if not first or tokens + earlier > limits.most_tokens:
            break
        first -= 1
        tokens += earlier
    while first < len(messages) and not _is_whole(messages, first):
        first += 1
    return list(messages[first:])


def _is_whole(messages: Sequence[RecentMessage], first: int) -> bool:
    called = {call for message in messages[first:] for call in message.calls}
    return all(answer in called for message in messages[first:] for answer in message.answers)


def _messages(client: CodingClient, path: str, start: int) -> Iterator[RecentMessage]:
    decode = client.decoder(path)
    damage: Counter[str] = Counter()
    with client.open_session(path) as session:
        first = max(start, session.end - (_READ_ROWS if client.counts_rows else _READ_BYTES))
        torn = first if first > start and not client.counts_rows else -1
        for line in session.lines(first):
            if line.data is not None and line.start != torn:
                for entry in decode(line.data, damage):
                    if message := _message(client, entry):
                        yield message


def _message(client: CodingClient, entry: Entry) -> RecentMessage | None:
    if isinstance(entry, Prompt):
        return RecentMessage("user", redacted_excerpt(entry.text.strip(), _MESSAGE_CHARACTERS))
    if isinstance(entry, Reply):
        texts = [redacted_excerpt(text.strip(), _MESSAGE_CHARACTERS) for text in entry.texts if text.strip()]
        calls = [f"[{redacted_excerpt(client.summarize_call(call), _CALL_CHARACTERS)}]" for call in entry.calls]
        ids = tuple(call.id for call in entry.calls)
        return RecentMessage("assistant", "\n".join((*texts, *calls)), bool(texts), ids) if texts or calls else None
    if isinstance(entry, Results):
        answers = [_shortened(answer_text(content)) for content in entry.contents]
        return RecentMessage("tool", "\n".join(filter(None, answers)), has_words=False, answers=entry.call_ids)
    return None


def _shortened(text: str) -> str:
    """What a tool answered: its beginning and its end."""
    if len(text) <= _ANSWER_CHARACTERS:
        return redact(text.strip())
    half = _ANSWER_CHARACTERS // 2
    return f"{redacted_excerpt(text.strip(), half)}\n{redacted_end(text, half).strip()}"


def as_text(messages: Sequence[RecentMessage]) -> str:
    return "\n\n".join(f"[{message.who}]\n{message.text}" for message in messages if message.text)
