"""Show whether memoryd runs, what it has seen, what waits, and every problem with the command that fixes it.

Exits with 0 if all is well, 1 if there is a problem, 3 if memoryd is not running.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "status"
HELP = "what runs, what waits, what is wrong"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd import status

    current = status.gather(context.paths, context.config, context.clock.now())
    if context.arguments.json:
        print_json(status.as_json(current))
    else:
        print(status.as_text(current))
    return status.exit_code(current)
