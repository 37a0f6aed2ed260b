"""Show what the model calls used and cost, by day, by project or by job. Without a model there is nothing to show.

`--by memory` shows what memories have cost your sessions: how often each was handed over, about how many tokens that were, and in
how many sessions it was then read or quoted. `--by session` shows the same for each session that was handed any, and about how many
tokens came with a prompt (the median).

A call that was sent and never answered counts as what it may have cost at most, marked with ~. What your own claude did is
on your plan: it is shown at list price, in brackets. Where an endpoint had lost what it should have kept in its cache, and
neither a new version, another model nor time explains it, a line says how often.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json
from memoryd.formatting import ago, count, short, shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.state.model_calls import Spent, UsageRow

NAME = "usage"
HELP = "what model calls used and cost, and what memories cost your sessions"
_TOKENS = "Tokens are about a quarter of the bytes; your client's model reads them, memoryd pays nothing."
_DAYS = 30
_MOST_DAYS = 3650
_DAY = 86_400
_NOON = 43_200  # from noon to noon no change of the clock leads to another day


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by",
        choices=("day", "project", "job", "memory", "session"),
        default="day",
        help="what a line stands for (day)",
    )
    parser.add_argument("--days", type=int, default=_DAYS, help=f"how far back (today and the {_DAYS - 1} days before)")
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.clock import day_of
    from memoryd.errors import UsageError
    from memoryd.state import model_calls
    from memoryd.state.database import open_for_reading

    if not 1 <= context.arguments.days <= _MOST_DAYS:
        raise UsageError(f"--days must be from 1 to {_MOST_DAYS}.", "memoryd usage --days 30")
    today_is = day_of(context.clock.now())
    since = day_of(today_is[0] + _NOON - (context.arguments.days - 1) * _DAY)[0]
    if context.arguments.by in ("memory", "session"):
        return (_memories if context.arguments.by == "memory" else _sessions)(context, since)
    database = open_for_reading(context.paths)
    try:
        rows = model_calls.usage(database, since) if database else []
        today = model_calls.spent_between(database, *today_is) if database else 0.0
    finally:
        if database is not None:
            database.close()
    if context.arguments.json:
        print_json([_as_json(row) for row in rows])
        return 0
    if not rows:
        print("No model was used in this time.", file=sys.stderr)
        return 0
    _print(_summed(rows, context.arguments.by), context)
    if breaks := sum(row.cache_breaks for row in rows):
        print(
            f"The endpoint had lost its cache {count(breaks, 'time')} for no known reason: what was read again counts as"
            " input.",
            file=sys.stderr,
        )
    if any(row.engine == model_calls.PAID for row in rows):
        print(f"Today: {today:.4f} of {context.config.budget.usd_per_day:g} USD.", file=sys.stderr)
    if any(row.engine != model_calls.PAID for row in rows):
        print("USD in brackets are list prices: it was on your plan, and nobody bills them.", file=sys.stderr)
    return 0


def _memories(context: Context, since: float) -> int:
    """What each memory has cost the sessions that it was handed to, the dearest first."""
    from memoryd.memory.tier_names import as_global
    from memoryd.recall.outcomes import outcomes

    found = sorted(outcomes(context.paths, since).items(), key=lambda pair: (-pair[1].bytes, pair[0]))
    person = context.paths.global_dir
    rows = [
        (place, as_global(name) if place == person else name, outcome)
        for (place, name), outcome in found
        if outcome.shown
    ]
    if context.arguments.json:
        fields = ("shown", "with_calls", "sessions", "tokens", "used")
        print_json(
            [
                {"memory_dir": place, "file": name, **{field: getattr(outcome, field) for field in fields}}
                for place, name, outcome in rows
            ]
        )
        return 0
    if not rows:
        print("No memory was handed over in this time.", file=sys.stderr)
        return 0
    width = max(len("memory"), *(len(shown(name)) for _, name, _ in rows))
    print(f"{'memory':<{width}}  {'handed over':>11}  {'with calls':>10}  {'sessions':>8}  {'tokens':>8}  {'used':>5}")
    for _, name, outcome in rows:
        print(
            f"{shown(name):<{width}}  {outcome.shown:>11,}  {outcome.with_calls:>10,}  {outcome.sessions:>8,}"
            f"  {outcome.tokens:>8,}  {outcome.used:>5,}"
        )
    print(_TOKENS, file=sys.stderr)
    return 0


def _sessions(context: Context, since: float) -> int:
    """What memories have cost each session, the latest first, and all of them together."""
    from memoryd.clock import iso
    from memoryd.recall.outcomes import session_costs, use_of

    costs = session_costs(context.paths, since)
    rows = [(cost, use_of([cost])) for cost in costs]
    if context.arguments.json:
        print_json(
            [
                {
                    "session": cost.session,
                    "last_at": iso(cost.last_at),
                    "shown": cost.shown,
                    "prompts": use.prompts,
                    "calls": len(cost.with_calls),
                    "tokens": cost.tokens,
                    "prompt_tokens": use.prompt_tokens,
                    "used": cost.used,
                }
                for cost, use in rows
            ]
        )
        return 0
    if not rows:
        print("No memory was handed over in this time.", file=sys.stderr)
        return 0
    width = max(len("session"), *(len(shown(cost.session)) for cost in costs))
    print(
        f"{'session':<{width}}  {'last':<12}  {'memories':>8}  {'prompts':>7}  {'calls':>5}  {'tokens':>8}"
        f"  {'a prompt':>8}  {'used':>5}"
    )
    for cost, use in rows:
        print(
            f"{shown(cost.session):<{width}}  {f'{ago(context.clock.now() - cost.last_at)} ago':<12}  {cost.shown:>8,}  {use.prompts:>7,}"
            f"  {len(cost.with_calls):>5,}  {cost.tokens:>8,}  {use.prompt_tokens:>8,}  {cost.used:>5,}"
        )
    print(f"Together about {use_of(costs).in_words}. {_TOKENS}", file=sys.stderr)
    return 0


def _summed(rows: list[UsageRow], by: str) -> dict[tuple[str, bool], Spent]:
    """By name, and whether it was on the user's plan: what is paid and what is not are two lines."""
    from memoryd.state.model_calls import PAID, Spent

    found: dict[tuple[str, bool], Spent] = {}
    for row in rows:
        name = {"day": row.day, "project": row.project, "job": f"{row.job} ({row.model})"}[by]
        key = name, row.engine != PAID
        found[key] = found.get(key, Spent()).plus(row.spent)
    return found


def _print(lines: dict[tuple[str, bool], Spent], context: Context) -> None:
    names = {
        (name, is_plan): shown(short(name, context.paths.home)) + (" (your plan)" if is_plan else "")
        for name, is_plan in lines
    }
    width = max(len(context.arguments.by), *map(len, names.values()))
    print(f"{context.arguments.by:<{width}}  {'calls':>6}  {'input':>10}  {'cached':>10}  {'output':>9}  {'USD':>9}")
    for name, spent in lines.items():
        uncached = spent.input_tokens + spent.cache_created_tokens
        usd = f"{'~' if spent.unsettled_usd else ''}{spent.usd:.4f}"
        usd = f"({usd})" if name[1] else usd
        print(
            f"{names[name]:<{width}}  {spent.calls:>6,}  {uncached:>10,}  {spent.cache_read_tokens:>10,}"
            f"  {spent.output_tokens:>9,}  {usd:>9}"
        )


def _as_json(row: UsageRow) -> dict[str, object]:
    return {
        "day": row.day,
        "project": row.project,
        "job": row.job,
        "model": row.model,
        "engine": row.engine,
        **{key: round(value, 6) for key, value in row.spent._asdict().items()},
        "cache_breaks": row.cache_breaks,
    }
