"""Client of a Messages endpoint, through the official SDK. The only importer of it, and late: it takes seconds.

Retries are not its business, nor the SDK's: it says what went wrong and whether it may have been charged. Whoever asks is
answered by the deadline, whatever the endpoint does until then.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from memoryd.clock import elapsed
from memoryd.engines.model.context_window import LONG_NAME
from memoryd.engines.model.credentials import is_local
from memoryd.engines.model.reply import MOST_BYTES, BrokenReplyError, StreamError, reply_from
from memoryd.engines.model.timeout import LateError, TimedCall
from memoryd.errors import EngineStoppedError
from memoryd.formatting import quoted
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx2
    from anthropic import APIStatusError

    from memoryd.engines.model.credentials import Account
    from memoryd.engines.model.reply import ModelReply
    from memoryd.state.engine_holds import RestReason

T = TypeVar("T")

TRIES = 4
CONNECT_SECONDS = 15.0
_LEAST_SECONDS = 0.1
"""For the transport, where the time is over already: it takes no negative number, and nobody waits for it any more."""
_LEAST_KEY = 8
CONTEXT_MANAGEMENT = "context-management-2025-06-27"
LONG_WINDOW = "context-1m-2025-08-07"
CLEAR_THINKING = "clear_thinking_20251015"
_WINDOW_FIELDS = ("max_input_tokens", "max_model_len", "context_length")
"""What the API, vLLM, and gateways call the window of a model in their lists."""
_MOST_WINDOW_TOKENS = 1_000_000_000

_TOO_LONG = re.compile(
    r"(?i)(?:prompt|input|request) is too (?:long|large)|request too large|too many (?:input )?tokens|maximum context"
    r"|context (?:length|size|window|limit)|tokens? (?:count )?.{0,40}exceeds? the (?:limit|maximum)"
)
_LENGTHS = re.compile(r"(\d{3,})\s*tokens?\s*>\s*(\d{3,})")
_OUT_OF_MONEY = re.compile(r"(?i)credit balance|billing|spend(?:ing)? limit|usage limit|quota")
_OPTIONAL = {
    "context_management": "context_management",
    "cache_control": "cache_control",
    "effort": "output_config",
    "output_config": "output_config",
    "thinking": "thinking",
}
"""What an endpoint may not know: where it complains of the word, it is asked again without the field."""


class EndpointError(Exception):
    """There is no answer now; later there may be."""

    reason: RestReason = "engine_busy"
    """The name of the hold that it leads to."""
    sentence = ""
    """What a person is told; empty: that the endpoint has trouble, and why."""
    fix = ""

    def __init__(self, why: str, *, after: float | None = None, is_charged: bool = False) -> None:
        super().__init__(why)
        self.after = after
        """Seconds that the endpoint asks us to wait."""
        self.is_charged = is_charged
        """The request may have been worked on and charged for."""


class PromptTooLongError(Exception):
    """The endpoint says that the prompt does not fit; by how much, if it says so."""

    def __init__(self, tokens: int | None = None, limit: int | None = None) -> None:
        super().__init__("the prompt does not fit into the model's window")
        self.tokens = tokens
        self.limit = limit


class BadRequestError(Exception):
    """The endpoint refuses this request, and would again."""


class ListedModel(NamedTuple):
    """A model that an endpoint lists."""

    name: str
    window_tokens: int
    """0 where it does not say."""


class Client:
    """Made once a process; the connection is kept open between requests, but for one that was given up.

    `account` is asked when the first request needs it, and may take its time or raise. Deadlines are by `now`.
    """

    tries = TRIES
    is_conversing = False

    def __init__(self, account: Callable[[], Account], now: Callable[[], float]) -> None:
        self._account = account
        self._now = now
        self._connection: Connection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def send(self, request: dict[str, Any], deadline: float) -> ModelReply:
        """Ask, and wait for the whole answer, at most until `deadline`.

        Raises EndpointError, EngineStoppedError, PromptTooLongError, BadRequestError.
        """
        return self._in_time(lambda connection, until: connection.send(request, until), deadline)

    def models(self, deadline: float) -> tuple[ListedModel, ...] | None:
        """The models that the endpoint lists, which costs nothing; None where it answers without such a list.

        Raises EndpointError and EngineStoppedError, as `send` does: a key that is refused here is refused there.
        """
        return self._in_time(lambda connection, until: connection.models(until), deadline)

    def _in_time(self, use: Callable[[Connection, float], T], deadline: float) -> T:
        left = deadline - self._now()
        if left <= 0:
            raise EndpointError("there is no time left to ask it")
        until, kept = elapsed() + left, self._connection
        call = TimedCall(
            lambda: kept or Connection(self._account(), self._now), lambda connection: use(connection, until)
        )
        try:
            return call.result(until)
        except LateError as late:
            raise EndpointError("it does not answer in time", is_charged=late.is_used) from late
        finally:
            self._connection = call.resource


class Connection:
    """The SDK's client for one endpoint. Its timeouts bound a silence; who sends a byte now and then keeps it waiting.

    `until` is by `elapsed`.
    """

    def __init__(self, account: Account, now: Callable[[], float]) -> None:
        import anthropic  # noqa: PLC0415 - seconds that only a model job pays
        import httpx2  # noqa: PLC0415 - the SDK's own transport

        self._account = account
        self._now = now
        is_here = is_local(account.base_url)
        transport = httpx2.Client if is_here else anthropic.DefaultHttpxClient  # whose proxy is for what is elsewhere
        # The SDK sends the key as a bearer token. Gateways and local servers are made for one or the other.
        headers = {} if account.is_official else {"x-api-key": account.key}
        self._client = anthropic.Anthropic(
            api_key=account.key,
            base_url=account.base_url,
            max_retries=0,
            default_headers=headers,
            http_client=transport(
                base_url=account.base_url,
                follow_redirects=False,  # the key is for this host
                trust_env=not is_here,
                event_hooks={"response": [_bound]},
            ),
        )
        self._left_out: set[str] = set()

    def close(self) -> None:
        self._client.close()

    def send(self, request: dict[str, Any], until: float) -> ModelReply:
        while True:
            try:
                return self._send(_without(request, self._left_out), until)
            except BadRequestError as error:
                sent = {*request, "cache_control"} - self._left_out
                unknown = {field for word, field in _OPTIONAL.items() if word in str(error) and field in sent}
                if CLEAR_THINKING in str(error) and CLEAR_THINKING not in self._left_out:
                    unknown = {CLEAR_THINKING}  # which a model that does not think refuses; the other edits stay
                if not unknown:
                    raise
                self._left_out |= unknown

    def _send(self, request: dict[str, Any], until: float) -> ModelReply:
        import anthropic  # noqa: PLC0415
        import httpx2  # noqa: PLC0415

        plain = {key: value for key, value in request.items() if key != "context_management"}
        plain["model"] = request["model"].removesuffix(LONG_NAME)
        betas = [CONTEXT_MANAGEMENT] if "context_management" in request else []
        betas += [LONG_WINDOW] if request["model"].endswith(LONG_NAME) else []
        kind = ""
        try:
            with self._client.messages.with_streaming_response.create(
                **plain,
                stream=True,
                timeout=_timeout(until),
                extra_headers={"anthropic-beta": ",".join(betas)} if betas else None,
                extra_body={key: request[key] for key in request.keys() - plain.keys()} or None,
            ) as response:
                kind = response.headers.get("content-type", "")
                return reply_from(response.iter_bytes(), kind)
        except anthropic.APIStatusError as error:
            self._status(error)
        except (anthropic.APIConnectionError, httpx2.HTTPError) as error:
            raise _no_answer(error) from error
        except StreamError as error:
            raise EndpointError(f"it broke off: {self._one_line(str(error))}", is_charged=True) from error
        except BrokenReplyError as error:
            # A page of some other server, perhaps one that wants a login to the network, costs nothing.
            is_charged = "json" in kind or "event-stream" in kind
            raise EndpointError(f"its answer cannot be used: {error}", is_charged=is_charged) from error

    def models(self, until: float) -> tuple[ListedModel, ...] | None:
        import anthropic  # noqa: PLC0415
        import httpx2  # noqa: PLC0415

        try:
            # Not by the SDK's own method: what a gateway or a local server sends may have any shape.
            listed = self._client.get(
                "/v1/models", cast_to=object, options={"params": {"limit": 1000}, "timeout": _timeout(until)}
            )
        except anthropic.APIStatusError as error:
            if error.status_code in _NO_LIST:
                return None
            self._status(error)
        except (anthropic.APIConnectionError, httpx2.HTTPError) as error:
            raise _no_answer(error) from error
        models = listed.get("data") if isinstance(listed, dict) else None
        if not isinstance(models, list):
            return None
        return tuple(
            ListedModel(str(model["id"]), _window_in(model))
            for model in models
            if isinstance(model, dict) and "id" in model
        )

    def _status(self, error: APIStatusError) -> NoReturn:
        """Raise what an error status means for us."""
        code = error.status_code
        said = self._one_line(str(error.api_message or error.message or ""))
        if code in (400, 413, 422):
            if code == 413 or _TOO_LONG.search(said):  # noqa: PLR2004 - content too large
                tokens = _LENGTHS.search(said)
                raise PromptTooLongError(*(map(int, tokens.groups()) if tokens else ())) from error
            if not _OUT_OF_MONEY.search(said):
                raise BadRequestError(said or f"status {code}") from error
            code = 402
        if code in _STOPS or code in range(300, 400):
            sentence, fix = _STOPS.get(code, _STOPS[404])
            told = f" It says: {said}" if said else ""
            raise EngineStoppedError(sentence.format(host=self._account.base_url) + told, fix) from error
        after = _retry_after(error.response.headers.get("retry-after"), self._now())
        why = f"status {code}" + (f": {said}" if said else "")
        raise EndpointError(why, after=after) from error

    def _one_line(self, text: str) -> str:
        """What an endpoint says, for a person, in quotes: it may repeat what we sent, the key too."""
        if len(self._account.key) >= _LEAST_KEY:  # a shorter one is made up for a local server
            text = text.replace(self._account.key, "[the key]")
        line = redact(" ".join(text.split()))[:300]
        return quoted(line) if line else ""


def _window_in(model: dict[str, Any]) -> int:
    values = (model.get(field) for field in _WINDOW_FIELDS)
    return next((value for value in values if type(value) is int and 0 < value < _MOST_WINDOW_TOKENS), 0)


def _timeout(until: float) -> httpx2.Timeout:
    """Who cannot be reached in half of the time is not waited for: nothing was charged then, and that can be said."""
    import httpx2  # noqa: PLC0415

    left = max(until - elapsed(), _LEAST_SECONDS)
    return httpx2.Timeout(left, connect=min(CONNECT_SECONDS, left / 2))


def _bound(response: httpx2.Response) -> None:
    """Let the body of an answer, also of an error, have an end."""
    import httpx2  # noqa: PLC0415

    assert isinstance(response.stream, httpx2.SyncByteStream)  # noqa: S101 - of a client that is not asynchronous
    stream: httpx2.SyncByteStream = response.stream

    class Bounded(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for chunk in stream:
                size += len(chunk)
                if size > MOST_BYTES:
                    raise EndpointError("it answers without an end", is_charged=True)
                yield chunk

        def close(self) -> None:
            stream.close()

    response.stream = Bounded()


_NO_LIST = (400, 404, 405, 422, 501)
_STOPS = {
    401: ("{host} refuses the API key.", "put a valid key where the config says, then: memoryd retry"),
    402: ("{host} wants to be paid first.", "settle the account, then: memoryd retry"),
    403: ("{host} does not allow this key to use the model.", "change [anthropic] in the config, then: memoryd retry"),
    404: ("{host} does not know the model or the address.", "change [anthropic] in the config, then: memoryd retry"),
}


def _no_answer(error: Exception) -> EndpointError:
    """Before the connection stood nothing was charged; where it broke later, nobody knows."""
    import anthropic  # noqa: PLC0415
    import httpx2  # noqa: PLC0415

    if isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return EndpointError("it cannot be reached")
    is_late = isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException)
    return EndpointError("it does not answer in time" if is_late else "the connection broke", is_charged=True)


def _without(request: dict[str, Any], left_out: set[str]) -> dict[str, Any]:
    """The request without what this endpoint does not know."""
    if not left_out:
        return request

    def stripped(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: stripped(item) for key, item in value.items() if key not in left_out}
        return [stripped(item) for item in value] if isinstance(value, list) else value

    # The words of a conversation are strings: only our own markers are keys. Whoever asks not to think sends no thoughts.
    kept = {
        key: stripped(value) if key in ("system", "messages") else value
        for key, value in request.items()
        if key not in left_out
    }
    if "context_management" in kept:
        edits = [edit for edit in kept["context_management"]["edits"] if edit["type"] not in left_out]
        kept["context_management"] = {"edits": edits}
    return kept


def _retry_after(header: str | None, now: float) -> float | None:
    """Seconds, or a date; whatever else stands there says nothing."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if 0 <= seconds < float("inf") else None
