"""Remember a sentence, in the project of this directory:

    memoryd remember "the release is frozen until Friday because QA is out"

What stands behind "because" becomes the reason. `memoryd undo` takes it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.project import add_project_option, project_of
from memoryd.words import short

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "remember"
_LONGEST = 2000
HELP = "write a memory by hand"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", help="one fact, in a sentence")
    parser.add_argument("--type", choices=("user", "feedback", "project", "reference"), help="otherwise guessed")
    add_project_option(parser)


def execute(context: Context) -> int:
    from memoryd.engines.offline import statement
    from memoryd.errors import MemorydError, UsageError
    from memoryd.jobs.changeset import groups_of
    from memoryd.memory.commit import commit
    from memoryd.memory.directory import open_directory
    from memoryd.model import Changeset, Said
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
    finding = statement(Said("", f"remember:{now}", now, text))
    if context.arguments.type:
        finding = finding._replace(type=context.arguments.type)
    project = project_of(context)
    database = open_database(context.paths)
    try:
        with open_directory(project.memory_dir, create=True) as directory:
            groups = groups_of(directory, [finding], "", now)
            if not groups:
                raise MemorydError("A memory says just that already.", "memoryd memories")
            commit(database, directory, Changeset("remember", "you asked for it", groups), now)
    finally:
        database.close()
    for group in groups:
        for change in group.changes:
            print(f"saved {short(project.memory_dir, context.paths.home)}/{change.name}")
    return 0
