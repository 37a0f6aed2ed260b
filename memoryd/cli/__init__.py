"""The command line: the parser, and the one place where an error becomes an exit code."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from memoryd import __version__
from memoryd.cli import (
    backfill,
    config,
    demo,
    diff,
    dream_now,
    dream_stop,
    extract_now,
    forget,
    history,
    memories,
    paths,
    projects,
    remember,
    restore,
    retry,
    run,
    status,
    undo,
    usage,
    why,
    work,
)
from memoryd.clock import SystemClock
from memoryd.config import load
from memoryd.errors import MemorydError
from memoryd.paths import paths_from
from memoryd.words import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.paths import Paths

COMMANDS = (
    demo,
    run,
    status,
    extract_now,
    backfill,
    dream_now,
    dream_stop,
    memories,
    remember,
    forget,
    why,
    history,
    diff,
    undo,
    restore,
    retry,
    usage,
    projects,
    config,
    paths,
)
"""In the order in which `--help` lists them."""

INTERRUPTED = 130

EPILOG = """\
exit codes: 0 ok, 1 failed (status: a problem), 2 usage, 3 not running, 75 busy, 77 key refused,
78 bad config, 130 interrupted.
Data goes to standard output, talk to standard error.
"""


@dataclass(frozen=True, slots=True)
class Context:
    """What a command gets: the parsed line and the world around it."""

    arguments: argparse.Namespace
    paths: Paths
    config: Config
    clock: Clock
    environment: Mapping[str, str]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Like argparse, with the nearest command for one that does not exist."""
        import difflib

        names = [command.NAME for command in COMMANDS]
        words = [word for word in sys.argv[1:] if not word.startswith("-")]
        near = difflib.get_close_matches(words[0], names, n=1) if words and words[0] not in names else []
        if "required: command" in message:
            message = "a command is missing; the first one to try is `memoryd run`"
        if near:
            message = f"there is no command `{words[0]}`; did you mean `{near[0]}`?"
        self.exit(2, f"memoryd: {message}\n  fix: {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    top = _Parser(
        prog="memoryd",
        description="Watches the transcripts of your coding agents and remembers what will matter next time.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"memoryd {__version__}")
    commands = top.add_subparsers(metavar="command", required=True, parser_class=_Parser)
    for command in (*COMMANDS, work):  # a command without help is not listed: `work` is for the daemon
        sub = commands.add_parser(
            command.NAME,
            **({"help": command.HELP} if command.HELP else {}),
            description=command.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(execute=command.execute)
        command.add_arguments(sub)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 is no reason to fail
    try:
        arguments = parser().parse_args(argv)
        environment = dict(os.environ)
        for name in environment:
            if name.startswith("ANTHROPIC_"):
                del os.environ[name]  # the SDK would take keys and headers from there; only the config may name one
        places = paths_from(environment)
        settings = load(places)
        if settings.claude_code.config_dir:
            places = replace(places, claude_dir=settings.claude_code.config_dir)
        code: int = arguments.execute(Context(arguments, places, settings, SystemClock(), environment))
        if sys.stdout is not None:
            sys.stdout.flush()
    except MemorydError as error:
        fix = f"\n  fix: {shown(error.fix)}" if error.fix else ""
        print(f"memoryd: {shown(error.sentence)}{fix}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except RuntimeError as error:  # Ctrl-C in the middle of an import, where Python wraps it
        if isinstance(error.__cause__, KeyboardInterrupt):
            return INTERRUPTED
        raise
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            what = f": {error.filename}" if error.filename else ""
            print(f"memoryd: {shown(f'{error.strerror or error}{what}')}.\n  fix: memoryd status", file=sys.stderr)
            return 1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter complains once more
        if error.errno == errno.EPIPE:
            return 0  # the reader has seen enough: `memoryd projects | head`
        print("memoryd: The output cannot be written: no space left.\n  fix: df -h .", file=sys.stderr)
        return 1
    return code
