"""Look for everything that may keep memoryd from working here, and say what mends it. Nothing is changed.

It works with a broken config, too. With a model as the engine, its endpoint is asked whether it takes the key, which costs
nothing; --offline leaves that out.

Exits with 0 if all is well, 1 if there is a problem.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoryd.cli.output import add_json_option, print_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from memoryd.cli import Context
    from memoryd.cli.screen import Block, Word
    from memoryd.diagnosis.checks import Examined
    from memoryd.diagnosis.problems import Check

NAME = "doctor"
HELP = "what may be wrong here, and what mends it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--offline", action="store_true", help="ask nothing over the network, run no command for the key"
    )
    add_json_option(parser)
    parser.set_defaults(any_config=True)  # it is run when things are broken


def execute(context: Context) -> int:
    from memoryd.diagnosis.checks import examine
    from memoryd.diagnosis.facts import World

    now = context.clock.now()
    examined = examine(World(context.paths, context.config, now, context.environment, context.arguments.offline))
    if context.arguments.json:
        print_json(as_json(examined))
    else:
        from memoryd.cli.screen import Screen

        Screen(context.environment).show(_blocks(examined))
    return 1 if any(check.verdict == "problem" for group in examined for check in group.checks) else 0


def as_json(examined: list[Examined]) -> list[dict[str, Any]]:
    return [
        {
            "group": group.title,
            "name": check.name,
            "verdict": check.verdict,
            "text": check.text,
            "fix": check.fix or None,
        }
        for group in examined
        for check in group.checks
    ]


def _blocks(examined: list[Examined]) -> Iterator[Block]:
    from memoryd.cli.screen import Gap, Paragraph, Section, bad, dim, good
    from memoryd.formatting import count

    yield Paragraph(dim("Nothing is changed by this."))
    for group in examined:
        yield Section(group.title, [block for check in group.checks for block in _check(check)])
    yield Gap()
    problems = [group.title for group in examined for check in group.checks if check.verdict == "problem"]
    # The terminal shows the end: where the problems stand is said there.
    where = ", ".join(dict.fromkeys(problems))
    yield Paragraph(bad(f"{count(len(problems), 'problem')}: {where}") if problems else good("All is well."))


def _check(check: Check) -> Iterator[Block]:
    from memoryd.cli.screen import Column, Command, Table

    yield Table([Column(), Column()], [[_verdict(check), check.text]])
    if check.fix:
        yield Command(check.fix, before=f"{'':9}fix: ")


def _verdict(check: Check) -> Word:
    from memoryd.cli.screen import bad, good, warn

    word = f"{check.verdict:<7}"
    return {"ok": good, "note": warn, "problem": bad}[check.verdict](word)
