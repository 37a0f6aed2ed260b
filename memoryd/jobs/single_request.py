"""One request to a model, within caps and time, through whichever transport the config names: for recall's choice and keys."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from memoryd.clock import elapsed
from memoryd.engines.model import credentials
from memoryd.engines.model.budget import BudgetedCalls
from memoryd.engines.model.client import EndpointError
from memoryd.engines.model.record_hold import recording_holds
from memoryd.engines.model.transport import transport_for
from memoryd.state import engine_holds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.engines.model.reply import ModelReply
    from memoryd.errors import EngineRestsError
    from memoryd.paths import Paths
    from memoryd.state.database import Database

_Answer = TypeVar("_Answer")


def ask_once(
    database: Database,
    paths: Paths,
    config: Config,
    environment: Mapping[str, str],
    clock: Clock,
    *,
    job_id: int,
    memory_dir: str,
    request: dict[str, Any],
    prompt_name: str,
    until: float,
    read: Callable[[ModelReply], _Answer],
    resting: Callable[[EndpointError], EngineRestsError] | None = None,
) -> _Answer:
    """The answer to a request, as `read` understands it. Raises what `BudgetedCalls.ask` and `read` raise.

    `until`: deadline, as `elapsed` counts. `resting`: what is raised in place of an EndpointError. A reply that `read`
    refuses is forgotten, so that the next job asks again.
    """
    settings = credentials.settings_digest(config)  # before the key is read, so that a fix during the request counts
    deadline = clock.now() + until - elapsed()
    # A clock that is set meanwhile makes nobody wait.
    transport = transport_for(
        database, paths, config, environment, clock, hurried_now=lambda: deadline - until + elapsed()
    )
    with (
        recording_holds(database, config, settings, clock),
        closing(transport),
        transport.endpoint("recall") as endpoint,
    ):
        calls = BudgetedCalls(
            database,
            job_id,
            memory_dir,
            endpoint,
            transport.price_of(request["model"]),
            transport.caps(config.budget),
            clock,
            deadline,
            prompt_name,
        )
        try:
            reply = calls.ask(request)
        except EndpointError as error:
            if resting is None:
                raise
            raise resting(error) from error
        engine_holds.lift(database, transport.name)
        try:
            return read(reply)
        except Exception:
            calls.forget_last()
            raise
