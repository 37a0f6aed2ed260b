"""The requests of one job to a model: answered from the ledger where they were before, else paid for, within the caps.

What kill -9 leaves: a step that is reserved and not settled, which counts as spent; or one with its reply, which the next
job on the same turns is given instead of asking again.
"""

from __future__ import annotations

import hashlib
import json
import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memoryd.backoff import REQUEST
from memoryd.clock import day_of
from memoryd.engines.model.client import EndpointError
from memoryd.engines.model.cost import most_tokens, most_usd, usd_of
from memoryd.engines.model.reply import Usage, packed, unpacked
from memoryd.errors import EngineRestsError
from memoryd.state import model_calls

if TYPE_CHECKING:
    from memoryd.clock import Clock
    from memoryd.config import Budget
    from memoryd.engines.model.prices import Price
    from memoryd.engines.model.reply import ModelReply
    from memoryd.state.database import Database
    from memoryd.state.engine_holds import CapReason

_KEPT_SECONDS = 3300.0
"""A little less than the hour: an answer takes its time too."""
_LOST = "nothing was read from the cache, although the same brief was sent within the hour"


class DayCapError(EngineRestsError):
    """The day's budget is used up."""

    reason: CapReason = "budget_reached"


class LimitReachedError(DayCapError):
    """The endpoint says that no more may be asked: the first time ends the day's work."""

    reason = "limit_reached"


class RunCapError(Exception):
    """The next request could cost more than a run may."""


class Endpoint(Protocol):
    """Who requests are sent to."""

    @property
    def tries(self) -> int:
        """How often a request that failed is sent; once to who tries again by itself."""

    @property
    def is_conversing(self) -> bool:
        """Whether it remembers a conversation: then no request with tools can be answered from the ledger."""

    def send(self, request: dict[str, Any], deadline: float) -> ModelReply:
        """The reply to a request, whose messages are those of the request before and more, or begin a conversation."""


class Most(NamedTuple):
    """What a request may take at most."""

    usd: float
    tokens: int


class Caps(Protocol):
    """What may be spent, and by which price."""

    @property
    def engine(self) -> str:
        """Whose requests are counted."""

    def check(self, database: Database, job_id: int, most: Most, now: float) -> None:
        """Raises DayCapError or RunCapError where a request that may take this much is not to be sent."""

    def price_of(self, model: str) -> Price | None:
        """The price of who answered, where that is known only then."""


class DollarCaps(NamedTuple):
    """Money, by the day and by the run."""

    budget: Budget
    engine: str = model_calls.PAID

    def check(self, database: Database, job_id: int, most: Most, now: float) -> None:
        usd, budget = most.usd, self.budget
        if not usd:
            return
        if usd > budget.usd_per_day:
            raise DayCapError(
                f"One request may cost {usd:.4f} USD, which is more than the {budget.usd_per_day:g} USD of a day.",
                "raise budget.usd_per_day in the config",
            )
        spent = model_calls.spent_between(database, *day_of(now))
        if spent + usd > budget.usd_per_day:
            raise DayCapError(
                f"The day's budget is used up: {spent:.4f} of {budget.usd_per_day:g} USD are spent, and the"
                f" next request may cost {usd:.4f}. Model jobs go on tomorrow.",
                "raise budget.usd_per_day in the config, or wait; memoryd usage",
            )
        if model_calls.spent_by(database, job_id).usd + usd > budget.usd_per_run:
            raise RunCapError(f"it could cost more than the {budget.usd_per_run:g} USD that budget.usd_per_run allows")

    def price_of(self, _model: str) -> Price | None:
        return None


class BudgetedCalls:
    """Made for one job."""

    def __init__(
        self,
        database: Database,
        job_id: int,
        memory_dir: str,
        client: Endpoint,
        price: Price | None,
        caps: Caps,
        clock: Clock,
        deadline: float,
        prompt: str,
    ) -> None:
        self._database = database
        self._job_id = job_id
        self._memory_dir = memory_dir
        self._client = client
        self._price = price
        self._caps = caps
        self._clock = clock
        self._deadline = deadline
        self._prompt = prompt
        self._last: int | None = None

    def ask(self, request: dict[str, Any]) -> ModelReply:
        """The reply to a request. Raises what `Client.send` does, DayCapError and RunCapError.

        1. an answer that is known is not asked for again
        2. reserve what it may cost, or do not send it
        3. send, and try again where that can help
        4. settle, and keep the reply until the job closes
        """
        digest = hashlib.blake2b(json.dumps(request, sort_keys=True).encode(), digest_size=20).digest()
        is_replayed = not (self._client.is_conversing and "tools" in request)
        if is_replayed and (known := model_calls.answer_to(self._database, digest, self._memory_dir)):
            self._last, data = known
            reply = unpacked(data)
            # What it left in the endpoint's cache may be gone by now, which is no news.
            return reply._replace(usage=Usage(input=reply.usage.prompt, output=reply.usage.output))
        price = self._price or self._caps.price_of(request["model"])
        most = Most(most_usd(price, request), most_tokens(request))
        is_cached = self._is_cached(request["model"])
        trouble: EndpointError | None = None
        tries = self._client.tries
        for tried in range(1, tries + 1):
            try:
                step_id = self._reserve(digest, request["model"], most)
            except RunCapError:
                if trouble is not None:
                    raise trouble from None  # which is why it became too dear
                raise
            try:
                reply = self._client.send(request, self._deadline)
            except EndpointError as error:
                if not error.is_charged:
                    model_calls.settle(self._database, step_id, model_calls.Spent(), None)
                if tried == tries or not self._paused(tried, error.after):
                    raise
                trouble = error
            except Exception:  # nothing was charged: refused, or never sent
                model_calls.settle(self._database, step_id, model_calls.Spent(), None)
                raise
            else:
                self._settle(step_id, reply, most)
                if is_cached and not reply.usage.cache_read:
                    model_calls.remark(self._database, self._job_id, "cache_break", _LOST)
                return reply
        raise AssertionError  # pragma: no cover - the last try returns or raises

    def forget_last(self) -> None:
        """The last reply was of no use: the next job asks again."""
        if self._last is not None:
            model_calls.forget_reply(self._database, self._last)

    def _reserve(self, digest: bytes, model: str, most: Most) -> int:
        """Look at the caps and reserve in one: other processes spend from the same purse."""
        now = self._clock.now()
        with self._database.transaction():
            self._caps.check(self._database, self._job_id, most, now)
            return model_calls.reserve(
                self._database,
                self._job_id,
                digest,
                model=model,
                prompt=self._prompt,
                usd=most.usd,
                now=now,
                engine=self._caps.engine,
                tokens=most.tokens,
            )

    def _settle(self, step_id: int, reply: ModelReply, most: Most) -> None:
        """First of all: a reply that is paid for must not be lost. One that does not say what it used cost the most."""
        usage = reply.usage
        price = self._caps.price_of(reply.model) or self._price
        usd = usd_of(price, usage) if usage.prompt else most.usd
        spent = model_calls.Spent(1, usage.input, usage.cache_read, usage.cache_created, usage.output, usd)
        model_calls.settle(self._database, step_id, spent, packed(reply))
        self._last = step_id

    def _paused(self, tried: int, after: float | None) -> bool:
        """Wait before the next try; False where that would take too long."""
        pause = max(REQUEST.spread_delay(tried), after or 0.0)
        if pause > REQUEST.longest_seconds or self._clock.now() + pause > self._deadline:
            return False
        self._clock.wait(threading.Event(), pause)
        return True

    def _is_cached(self, model: str) -> bool:
        """Whether the endpoint should have tools and brief in its cache: told by an answer within the hour that it keeps them.

        Asked before a request is sent: one that runs beside it has cached nothing yet. Another version of the brief,
        another model and a longer pause are told by name, model and time; between the turns of a run the loop watches.
        """
        if self._last is not None:
            return False
        since = self._clock.now() - _KEPT_SECONDS
        return model_calls.used_cache(self._database, model, self._prompt, since)
