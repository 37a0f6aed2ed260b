"""Share a memory with everybody who works on this project, or bring what you shared up to date:

    memoryd share project_cutover.md      the first time you are asked where the team's memories live
    memoryd share --join                  take part in the team of this project, and share nothing yet
    memoryd unshare project_cutover.md    take it out again

Your own memory stays; what the others see is a copy in `team/`, with your name. It goes out with the next exchange. Memories
about you are never shared, nor is one that holds a secret. Sharing or joining is your yes for this one project: without it
nothing of its team comes here, and nothing goes there. `memoryd unshare --leave` takes the yes back.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from memoryd.cli.memory_names import memory_name, not_one
from memoryd.cli.output import print_message
from memoryd.cli.project import add_project_option, memory_of, own_project_of
from memoryd.errors import ConfigError, UsageError
from memoryd.formatting import short, shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.config import Config
    from memoryd.projects import Project
    from memoryd.state.database import Database

NAME = "share"
HELP = "share a memory with your team"

_WHERE = (
    "Where shall the team's memories live? Type `ref` for a ref of its own on this project's remote (refs/memoryd/team: no branch,"
    " no CI), `folder` for a folder that you commit yourselves, or a git URL, a directory, or s3://bucket/folder. [ref] "
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="its file name, or a part of it")
    parser.add_argument("--join", action="store_true", help="take part in the team of this project")
    add_project_option(parser)


def execute(context: Context) -> int:
    from memoryd.jobs.sync import person_name, reason_to_stay
    from memoryd.jobs.team import ShareError, share
    from memoryd.state.database import open_database

    project = own_project_of(context)
    name = None
    if context.arguments.file is not None:
        if not os.path.isdir(project.memory_dir):
            raise not_one(context, project.memory_dir, context.arguments.file)
        with memory_of(project) as directory:
            name = memory_name(context, directory, context.arguments.file)
        if project.memory_dir == context.paths.global_dir:
            raise ShareError(f"{name} is about you, whatever the project: such memories are always private.")
    elif not context.arguments.join:
        raise UsageError("Which memory shall be shared?", "memoryd memories")
    with closing(open_database(context.paths)) as database:
        if reason := reason_to_stay(database, project):
            raise ShareError(f"Nothing of this project can be shared: {reason}.", "memoryd projects")
        config = context.config if context.config.is_team_on else _choose_store(context)
        author = person_name(context.environment, project.root)
        _join(context, config, project, author, database)
        if name is not None:
            path = share(database, project.memory_dir, name, author, context.clock.now())
            print(f"shared {short(path, context.paths.home)}")
    what = "It goes out" if name is not None else "What the others share comes"
    print_message(f"{what} with the next exchange: by itself where memoryd runs, else with memoryd sync.")
    return 0


def _join(context: Context, config: Config, project: Project, author: str, database: Database) -> None:
    """Keep the user's yes for this project, and say so the first time. Raises UsageError where there is no place."""
    from memoryd.jobs.team_answers import join
    from memoryd.state.projects import update_projects
    from memoryd.state.team import answers

    before = answers(database).get(project.memory_dir)
    if not project.root or not (place := join(database, config, project, author, context.clock.now())):
        raise UsageError(
            "This project has no remote that a team could share.",
            "git remote add origin URL   # or another `team.store` in the config",
        )
    update_projects(database, [project], context.clock.now())
    if before is None or before.place != place:
        print_message(
            f"{short(project.root, context.paths.home)} takes part in the team at {shown(place)}: what others share there comes"
            " here. To end that: memoryd unshare --leave"
        )


def _choose_store(context: Context) -> Config:
    """Ask where the team's memories live, and put the answer into the config file. Raises UsageError without a terminal."""
    from memoryd import atomic_file
    from memoryd.config import parse
    from memoryd.setup.config_text import with_setting

    file = context.paths.config_file
    if "team" in context.paths.switched_off:
        raise UsageError("The team is switched off in the environment.", "unset MEMORYD_DISABLE_TEAM")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"Where the team's memories live is not set: `team.enabled` and `team.store` in {file}.",
            f"$EDITOR {file}"
            if context.config.team.store  # a second [team] would break the file
            else f"printf '[team]\\nenabled = true\\nstore = \"ref\"\\n' >> {file}",
        )
    print(_WHERE, end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline().strip() or context.config.team.store or "ref"
    real = os.path.realpath(file)
    text = (atomic_file.read_regular(real, 1 << 20) or b"").decode()
    text = with_setting(with_setting(text, "team", "store", answer), "team", "enabled", value=True)
    config = parse(text.encode(), context.paths)
    if not config.is_team_on:
        raise ConfigError(
            f"{file} is written in a way in which the team cannot be set by a program.", f"$EDITOR {file}"
        )
    try:
        atomic_file.write(real, text.encode())
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}.", f"ls -l {file}") from error
    print_message(f'Wrote store = "{answer}" into [team] of {short(file, context.paths.home)}.')
    return config
