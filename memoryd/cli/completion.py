"""Print what makes a shell complete memoryd's commands, options and the names of your memories, or its manual page.

    memoryd completion bash > ~/.local/share/bash-completion/completions/memoryd
    memoryd completion zsh > ~/.zfunc/_memoryd          with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
    memoryd completion fish > ~/.config/fish/completions/memoryd.fish
    memoryd completion man > ~/.local/share/man/man1/memoryd.1

`names` prints the names of the memories here, `sessions` the ids of sessions with notes: the scripts ask for them while you
type.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.cli import Context

NAME = "completion"
HELP = "completions for bash, zsh and fish, and a manual page"
SHELLS = ("bash", "zsh", "fish")
_NAMES = frozenset({"file", "files", "what"})
"""Arguments that are names of memories."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=(*SHELLS, "man", "names", "sessions"), help="which shell; man; names; sessions")


def execute(context: Context) -> int:
    from memoryd.cli import parser_of

    kind = context.arguments.kind
    if kind == "names":
        print(*_names(context), sep="\n")
    elif kind == "sessions":
        from memoryd.cli.notes import kept_notes

        print(*(notes.session_id for notes in kept_notes(context) if notes.file), sep="\n")
    elif kind == "man":
        from memoryd.cli.manual import manual_page

        print(manual_page(parser_of()), end="")
    else:
        import shtab

        print(shtab.complete(_described(parser_of()), kind))
    return 0


def commands_in(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Names and parsers of all commands."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            yield from action.choices.items()


def _described(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The parser, whose arguments say what they are completed with."""
    import shtab

    sessions: Any = shtab.cmd("memoryd completion sessions 2>/dev/null")
    names: Any = shtab.cmd("memoryd completion names 2>/dev/null")
    for _, command in commands_in(parser):
        for action in command._actions:  # noqa: SLF001 - as above
            if action.metavar == "DIR":
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
            elif action.metavar == "SESSION":
                action.complete = sessions  # type: ignore[attr-defined]
            elif action.dest in _NAMES and not action.option_strings:
                action.complete = names  # type: ignore[attr-defined]
    return parser


def _names(context: Context) -> list[str]:
    """Names of the memories of the project here, without their ending; nothing where that cannot be told."""
    from memoryd.errors import MemorydError
    from memoryd.memory.directory import open_directory
    from memoryd.projects import project_at, root_of

    try:
        project = project_at(root_of(os.getcwd()), context.paths, context.config)
        with open_directory(project.memory_dir) as directory:
            return sorted(name.removesuffix(".md") for name in directory.listing().topics)
    except (OSError, MemorydError):
        return []
