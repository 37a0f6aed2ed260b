"""Watch the transcripts in the foreground and tell what is seen.

Stop it with Ctrl-C; a second Ctrl-C insists. Killed at any moment, it loses nothing: the next start goes on where
this one was.
"""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING

from memoryd.words import clock_time, shown

if TYPE_CHECKING:
    import argparse
    from types import FrameType

    from memoryd.cli import Context

NAME = "run"
HELP = "watch the transcripts, in the foreground"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`run` takes no arguments: what there is to set stands in the config file."""


def execute(context: Context) -> int:
    from memoryd.daemon import Daemon
    from memoryd.instance import only_instance
    from memoryd.log import open_log

    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)

    def say(text: str) -> None:
        print(_wrapped(clock_time(context.clock.now()), shown(text)), file=sys.stderr, flush=True)

    with only_instance(context.paths, since=context.clock.now()) as held:
        log = open_log(context.paths, context.config.log.level)
        Daemon(context.paths, context.config, context.clock, say, log, held, context.environment).run(stop)
    say("Stopped.")
    return 0


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
