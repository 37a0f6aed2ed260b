"""Other projects that have something to show: told where a command finds nothing here."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from memoryd.cli.output import print_message
from memoryd.formatting import count, short, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.cli import Context

_MOST = 5


class Elsewhere(NamedTuple):
    """A project, and how much of the thing it has."""

    root: str
    """Empty where it is not known."""
    memory_dir: str
    number: int


def print_elsewhere(context: Context, noun: str, places: Sequence[Elsewhere]) -> None:
    """Name the projects that have some, most first, each with the command that shows it."""
    command = f"memoryd {context.arguments.called}"
    ordered = sorted(places, key=lambda place: (-place.number, place.memory_dir))
    for place in ordered[:_MOST]:
        has_root = bool(place.root) and place.root != place.memory_dir
        where = short(place.root if has_root else place.memory_dir, context.paths.home)
        how = f"{command} --project {shlex.quote(place.root)}" if has_root else f"{command} --all"
        print_message(f"{count(place.number, noun)} in {where}: {shown(how)}")
    if len(ordered) > _MOST:
        print_message(f"and {count(len(ordered) - _MOST, 'other project')}: {command} --all")
