"""Engine that the config names: its key, endpoint, price, and what is left of the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.clock import SystemClock
from memoryd.diagnosis.checks.claude import ClaudeFacts, judge_claude, read_claude
from memoryd.diagnosis.facts import read_chosen_engine
from memoryd.diagnosis.problems import Check, check_hold, check_key
from memoryd.engines.model import credentials
from memoryd.engines.model.context_window import LONG_NAME
from memoryd.errors import EngineStoppedError
from memoryd.formatting import count
from memoryd.state import model_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.config import Config
    from memoryd.config.schema import Anthropic
    from memoryd.diagnosis.facts import World
    from memoryd.engines.model.credentials import Account
    from memoryd.state.engine_holds import Hold

ANSWER_SECONDS = 8.0
_CACHE_SECONDS = 7 * 86_400.0
_NAMED_MODELS = 4


class EndpointAnswer(NamedTuple):
    """What the endpoint said when it was asked for its models."""

    kind: Literal["listed", "no_list", "refused", "silent"]
    models: tuple[str, ...] = ()
    text: str = ""
    fix: str = ""


class EngineFacts(NamedTuple):
    is_chosen: bool
    base_url: str = ""
    is_local: bool = False
    models: tuple[str, ...] = ()
    """Those that the config names."""
    key_from: str = ""
    """Where the key comes from, in words; never the key."""
    key_error: EngineStoppedError | None = None
    price_errors: tuple[EngineStoppedError, ...] = ()
    answer: EndpointAnswer | None = None
    """None: it was not asked."""
    hold: Hold | None = None
    spent_usd: float = 0.0
    usd_per_day: float = 0.0
    has_price: bool = True
    cache_breaks: int = 0
    """Jobs of the last days that found the endpoint's cache lost for no known reason."""
    model_jobs: int = 0
    """All that asked a model in that time."""


def read_engine(world: World) -> EngineFacts | ClaudeFacts:
    config = world.config
    if config.engine == credentials.CLAUDE:
        return read_claude(world)
    if not credentials.is_chosen(config):
        return EngineFacts(is_chosen=False)
    settings = config.anthropic
    models = tuple(dict.fromkeys((settings.extraction_model, settings.dream_model)))
    key_error, account = None, None
    # Offline the command for the key is not run: it may ask somebody over the network, or a person.
    if not world.is_offline or settings.api_key_file or not settings.api_key_command:
        try:
            account = credentials.account_of(settings, world.environment)
        except EngineStoppedError as error:
            key_error = error
    with world.database() as database:
        engine = read_chosen_engine(world, database)
        breaks, jobs = model_calls.cache_breaks(database, world.now - _CACHE_SECONDS) if database else (0, 0)
    return EngineFacts(
        is_chosen=True,
        base_url=settings.base_url,
        is_local=credentials.is_local(settings.base_url),
        models=models,
        key_from=_key_from(settings),
        key_error=key_error,
        price_errors=tuple(_price_errors(config, models)),
        answer=_ask(account) if account is not None and not world.is_offline else None,
        hold=engine.hold,
        spent_usd=engine.spent_usd,
        usd_per_day=engine.usd_per_day,
        has_price=engine.has_price,
        cache_breaks=breaks,
        model_jobs=jobs,
    )


def _key_from(settings: Anthropic) -> str:
    if settings.api_key_file:
        return f"the file {settings.api_key_file}"
    if settings.api_key_command:
        return "the command in the config"
    return f"the variable {settings.api_key_variable}" if settings.api_key_variable else ""


def _price_errors(config: Config, models: tuple[str, ...]) -> Iterator[EngineStoppedError]:
    for model in models:
        try:
            credentials.price_of(config, model)
        except EngineStoppedError as error:
            yield error


def _ask(account: Account) -> EndpointAnswer:
    from memoryd.engines.model import client as endpoint  # noqa: PLC0415 - seconds that only a model pays

    now = SystemClock().now
    client = endpoint.Client(lambda: account, now)
    try:
        models = client.models(now() + ANSWER_SECONDS)
    except EngineStoppedError as error:
        return EndpointAnswer("refused", text=error.sentence, fix=error.fix)
    except (endpoint.EndpointError, endpoint.BadRequestError) as error:
        return EndpointAnswer("silent", text=str(error))
    finally:
        client.close()
    return (
        EndpointAnswer("no_list") if models is None else EndpointAnswer("listed", tuple(model.name for model in models))
    )


def judge_engine(facts: EngineFacts | ClaudeFacts) -> Iterator[Check]:
    if isinstance(facts, ClaudeFacts):
        yield from judge_claude(facts)
        return
    if not facts.is_chosen:
        yield Check("engine", "ok", "offline: no model, no network, no key needed")
        return
    yield Check("engine", "ok", f"{', '.join(facts.models)} at {facts.base_url}")
    yield _judge_key(facts)
    if facts.answer is not None:
        yield _judge_answer(facts, facts.answer)
    elif facts.key_error is None:
        yield Check("endpoint", "note", "not asked, as you wished; without --offline it is")
    for error in facts.price_errors:
        yield Check("price", "problem", error.sentence, error.fix)
    yield _judge_budget(facts)
    if facts.cache_breaks > 1:  # an endpoint may lose it once
        jobs = f"{facts.cache_breaks} of {count(facts.model_jobs, 'job')}"
        text = f"the endpoint had lost its cache in {jobs} of the last seven days for no known reason; they cost more"
        yield Check("cache", "note", text, "memoryd usage")


def _judge_key(facts: EngineFacts) -> Check:
    if facts.key_error is not None:
        return check_key(facts.key_error)
    if not facts.key_from:
        return Check("key", "ok", "no key is named, and a local model needs none")
    if facts.key_from.startswith("the variable"):
        text = f"the key comes from {facts.key_from}, which a service does not see"
        return Check("key", "note", text, "name a file instead: api_key_file in the config")
    return Check("key", "ok", f"the key comes from {facts.key_from}")


def _judge_answer(facts: EngineFacts, answer: EndpointAnswer) -> Check:
    if answer.kind == "refused":
        return Check("endpoint", "problem", answer.text, answer.fix)
    if answer.kind == "silent":
        text = f"{facts.base_url} has trouble: {answer.text}"
        return Check("endpoint", "problem", text, f"curl -sS -o /dev/null {facts.base_url}")
    if answer.kind == "no_list":
        if facts.is_local:
            return Check("endpoint", "ok", "the endpoint answers")
        return Check("endpoint", "note", "the endpoint answers; whether it takes the key, the first request shows")
    plain = (model.removesuffix(LONG_NAME) for model in facts.models)
    missing = [model for model in plain if not any(listed.startswith(model) for listed in answer.models)]
    if missing:
        known = ", ".join(answer.models[:_NAMED_MODELS]) or "none"
        text = f"the endpoint takes the key, and does not list {', '.join(missing)} (it has: {known})"
        fix = "change extraction_model and dream_model under [anthropic] in the config"
        return Check("endpoint", "note", text, fix)
    return Check("endpoint", "ok", "the endpoint takes the key and has the models")


def _judge_budget(facts: EngineFacts) -> Check:
    if facts.hold is not None:
        return check_hold(facts.hold)
    if not facts.has_price:
        return Check("budget", "ok", "these models cost nothing")
    left = max(0.0, facts.usd_per_day - facts.spent_usd)
    text = f"{facts.spent_usd:.2f} of {facts.usd_per_day:g} USD spent today, {left:.2f} left"
    if left > 0:
        return Check("budget", "ok", text)
    return Check("budget", "note", f"{text}: model calls rest until the day turns", "memoryd usage")
