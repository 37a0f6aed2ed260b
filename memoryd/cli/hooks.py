"""Have Claude Code hand your memories back: each prompt gets what is remembered about it.

    memoryd hooks install      put the hooks into your settings of Claude Code; also after an upgrade
    memoryd hooks status       which of them are there, and whether they will run
    memoryd hooks remove       take them out; everything else in the settings stays as it is

Only your own settings are changed, and only where memoryd's hooks stand. docs/hooks.md has the rest.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from memoryd.cli.output import add_json_option, print_json
from memoryd.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from memoryd.cli import Context
    from memoryd.cli.screen import Block, Words
    from memoryd.clients.claude_code_file import Changed
    from memoryd.clients.claude_code_hooks import Standing

NAME = "hooks"
HELP = "have Claude Code hand your memories back to it"

_CLIENT = "claude-code"
_NOT_ALL = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="action", required=True)
    install = actions.add_parser("install", help="put the hooks into your settings; also after an upgrade")
    status = actions.add_parser("status", help="which of them are there, and whether they will run")
    remove = actions.add_parser("remove", help="take them out; everything else stays as it is")
    for action in (install, status, remove):
        action.add_argument("client", nargs="?", default=_CLIENT, help=f"only {_CLIENT} so far")
    for action in (install, remove):
        action.add_argument("--follow", action="store_true", help="if the settings are a link, change what it leads to")
    add_json_option(status)
    for action in (status, remove):
        action.set_defaults(any_config=True)  # they have nothing to do with what memoryd itself is set to


def execute(context: Context) -> int:
    if context.arguments.client != _CLIENT:
        raise UsageError(
            f"memoryd has no hooks for {context.arguments.client!r}; it knows {_CLIENT}.",
            f"memoryd hooks {context.arguments.action} {_CLIENT}",
        )
    return {"install": _install, "status": _status, "remove": _remove}[context.arguments.action](context)


def _install(context: Context) -> int:
    from memoryd.clients import claude_code_file
    from memoryd.clients.claude_code_hooks import HOOKS
    from memoryd.words import short

    changed = claude_code_file.install(
        context.paths, sys.executable, context.clock.now(), follow=context.arguments.follow
    )
    file = short(changed.path, context.paths.home)
    if changed.is_changed:
        print(f"{'Made' if changed.before is None else 'Changed'} {file}: {len(HOOKS)} hooks of memoryd are in it.")
        _tell_backup(context, changed)
    else:
        print(f"{file} has all {len(HOOKS)} hooks already, and stays as it is.")
    if off := _off(context):
        print(f"Claude Code will not run them: {off}.", file=sys.stderr)
    undo = f"memoryd hooks remove{' claude-code --follow' if context.arguments.follow else ''}"
    print(f"{'' if off else 'New sessions of Claude Code use them. '}To undo this: {undo}", file=sys.stderr)
    return 0


def _remove(context: Context) -> int:
    from memoryd.clients import claude_code_file
    from memoryd.words import short

    changed = claude_code_file.remove(context.paths, context.clock.now(), follow=context.arguments.follow)
    file = short(changed.path, context.paths.home)
    if not changed.is_changed:
        print(f"There were no hooks of memoryd in {file}.")
    elif changed.after is None:
        print(f"Removed {file}: nothing but hooks of memoryd was in it.")
        _tell_backup(context, changed)
    else:
        print(f"Took the hooks of memoryd out of {file}. Everything else stays as it was.")
        _tell_backup(context, changed)
    return 0


def _tell_backup(context: Context, changed: Changed) -> None:
    from memoryd.words import short

    if changed.backup:
        print(f"What was in it before: {short(changed.backup, context.paths.home)}")


def _status(context: Context) -> int:
    from memoryd.clients import claude_code_file

    found = claude_code_file.look(context.paths, context.environment, sys.executable)
    off = _off(context)
    if context.arguments.json:
        print_json(as_json(context.paths.claude_settings, found, off))
    else:
        from memoryd.cli.screen import Screen

        Screen(context.environment).show(_blocks(context, found, off))
    return 0 if all(one.state == "installed" for one in found) and not off else _NOT_ALL


def as_json(file: str, found: Sequence[Standing], off: str) -> dict[str, Any]:
    return {
        "client": _CLIENT,
        "file": file,
        "installed": all(one.state == "installed" for one in found),
        "disabled_by": off or None,
        "hooks": [
            {
                "event": one.event,
                "state": one.state,
                "command": one.command or None,
                "python": one.python or None,
                "python_exists": one.python_exists if one.command else None,
            }
            for one in found
        ],
    }


def _blocks(context: Context, found: Sequence[Standing], off: str) -> list[Block]:
    from memoryd.cli.screen import Command, Paragraph, Rows, good, warn
    from memoryd.words import short

    rows: list[tuple[str, Words]] = [("settings", short(context.paths.claude_settings, context.paths.home))]
    for one in found:
        words: list[Any] = [good("installed") if one.state == "installed" else warn(one.state)]
        if one.state == "outdated":
            python = short(one.python, context.paths.home)
            words.append(f", runs {python}" if one.python_exists else f", {python or 'its Python'} is gone")
        rows.append((one.event, words))
    blocks: list[Block] = [Rows(rows)]
    if off:
        blocks.append(Paragraph(warn(f"Claude Code does not run them: {off}.")))
    if any(one.state != "installed" for one in found):
        blocks.append(Command("memoryd hooks install"))
    return blocks


def _off(context: Context) -> str:
    """What keeps Claude Code from running the user's hooks; empty: nothing that is known."""
    from memoryd.clients import claude_code_settings

    return claude_code_settings.read(context.paths, context.environment).hooks_off.by
