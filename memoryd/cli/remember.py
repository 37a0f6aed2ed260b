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
    from memoryd.memory_types import MemoryType

NAME = "remember"
_CLEAR = 0.6
"""So likely a type is not asked about."""
_QUESTION = "you (user), the way to work (feedback), the project, or where to look (reference)"
HELP = "write a memory by hand"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", help="one fact, in a sentence")
    parser.add_argument("--type", choices=("user", "feedback", "project", "reference"), help="otherwise guessed")
    add_project_option(parser)


def _type_of(text: str) -> MemoryType:
    """The type that the words tell; on a terminal the user is asked where they do not."""
    import sys

    from memoryd.engines.offline.classifier import TYPES, type_probabilities

    likely = type_probabilities(text)
    best = max(TYPES, key=lambda kind: likely[kind])
    if likely[best] >= _CLEAR or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return best
    print(f"What is this about? {_QUESTION} [{best}] ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline().strip().lower()
    return next((kind for kind in TYPES if answer and kind.startswith(answer)), best)


def execute(context: Context) -> int:
    from memoryd.jobs.remember import checked_text, remember
    from memoryd.jobs.repository_identity import record_identities
    from memoryd.memory.tiers import Tiers
    from memoryd.state.database import open_database
    from memoryd.state.projects import update_projects

    text = checked_text(" ".join(context.arguments.text).encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    kind = context.arguments.type or _type_of(text)
    project = project_of(context)
    database = open_database(context.paths)
    try:
        saved = remember(database, project.memory_dir, text, context.clock.now(), kind)
        if project.root:  # so that the repository is known again after it was moved
            update_projects(database, [project], context.clock.now())
    finally:
        database.close()
    record_identities(context.paths, [project.root], context.clock.now())
    for place, name in map(Tiers(project.memory_dir, context.paths.global_dir).place_of, saved):
        print(f"saved {short(place, context.paths.home)}/{name}")
    return 0
