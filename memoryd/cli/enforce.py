"""Make a memory binding: a tool call that it forbids is refused, with the memory as the reason.

    memoryd enforce                              what binds here, and how often it refused a call
    memoryd enforce FILE                         show what would be refused, and ask
    memoryd enforce FILE --run "npm install"     the same, where the memory's own words do not tell it
    memoryd enforce FILE --edit "db/migrations/"
    memoryd enforce FILE --allow-once            let one such call pass, in the session that was refused last
    memoryd enforce FILE --off                   it is background again, like the others

Only a command or a path that is named refuses a call, never one that is like it. A memory that binds is changed by nobody but
you. `memoryd docs rules` has the rest.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from memoryd.cli.memory_names import memory_name
from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, memory_of, places_of, project_of

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.memory.document import Document
    from memoryd.rules.match import Forbidden

NAME = "enforce"
HELP = "make a memory binding: calls that it forbids are refused"
_READING_SECONDS = 5.0
"""Time for reading changed memories before they are listed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="the memory's file name, or a part of it; without it: what binds here")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--off", action="store_true", help="let it bind no more")
    what.add_argument("--allow-once", action="store_true", help="let one call pass")
    parser.add_argument("--run", action="append", default=[], metavar="COMMAND", help="a command that it forbids")
    parser.add_argument("--edit", action="append", default=[], metavar="PATH", help="a file or folder that it protects")
    parser.add_argument("--session", default="", metavar="ID", help="with --allow-once: of this session")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_project_option(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    project = project_of(context)
    arguments = context.arguments
    _check_options(arguments)
    if not arguments.file:
        return _list(context)
    with memory_of(project) as directory:
        name = memory_name(context, directory, arguments.file)
        if arguments.allow_once:
            return _allow_once(context, directory, name)
        is_done = _release(context, directory, name) if arguments.off else _bind(context, directory, name)
    return 0 if is_done else 1


def _check_options(arguments: argparse.Namespace) -> None:
    """Raises UsageError where an option would be left aside."""
    from memoryd.errors import UsageError

    patterns = arguments.run or arguments.edit
    if not arguments.file and (patterns or arguments.off or arguments.allow_once or arguments.session):
        raise UsageError("Which memory? This option needs the name of its file.", "memoryd enforce FILE …")
    if patterns and (arguments.off or arguments.allow_once):
        raise UsageError("--run and --edit go with neither --off nor --allow-once.", "memoryd enforce --help")
    if arguments.session and not arguments.allow_once:
        raise UsageError(
            "--session goes with --allow-once only.",
            f"memoryd enforce {arguments.file} --allow-once --session {arguments.session}",
        )


def _bind(context: Context, directory: MemoryDirectory, name: str) -> bool:
    from memoryd.jobs.enforce import bind, read_document
    from memoryd.state.database import open_database

    document = read_document(directory, name)
    patterns = _patterns(context, name, document)
    print(f"{name}: {document.description}")
    for pattern in patterns:
        print(f"  refused: every call that would {_described(pattern)}")
    if not context.arguments.yes and not _agrees(context):
        print("Nothing was changed.", file=sys.stderr)
        return False
    database = open_database(context.paths)
    try:
        bind(context.paths, database, directory, name, patterns, context.clock.now())
    finally:
        database.close()
    print(f"It binds now. To let one call pass: memoryd enforce {name} --allow-once; to end it: --off")
    return True


def _patterns(context: Context, name: str, document: Document) -> tuple[Forbidden, ...]:
    """What is to be refused: as it was given, as its `enforce` asks, or as the memory says it. Raises UsageError otherwise."""
    from memoryd.errors import UsageError
    from memoryd.rules.forbidden import forbidden_in, read_patterns, written
    from memoryd.rules.match import Forbidden

    given = (
        *(Forbidden("run", " ".join(command.split())) for command in context.arguments.run),
        *(Forbidden("edit", path.strip()) for path in context.arguments.edit),
    )
    found = given or read_patterns(document.enforce) or forbidden_in(document.description, document.body)
    if given and read_patterns(written(given)) != given:
        raise UsageError(
            "A command or path must not be empty, cannot hold a semicolon and cannot be the whole project; for several, give the option several times.",
            f'memoryd enforce {name} --run "COMMAND"',
        )
    if not found:
        raise UsageError(
            f"{name} does not say plainly enough what is forbidden: memoryd refuses only a command or a path that is named."
            " Name it here, or write it into the memory as code, as in: Never run `npm install`.",
            f'memoryd enforce {name} --run "COMMAND"   or   --edit "PATH"',
        )
    return found


def _described(pattern: Forbidden) -> str:
    return f"run `{pattern.pattern}`" if pattern.verb == "run" else f"change {pattern.pattern}"


def _agrees(context: Context) -> bool:
    from memoryd.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError("Nobody can be asked here.", f"memoryd enforce {context.arguments.file} --yes")
    print("Refuse these from now on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _release(context: Context, directory: MemoryDirectory, name: str) -> bool:
    from memoryd.jobs.enforce import read_document, release
    from memoryd.state.database import open_database

    if not read_document(directory, name).enforce:
        print(f"{name} did not bind.", file=sys.stderr)
        return True
    database = open_database(context.paths)
    try:
        release(context.paths, database, directory, name, context.clock.now())
    finally:
        database.close()
    print(f"{name} binds no more.")
    return True


def _allow_once(context: Context, directory: MemoryDirectory, name: str) -> int:
    from memoryd.errors import UsageError
    from memoryd.recall.outcomes import outcomes
    from memoryd.rules import allowance
    from memoryd.rules.confirmed import confirmed

    if not confirmed(context.paths, directory.path, name):
        raise UsageError(f"{name} does not bind, so there is nothing to allow.", f"memoryd enforce {name}")
    now = context.clock.now()
    found = outcomes(context.paths).get((directory.path, name))
    recent = found.refused_in if found and now - found.refused_at < allowance.SECONDS else ""
    session = context.arguments.session or recent
    allowance.allow(context.paths, directory.path, name, session, now)
    whose = f"of session {session}" if session else "of any session"
    print(f"The next call {whose} that {name} forbids is made, if it comes within the hour.")
    return 0


def _list(context: Context) -> int:
    from memoryd.diagnosis.rules import read_rules
    from memoryd.jobs.call_hook import follow_edits

    places = places_of(context)
    for place in places:  # a file that was edited a moment ago may ask to be binding
        follow_edits(context.paths, place, context.clock.now(), seconds=_READING_SECONDS)
    found = [rule for rule in read_rules(context.paths, 0.0).binding if rule.memory_dir in places]
    if context.arguments.json:
        print_json(
            [
                {
                    "file": rule.file,
                    "refuses": list(rule.refuses),
                    "asks": list(rule.asks),
                    "refused": rule.outcome.refused,
                    "allowed": rule.outcome.allowed,
                }
                for rule in found
            ]
        )
        return 0
    for rule in found:
        print(f"{rule.file}  {'; '.join(rule.refuses)}  refused {rule.outcome.refused}, allowed {rule.outcome.allowed}")
        if rule.request:
            print(f"  {rule.request}", file=sys.stderr)
    if not found:
        print("No memory binds here. To make one binding: memoryd enforce FILE", file=sys.stderr)
    return 0
