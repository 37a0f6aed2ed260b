"""A real server for `POST /v1/messages` on the loopback: strict about the protocol, billing like the API's prefix cache.

A test says what the model answers; the server says what the client did wrong, and what it would have cost.
"""

from __future__ import annotations

import io
import json
import re
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from tests.messages_protocol import BreachError, PrefixCache, Protocol, as_the_model_reads, decoded, pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

PAUSE_SECONDS = 0.02
LONG_HEADER_BYTES = 2000
"""They take longer than any test waits."""
LAST_CHUNK = b"0\r\n\r\n"
JSON, EVENTS = "application/json", "text/event-stream; charset=utf-8"

Block: TypeAlias = dict[str, Any]


@dataclass(slots=True, eq=False)
class Request:
    """What reached the server, and what was billed for it; nothing if no message came of it."""

    number: int  # its place in `requests`
    raw: bytes
    body: dict[str, Any]  # empty if `raw` is not a JSON object
    headers: dict[str, str]  # names in lower case
    usage: dict[str, Any] = field(default_factory=dict)

    @property
    def nonces(self) -> list[str]:
        return list(dict.fromkeys(found.decode() for found in re.findall(rb"nonce-[0-9a-f]{8}", self.raw)))


def _last_blocks(request: Request) -> list[Block]:
    content = request.body["messages"][-1]["content"]
    return [text(content)] if isinstance(content, str) else content


def tool_results(request: Request) -> list[Block]:
    """The results that the last user message brings."""
    return [block for block in _last_blocks(request) if block["type"] == "tool_result"]


def last_text(request: Request) -> str:
    """All text of the last user message, without the results of tools."""
    return "\n".join(block["text"] for block in _last_blocks(request) if block["type"] == "text")


# --- what the model may answer ----------------------------------------------------------------------------------------


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def call(name: str, arguments: dict[str, Any]) -> Block:
    """A use of a tool; the server gives it an id."""
    return {"type": "tool_use", "name": name, "input": arguments}


def thinking(words: str) -> Block:
    """A thought, which the server signs; it must come back as it was."""
    return {"type": "thinking", "thinking": words}


def raw_block(block: Block) -> Block:
    """A block of any shape, for types that a client does not know."""
    return dict(block)


class Reply:
    def __init__(self, *blocks: Block, stop_reason: str | None = None, output_tokens: int | None = None) -> None:
        called = any(block.get("type") == "tool_use" for block in blocks)
        self.blocks = blocks
        self.stop_reason = stop_reason or ("tool_use" if called else "end_turn")
        self.output_tokens = output_tokens


def judged(request: Request, **verdict: Any) -> Reply:
    """The same answer about every change that a question of review asks about: by default that all is well."""
    asked = re.search(r"ids 1 to (\d+)", last_text(request))
    answers = ("meant", "carried", "newest", "nothing_else_lost", "worth_keeping")
    fine = dict.fromkeys(answers, True) | {"verdict": "accept", "problem": ""} | verdict
    changes = [{"id": number, **fine} for number in range(1, int(asked[1] if asked else 0) + 1)]
    return Reply(text(json.dumps({"changes": changes})))


def accept_changes(request: Request) -> Reply:
    return judged(request)


@dataclass(frozen=True)
class Status:
    """An error of the API; `type` is that of its body."""

    code: int
    type: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Drop:
    """The head and so many bytes of the body, then the connection is cut; a finished `Hang` is cut before the head."""

    reply: Reply
    after_bytes: int


@dataclass(frozen=True)
class Trickle:
    """Byte by byte, so that no read takes long but the whole does; the rest, or the last byte, when the gate opens."""

    reply: Reply
    gate: threading.Event


@dataclass(frozen=True)
class SlowHead:
    """The status line and headers byte by byte, so that no read takes long; the rest, and the message, when the gate opens."""

    reply: Reply
    gate: threading.Event


@dataclass(frozen=True)
class Garbage:
    """A success with this body, which is no message."""

    body: bytes
    content_type: str = JSON


@dataclass(frozen=True)
class Hang:
    """Nothing at all; the connection is cut when the gate opens."""

    gate: threading.Event


@dataclass(frozen=True)
class StreamError:
    """A stream that breaks off with an error of the API after so many events; without streaming just that error."""

    reply: Reply
    after_events: int
    type: str = "overloaded_error"


Answer: TypeAlias = Reply | Status | Drop | Trickle | SlowHead | Garbage | Hang | StreamError


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _error(kind: str, message: str, number: int | None) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": f"req_{number}"}


def _split(words: str) -> Iterator[str]:
    step = max(1, len(words) // 3)
    return (words[start : start + step] for start in range(0, len(words), step))


def _deltas(block: Block) -> tuple[Block, list[Block]]:
    """How a block starts in a stream, and how it goes on."""
    match block.get("type"):
        case "text":
            return block | {"text": ""}, [{"type": "text_delta", "text": part} for part in _split(block["text"])]
        case "tool_use":
            parts = ["", *_split(json.dumps(block["input"], ensure_ascii=False))]
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]
        case "thinking":
            thought = [{"type": "thinking_delta", "thinking": part} for part in _split(block["thinking"])]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return block | {"thinking": "", "signature": ""}, [*thought, signed]
    return block, []


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    usage = message["usage"]
    edits = {key: message[key] for key in ("context_management",) if key in message}
    begun = message | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    begun.pop("context_management", None)
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        start, deltas = _deltas(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    counts = {name: count for name, count in usage.items() if name != "cache_creation"}
    yield {"type": "message_delta", "delta": ended, "usage": counts, **edits}
    yield {"type": "message_stop"}


def _event(event: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), _encoded(event))


# --- the server -------------------------------------------------------------------------------------------------------


class _Listener(ThreadingHTTPServer):
    """One thread for each connection; all of them end when it is closed."""

    daemon_threads = False
    request_queue_size = 64

    def __init__(self, owner: MessagesServer) -> None:
        self.owner = owner
        self._open: set[Any] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def cut_connections(self) -> None:
        """Clients keep connections open, and a thread waits on each of them."""
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # its thread was faster

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # that the client went away is no news
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        raw = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            if len(raw) < length:
                raise ConnectionAbortedError  # the client went away while it asked
            asked = (self.command, self.path.partition("?")[0])
            if asked == ("POST", "/v1/messages"):
                self._answer(*self.server.owner.receive(headers, raw))
            elif asked == ("GET", "/v1/models") and self.server.owner.models is not None:
                body = _encoded({"data": self.server.owner.models, "has_more": False})
                self._head(200, JSON, len(body))
                self.wfile.write(body)
            else:
                if asked != ("GET", "/v1/models"):
                    self.server.owner.violations.append(f"{self.command} {self.path}: there is only POST /v1/messages")
                self._fail(Status(404, "not_found_error", "Not found"))
        except OSError:  # cut by the client, or by us
            self.close_connection = True

    do_GET = do_POST  # noqa: N815 - the name is http.server's

    def _answer(self, request: Request, answer: Answer) -> None:
        streamed = request.body.get("stream", False)
        match answer:
            case Status():
                self._fail(answer, request.number)
            case StreamError() if not streamed:
                code = 529 if answer.type == "overloaded_error" else 500
                self._fail(Status(code, answer.type, "the model failed"), request.number)
            case Garbage():
                self._head(200, answer.content_type, len(answer.body))
                self.wfile.write(answer.body)
            case Hang():
                while not self._open(answer.gate):
                    pass
                raise ConnectionAbortedError
            case _:
                self._message(request, answer, streamed=streamed)

    def _message(
        self, request: Request, answer: Reply | Drop | Trickle | SlowHead | StreamError, *, streamed: bool
    ) -> None:
        message = self.server.owner.message(request, answer if isinstance(answer, Reply) else answer.reply)
        body = [_event(event) for event in _events(message)] if streamed else [_encoded(message)]
        head = partial(self._head, 200, EVENTS if streamed else JSON, None if streamed else len(body[0]))
        if isinstance(answer, SlowHead):
            self._head_slowly(head, answer.gate)
        else:
            head()
        match answer:
            case Reply() | SlowHead():
                self._deliver(request, body, chunked=streamed)
            case Trickle():
                self._deliver(request, self._trickle(b"".join(body), answer.gate), chunked=streamed)
            case Drop():
                self._write(b"".join(body)[: answer.after_bytes], chunked=streamed)
                raise ConnectionAbortedError
            case StreamError():
                failure = _error(answer.type, "the model failed", request.number)
                self._write(b"".join(body[: answer.after_events]) + _event(failure), chunked=True)
                self.wfile.write(LAST_CHUNK)

    def _deliver(self, request: Request, parts: Iterable[bytes], *, chunked: bool) -> None:
        """A client that has read the end can rely on `answered`: it is told before the last part is sent."""
        answered = self.server.owner.answered
        last = b""
        for part in parts:
            self._write(last, chunked=chunked)
            last = part
        answered.append(request)
        try:
            self._write(last, chunked=chunked)
            self.wfile.write(LAST_CHUNK if chunked else b"")
        except OSError:
            answered.remove(request)
            raise

    def _trickle(self, data: bytes, gate: threading.Event) -> Iterator[bytes]:
        sent = 0
        while not self._open(gate):
            if sent < len(data) - 1:
                sent += 1
                yield data[sent - 1 : sent]
        yield data[sent:]

    def _open(self, gate: threading.Event) -> bool:
        """Whether the gate opens in an instant; a server that is stopped waits no longer."""
        if self.server.owner.stopping.is_set():
            raise ConnectionAbortedError
        return gate.wait(PAUSE_SECONDS)

    def _fail(self, status: Status, number: int | None = None) -> None:
        body = _encoded(_error(status.type, status.message, number))
        self._head(status.code, JSON, len(body), status.headers)
        self.wfile.write(body)

    def _head(self, code: int, content_type: str, length: int | None, headers: Mapping[str, str] | None = None) -> None:
        size = {"transfer-encoding": "chunked"} if length is None else {"content-length": str(length)}
        self.send_response(code)
        for name, value in ({"content-type": content_type} | size | dict(headers or {})).items():
            self.send_header(name, value)
        self.end_headers()

    def _head_slowly(self, head: Callable[[Mapping[str, str]], None], gate: threading.Event) -> None:
        connection, buffer = self.wfile, io.BytesIO()
        self.wfile = buffer
        head({"x-long": "x" * LONG_HEADER_BYTES})
        self.wfile = connection
        for part in self._trickle(buffer.getvalue(), gate):
            self.wfile.write(part)

    def _write(self, data: bytes, *, chunked: bool) -> None:
        if data:  # an empty chunk would end the stream
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)


class MessagesServer:
    """Listens from its making until `stop`; answers each request with what `answer` makes of it.

    Questions of review go to `reviewer`, which accepts everything unless a test says otherwise, and are kept apart in
    `reviews`. `models` is what it lists, entries as the API writes them; None: it has no such list. `has_cache=False` is a local server: it bills no cache and does not know `context_management`, which is no
    breach.
    """

    def __init__(
        self,
        answer: Callable[[Request], Answer],
        *,
        reviewer: Callable[[Request], Answer] | None = None,
        keys: Collection[str] = ("test-key",),
        cache_minimum_tokens: int = 512,
        clock: Callable[[], float] = time.time,
        has_cache: bool = True,
        bytes_per_token: int = 4,
        models: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        self.models = models
        self.requests: list[Request] = []  # every one for /v1/messages, also those that were refused
        self.reviews: list[Request] = []  # those that ask what a change means
        self.violations: list[str] = []  # what the client did wrong, and answer functions that failed
        self.answered: list[Request] = []  # those whose message was sent to its end
        self.stopping = threading.Event()
        self._answer, self._keys, self._has_cache, self._bytes_per_token = answer, keys, has_cache, bytes_per_token
        self._reviewer = reviewer or accept_changes
        self._protocol = Protocol()
        self._new_cache = partial(PrefixCache, cache_minimum_tokens, bytes_per_token, clock)
        self._cache = self._new_cache()
        self._lock = threading.Lock()
        self._listener = _Listener(self)
        self.url = f"http://127.0.0.1:{self._listener.server_address[1]}"
        self._thread = threading.Thread(target=self._listener.serve_forever, kwargs={"poll_interval": PAUSE_SECONDS})
        self._thread.start()

    def forget_cache(self) -> None:
        """Lose all that is cached, as an endpoint may."""
        self._cache = self._new_cache()

    def stop(self) -> None:
        if not self.stopping.is_set():
            self.stopping.set()
            self._listener.shutdown()
            self._listener.cut_connections()
            self._listener.server_close()
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()

    def receive(self, headers: dict[str, str], raw: bytes) -> tuple[Request, Answer]:
        with self._lock:
            place = self.reviews if b"nothing_else_lost" in raw else self.requests
            request = Request(len(place), raw, {}, headers)
            place.append(request)
            try:
                request.body = decoded(raw)
                refusal = self._refusal(request)
            except BreachError as breach:
                self.violations.append(f"request {request.number}: {breach}")
                refusal = Status(400, "invalid_request_error", str(breach))
        if refusal:
            return request, refusal
        try:
            return request, (self._reviewer if place is self.reviews else self._answer)(request)
        except Exception as error:  # noqa: BLE001 - a failed assertion of a test must not die with a thread
            self.violations.append(f"request {request.number}: the answer function failed: {error!r}")
            return request, Status(500, "api_error", repr(error))

    def _refusal(self, request: Request) -> Status | None:
        given = request.headers.get("authorization") or f"Bearer {request.headers.get('x-api-key', '')}"
        if given == "Bearer ":
            raise BreachError("authorization: header is required")
        if given not in [f"Bearer {key}" for key in self._keys]:
            return Status(401, "authentication_error", "invalid x-api-key")
        if "context_management" in request.body and not self._has_cache:
            return Status(400, "invalid_request_error", "context_management: Extra inputs are not permitted")
        self._protocol.check(request.headers, request.raw, request.body)
        return None

    def message(self, request: Request, reply: Reply) -> dict[str, Any]:
        """The reply as a message, which is billed from here on."""
        blocks = []
        with self._lock:
            for index, block in enumerate(reply.blocks):
                unique = f"{request.number:04}_{index}"
                match block.get("type"):
                    case "tool_use":
                        blocks.append({"type": "tool_use", "id": f"toolu_{unique}"} | block)
                    case "thinking":
                        blocks.append({"signature": f"signature_{unique}"} | block)
                        self._protocol.signed[blocks[-1]["signature"]] = block["thinking"]
                    case kind:
                        blocks.append(block)
                        if kind == "redacted_thinking":
                            self._protocol.signed[block["data"]] = ""
            read, cleared = as_the_model_reads(request.raw, self._bytes_per_token)
            request.usage = self._bill(request, read, reply, blocks)
        edits = {"context_management": {"applied_edits": cleared}} if "context_management" in request.body else {}
        return {
            "id": f"msg_{request.number:04}",
            "type": "message",
            "role": "assistant",
            "model": request.body["model"],
            "content": blocks,
            "stop_reason": reply.stop_reason,
            "stop_sequence": None,
            "usage": request.usage,
            **edits,
        }

    def _bill(self, request: Request, read: bytes, reply: Reply, blocks: list[Block]) -> dict[str, Any]:
        parts = pieces(read)
        if self._has_cache:
            usage = self._cache.bill(request.body["model"], parts)
        else:
            usage = {"input_tokens": sum(len(part.text.encode()) for part in parts) // self._bytes_per_token}
        said = reply.output_tokens
        if said is None:
            said = max(1, sum(len(_encoded(block)) for block in blocks) // self._bytes_per_token)
        return usage | {"output_tokens": said}
