"""Look at the hooks by which Claude Code hands your memories back: each prompt gets what is remembered about it.

    memoryd setup              makes the plugin that they come with
    memoryd hooks status       which of them are there, and whether they will run
    memoryd hooks remove       take out of your settings what an older memoryd put there; all else stays as it is

`memoryd docs hooks` has the rest.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from memoryd.cli.output import add_json_option, print_json
from memoryd.clients.registry import WITH_PLUGIN
from memoryd.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from memoryd.cli import Context
    from memoryd.cli.screen import Block, Words
    from memoryd.clients.base import PluginClient
    from memoryd.clients.settings import HooksState, SettingsChange
    from memoryd.paths import Paths

NAME = "hooks"
HELP = "the hooks by which your memories come back"

_NOT_ALL = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="action", required=True)
    install = actions.add_parser("install", help="moved: `memoryd setup` does it")
    status = actions.add_parser("status", help="which of them are there, and whether they will run")
    remove = actions.add_parser("remove", help="take out what an older memoryd put into your settings")
    for action in (install, status, remove):
        action.add_argument("client", nargs="?", default=WITH_PLUGIN[0].name, help=f"only {_names()} so far")
        action.set_defaults(any_config=True)  # they have nothing to do with what memoryd itself is set to
    remove.add_argument("--follow", action="store_true", help="if the settings are a link, change what it leads to")
    add_json_option(status)


def execute(context: Context) -> int:
    client = next((client for client in WITH_PLUGIN if client.name == context.arguments.client), None)
    if client is None:
        raise UsageError(
            f"memoryd has no hooks for {context.arguments.client!r}; it knows {_names()}.",
            f"memoryd hooks {context.arguments.action} {WITH_PLUGIN[0].name}",
        )
    return {"install": _install, "status": _status, "remove": _remove}[context.arguments.action](context, client)


def _names() -> str:
    return ", ".join(client.name for client in WITH_PLUGIN)


def _install(_context: Context, client: PluginClient) -> int:
    raise UsageError(f"The hooks of {client.title} come with memoryd's plugin, which `setup` makes.", "memoryd setup")


def _remove(context: Context, client: PluginClient) -> int:
    from memoryd.formatting import short

    changed = client.remove_old_hooks(context.paths, context.clock.now(), follow=context.arguments.follow)
    file = short(changed.path, context.paths.home)
    if not changed.is_changed:
        print(f"There were no hooks of memoryd in {file}.")
    elif changed.after is None:
        print(f"Removed {file}: nothing but hooks of memoryd was in it.")
        _print_backup(context, changed)
    else:
        print(f"Took the hooks of memoryd out of {file}. Everything else stays as it was.")
        _print_backup(context, changed)
    return 0


def _print_backup(context: Context, changed: SettingsChange) -> None:
    from memoryd.formatting import short

    if changed.backup:
        print(f"What was in it before: {short(changed.backup, context.paths.home)}")


def _status(context: Context, client: PluginClient) -> int:
    found = client.hook_states(context.paths, context.environment, sys.executable)
    old, off = client.old_hooks(context.paths), _off(context, client)
    if context.arguments.json:
        print_json(as_json(client, context.paths, found, old, off))
    else:
        from memoryd.cli.screen import Screen

        Screen(context.environment).show(_blocks(context, client, found, old, off))
    return 0 if all(hook.state == "installed" for hook in found) and not old and not off else _NOT_ALL


def as_json(
    client: PluginClient, paths: Paths, found: Sequence[HooksState], old: Sequence[str], off: str
) -> dict[str, Any]:
    return {
        "client": client.name,
        "file": client.plugin_folder(paths),
        "installed": all(hook.state == "installed" for hook in found),
        "disabled_by": off or None,
        "left_in_settings": list(old),
        "hooks": [
            {
                "event": hook.event,
                "state": hook.state,
                "command": hook.command or None,
                "python": hook.python or None,
                "python_exists": hook.python_exists if hook.command else None,
            }
            for hook in found
        ],
    }


def _blocks(
    context: Context, client: PluginClient, found: Sequence[HooksState], old: Sequence[str], off: str
) -> list[Block]:
    from memoryd.cli.screen import Command, Paragraph, Rows, good, warn
    from memoryd.formatting import short

    home = context.paths.home
    rows: list[tuple[str, Words]] = [("plugin", short(client.plugin_folder(context.paths), home))]
    for hook in found:
        words: list[Any] = [good("installed") if hook.state == "installed" else warn(hook.state)]
        if hook.state == "outdated":
            python = short(hook.python, home)
            words.append(f", runs {python}" if hook.python_exists else f", {python or 'its Python'} is gone")
        rows.append((hook.event, words))
    blocks: list[Block] = [Rows(rows)]
    if old:
        place = short(client.settings_file(context.paths), home)
        blocks.append(Paragraph(warn(f"{place} still has those of an older memoryd: {', '.join(old)}.")))
    if off:
        blocks.append(Paragraph(warn(f"{client.title} does not run them: {off}.")))
    if old or any(hook.state != "installed" for hook in found):
        blocks.append(Command("memoryd setup"))
    return blocks


def _off(context: Context, client: PluginClient) -> str:
    """Reason why the client does not run the user's hooks; empty if none is known."""
    return client.read_settings(context.paths, context.environment).hooks_off.by
