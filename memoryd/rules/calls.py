"""Tool calls as rules see them: the simple commands of a shell line, and the files that are changed. Pure; nothing is run."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.shell_commands import read_shell_line
from memoryd.rules import programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.clients.tool_actions import ToolAction

_MOST_COMMANDS = 100
_MOST_CHARACTERS = 32 * 1024
"""Of a shell line; a longer one is a program, and a client waits."""
_DEEPEST = 3
"""Shells in shells: `bash -c "bash -c …"`."""
_NAME = re.compile(r"[A-Za-z]\w*(?:-\w+)+|[A-Z][A-Z0-9_]{4,}", re.ASCII)


class ShellCommand(NamedTuple):
    """One simple command, in one spelling for all ways to write it."""

    words: tuple[str, ...]
    """The program, then what is no option."""
    options: frozenset[str] = frozenset()

    @property
    def program(self) -> str:
        return self.words[0]


class Call(NamedTuple):
    commands: tuple[ShellCommand, ...] = ()
    changed: tuple[str, ...] = ()
    """Paths of files that it sets out to change, as from the root of the project; absolute where they are elsewhere."""
    named: tuple[str, ...] = ()
    """Paths that its commands name beside them."""
    names: frozenset[str] = frozenset()
    """Names in its commands that are no ordinary words: of hosts, clusters, buckets."""
    root: str = ""
    """Of the project."""
    is_understood: bool = True
    """Whether these are its commands beyond doubt; otherwise they refuse nothing."""


def call_of(action: ToolAction, cwd: str, root: str = "") -> Call:
    """`root`: of the project, which paths are told from."""
    root = root or cwd
    if action.kind not in ("run", "change"):
        return Call()
    changed = tuple(dict.fromkeys(_relative(path, cwd, root) for path in action.files))
    commands: list[ShellCommand] = []
    line = read_shell_line(action.command if len(action.command) <= _MOST_CHARACTERS else "")
    for simple in line.commands:
        commands += _commands_of(simple.words, 0)
        if len(commands) >= _MOST_COMMANDS:
            break
    named = tuple(
        dict.fromkeys(
            _relative(word, cwd, root)
            for command in commands
            if command.program not in programs.READERS
            for word in command.words[1:]
            if "/" in word or ("." in word and word.rpartition(".")[2].isalnum())
        )
    )
    words = [word for simple in line.commands for word in (*simple.words, *map(" ".join, simple.assignments))]
    names = frozenset(_NAME.findall(" ".join(words)))
    return Call(tuple(commands), changed, named, names, root, line.is_understood)


def command_of(words: Sequence[str]) -> ShellCommand:
    """A command in the spelling that all ways to write it share."""
    program = os.path.basename(words[0])
    program = programs.SAME_PROGRAM.get(program, program)
    rest = list(words[1:])
    if program.startswith("python") and rest[:1] == ["-m"] and len(rest) > 1:
        return command_of(rest[1:])
    with_value = programs.OPTIONS_WITH_VALUE.get(program, frozenset())
    plain: list[str] = []
    options: list[str] = []
    at = 0
    while at < len(rest):
        word = rest[at]
        at += 1
        if word.startswith("-") and len(word) > 1:
            options.append(word.partition("=")[0])
            if word in with_value and at < len(rest):
                options.append(f"{word} {rest[at]}")
                at += 1
        else:
            plain.append(word)
    if plain:
        plain[0] = programs.SAME_SUBCOMMAND.get(program, {}).get(plain[0], plain[0])
    if program == "git" and plain[:1] == ["push"] and any(word.startswith("+") for word in plain):
        options.append("--force")
    same = programs.SAME_OPTION.get(" ".join([program, *plain[:1]])) or programs.SAME_OPTION.get(program, {})
    single = [letter for option in options for letter in _single(option)]
    return ShellCommand((program, *plain), frozenset(same.get(option, option) for option in single))


def _is_cluster(option: str) -> bool:
    """Whether one hyphen stands before several letters."""
    return len(option) > 2 and option[1:].isalpha()  # noqa: PLR2004 - the hyphen and a letter


def _single(option: str) -> list[str]:
    """`-rf` are two options; what begins with two hyphens is one."""
    return [f"-{letter}" for letter in option[1:]] + [option] if _is_cluster(option) else [option]


def is_run(pattern: str, command: ShellCommand) -> bool:
    """Whether a command is one that the pattern names: `npm install`, `git push --force`; `+`: with something behind it."""
    words = pattern.split()
    more = words[-1:] == ["+"]
    wanted = command_of(words[:-1] if more else words)
    options = {option for option in wanted.options if not _is_cluster(option)}  # their letters are there too
    if wanted.program != command.program or not options <= command.options:
        return False
    if command.program in programs.BY_TARGETS:
        return set(wanted.words) <= set(command.words)
    size = len(wanted.words)
    return command.words[:size] == wanted.words and (not more or len(command.words) > size)


def work_of(call: Call) -> frozenset[str]:
    """The kinds of work that a call does."""
    return frozenset(
        work.name
        for work in programs.WORK
        if any(
            any(is_run(pattern, command) for pattern in work.commands) or _has_target(work.target, command)
            for command in call.commands
        )
    )


def is_in_language(language: str, call: Call) -> bool:
    """Whether a call may be about a language: not if all its commands are of another one."""
    if not language:
        return True
    own = programs.LANGUAGE_PROGRAMS[language]
    of_others = frozenset().union(*programs.LANGUAGE_PROGRAMS.values()) - own
    return any(command.program not in of_others for command in call.commands if work_of(Call((command,))))


def _has_target(target: str, command: ShellCommand) -> bool:
    """Whether it runs a script or target with such a name: `make deploy`, `npm run test:unit`, `scripts/deploy.sh`."""
    if (
        not target
        or command.program in programs.READERS
        or command.program in ("git", "gh", "glab", "echo", "mkdir", "rm", "cp", "mv")
    ):
        return False
    is_behind = command.words[1:2] == ("run",) or command.program in programs.INTERPRETERS
    names = command.words[: 3 if is_behind else 2]
    return any(
        part.startswith(target)
        for name in names
        for part in "".join(letter if letter.isalnum() else " " for letter in os.path.basename(name).lower()).split()
    )


def _commands_of(words: Sequence[str], depth: int) -> Iterator[ShellCommand]:
    """A command, and those that it runs in turn."""
    if not words or depth > _DEEPEST:
        return
    command = command_of(words)
    yield command
    program = command.program
    if program in programs.SHELLS and "-c" in words[:-1]:
        line = read_shell_line(words[words.index("-c") + 1])
        for inner in line.commands if line.is_understood else ():
            yield from _commands_of(inner.words, depth + 1)
    elif program in programs.STARTERS:
        yield from _commands_of(_started(program, words), depth + 1)
    elif " ".join(words[:2]) in programs.STARTING_SUBCOMMANDS:
        yield from _commands_of(words[2:], depth + 1)


def _started(program: str, words: Sequence[str]) -> Sequence[str]:
    """The command that one like `sudo` or `xargs` runs; empty where it runs none."""
    with_value = programs.OPTIONS_WITH_VALUE.get(program, frozenset())
    at = 1
    while at < len(words) and (words[at].startswith("-") or "=" in words[at]):
        if program == "command" and words[at] in ("-v", "-V"):
            return ()
        at += 2 if words[at] in with_value else 1
    return words[at + programs.STARTERS[program] :]


def with_home(path: str) -> str:
    """A path with the home directory in the place of `~` or `$HOME`, as a shell reads it."""
    for name in ("~", "$HOME", "${HOME}"):
        if path == name or path.startswith(f"{name}/"):
            return os.path.expanduser("~") + path[len(name) :]
    return path


def _relative(path: str, cwd: str, root: str) -> str:
    path = os.path.normpath(os.path.join(cwd, with_home(path)))
    return path[len(root) :].lstrip("/") if path.startswith(f"{root.rstrip('/')}/") else path
