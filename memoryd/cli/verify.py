"""Compare memories with the repository: paths, symbols and commands that they name and that are no longer there.

No model is asked, and nothing is changed. Names that were never in the repository's history are passed over: a memory may
speak of a library or of another repository. Exits with 1 where something is gone, or nothing can be checked.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from memoryd.cli.memory_names import memory_name
from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, memory_of, project_of
from memoryd.errors import MemorydError
from memoryd.formatting import count, short, shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.projects import Project

NAME = "verify"
HELP = "what memories name and the code has no more"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="*", help="only these memories (default: all)")
    add_project_option(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.recall.refresh import MemoryPlace, after_work  # so that recall tells it too
    from memoryd.rot.check import Repository, check

    project = project_of(context)
    texts = _texts(context, project)
    repository = Repository(project.root)
    found = check(texts, repository)
    if not context.arguments.files and project.root:
        after_work(context.paths, context.config, context.clock, [MemoryPlace(project.memory_dir, project.root)])
    if context.arguments.json:
        print_json(
            {
                "project": project.root,
                "problem": repository.problem or None,
                "checked": 0 if repository.problem else len(texts),
                "gone": [
                    {"file": name, "kind": missing.claim.kind, "text": missing.claim.text, "why": missing.why}
                    for name, gone in found.items()
                    for missing in gone
                ],
            }
        )
        return 1 if found or (repository.problem and texts) else 0
    for name, gone in found.items():
        print(shown(name))
        for missing in gone:
            print(f"    {shown(missing.claim.text)}: {shown(missing.why)}")
    if repository.problem and texts:
        raise MemorydError(
            f"Nothing could be checked against {short(project.root, context.paths.home)}: {repository.problem}.",
            f"git -C {shlex.quote(project.root)} status",
        )
    print(_summary(len(texts), len(found)), file=sys.stderr)
    return 1 if found else 0


def _texts(context: Context, project: Project) -> dict[str, str]:
    """Texts to check, by file name. Raises MemorydError for a memory that does not exist."""
    from memoryd.rot.check import text_of

    files = context.arguments.files
    texts: dict[str, str] = {}
    if not files and not os.path.isdir(project.memory_dir):
        return texts  # no memory yet, and so nothing gone
    with memory_of(project) as directory:
        names = [memory_name(context, directory, file) for file in files] or sorted(directory.listing().topics)
        for name in names:
            try:
                state = directory.read(name)
            except PermissionError:
                continue  # `memoryd memories` says so
            if state is not None:
                texts[name] = text_of(state.data)
    return texts


def _summary(checked: int, stale: int) -> str:
    if not stale:
        return f"All references in {count(checked, 'memory')} still exist."
    return f"{stale} of {checked} refer to something that is gone. memoryd forget FILE removes one; an edit mends it."
