"""The command line: the parser, and the one place where an error becomes an exit code."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from memoryd import __version__
from memoryd.clock import SystemClock
from memoryd.config import settings_in_force
from memoryd.errors import MemorydError
from memoryd.formatting import shown
from memoryd.paths import paths_from

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.paths import Paths

COMMANDS = (
    "demo",
    "audit",
    "run",
    "service",
    "hooks",
    "hook",
    "status",
    "doctor",
    "logs",
    "extract-now",
    "backfill",
    "dream-now",
    "dream-stop",
    "recall",
    "context",
    "memories",
    "search",
    "remember",
    "forget",
    "why",
    "verify",
    "review",
    "history",
    "diff",
    "undo",
    "restore",
    "retry",
    "pause",
    "resume",
    "usage",
    "projects",
    "config",
    "paths",
)
"""In the order in which `--help` lists them; each is a module here, with hyphens for underscores."""
_UNLISTED = ("child",)
"""Commands that the daemon starts; `--help` does not list them."""

INTERRUPTED = 130
_STDERR = 2

EPILOG = """\
exit codes: 0 ok, 1 failed (status: a problem), 2 usage, 3 not running, 75 busy,
77 key refused, 78 bad config, 130 interrupted.
Data goes to standard output, messages to standard error.
"""


class Context(NamedTuple):
    """What a command gets: the parsed line and the world around it."""

    arguments: argparse.Namespace
    paths: Paths
    config: Config
    clock: Clock
    environment: Mapping[str, str]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Print the usage error, and name the nearest command where the one that was typed does not exist."""
        import difflib

        names = COMMANDS
        words = [word for word in sys.argv[1:] if not word.startswith("-")]
        near = difflib.get_close_matches(words[0], names, n=1) if words and words[0] not in names else []
        if "required: command" in message:
            message = "a command is missing; the first one to try is `memoryd run`"
        if near:
            message = f"there is no command `{words[0]}`; did you mean `{near[0]}`?"
        prog = f"memoryd {words[0]}" if self.prog == "memoryd" and words and words[0] in names else self.prog
        self.exit(2, f"memoryd: {message}\n  fix: {prog} --help\n")

    def format_help(self) -> str:
        """Help text, wrapped at the width of the terminal; indented lines are left as they are."""
        import shutil
        import textwrap

        width = min(100, shutil.get_terminal_size().columns) - 2
        paragraphs = (self.description or "").strip().split("\n\n")
        self.description = "\n\n".join(
            paragraph if paragraph.startswith(" ") or "\n " in paragraph else textwrap.fill(paragraph, width)
            for paragraph in paragraphs
        )
        return super().format_help()


def command_of(name: str) -> ModuleType:
    """The module of a command, with NAME, HELP, `add_arguments` and `execute`."""
    return import_module(f"memoryd.cli.{name.replace('-', '_')}")


def parser(only: str = "") -> argparse.ArgumentParser:
    """Parser of all commands, or of `only` one: importing all of them takes longer than most commands run."""
    top = _Parser(
        prog="memoryd",
        description="Watches the transcripts of your coding agents and remembers what will matter next time.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"memoryd {__version__}")
    commands = top.add_subparsers(metavar="command", required=True, parser_class=_Parser)
    for command in map(command_of, [only] if only in (*COMMANDS, *_UNLISTED) else COMMANDS):
        sub = commands.add_parser(
            command.NAME,
            **({"help": command.HELP} if command.HELP else {}),  # a command without help text is not listed
            description=command.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(execute=command.execute, called=command.NAME)
        command.add_arguments(sub)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 is no reason to fail
    arguments, places = argparse.Namespace(called=""), None
    environment = dict(os.environ)
    given = sys.argv[1:] if argv is None else argv
    try:
        arguments = parser(given[0] if given else "").parse_args(given)
        for name in environment:
            if name.startswith("ANTHROPIC_"):
                del os.environ[name]  # the SDK would take keys and headers from there; only the config may name one
        places = paths_from(environment)
        places, settings = settings_in_force(places, any_config=getattr(arguments, "any_config", False))
        code: int = arguments.execute(Context(arguments, places, settings, SystemClock(), environment))
        if sys.stdout is not None:
            sys.stdout.flush()
    except MemorydError as error:
        fix = f"\n  fix: {shown(error.fix)}" if error.fix else ""
        print(f"memoryd: {shown(error.sentence)}{fix}", file=sys.stderr)
        return _failed(arguments, environment, places, error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            # A child works on memories, which are named after what was said, and speaks into the journal.
            what = f": {error.filename}" if error.filename and arguments.called != "child" else ""
            print(f"memoryd: {shown(f'{error.strerror or error}{what}')}.\n  fix: memoryd status", file=sys.stderr)
            return _failed(arguments, environment, places, MemorydError(f"{error.strerror or error}{what}."))
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter complains once more
        if error.errno == errno.EPIPE:
            return 0  # the reader closed the pipe: `memoryd projects | head`
        print("memoryd: The output cannot be written: no space left.\n  fix: df -h .", file=sys.stderr)
        return 1
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # in the middle of an import, where Python wraps it
            return INTERRUPTED
        # Only the type is recorded: the message may quote a transcript.
        _failed(
            arguments,
            environment,
            places,
            MemorydError(f"A fault of memoryd's own ({type(error).__name__}).", "memoryd logs"),
        )
        if arguments.called not in ("run", "child"):
            raise
        from memoryd.log.reader import fault_of  # what the daemon and its children say may stand in a journal

        print(f"memoryd: A fault of memoryd's own: {fault_of(error)}.\n  fix: memoryd logs", file=sys.stderr)
        return 1
    return code


def _open_closed_streams() -> None:
    """Open the standard streams that are closed (`2>&-`): the next file that is opened would take the place of one."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = open(_STDERR, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        sys.stdout = open(_STDERR - 1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - likewise


def _failed(
    arguments: argparse.Namespace, environment: Mapping[str, str], places: Paths | None, error: MemorydError
) -> int:
    """Exit code of an error. One that ended the daemon is also recorded, for `status` and the service manager."""
    if arguments.called != "run":
        return error.exit_code
    from memoryd.daemon.last_failure import Failure, report

    return report(environment, places, Failure(SystemClock().now(), error.exit_code, error.sentence, error.fix))
