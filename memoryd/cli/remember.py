"""Remember a sentence, in the project of this directory:

    memoryd remember "the release is frozen until Friday because QA is out"

What stands behind "because" becomes the reason. `memoryd undo` takes it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.project import add_project_option, project_of
from memoryd.formatting import short

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "remember"
_LONGEST = 2000
_TRIES = 5
"""Attempts at a free name: a program that does not know memoryd's lock, such as an editor, may take it first."""
HELP = "write a memory by hand"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", help="one fact, in a sentence")
    parser.add_argument("--type", choices=("user", "feedback", "project", "reference"), help="otherwise guessed")
    add_project_option(parser)


def execute(context: Context) -> int:
    from memoryd.engines.offline import statement
    from memoryd.engines.offline.engine import without_known
    from memoryd.errors import BusyError, MemorydError, UsageError
    from memoryd.memory.changeset import groups_of
    from memoryd.memory.commit import commit
    from memoryd.memory.directory import open_directory
    from memoryd.memory.snapshot import DirectorySnapshot
    from memoryd.model import Changeset, UserMessage
    from memoryd.security.redact import find_secret
    from memoryd.state.database import open_database

    text = " ".join(context.arguments.text).encode("utf-8", "surrogateescape").decode("utf-8", "replace").strip()
    if len(text) > _LONGEST:
        raise UsageError(
            f"That is {len(text):,} characters; a memory is one fact in a sentence or two.", "memoryd remember --help"
        )
    if not any(letter.isalnum() for letter in text):
        raise UsageError("There is nothing to remember.", 'memoryd remember "always run the linter"')
    if secret := find_secret(text):
        raise MemorydError(f"That holds a secret ({secret}), and secrets are not kept.", "leave the value out")
    now = context.clock.now()
    memory = statement(UserMessage("", f"remember:{now}", now, text))
    if context.arguments.type:
        memory = memory._replace(type=context.arguments.type)
    project = project_of(context)
    database = open_database(context.paths)
    try:
        # Locked before the name is chosen: ten commands at once would all choose the same one.
        with open_directory(project.memory_dir, create=True) as directory, directory.locked():
            for _ in range(_TRIES):
                snapshot = DirectorySnapshot(database, project.memory_dir)
                groups = groups_of(snapshot, without_known(snapshot, [memory]), now)
                if not groups:
                    raise MemorydError("A memory says just that already.", "memoryd memories")
                if not commit(database, directory, Changeset("remember", "you asked for it", groups), now).conflicted:
                    break
            else:
                raise BusyError(
                    f"Somebody else keeps making files of the same name in {directory.path}. Nothing was saved.",
                    "the same command again",
                )
    finally:
        database.close()
    for group in groups:
        for change in group.changes:
            print(f"saved {short(project.memory_dir, context.paths.home)}/{change.name}")
    return 0
