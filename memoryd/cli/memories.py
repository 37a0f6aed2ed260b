"""List the memories of a project, or of all: type, age and what each one says. Those of your team are named with their author.

    memoryd memories pnpm                   those that hold the word
    memoryd memories --type feedback        of one type: user, feedback, project, reference
    memoryd memories --newer 7d             changed in the last week; --older for the opposite
    memoryd memories --all                  of all projects
    memoryd memories --global               those about you, which every project has; they are called global/NAME

Filters can be combined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.cli.output import add_json_option, print_json, print_message
from memoryd.cli.project import add_project_option, places_of, project_of
from memoryd.formatting import ago, count, short, shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from memoryd.cli import Context
    from memoryd.cli.screen import Block
    from memoryd.errors import StateError
    from memoryd.memory.document import Document

NAME = "memories"
HELP = "the memories of a project"
_TYPES = ("user", "feedback", "project", "reference")


class ListedMemory(NamedTuple):
    root: str
    """Of its project; empty where that is not known."""
    memory_dir: str
    name: str
    document: Document
    modified_at: float
    """0 for what is not read."""
    problem: str | None
    author: str = ""
    """Who shared it with the team, and then its name begins with the team's folder; empty: it is the user's own."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="only those that hold all these words")
    parser.add_argument("--type", choices=_TYPES, help="only those of this type")
    parser.add_argument("--newer", metavar="AGE", help="only those younger than this: 7d, 12h, 4w")
    parser.add_argument("--older", metavar="AGE", help="only those older than this")
    parser.add_argument("--all", action="store_true", help="of all projects")
    add_project_option(parser, with_global=True)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.screen import Screen
    from memoryd.jobs.team_answers import dirs_with_team

    arguments = context.arguments
    for age in filter(None, (arguments.newer, arguments.older)):
        _seconds(age)  # what is no age is said also where there are no memories
    project = None if arguments.all else project_of(context)
    own = project.memory_dir if project else ""
    places = (
        _all_places(context)
        if project is None
        else [(project.root if place == own else "", place) for place in places_of(context)]
    )
    listed, unusable = _listed(places, own)
    with_team = dirs_with_team(context.paths, context.config)
    listed += [memory for root, place in places if place in with_team for memory in _shared_in(root, place)]
    listed.sort(key=lambda memory: -memory.modified_at)
    found = [memory for memory in listed if _is_wanted(context, memory)]
    if arguments.json:
        print_json([_as_json(context, memory) for memory in found])
        return 0
    Screen(context.environment).show(_blocks(context, found))
    where = "all projects" if project is None else short(project.memory_dir, context.paths.home)
    if found:
        of = f" of {len(listed)}" if len(found) < len(listed) else ""
        person = sum(memory.memory_dir == context.paths.global_dir != own for memory in found)
        among = f", {person} of them global" if person and project is not None else ""
        print_message(f"{len(found)}{of} in {where}{among}")
        if project is not None:
            _print_offer(context, listed)
    elif listed:
        print_message(f"None of the {len(listed)} memories in {where} fits.")
    else:
        print_message(f"There are none in {where} yet.")
    if project is not None and not any(memory.memory_dir == own for memory in listed):
        _print_same_repository(context, project.root)
    if not listed:
        _print_elsewhere(context, places)
    for error in unusable:
        print_message(f"{error.sentence}\n  fix: {error.fix}")
    return 0


def _listed(places: list[tuple[str, str]], own: str) -> tuple[list[ListedMemory], list[StateError]]:
    """The memories of all places, and why some cannot be read. Raises StateError where that is the one asked about."""
    from memoryd.errors import StateError

    listed: list[ListedMemory] = []
    unusable: list[StateError] = []
    for root, memory_dir in places:
        try:
            listed += _memories_in(root, memory_dir)
        except StateError as error:
            if memory_dir == own:
                raise
            unusable.append(error)
    return listed, unusable


def _all_places(context: Context) -> list[tuple[str, str]]:
    from memoryd.jobs.memory_dirs import all_memory_dirs

    return [(place.root, place.path) for place in all_memory_dirs(context.paths, context.config)]


def _memories_in(root: str, memory_dir: str) -> Iterator[ListedMemory]:
    from memoryd.memory.directory import HEAD_BYTES, open_directory
    from memoryd.memory.document import parse

    try:
        with open_directory(memory_dir) as directory:
            listing = directory.listing()
            for name, mtime_ns in listing.topics.items():
                try:
                    state = directory.read(name, HEAD_BYTES)
                    problem = listing.odd.get(name)
                except PermissionError:
                    state, problem = None, "it cannot be read"
                document = parse(state.data if state else b"")
                yield ListedMemory(root, memory_dir, name, document, mtime_ns / 1e9, problem or document.problem)
            for name, why in sorted(listing.odd.items()):
                if name not in listing.topics:
                    yield ListedMemory(root, memory_dir, name, parse(b""), 0.0, why)
    except FileNotFoundError:
        return


def _shared_in(root: str, memory_dir: str) -> Iterator[ListedMemory]:
    """What the team of a project shares."""
    from memoryd.jobs.team import author_of, team_dir_of
    from memoryd.memory.tier_names import TEAM_FOLDER

    for memory in _memories_in(root, team_dir_of(memory_dir)):
        author = author_of(memory.document)
        yield memory._replace(memory_dir=memory_dir, name=f"{TEAM_FOLDER}/{memory.name}", author=author)


def _is_wanted(context: Context, memory: ListedMemory) -> bool:
    arguments = context.arguments
    if arguments.type and memory.document.type != arguments.type:
        return False
    text = f"{memory.name} {memory.document.description} {memory.document.body}".lower()
    if not all(word.lower() in text for word in arguments.words):
        return False
    age = context.clock.now() - memory.modified_at
    is_young = not arguments.newer or age <= _seconds(arguments.newer)
    return is_young and (not arguments.older or age >= _seconds(arguments.older))


def _seconds(given: str) -> float:
    from memoryd.cli.times import seconds_in
    from memoryd.errors import UsageError

    seconds = seconds_in(given)
    if seconds is None:
        raise UsageError(f"{given!r} is no age: 7d, 12h and 4w are.", "memoryd memories --newer 7d")
    return seconds


def _as_json(context: Context, memory: ListedMemory) -> dict[str, Any]:
    from memoryd.clock import iso

    return {
        "file": memory.name,
        "name": memory.document.name,
        "type": memory.document.type,
        "description": memory.document.description,
        "modified_at": iso(memory.modified_at) if memory.modified_at else None,
        "problem": memory.problem,
        "project": memory.root or None,
        "memory_dir": memory.memory_dir,
        "author": memory.author or None,
        "scope": "global" if memory.memory_dir == context.paths.global_dir else "project",
    }


def _blocks(context: Context, found: list[ListedMemory]) -> list[Block]:
    from memoryd.cli.screen import Paragraph, strong
    from memoryd.memory.tier_names import as_global

    blocks: list[Block] = []
    for memory in found:
        age = f"{ago(context.clock.now() - memory.modified_at)} old" if memory.modified_at else "left alone"
        where = f", {short(memory.root or memory.memory_dir, context.paths.home)}" if context.arguments.all else ""
        by = f"team, by {shown(memory.author)}, " if memory.author else ""
        about = f"  ({by}{memory.document.type or 'no type'}, {age}{where})"
        is_global = memory.memory_dir == context.paths.global_dir
        blocks.append(Paragraph([strong(as_global(memory.name) if is_global else memory.name), about]))
        blocks.append(Paragraph(memory.document.description or memory.problem or "", indent=4))
    return blocks


def _print_offer(context: Context, listed: list[ListedMemory]) -> None:
    """Say once that memories about the person stand in a project alone, and how every project gets them."""
    from contextlib import closing

    from memoryd.jobs.move import is_offered
    from memoryd.state.database import open_for_reading

    own = [memory for memory in listed if memory.document.type == "user" and memory.root]
    database = open_for_reading(context.paths) if own and context.paths.global_dir else None
    if database is not None:
        with closing(database):
            if not is_offered(database):
                told = f"{count(len(own), 'memory')} about you {'is' if len(own) == 1 else 'are'} known in this project alone"
                print_message(f"{told}; to take them to all: memoryd move")


def _print_same_repository(context: Context, root: str) -> None:
    """Say where the same repository has memories, under another path."""
    from contextlib import closing

    from memoryd.jobs.repository_identity import other_checkouts
    from memoryd.state.database import open_for_reading

    database = open_for_reading(context.paths)
    if database is None:
        return
    with closing(database):
        for other in other_checkouts(database, root)[:1]:
            where = short(other.root, context.paths.home)
            has = f"which is no longer there, has {count(other.memories, 'memory')}"
            has = has if other.is_gone else f"the same repository, has {count(other.memories, 'memory')}"
            print_message(f"{where}, {has}. To take them over: memoryd projects adopt")


def _print_elsewhere(context: Context, looked_at: list[tuple[str, str]]) -> None:
    from memoryd.cli.elsewhere import Elsewhere, print_elsewhere

    here = {memory_dir for _, memory_dir in looked_at}
    places = [
        Elsewhere(root, memory_dir, number)
        for root, memory_dir in _all_places(context)
        if memory_dir not in here and (number := len(list(_memories_in(root, memory_dir))))
    ]
    print_elsewhere(context, "memory", places)
