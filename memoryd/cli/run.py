"""Watch the transcripts in the foreground and print what happens.

Stop it with Ctrl-C; a second Ctrl-C stops it at once. Nothing is lost if it is killed: the next start goes on where
this one was.
"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from memoryd.formatting import clock_time, shown

if TYPE_CHECKING:
    import argparse
    from types import FrameType

    from memoryd.cli import Context
    from memoryd.daemon.wakeup import Wakeup

NAME = "run"
HELP = "watch the transcripts, in the foreground"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`run` takes no arguments: what there is to set stands in the config file."""


def execute(context: Context) -> int:
    import faulthandler

    from memoryd.daemon.loop import STOP, Daemon
    from memoryd.daemon.sd_notify import Supervisor
    from memoryd.daemon.single_instance import only_instance
    from memoryd.daemon.wakeup import Wakeup
    from memoryd.log.writer import is_journal, is_supervised, open_log

    faulthandler.enable()  # a supervisor that misses the sign of life ends us with SIGABRT: where we hung is then known
    to_journal = is_journal(sys.stderr.fileno(), context.environment)
    is_silent = not sys.stderr.isatty() and (to_journal or is_supervised(context.environment))

    def say(text: str) -> None:
        if not is_silent:
            print(_wrapped(clock_time(context.clock.now()), shown(text)), file=sys.stderr, flush=True)

    with Wakeup() as wakeup, only_instance(context.paths, since=context.clock.now()) as held:
        _listen_to_signals(wakeup, STOP)
        log = open_log(context.paths, context.config.log.level, journal=to_journal)
        supervisor = Supervisor(context.environment)
        try:
            Daemon(
                context.paths, context.config, context.clock, say, log, held, context.environment, wakeup, supervisor
            ).run()
        except Exception as error:
            log.critical("ended by an error", error=error)
            raise
    say("Stopped.")
    return 0


def _listen_to_signals(wakeup: Wakeup, stop: str) -> None:
    """The first one asks the daemon to stop, the second interrupts it; the end of a child wakes it."""
    signals = 0

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        nonlocal signals
        signals += 1
        if signals == 1:
            wakeup.wake(stop)
        elif signals == 2:  # noqa: PLR2004 - a third one would only disturb how all is ended
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGCHLD, lambda *_: wakeup.wake("child"))


def _wrapped(time: str, text: str) -> str:
    """A line behind its time; on a terminal, broken between words where the window ends."""
    if not sys.stderr.isatty():
        return f"{time}  {text}"
    import shutil
    import textwrap

    width = max(40, shutil.get_terminal_size().columns - 1)
    indent = " " * (len(time) + 2)
    return textwrap.fill(
        text,
        width,
        initial_indent=f"{time}  ",
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
