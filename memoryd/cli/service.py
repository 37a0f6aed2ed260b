"""Have memoryd run by itself: as a systemd user unit, or as a launchd agent on a Mac.

    memoryd service install      start it now and at every login; also after an upgrade
    memoryd service status       whether it is installed and runs, and why not
    memoryd service restart      stop it cleanly, start it again
    memoryd service remove       stop it and take the unit away; memories and state stay

`memoryd docs service` has the rest.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from memoryd.cli.output import add_json_option, print_json, print_message
from memoryd.errors import ServiceError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.cli.screen import Block, Words
    from memoryd.daemon.last_failure import Failure
    from memoryd.daemon.single_instance import Instance
    from memoryd.service import Manager
    from memoryd.service.state import State

NAME = "service"
HELP = "have memoryd run by itself, from login on"

_NOT_RUNNING = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="action", required=True)
    install = actions.add_parser("install", help="start it now and at every login; also after an upgrade")
    status = actions.add_parser("status", help="whether it is installed and runs, and why not")
    actions.add_parser("restart", help="stop it cleanly, start it again")
    remove = actions.add_parser("remove", help="stop it and take the unit away; memories and state stay")
    for action in (install, remove):
        action.add_argument("--force", action="store_true", help="also if somebody else wrote the unit")
    add_json_option(status)
    for action in (status, remove):
        action.set_defaults(any_config=True)  # with a config that cannot be used, they are needed all the more


def execute(context: Context) -> int:
    from memoryd.service import manager

    action = {"install": _install, "status": _status, "restart": _restart, "remove": _remove}[context.arguments.action]
    return action(context, manager(context.paths, context.environment, context.clock))


def _install(context: Context, service: Manager) -> int:
    from memoryd.formatting import short
    from memoryd.service.control import refuse_another, start
    from memoryd.service.units import kept_variables

    before = service.state()
    _refuse_foreign_unit(context, before)
    refuse_another(context.paths, before)
    variables = kept_variables(context.environment, context.paths)
    service.write(sys.executable, variables)
    print(f"{'Rewrote' if before.is_installed else 'Wrote'} {short(service.file, context.paths.home)}.")
    state = start(context.paths, service)
    print(f"memoryd runs (process {state.pid}) and starts at every login.")
    if variables:
        print(f"It keeps these variables of this shell: {', '.join(sorted(variables))}.")
    print_what_is_missing(context, state)
    print("What it does: memoryd status. To undo this: memoryd service remove", file=sys.stderr)
    return 0


def _restart(context: Context, service: Manager) -> int:
    from memoryd.service.control import refuse_another, start

    before = service.state()
    if not before.is_installed:
        raise ServiceError("There is no service to restart.", "memoryd service install")
    refuse_another(context.paths, before)
    state = start(context.paths, service)
    print(f"memoryd runs again (process {state.pid}).")
    return 0


def _remove(context: Context, service: Manager) -> int:
    import os

    from memoryd.formatting import short

    before = service.state()
    _refuse_foreign_unit(context, before)
    service.remove()
    home = context.paths.home
    if before.is_installed:
        print(f"Stopped memoryd and removed {short(service.file, home)}.")
    else:
        print("There was no service.")
    if os.path.isdir(f"{service.file}.d"):
        print(f"Your own changes to the unit stay: {short(f'{service.file}.d', home)}", file=sys.stderr)
    print(
        f"What memoryd knows stays: your memories where they are, its state in {short(context.paths.state_dir, home)},"
        f" its config in {short(context.paths.config_file, home)}.",
        file=sys.stderr,
    )
    return 0


def _status(context: Context, service: Manager) -> int:
    from memoryd.daemon import last_failure
    from memoryd.daemon.single_instance import running_instance

    state = service.state()
    failed = last_failure.last(context.paths)
    running = running_instance(context.paths)
    if context.arguments.json:
        print_json(as_json(state, failed, running))
    else:
        from memoryd.cli.screen import Screen

        Screen(context.environment).show(_blocks(context, state, failed, running))
    return 0 if state.active == "active" else _NOT_RUNNING


def as_json(state: State, failed: Failure | None, running: Instance | None) -> dict[str, Any]:
    from memoryd.clock import iso
    from memoryd.service.systemd import lingers

    is_it = running is not None and running.pid == state.pid
    return {
        "manager": state.manager,
        "file": state.file,
        "installed": state.is_installed and state.is_ours,
        "enabled": state.is_enabled,
        "active": state.active,
        "pid": state.pid,
        "since": iso(running.since) if running is not None and is_it else None,
        "restarts": state.restarts,
        "text": state.text,
        "failure": {**failed._asdict(), "at": iso(failed.at)} if failed is not None else None,
        "lingers": lingers() if state.manager == "systemd" else None,
        "by_hand": running.pid if running is not None and not is_it else None,
    }


def _blocks(context: Context, state: State, failed: Failure | None, running: Instance | None) -> list[Block]:
    from memoryd.cli.screen import Command, Paragraph, Rows, bad, dim, good, warn
    from memoryd.formatting import ago, count, short

    now = context.clock.now()
    file: Words = short(state.file, context.paths.home)
    if not state.is_installed:
        file = [warn("not installed"), dim(f"  {short(state.file, context.paths.home)}")]
    elif not state.is_ours:
        file = [short(state.file, context.paths.home), warn("  not written by memoryd")]
    is_it = running is not None and running.pid == state.pid
    active: Words = warn(state.active)
    if state.active == "active":
        active = [good("active"), f" as process {state.pid}"]
        if running is not None and is_it:
            active = [*active, f", for {ago(now - running.since)}"]
    elif state.active == "failed":
        active = bad("failed")
    elif state.active == "activating":
        active = warn("starting; after a crash that takes half a minute")
    rows: list[tuple[str, Words]] = [(state.manager, file)]
    if state.is_installed or state.pid:
        rows += [("state", active), ("at login", "starts" if state.is_enabled else warn("does not start"))]
    if state.restarts:
        rows.append(("restarts", f"{count(state.restarts, 'time')}, by itself"))
    if state.text and (state.active == "active" or (state.active == "failed" and failed is None)):
        rows.append(("it says", state.text))
    blocks: list[Block] = [Rows(rows)]
    if running is not None and not is_it:
        blocks.append(Paragraph(f"A memoryd that is no service runs as process {running.pid}."))
    elif failed is not None and state.active != "active":
        blocks.append(Paragraph(bad(f"The last start failed, {ago(now - failed.at)} ago: {failed.sentence}")))
        blocks += [Command(failed.fix)] if failed.fix else []
        blocks.append(Command("memoryd service restart", before="then: "))
    elif not state.is_installed:
        blocks.append(Command("memoryd service install"))
    elif state.active in ("failed", "inactive"):
        blocks.append(Command("memoryd service restart"))
    return blocks


def _refuse_foreign_unit(context: Context, state: State) -> None:
    if state.is_installed and not state.is_ours and not context.arguments.force:
        raise ServiceError(
            f"{state.file} was not written by memoryd, so it stays as it is.",
            f"memoryd service {context.arguments.action} --force",
        )


def print_what_is_missing(context: Context, state: State) -> None:
    from memoryd.service.systemd import lingers

    anthropic = context.config.anthropic
    if anthropic.api_key_variable and not (anthropic.api_key_file or anthropic.api_key_command):
        print_message(
            f"The config takes the API key from the variable {anthropic.api_key_variable}, which is not handed to a"
            " service. Put the key into a file, and its name into anthropic.api_key_file."
        )
    if state.manager == "systemd" and not lingers():
        print_message(
            "It ends when you have logged out everywhere, and goes on at the next login. If it should run without you"
            " (a server, cron): loginctl enable-linger"
        )
