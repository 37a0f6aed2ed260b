"""Whether the engine that the config names can work: its key, its endpoint, its price, what is left of the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.clock import SystemClock, day_of
from memoryd.doctor.check import Check, readable_database
from memoryd.engines.anthropic import account
from memoryd.errors import EngineStoppedError
from memoryd.jobs.standing import hold_of
from memoryd.state import steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.config import Config
    from memoryd.doctor.check import Verdict, World
    from memoryd.engines.anthropic.account import Account
    from memoryd.state.holds import Hold

ANSWER_SECONDS = 8.0
_NAMED_MODELS = 4


class Answer(NamedTuple):
    """What the endpoint said when it was asked for its models."""

    kind: Literal["listed", "no_list", "refused", "silent"]
    models: tuple[str, ...] = ()
    text: str = ""
    fix: str = ""


class Facts(NamedTuple):
    is_chosen: bool
    base_url: str = ""
    is_local: bool = False
    models: tuple[str, ...] = ()
    """Those that the config names."""
    key_from: str = ""
    """Where the key comes from, in words; never the key."""
    key_error: EngineStoppedError | None = None
    price_errors: tuple[EngineStoppedError, ...] = ()
    answer: Answer | None = None
    """None: it was not asked."""
    hold: Hold | None = None
    spent_usd: float = 0.0
    usd_per_day: float = 0.0
    has_price: bool = True


def look(world: World) -> Facts:
    config = world.config
    if not account.is_chosen(config):
        return Facts(is_chosen=False)
    settings = config.anthropic
    models = tuple(dict.fromkeys((settings.extraction_model, settings.dream_model)))
    key_error, found = None, None
    if world.is_offline and settings.api_key_command and not settings.api_key_file:
        pass  # the command may ask somebody over the network, or a person
    else:
        try:
            found = account.account_of(settings, world.environment)
        except EngineStoppedError as error:
            key_error = error
    with readable_database(world.paths) as database:
        hold = hold_of(database, config, world.now) if database else None
        spent = steps.spent_between(database, *day_of(world.now)) if database else 0.0
    return Facts(
        is_chosen=True,
        base_url=settings.base_url,
        is_local=account.is_local(settings.base_url),
        models=models,
        key_from=_key_from(config),
        key_error=key_error,
        price_errors=tuple(_price_errors(config, models)),
        answer=_ask(found) if found is not None and not world.is_offline else None,
        hold=None if hold is None or hold.reason == "paused" else hold,
        spent_usd=spent,
        usd_per_day=config.budget.usd_per_day,
        has_price=any(config.budget.price_of(model) is not None for model in models),
    )


def _key_from(config: Config) -> str:
    settings = config.anthropic
    if settings.api_key_file:
        return f"the file {settings.api_key_file}"
    if settings.api_key_command:
        return "the command in the config"
    return f"the variable {settings.api_key_variable}" if settings.api_key_variable else ""


def _price_errors(config: Config, models: tuple[str, ...]) -> Iterator[EngineStoppedError]:
    for model in models:
        try:
            account.price_of(config, model)
        except EngineStoppedError as error:
            yield error


def _ask(found: Account) -> Answer:
    from memoryd.engines.anthropic.client import (  # noqa: PLC0415 - seconds that only a model pays
        BadRequestError,
        Client,
        EndpointError,
    )

    now = SystemClock().now
    client = Client(found, now)
    try:
        models = client.models(now() + ANSWER_SECONDS)
    except EngineStoppedError as error:
        return Answer("refused", text=error.sentence, fix=error.fix)
    except EndpointError as error:
        return Answer("silent", text=str(error))
    except BadRequestError as error:
        return Answer("silent", text=str(error))
    finally:
        client.close()
    return Answer("no_list") if models is None else Answer("listed", models)


def judge(facts: Facts) -> Iterator[Check]:
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
        yield Check("price", "problem", error.sentence.rstrip("."), error.fix)
    yield _judge_budget(facts)


def _judge_key(facts: Facts) -> Check:
    if facts.key_error is not None:
        return Check("key", "problem", facts.key_error.sentence.rstrip("."), facts.key_error.fix)
    if not facts.key_from:
        return Check("key", "ok", "no key is named, and a local model needs none")
    if facts.key_from.startswith("the variable"):
        text = f"the key comes from {facts.key_from}, which a service does not see"
        return Check("key", "note", text, "name a file instead: api_key_file in the config")
    return Check("key", "ok", f"the key comes from {facts.key_from}")


def _judge_answer(facts: Facts, answer: Answer) -> Check:
    if answer.kind == "refused":
        return Check("endpoint", "problem", answer.text.rstrip("."), answer.fix)
    if answer.kind == "silent":
        text = f"{facts.base_url} has trouble: {answer.text.rstrip('.')}"
        return Check("endpoint", "problem", text, f"curl -sS -o /dev/null {facts.base_url}")
    if answer.kind == "no_list":
        if facts.is_local:
            return Check("endpoint", "ok", "the endpoint answers")
        return Check("endpoint", "note", "the endpoint answers; whether it takes the key, the first request shows")
    missing = [model for model in facts.models if not any(one.startswith(model) for one in answer.models)]
    if missing:
        known = ", ".join(answer.models[:_NAMED_MODELS]) or "none"
        text = f"the endpoint takes the key, and does not list {', '.join(missing)} (it has: {known})"
        return Check(
            "endpoint", "note", text, "change extraction_model and dream_model under [anthropic] in the config"
        )
    return Check("endpoint", "ok", "the endpoint takes the key and has the models")


def _judge_budget(facts: Facts) -> Check:
    if facts.hold is not None:
        verdict: Verdict = "note" if facts.hold.reason == "budget_reached" else "problem"
        return Check("budget", verdict, facts.hold.text.rstrip("."), facts.hold.fix or "memoryd retry")
    if not facts.has_price:
        return Check("budget", "ok", "these models cost nothing")
    left = max(0.0, facts.usd_per_day - facts.spent_usd)
    text = f"{facts.spent_usd:.2f} of {facts.usd_per_day:g} USD spent today, {left:.2f} left"
    if left > 0:
        return Check("budget", "ok", text)
    return Check("budget", "note", f"{text}: model calls rest until the day turns", "memoryd usage")
