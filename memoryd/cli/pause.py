"""Do nothing by itself for a while: no extraction, no dreams.

    memoryd pause                    until `memoryd resume`
    memoryd pause --for 2h           or 30min, 1d, 1h30min
    memoryd pause --until 14:30      or 2026-10-18, 2026-10-18T08:00

Transcripts are followed all the same, so that nothing you say is lost: it is read afterwards. What runs already comes to
its end (`memoryd dream-stop` ends a dream). `dream-now`, `extract-now` and `backfill` are refused; `remember`, `forget`,
`undo` and all that only shows something work as ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.output import print_message
from memoryd.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "pause"
HELP = "do nothing by itself for a while"
_LONGEST_SECONDS = 366 * 86_400
"""A longer pause is one without an end, until `resume`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(any_config=True)  # to stop is always possible
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--for", dest="span", metavar="SPAN", help="for so long: 30min, 2h, 1d")
    end.add_argument("--until", metavar="TIME", help="until then: 14:30, 2026-10-18, 2026-10-18T08:00")


def execute(context: Context) -> int:
    from memoryd.daemon.single_instance import running_instance
    from memoryd.daemon.wake_file import wake
    from memoryd.formatting import count
    from memoryd.state import jobs, pauses
    from memoryd.state.database import open_database

    now = context.clock.now()
    until = _until(context.arguments.span, context.arguments.until, now)
    database = open_database(context.paths)
    try:
        pause = pauses.begin(database, until, now)
        running = jobs.number_running(database)
    finally:
        database.close()
    wake(context.paths)
    print(pause.sentence)
    print_message("What you say is followed and read afterwards. To go on before: memoryd resume")
    if running:
        print_message(f"{count(running, 'job')} had begun and will come to an end.")
    if running_instance(context.paths) is None:
        print_message("No daemon runs; one that is started meanwhile keeps to it.")
    return 0


def _until(span: str | None, moment: str | None, now: float) -> float | None:
    """When the pause ends. Raises UsageError."""
    from memoryd.cli.times import moment_in, seconds_in

    if span is not None:
        seconds = seconds_in(span)
        if not seconds:
            raise UsageError(f"{span!r} is no span of time.", "memoryd pause --for 2h")
        until = now + seconds
    elif moment is not None:
        found = moment_in(moment, now, ahead=True)
        if found is None:
            raise UsageError(f"{moment!r} is no time.", "memoryd pause --until 14:30")
        if found <= now:
            raise UsageError(f"{moment} is over.", "memoryd pause --until 14:30")
        until = found
    else:
        return None
    if until - now > _LONGEST_SECONDS:
        raise UsageError("A pause has its end within a year, or none.", "memoryd pause")
    return until
