"""Work that a call does: by its commands, by the files that it changes, by what it writes. Pure, and quick."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING

from memoryd.rules import programs
from memoryd.rules.calls import is_reading, is_run
from memoryd.rules.work_kinds import IN_SCRIPTS, WORK, commands_of, done_in, written_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.rules.calls import Call, ShellCommand
    from memoryd.rules.work_kinds import Work

FILES = " files"
"""Behind the name of a kind of work: done by a change of files, and not by a command."""
_PRODUCTION = frozenset({"prod", "production", "prd", "live"})
_BRANCHES = frozenset({"main", "master", "trunk"})
_TARGET = re.compile(r"[A-Za-z][\w:-]*")
_NO_TARGETS = (
    programs.CONSUMERS
    | programs.OF_CLOUDS
    | frozenset({"git", "gh", "glab", "test", "echo", "mkdir", "rm", "cp", "mv", "curl", "wget", "ping"})
)


def work_of(call: Call) -> frozenset[str]:
    """The kinds of work that a call does, by its commands and by the files that it changes."""
    run = (*call.commands, *call.elsewhere)
    found = {name for command in run for name in _done_by(command)}
    found |= {name for command in call.scripted for name in _done_by(command) if name in IN_SCRIPTS}
    if _pushes_to_main(call.commands):
        found.add("push to main")
    if any(map(_changes_production, run)):
        found.add("change production")
    if _runs_from_web((*run, *call.scripted)):
        found.add("run a script from the web")
    added = [word for command in call.commands if command.words[:2] == ("git", "add") for word in command.words[2:]]
    if paths := (*call.changed, *added):
        found |= {f"{work.name}{FILES}" for work in WORK if work.paths and _is_done_in(work, paths, call.written)}
    return frozenset(found)


def _done_by(command: ShellCommand) -> set[str]:
    """The kinds of work that a command does."""
    if is_reading(command):
        return set()
    found = {name for name, pattern in _by_program().get(command.program, ()) if is_run(pattern, command)}
    return found | {work.name for work in WORK if work.target and _has_target(work.target, command)}


@cache
def _by_program() -> dict[str, list[tuple[str, str]]]:
    """Kinds of work and patterns of their commands, by the program: a client waits."""
    found: dict[str, list[tuple[str, str]]] = {}
    for work in WORK:
        for pattern in commands_of(work.name):
            found.setdefault(pattern.split()[0], []).append((work.name, pattern))
    return found


def _is_done_in(work: Work, changed: Sequence[str], written: str) -> bool:
    """Whether such files are changed; where it matters what is written there, whether that is."""
    paths = done_in(work.name)
    if paths is None or not any(map(paths.match, changed)):
        return False
    writes = written_by(work.name)
    return writes is None or writes.search(written) is not None


def _pushes_to_main(commands: Sequence[ShellCommand]) -> bool:
    """Whether something is pushed there, or committed or merged after going there."""
    is_there = False
    for command in commands:
        if command.program != "git":
            continue
        subcommand, *rest = (*command.words[1:], "")
        names = {name for word in rest for name in re.split("[:+/]", word)}
        if subcommand in ("checkout", "switch"):
            is_there = not names.isdisjoint(_BRANCHES) and command.options.isdisjoint({"-b", "-c", "-B", "-C"})
        if subcommand == "push" and not names.isdisjoint(_BRANCHES):
            return True
        if is_there and subcommand in ("commit", "merge", "push", "cherry-pick"):
            return True
    return False


def _changes_production(command: ShellCommand) -> bool:
    """Whether a command that changes machines, clusters or buckets names production among its words."""
    if command.program not in _deploying() or is_reading(command):
        return False
    words = (*command.words[1:], *(option for option in command.options if " " in option))
    return any(not _PRODUCTION.isdisjoint(re.split(r"[\W_]+", word.lower())) for word in words)


@cache
def _deploying() -> frozenset[str]:
    return programs.OF_CLOUDS | programs.DEPLOYING_TASKS | {command.split()[0] for command in commands_of("deploy")}


def _runs_from_web(commands: Sequence[ShellCommand]) -> bool:
    """Whether a shell is given what was just fetched: by a pipe, or by `$(…)`."""
    is_fetched = any(command.program in ("curl", "wget") for command in commands)
    return is_fetched and any(
        command.program in programs.SHELLS and all(word in ("-", "$()") for word in command.words[1:])
        for command in commands
    )


def is_in_language(language: str, call: Call) -> bool:
    """Whether a call may be about a language: not if all its commands and files are of another one."""
    if not language:
        return True
    of_others = programs.OF_LANGUAGES - programs.LANGUAGE_PROGRAMS[language]
    commands = [command for command in (*call.commands, *call.elsewhere, *call.scripted) if _done_by(command)]
    return any(command.program not in of_others for command in commands) or (
        not commands and any(_is_file_of(language, path) for path in call.changed)
    )


def _is_file_of(language: str, path: str) -> bool:
    name = os.path.basename(path)
    manifests = programs.LANGUAGE_MANIFESTS
    if name in manifests:
        return manifests[name] == programs.LANGUAGE_PROGRAMS[language]
    extension = name.rpartition(".")[2].lower()
    return extension in programs.FILE_KINDS.get(language, ()) or not any(
        extension in kinds for kinds in programs.FILE_KINDS.values()
    )


def _has_target(target: str, command: ShellCommand) -> bool:
    """Whether it runs a script or target with such a name: `make deploy`, `npm run test:unit`, `scripts/deploy.sh`."""
    if not target or command.program in _NO_TARGETS:
        return False
    is_behind = command.words[1:2] == ("run",) or command.program in programs.INTERPRETERS
    names: Sequence[str] = command.words[: 3 if is_behind else 1]
    if command.program in programs.TASK_RUNNERS:
        names = command.words
    elif not is_behind and command.words[1:2] and _TARGET.fullmatch(command.words[1]):
        names = command.words[:2]
    return any(
        part.startswith(target)
        for name in names
        for part in "".join(letter if letter.isalnum() else " " for letter in os.path.basename(name).lower()).split()
    )
