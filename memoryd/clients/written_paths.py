"""Paths that a shell command writes, changes or deletes, as far as its text tells. Pure; nothing is run."""

from __future__ import annotations

import os
import re
from itertools import dropwhile

from memoryd.clients.shell_commands import read_shell_line

_STARTERS = frozenset({"sudo", "command", "env", "nohup", "time"})
_CHANGE_ALL = frozenset({"rm", "shred", "touch", "truncate", "tee", "patch", "mv"})
_CHANGE_LAST = frozenset({"cp", "mv", "install", "ln", "rsync"})
_IN_PLACE = re.compile(r"-(?:\w*i|i.*|-in-place.*)")


def written_by(command: str) -> list[str]:
    """The paths of the files that a command changes, as they are written in it, behind the directory it has gone to.

    Redirections and the usual programs are understood; what a script does that the command runs is not.
    """
    found: list[str] = []
    values: dict[str, str] = {}
    place = ""
    for simple in read_shell_line(command).commands:
        for name, value in simple.assignments:
            values[name] = _with_values(value, values)
        for operator, target in simple.redirections:
            if ">" in operator and not (operator.endswith("&") and target.isdigit()):
                found.append(os.path.join(place, _with_values(target, values)))
        words = [_with_values(word, values) for word in dropwhile(_STARTERS.__contains__, simple.words)]
        place = _simple(words, place, found)
    return found


def _simple(words: list[str], place: str, found: list[str]) -> str:
    """Add what one simple command changes; return the directory that the next one is run in."""
    if not words:
        return place
    program = os.path.basename(words[0])
    options = [word for word in words[1:] if word.startswith("-")]
    names = [os.path.join(place, word) for word in words[1:] if not word.startswith("-")]
    if program in ("cd", "pushd"):
        return names[0] if names else "~"
    if program in _CHANGE_ALL:
        found += names
    if program in _CHANGE_LAST and len(names) > 1:
        found += [names[-1], os.path.join(names[-1], os.path.basename(names[0]))]
    if program in ("sed", "perl") and any(map(_IN_PLACE.fullmatch, options)):
        found += names[1:] or names
    if program == "dd":
        found += [os.path.join(place, word.removeprefix("of=")) for word in words if word.startswith("of=")]
    if program == "find" and names and ("-delete" in options or "rm" in words):
        found.append(os.path.join(names[0], "*"))
    return place


def _with_values(word: str, values: dict[str, str]) -> str:
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda name: values.get(name[1] or name[2], name[0]), word)
