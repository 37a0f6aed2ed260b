r"""Remove a secret, or a memory with all that it ever said, from everything that memoryd keeps:

    memoryd purge --secret -                  asks for it, so that it is not in your shell's history
    memoryd purge --secret 'sk_live_\w+'      a regular expression, or the text itself; --fixed: only the text itself
    memoryd purge --memory reference_vpn.md   a memory, also one that is gone from its directory

Memories, their history, evidence, the inbox, notes, logs, recall's index and the database file are cleaned, and their bytes are
searched afterwards. A secret is masked with x; a memory is deleted. This cannot be undone. What your agents wrote themselves is
named, not changed.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from memoryd.cli.memory_names import memory_name_ever
from memoryd.cli.output import print_message
from memoryd.cli.project import add_project_option, project_of
from memoryd.errors import UsageError
from memoryd.formatting import short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from memoryd.cli import Context
    from memoryd.jobs.purge import StoreCleaning
    from memoryd.security.unwanted import Unwanted
    from memoryd.state.database import Database

NAME = "purge"
HELP = "remove a secret, or a memory and its past, from everything memoryd keeps"
_MOST_LISTED = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--secret", metavar="PATTERN", help="a regular expression or the text; - asks for the text")
    what.add_argument("--memory", dest="file", metavar="FILE", help="the file name of a memory, or a part of it")
    parser.add_argument("--fixed", action="store_true", help="the pattern is no regular expression")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_project_option(parser)


def execute(context: Context) -> int:
    from memoryd.state.database import open_database
    from memoryd.state.purge import is_unfinished, rewrite

    with closing(open_database(context.paths)) as database:
        if is_unfinished(database):
            rewrite(database)
            if not is_unfinished(database):
                print_message(
                    "An earlier purge came to its end now: the database is written anew, without what was purged."
                )
        unwanted = (_purged_memory if context.arguments.file else _purged_text)(context, database)
        return 0 if unwanted is None else _proof(context, database, unwanted)


def _purged_text(context: Context, database: Database) -> Unwanted | None:
    from memoryd.jobs.purge import purge_text, survey
    from memoryd.security.unwanted import unwanted_like

    given, now = context.arguments.secret, context.clock.now()
    is_asked = given == "-"
    try:
        unwanted = unwanted_like(_asked() if is_asked else given, is_fixed=is_asked or context.arguments.fixed)
    except ValueError as error:
        raise UsageError(str(error), "memoryd purge --help") from error
    found = survey(context.paths, context.config, database, unwanted)
    unwanted = unwanted.with_texts(found.texts)
    for path in found.paths:
        print_message(f"It is in the name of {short(path, context.paths.home)}; fix: rename that.")
    print_message(
        f"{len(found.texts)} different {'text' if len(found.texts) == 1 else 'texts'} found: in {len(found.memories)} memory"
        f" files, {'in' if found.is_in_database else 'not in'} the database, in {len(found.files)} other files of memoryd."
    )
    _list(context, [*found.memories, *found.files])
    if not found.texts:
        return None
    if found.stores:
        print_message(
            f"It is also removed from: {', '.join(found.stores)}. A ref of memoryd's own that ever held it starts anew, without"
            " its past."
        )
    if not _agreed(context):
        return None
    _tell(purge_text(context.paths, context.config, database, unwanted, context.environment, now))
    return unwanted


def _purged_memory(context: Context, database: Database) -> Unwanted | None:
    from memoryd.jobs.purge import purge_memory, texts_of_memory

    paths, memory_dir = context.paths, project_of(context).memory_dir
    name = memory_name_ever(context, database, memory_dir, context.arguments.file)
    unwanted = texts_of_memory(database, memory_dir, name)
    print_message(f"{short(os.path.join(memory_dir, name), paths.home)} will be gone, with its history and evidence.")
    if not _agreed(context):
        return None
    now = context.clock.now()
    _tell(purge_memory(paths, context.config, database, memory_dir, name, unwanted, context.environment, now))
    return unwanted


def _tell(stores: Iterator[StoreCleaning]) -> None:
    for store, error, is_git in stores:
        if error is not None:
            print_message(f"{store}: not cleaned. {error.sentence}\n  fix: the same command again, once that is over")
        elif is_git:
            print_message(
                f"{store}: cleaned. Whoever has fetched it still has the old version, and hosts keep it for a while; your other"
                " machines keep their own history: purge there, too."
            )
        else:
            print_message(
                f"{store}: cleaned. What writers that were killed left there goes within a day; a store with versions or"
                " backups keeps the old ones; your other machines keep their own history: purge there, too."
            )


def _asked() -> str:
    """The secret, from a terminal without showing it, or the first line of standard input."""
    if sys.stdin is not None and sys.stdin.isatty():
        from getpass import getpass

        given = getpass("The text to remove (it is not shown): ")
    else:
        given = sys.stdin.readline().rstrip("\r\n") if sys.stdin is not None else ""
    if not given:
        raise UsageError("There was no text to remove.", "memoryd purge --help")
    return given


def _agreed(context: Context) -> bool:
    if context.arguments.yes:
        return True
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("Purging asks first, and there is nobody to ask.", "the same command with --yes")
    print("This cannot be undone. Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    print("Nothing was done.", file=sys.stderr)
    return False


def _proof(context: Context, database: Database, unwanted: Unwanted) -> int:
    import shlex

    from memoryd.jobs.purge import left_over, sessions_with
    from memoryd.state.purge import memories_with

    left = left_over(context.paths, context.config, database, unwanted)
    same = memories_with(database, unwanted) if left and context.arguments.file else []
    if same:
        print_message("Its sentences stand in other memories as well, which stay:")
        _list(context, [os.path.join(memory_dir, name) for memory_dir, name in same])
        path = shlex.quote(os.path.join(*same[0]))
        print_message(f"  fix: memoryd purge --memory {path}")
    elif left:
        print_message("Not everything is gone. The bytes are still in:")
        _list(context, left)
        print_message("  fix: memoryd service stop, then the same command, then memoryd service start")
    else:
        print("purged; its bytes are in no file that memoryd keeps")
    if theirs := sorted(set(sessions_with(context.paths, unwanted))):
        print_message("Your agents wrote it down themselves; memoryd does not change their files:")
        _list(context, theirs)
    return 1 if left else 0


def _list(context: Context, files: list[str]) -> None:
    for path in files[:_MOST_LISTED]:
        print(f"  {short(path, context.paths.home)}", file=sys.stderr)
    if len(files) > _MOST_LISTED:
        print(f"  and {len(files) - _MOST_LISTED} more", file=sys.stderr)
