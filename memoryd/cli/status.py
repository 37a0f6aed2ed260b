"""Show whether memoryd runs, what it remembers, what waits, and every problem with the command that fixes it.

With --watch it is shown again every second, until q or Ctrl-C.

Exits with 0 if all is well, 1 if there is a problem, 3 if memoryd is not running.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json
from memoryd.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "status"
HELP = "what runs, what waits, what is wrong"

_PROJECTS = 6
"""Projects that are named on the screen; `--json` names all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(any_config=True)  # it tells what is wrong with it
    parser.add_argument("--watch", action="store_true", help="show it again every second, until q or Ctrl-C")
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.diagnosis import status

    if context.arguments.json:
        if context.arguments.watch:
            raise UsageError("--watch is for people, --json for programs.", "memoryd status --json")
        from memoryd.cli.status_json import as_json

        current = status.gather(context.paths, context.config, context.clock.now())
        print_json(as_json(current))
        return status.exit_code(current)

    from memoryd.cli.screen import Screen
    from memoryd.cli.status_screen import blocks
    from memoryd.memory.stats import MemoryStats

    census = MemoryStats()

    def look() -> status.Status:
        now = context.clock.now()
        return status.gather(context.paths, context.config, now, most_projects=_PROJECTS, census=census)

    screen = Screen(context.environment)
    if context.arguments.watch:
        from memoryd.cli import INTERRUPTED
        from memoryd.cli.live import watch

        try:
            return status.exit_code(watch(screen, look, blocks))
        except KeyboardInterrupt:
            return INTERRUPTED  # the terminal is as it was: nothing stands in the line of the next prompt
    current = look()
    screen.show(blocks(current))
    return status.exit_code(current)
