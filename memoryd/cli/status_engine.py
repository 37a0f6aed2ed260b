"""Lines of `memoryd status` about the engine: who reads the turns, and what that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.screen import bad, dim, warn
from memoryd.formatting import ago, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.cli.screen import Words
    from memoryd.diagnosis.facts import PlanFacts
    from memoryd.diagnosis.status import Status

_NEARLY_SPENT = 0.8


def engine_lines(status: Status) -> Iterator[tuple[str, Words]]:
    engine = status.engine
    if engine.plan is not None:
        yield from _plan(engine.plan, engine.model, status)
    elif engine.model:
        yield "engine", [engine.model, dim(f" at {engine.base_url.partition('://')[2]}")]
        yield "spent", _spent(status)
    else:
        yield "engine", ["offline", dim(": no model, no network, free")]
        if engine.base_url:
            yield "", f'{engine.base_url} is not used without a key: engine = "anthropic" would'


def _plan(plan: PlanFacts, model: str, status: Status) -> Iterator[tuple[str, Words]]:
    """The user's own command: which, since when, what it last answered, what it took."""
    known = f" {plan.version}, in use for {ago(status.now - (plan.since or 0.0))}" if plan.version else ", not used yet"
    yield "engine", [f"{model} by your claude", dim(f" ({short(plan.command, status.home)}{known})")]
    if plan.answered is not None:
        yield "answered", f"{plan.answered.model}, {ago(status.now - plan.answered.at)} ago"
    yield "plan", plan.sentence


def _spent(status: Status) -> Words:
    engine = status.engine
    if not engine.has_price:
        return "nothing: this model has no price"
    text = f"{engine.spent_usd:.2f} of {engine.usd_per_day:g} USD today"
    if engine.spent_usd >= engine.usd_per_day:
        return bad(text)
    return warn(text) if engine.spent_usd >= engine.usd_per_day * _NEARLY_SPENT else text
