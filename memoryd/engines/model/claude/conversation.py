"""Conversation with one `claude` process: what it is told, what it calls, what it says, within a deadline.

The model's calls reach this process twice: in the message that it streams, and as calls of the MCP server that `claude` has
started, which only relays them. Who drives the conversation answers the calls of a message by their ids; what `claude` asks for
is handed over once it is known.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import elapsed
from memoryd.engines.model.claude.stream import ClaudeStream, Replied, RoundEnded, TooLongError
from memoryd.engines.model.claude.trouble import ClaudeError, error_of, one_line
from memoryd.mcp.protocol import McpAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoryd.engines.model.claude.process import GuardedProcess
    from memoryd.engines.model.reply import ModelReply
    from memoryd.mcp.protocol import McpCall, McpServer

SOCKET = "s"
_PIECE_BYTES = 65_536
_LOOK_SECONDS = 1.0
"""So often somebody looks whether the guard is still there: who holds the pipe open need not be alive and well."""
_SOCKET_BYTES = 100
_CALL_ID = "claudecode/toolUseId"


class ToolAnswer(NamedTuple):
    texts: tuple[str, ...]
    is_error: bool


class Conversation:
    """Made for a process that has just been started; `close` ends it. `model` is named in errors.

    `server` makes the protocol's end of a connection; None: there are no tools.
    """

    def __init__(
        self,
        process: GuardedProcess,
        folder: str,
        model: str,
        tools: Sequence[str],
        server: Callable[[Callable[[McpCall], McpAnswer | None]], McpServer] | None,
    ) -> None:
        self._process = process
        self._model = model
        self._tools = frozenset(tools)
        self._new_server = server
        self._stream = ClaudeStream()
        self._replies: list[ModelReply] = []
        self._ended: RoundEnded | None = None
        self._has_calls = False
        self._rounds = 0  # that were begun and have not ended
        self._answers: dict[str, ToolAnswer] = {}
        self._waiting: list[tuple[McpCall, _Connection]] = []
        self._to_say = b""
        self._ready = selectors.DefaultSelector()
        self._connections: list[_Connection] = []
        self._listener = _listening(folder) if server is not None else None
        self._ready.register(process.stdout, selectors.EVENT_READ, self._read_stream)
        if self._listener is not None:
            self._ready.register(self._listener, selectors.EVENT_READ, self._accept)

    def close(self) -> None:
        self._process.end()
        self._ready.close()
        for connection in self._connections:
            connection.socket.close()
        if self._listener is not None:
            self._listener.close()

    @property
    def is_in_a_round(self) -> bool:
        """Whether it works on by itself: its last message holds calls, be it of tools that do not exist."""
        return self._has_calls

    def say(self, texts: Sequence[str]) -> None:
        """A message of the user, which begins a round, or another behind the one that goes on."""
        self._rounds += 1
        content = [{"type": "text", "text": text} for text in texts]
        line = json.dumps({"type": "user", "message": {"role": "user", "content": content}})
        self._to_say += line.encode("utf-8", "replace") + b"\n"

    def answer(self, answers: Mapping[str, ToolAnswer], word: str) -> None:
        """The results of the calls of the last message, by their ids, and what the model is told behind the last of them.

        Calls that only `claude` knows of, of tools that do not exist, it has answered by itself.
        """
        answers = dict(answers)
        if word and answers:
            last = next(reversed(answers))
            answers[last] = ToolAnswer((*answers[last].texts, word), answers[last].is_error)
        self._answers |= answers
        for call, connection in self._waiting[:]:
            if (known := self._answer_to(call)) is not None:
                self._waiting.remove((call, connection))
                connection.write(connection.server.answer(call, known))

    def reply(self, until: float) -> ModelReply:
        """The next message of the model, by `until` of `elapsed`.

        Raises ClaudeError, and what `trouble.error_of` makes of an error.
        """
        while not self._replies:
            self._fail_where_ended()
            left = until - elapsed()
            if left <= 0:
                raise ClaudeError(
                    "engine_hung",
                    "claude did not answer in time.",
                    "claude -p hello; then: memoryd retry",
                    is_charged=True,
                )
            self._pump(min(left, _LOOK_SECONDS))
        reply = self._replies.pop(0)
        self._has_calls = bool(reply.calls)
        return reply

    # --- what comes and goes ------------------------------------------------------------------------------------------

    def _pump(self, seconds: float) -> None:
        self._watch_writers()
        for key, events in self._ready.select(seconds):
            if events & selectors.EVENT_WRITE and key.fd == self._process.stdin:
                self._write_stdin()
            else:
                key.data(*((key.fileobj, events) if isinstance(key.fileobj, socket.socket) else ()))
        if self._process.code is not None and not self._replies:
            self._drain_stream()
            if not self._replies:
                self._fail_where_ended()
                raise self._died()

    def _watch_writers(self) -> None:
        """Ask for room to write only while there is something to write."""
        is_watched = self._process.stdin in self._ready.get_map()
        if self._to_say and not is_watched:
            self._ready.register(self._process.stdin, selectors.EVENT_WRITE)
        elif not self._to_say and is_watched:
            self._ready.unregister(self._process.stdin)
        for connection in self._connections:
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.to_write else 0)
            if connection.socket in self._ready.get_map():
                self._ready.modify(connection.socket, wanted, self._serve)

    def _write_stdin(self) -> None:
        try:
            written = os.write(self._process.stdin, self._to_say[:_PIECE_BYTES])
        except BlockingIOError:
            return
        except OSError:  # it is about to end: its output or its code tells
            written = len(self._to_say)
        self._to_say = self._to_say[written:]

    def _read_stream(self) -> None:
        try:
            data = os.read(self._process.stdout, _PIECE_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._ready.unregister(self._process.stdout)
            self._process.wait_for_code()
            return
        self._received(data)

    def _drain_stream(self) -> None:
        """What it had printed before it ended."""
        with suppress(OSError):  # nothing more for now
            while data := os.read(self._process.stdout, _PIECE_BYTES):
                self._received(data)

    def _received(self, data: bytes) -> None:
        try:
            for event in self._stream.receive(data):
                if isinstance(event, Replied):
                    self._replies.append(event.reply)
                elif isinstance(event, RoundEnded):
                    self._ended = event
                    self._rounds -= 1
                elif missing := self._tools - set(event.tools):
                    raise ClaudeError(
                        "engine_busy",
                        f"claude has not loaded memoryd's tools: {', '.join(sorted(missing))} are missing.",
                    )
        except TooLongError as error:
            raise ClaudeError("engine_busy", "claude prints a line without an end.", is_charged=True) from error

    def _fail_where_ended(self) -> None:
        """Raise what a round that ended with an error says, or that the last one ended without an answer.

        The end of the round before may come after the next was begun, and is no news.
        """
        ended, self._ended = self._ended, None
        if ended is not None and ended.is_error:
            raise error_of(ended.result, ended.kind, self._model)
        if self._rounds <= 0:
            raise ClaudeError("engine_busy", "claude ended its turn without an answer.", is_charged=True)

    def _died(self) -> ClaudeError:
        words = one_line(self._process.said())
        said = f" It says: {words}" if words else ""
        return ClaudeError("engine_busy", f"claude ended with code {self._process.code}.{said}", is_charged=True)

    # --- tools --------------------------------------------------------------------------------------------------------

    def _accept(self, listener: socket.socket, _events: int) -> None:
        with suppress(BlockingIOError):
            accepted, _ = listener.accept()
            accepted.setblocking(False)
            assert self._new_server is not None  # noqa: S101 - there is a listener
            connection = _Connection(accepted)
            connection.server = self._new_server(lambda call: self._called(call, connection))
            self._connections.append(connection)
            self._ready.register(accepted, selectors.EVENT_READ, self._serve)

    def _serve(self, accepted: socket.socket, events: int) -> None:
        connection = next(known for known in self._connections if known.socket is accepted)
        if events & selectors.EVENT_READ and not connection.read():
            self._ready.unregister(accepted)
        if events & selectors.EVENT_WRITE:
            connection.flush()

    def _called(self, call: McpCall, connection: _Connection) -> McpAnswer | None:
        if (known := self._answer_to(call)) is None:
            self._waiting.append((call, connection))
        return known

    def _answer_to(self, call: McpCall) -> McpAnswer | None:
        known = self._answers.pop(str(call.meta.get(_CALL_ID)), None)
        return McpAnswer(known.texts, known.is_error) if known is not None else None


class _Connection:
    """A relay that has connected."""

    server: McpServer

    def __init__(self, accepted: socket.socket) -> None:
        self.socket = accepted
        self.to_write = b""

    def read(self) -> bool:
        """Take what has come; False where the other side is gone."""
        try:
            data = self.socket.recv(_PIECE_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.write(self.server.receive(data))
        return bool(data)

    def write(self, data: bytes) -> None:
        self.to_write += data
        self.flush()

    def flush(self) -> None:
        try:
            while self.to_write:
                self.to_write = self.to_write[self.socket.send(self.to_write) :]
        except BlockingIOError:
            return
        except OSError:  # who is gone is noticed by its silence
            self.to_write = b""


def _listening(folder: str) -> socket.socket:
    """A socket in the folder. Where its path is too long for one, it is named from within."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    path = os.path.join(folder, SOCKET)
    try:
        if len(os.fsencode(path)) <= _SOCKET_BYTES:
            listener.bind(path)
        else:
            here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.chdir(folder)
                listener.bind(SOCKET)
            finally:
                os.fchdir(here)
                os.close(here)
        listener.listen(2)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener
