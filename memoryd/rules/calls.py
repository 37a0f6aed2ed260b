"""Tool calls as rules see them: the simple commands of a shell line, and the files that are changed. Pure; nothing is run."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from memoryd.clients.shell_commands import read_shell_line
from memoryd.record import NamedTuple
from memoryd.rules import programs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from memoryd.clients.tool_actions import ToolAction

_MOST_COMMANDS = 100
_MOST_CHARACTERS = 32 * 1024
"""Of a shell line; a longer one is a program, and a client waits."""
_DEEPEST = 3
"""Shells in shells: `bash -c "bash -c …"`."""
_NAME = re.compile(r"(?:--)?\w+(?:-\w+)*", re.ASCII)
_MOST_NAMES = 300
_MOST_LINES = 400
"""Of a text that is written; a longer one is no edit."""
_SCRIPT = (
    r"(?:^|.*/)(?:(?:GNU)?[Mm]akefile|[Jj]ustfile|Jenkinsfile|Procfile|(?:Docker|Container)file(?:\.\w+)?|package\.json|\.gitlab-ci\.yml"
    r"|Taskfile\.ya?ml|\.(?:husky|githooks|circleci)/.*|\.github/(?:workflows|actions)/.*|[^/]*\.(?:sh|bash|zsh|mk|[Dd]ockerfile))"
)
"""Files that have commands in them."""
_BEFORE_COMMAND = r"\s*(?:-\s+)?(?:run:\s*[|>]?-?|RUN|CMD|ENTRYPOINT|script:|\"[\w:-]+\":\s*\"|[@-]+)?\s*"
_SHELL_SCRIPT_OPTION = re.compile(r"-[a-z]*c")


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
    """Words and long options of its commands: among them the names of hosts, clusters, buckets."""
    elsewhere: tuple[ShellCommand, ...] = ()
    """Commands that it runs in a container or on another machine; they refuse nothing."""
    scripted: tuple[ShellCommand, ...] = ()
    """Commands that it writes into a script or a build file; neither do they."""
    written: str = ""
    """Lines that it writes and that were not there before."""
    replaced: str = ""
    """Text that it writes them in the place of."""
    folders: tuple[str, ...] = ()
    """Folders that it goes to before its commands are run."""
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
    if action.kind == "change":
        written = _new_lines(action.passage, action.replaced)
        scripted = _commands_in_script(written) if any(re.match(_SCRIPT, path) for path in changed) else ()
        return Call(changed=changed, scripted=scripted, written=written, replaced=action.replaced, root=root)
    line = read_shell_line(action.command if len(action.command) <= _MOST_CHARACTERS else "")
    commands: list[ShellCommand] = []
    elsewhere: list[ShellCommand] = []
    for simple in line.commands:
        commands += _commands_of(simple.words, 0)
        elsewhere += _commands_elsewhere(simple.words)
        if len(commands) >= _MOST_COMMANDS:
            break
    doing = [simple for simple in line.commands if simple.words and not _only_tells(command_of(simple.words))]
    words = [word for simple in doing for word in (*simple.words, *map(" ".join, simple.assignments))]
    is_message = any(command.words[:2] in (("git", "commit"), ("git", "tag")) for command in commands)
    return Call(
        tuple(commands),
        changed,
        _named(commands, cwd, root),
        frozenset(_NAME.findall(" ".join(words))[:_MOST_NAMES]),
        tuple(elsewhere),
        written="" if is_message else "\n".join(line.heredocs),
        root=root,
        folders=_folders(commands, cwd, root),
        is_understood=line.is_understood,
    )


def _named(commands: Sequence[ShellCommand], cwd: str, root: str) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            _relative(word, cwd, root)
            for command in commands
            if not is_reading(command) and command.program not in programs.CONSUMERS
            for word in command.words[1:]
            if "/" in word or ("." in word and word.rpartition(".")[2].isalnum())
        )
    )


def _folders(commands: Sequence[ShellCommand], cwd: str, root: str) -> tuple[str, ...]:
    """Where commands are run, if that is not the root of the project."""
    gone_to = [
        command.words[1] for command in commands if command.program in ("cd", "pushd") and len(command.words) > 1
    ]
    gone_to += [] if cwd.rstrip("/") == root.rstrip("/") else [cwd]
    return tuple(dict.fromkeys(_relative(folder, cwd, root) for folder in gone_to))


def _new_lines(passage: str, replaced: str) -> str:
    before = set(replaced.split("\n"))
    return "\n".join([line for line in passage.split("\n") if line not in before][:_MOST_LINES])


def _commands_in_script(text: str) -> tuple[ShellCommand, ...]:
    """Commands in lines of a script, of a build file, of a workflow."""
    found: list[ShellCommand] = []
    for line in text.split("\n"):
        start = re.match(_BEFORE_COMMAND, line)
        read = read_shell_line(line[start.end() if start else 0 :].rstrip().rstrip('",\\'))
        for simple in read.commands if read.is_understood else ():
            if simple.words and not simple.words[0].endswith(":"):  # the name of a setting, or of a target
                found += _commands_of(simple.words, 0)
    return tuple(found[:_MOST_COMMANDS])


def is_reading(command: ShellCommand) -> bool:
    """Whether a command is known to change nothing."""
    if command.program in programs.READERS:
        return True
    subcommand = command.words[1] if len(command.words) > 1 else ""
    if subcommand in programs.READING_SUBCOMMANDS.get(command.program, ()):
        return True
    return not command.options.isdisjoint(programs.READING_OPTIONS.get(f"{command.program} {subcommand}", ()))


def _only_tells(command: ShellCommand) -> bool:
    """Whether its words are text for people, or what is looked for."""
    return is_reading(command) or command.program in programs.TELLERS or command.words[:2] == ("git", "commit")


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
        if program == "cargo" and word.startswith("+") and not plain:
            continue  # the toolchain
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


def _commands_of(words: Sequence[str], depth: int) -> Iterator[ShellCommand]:
    """A command, and those that it runs in turn."""
    if not words or depth > _DEEPEST:
        return
    command = command_of(words)
    yield command
    program = command.program
    subcommand = " ".join(words[:2])
    script = next((at for at, word in enumerate(words[1:-1], 1) if _SHELL_SCRIPT_OPTION.fullmatch(word)), 0)
    if program in programs.SHELLS and script:
        line = read_shell_line(words[script + 1])
        for inner in line.commands if line.is_understood else ():
            yield from _commands_of(inner.words, depth + 1)
    elif program in programs.STARTERS:
        yield from _commands_of(_started(program, words), depth + 1)
    elif subcommand in programs.STARTING_SUBCOMMANDS:
        yield from _commands_of(_behind_options(words, 2, programs.STARTING_SUBCOMMANDS[subcommand]), depth + 1)
    elif program in programs.STARTING_BEHIND_DASHES and "--" in words:
        yield from _commands_of(words[words.index("--") + 1 :], depth + 1)
    elif program in programs.PACKAGE_MANAGERS and words[1:2] and words[1] not in programs.OF_PACKAGE_MANAGERS:
        yield from _commands_of([] if words[1].startswith("-") else words[1:], depth + 1)
    elif program in programs.INTERPRETERS and words[1:2] and not words[1].startswith("-"):
        yield command_of(words[1:])


def _commands_elsewhere(words: Sequence[str]) -> Iterator[ShellCommand]:
    """Commands that are run in a container, or on another machine."""
    if not words:
        return
    program = os.path.basename(words[0])
    start = " ".join((program, *words[1 : 3 if program == "docker" else 2]))
    if start in programs.RUNNING_ELSEWHERE:
        yield from _commands_of(_behind_options(words, len(start.split()), 1, programs.OPTIONS_OF_COMPOSE), 1)
    elif program in ("kubectl", "docker") and "exec" in words and "--" in words:
        yield from _commands_of(words[words.index("--") + 1 :], 1)
    elif program not in programs.PROGRAMS | programs.ORDINARY_WORDS and words[1:2] and words[1] in programs.PROGRAMS:
        yield from _commands_of(words[1:], 1)  # `fvm flutter test`
    elif program == "ssh":
        command = command_of(words)
        line = read_shell_line(" ".join(command.words[2:]))
        for simple in line.commands if line.is_understood else ():
            yield from _commands_of(simple.words, 1)


def _behind_options(words: Sequence[str], at: int, more: int, with_value: Collection[str] = ()) -> Sequence[str]:
    """What stands behind the options from a place on, and behind so many words more."""
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in with_value else 1
    return words[at + more :]


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
