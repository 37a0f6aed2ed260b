"""Stream of `claude`: the lines that it prints, to the few things that a conversation has to know. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.engines.model.claude.command import TOOL_PREFIX
from memoryd.engines.model.reply import BrokenReplyError, reply_of_events
from memoryd.engines.model.reply import StreamError as BrokenStreamError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.engines.model.reply import ModelReply

MOST_LINE_BYTES = 32 << 20
"""It repeats the results of tools in its lines; a longer one is no line of it."""


class RoundBegan(NamedTuple):
    """A round begins: what the model is given."""

    tools: tuple[str, ...]
    """Ours, by their own names."""


class Replied(NamedTuple):
    """A message of the model has come to its end."""

    reply: ModelReply


class RoundEnded(NamedTuple):
    """A round has ended: the model was done, or something went wrong."""

    result: dict[str, Any]
    kind: str
    """Of the error, as the message before it says; empty: none."""

    @property
    def is_error(self) -> bool:
        return bool(self.result.get("is_error")) or self.result.get("subtype") != "success"


StreamEvent = RoundBegan | Replied | RoundEnded


class TooLongError(Exception):
    """A line without an end."""


class ClaudeStream:
    """Takes bytes as they come. What is no line of JSON, or of a type that nobody knows, is passed over."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._events: list[dict[str, Any]] = []
        self._error_kind = ""

    def receive(self, data: bytes) -> Iterator[StreamEvent]:
        """Raises TooLongError."""
        self._rest += data
        lines: list[bytearray] = []
        if b"\n" in data:
            *lines, self._rest = self._rest.split(b"\n")
        if len(self._rest) > MOST_LINE_BYTES:
            raise TooLongError
        for line in lines:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict) and (event := self._event(message)) is not None:
                yield event

    def _event(self, message: dict[str, Any]) -> StreamEvent | None:
        match message.get("type"):
            case "system" if message.get("subtype") == "init":
                tools = message.get("tools")
                names = [name for name in tools if isinstance(name, str)] if isinstance(tools, list) else []
                return RoundBegan(
                    tuple(name.removeprefix(TOOL_PREFIX) for name in names if name.startswith(TOOL_PREFIX))
                )
            case "stream_event" if isinstance(message.get("event"), dict):
                return self._streamed(message["event"])
            case "assistant" if isinstance(message.get("error"), str):
                self._error_kind = message["error"]
            case "result":
                ended = RoundEnded(message, self._error_kind)
                self._error_kind = ""
                return ended
        return None

    def _streamed(self, event: dict[str, Any]) -> Replied | None:
        """A stream that broke off and was begun anew counts from its new beginning."""
        if event.get("type") == "message_start":
            self._events = []
        self._events.append(event)
        if event.get("type") != "message_stop":
            return None
        events, self._events = self._events, []
        try:
            reply = reply_of_events(iter(events))
        except (BrokenReplyError, BrokenStreamError):
            return None  # the result tells what went wrong
        content = tuple(
            block | {"name": block["name"].removeprefix(TOOL_PREFIX)} if block["type"] == "tool_use" else block
            for block in reply.content
        )
        return Replied(reply._replace(content=content))
