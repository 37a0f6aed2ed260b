"""The command line: the parser, and the one place where an error becomes an exit code."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

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

EVERYDAY = ("audit", "status", "memories", "search", "remember", "forget", "why", "review", "history", "undo")
"""What `--help` lists; `--help all` lists the others too, by kind."""
KINDS: dict[str, tuple[str, ...]] = {
    "every day": EVERYDAY,
    "set up, and look after it": (
        "setup",
        "uninstall",
        "demo",
        "run",
        "service",
        "hooks",
        "doctor",
        "logs",
        "config",
        "paths",
        "projects",
        "sync",
        "docs",
        "completion",
    ),
    "have it work now": ("backfill", "extract-now", "dream-now", "dream-stop", "retry", "pause", "resume", "usage"),
    "memories, more closely": (
        "diff",
        "restore",
        "verify",
        "enforce",
        "recall",
        "context",
        "move",
        "share",
        "unshare",
        "purge",
    ),
    "sessions": ("notes", "summary"),
    "for clients": ("hook", "mcp"),
}
COMMANDS = tuple(name for names in KINDS.values() for name in names)
"""Each is a module here, with underscores for hyphens."""
_CHANGES_MEMORIES = frozenset(
    {
        *("remember", "forget", "undo", "restore", "review", "enforce", "projects", "move", "share", "unshare", "sync"),
        *("extract-now", "dream-now", "backfill", "purge"),
    }
)
_UNLISTED = ("child",)
"""Commands that the daemon starts; `--help` does not list them."""

INTERRUPTED = 130
_STDERR = 2

DESCRIPTION = "Watches the transcripts of your coding agents and remembers what will matter next time."
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
        """Print the usage error, and name the nearest commands where the one that was typed does not exist."""
        import difflib
        import re

        words = [word for word in sys.argv[1:] if not word.startswith("-")]
        is_top = self.prog == "memoryd"
        fix = f"{self.prog} --help"
        unknown = [word for word in sys.argv[1:] if word.startswith("-")]
        if "required: command" in message and unknown and not words:
            message = f"there is no option `{unknown[0]}`"
        elif "required: command" in message:
            message = (
                "a command is missing; new here: `memoryd audit` shows what you keep saying, `memoryd setup` keeps it"
            )
        elif is_top and words and words[0] not in (*COMMANDS, *_UNLISTED):
            near = difflib.get_close_matches(words[0], COMMANDS, n=1)
            meant = f"; did you mean `{near[0]}`?" if near else ""
            message = f"there is no command `{words[0]}`{meant}"
            fix = f"memoryd {near[0]} --help" if near else "memoryd --help all"
        elif is_top and words:
            fix = f"memoryd {words[0]} --help"
        elif found := re.fullmatch(
            r"argument (?P<option>[-\w/]+): invalid (?P<kind>int|float) value: (?P<given>.*)", message
        ):
            kind = "a whole number" if found["kind"] == "int" else "a number"
            message = f"{found['option']} takes {kind}, not {found['given']}"
        from memoryd.cli.output import wrapped

        self.exit(2, wrapped(f"memoryd: {message}") + f"\n  fix: {fix}\n")

    def format_help(self) -> str:
        """Help text, wrapped at the width of the terminal; indented lines are left as they are."""
        self.description = _wrapped(self.description or "")
        return super().format_help()


def _wrapped(text: str) -> str:
    import shutil
    import textwrap

    width = min(100, shutil.get_terminal_size().columns) - 2
    return "\n\n".join(
        paragraph if paragraph.startswith(" ") or "\n " in paragraph else textwrap.fill(paragraph, width)
        for paragraph in text.strip().split("\n\n")
    )


def _listed(name: str, about: str) -> str:
    """A line of a list, whose second half hangs where it does not fit."""
    import shutil
    import textwrap

    width = max(40, shutil.get_terminal_size().columns)
    return textwrap.fill(about, width, initial_indent=name, subsequent_indent=" " * len(name)) + "\n"


class _Help(argparse.Action):
    """`--help`: the commands of every day; `--help all`: all, by kind; `--help COMMAND`: that one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        _namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        _option: str | None = None,
    ) -> NoReturn:
        if isinstance(values, str) and values in COMMANDS:
            parser_of(values).parse_args([values, "--help"])
        print(help_text(is_all=values == "all"), end="")
        parser.exit()


def help_text(*, is_all: bool) -> str:
    """What `memoryd --help` prints."""
    others = len(COMMANDS) - len(EVERYDAY)
    more = f"New here: memoryd setup. memoryd --help all lists the other {others} commands, memoryd COMMAND --help explains one."
    parts = [f"usage: memoryd [--version] COMMAND ...\n\n{_wrapped(DESCRIPTION)}\n"]
    for kind, names in KINDS.items():
        if is_all or names is EVERYDAY:
            parts.append(f"{kind}:\n" + "".join(_listed(f"  {name:<12} ", command_of(name).HELP) for name in names))
    return "\n".join(
        [*parts, _wrapped("memoryd COMMAND --help explains one." if is_all else more) + "\n", _wrapped(EPILOG) + "\n"]
    )


def command_of(name: str) -> ModuleType:
    """The module of a command, with NAME, HELP, `add_arguments` and `execute`."""
    return import_module(f"memoryd.cli.{name.replace('-', '_')}")


def parser_of(only: str = "") -> argparse.ArgumentParser:
    """Parser of all commands, or of `only` one: importing all of them takes longer than most commands run."""
    top = _Parser(
        prog="memoryd",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    top.add_argument(
        "-h", "--help", action=_Help, nargs="?", metavar="all", help="the commands; `all` of them, by kind"
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


def _fix_of(error: OSError) -> str:
    """What to type where the system refused something."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "ulimit -n 1024"
    if error.errno == errno.EFBIG:
        return "ulimit -f unlimited"
    if isinstance(error, PermissionError) and isinstance(error.filename, str) and os.path.isabs(error.filename):
        import shlex

        return shown(f"ls -ld {shlex.quote(error.filename)}")
    return "memoryd doctor"


def _print_error(error: MemorydError) -> None:
    """Print the sentence and the fix, also where no more file can be opened, so that nothing can be imported."""
    sentence, fix = f"memoryd: {shown(error.sentence)}", f"\n  fix: {shown(error.fix)}" if error.fix else ""
    with contextlib.suppress(OSError):
        from memoryd.cli.output import wrapped

        sentence = wrapped(sentence)
    print(sentence + fix, file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 is no reason to fail
    arguments, places = argparse.Namespace(called=""), None
    environment = dict(os.environ)
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["help"]:
        given[0] = "--help"
    try:
        arguments = parser_of(given[0] if given else "").parse_args(given)
        for name in environment:
            if name.startswith("ANTHROPIC_"):
                del os.environ[name]  # the SDK would take keys and headers from there; only the config may name one
        places = paths_from(environment)
        places, settings = settings_in_force(places, any_config=getattr(arguments, "any_config", False))
        code: int = arguments.execute(Context(arguments, places, settings, SystemClock(), environment))
        if arguments.called in _CHANGES_MEMORIES:
            _after_changes(arguments.called, places, settings)
        if sys.stdout is not None:
            sys.stdout.flush()
    except MemorydError as error:
        _print_error(error)
        return _failed(arguments, environment, places, error)
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # the shell's next prompt stands in a line of its own
        return INTERRUPTED
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            # A child works on memories, which are named after what was said, and speaks into the journal.
            what = f": {error.filename}" if error.filename and arguments.called != "child" else ""
            print(f"memoryd: {shown(f'{error.strerror or error}{what}')}.\n  fix: {_fix_of(error)}", file=sys.stderr)
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
    for descriptor in range(_STDERR + 1):
        try:
            os.fstat(descriptor)
        except OSError:  # it is the lowest one that is free, so it is what is opened
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        sys.stderr = open(_STDERR, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        sys.stdout = open(_STDERR - 1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - likewise


def _after_changes(called: str, paths: Paths, config: Config) -> None:
    """What every commit of a command brings with it, whichever command made it."""
    from memoryd.jobs.call_hook import follow_commits

    if follow_commits(paths, config, SystemClock().now()):
        print("Sessions that are open now learn of it when they are started again.", file=sys.stderr)
    if called != "sync" and (config.is_anything_shared or called == "share"):
        from memoryd.daemon.wake_file import wake

        wake(paths)  # what was changed goes out 2 s later, not at the next minute


def _failed(
    arguments: argparse.Namespace, environment: Mapping[str, str], places: Paths | None, error: MemorydError
) -> int:
    """Exit code of an error. One that ended the daemon is also recorded, for `status` and the service manager."""
    if arguments.called != "run":
        return error.exit_code
    from memoryd.daemon.last_failure import Failure, report

    return report(environment, places, Failure(SystemClock().now(), error.exit_code, error.sentence, error.fix))
