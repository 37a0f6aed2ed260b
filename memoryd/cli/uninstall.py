"""Take back everything that memoryd has changed: plugin, service, its choice in the config, its state and log.

Your memories stay, as plain files; the history of their changes does not: no undo and no why after that, and if you set memoryd
up again, it reads what you said anew and may keep what you once took back. --keep-history leaves it for that day. With --purge
the memories that memoryd wrote go as well, also those that you asked for with `memoryd remember`; never a file that your agent or you
wrote or changed. The program itself stays; the command that removes it is printed. Stopped anywhere, it can be run again.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.cli.output import print_message
from memoryd.errors import BusyError, ClientError, ServiceError, StateError, UsageError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.paths import Paths
    from memoryd.setup.record import SetupRecord

NAME = "uninstall"
HELP = "take everything back; your memories stay"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--purge",
        action="store_true",
        help="delete the memories that memoryd wrote, too, also those of `memoryd remember`",
    )
    which.add_argument(
        "--keep-history", action="store_true", help="leave undo, why and what was read for the next setup"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(any_config=True)


def execute(context: Context) -> int:
    from memoryd.setup.record import only_setup

    if not os.path.isdir(context.paths.state_dir):  # nobody is at work there
        return _uninstall(context)
    with only_setup(context.paths):
        return _uninstall(context)


def _uninstall(context: Context) -> int:
    """1. ask  2. the service  3. hooks in settings  4. memories, if asked  5. plugin, config, state, by the record."""
    from memoryd.setup.record import as_dict, read_record
    from memoryd.setup.take_back import STILL_THERE, take_back

    paths = context.paths
    record = _completed(paths, read_record(paths))
    if not _agreed(context, record):
        print("Nothing was done.", file=sys.stderr)
        return 0
    _remove_service(context, record)
    code = _remove_old_hooks(context)
    if context.arguments.purge and os.path.exists(paths.database):
        _purge(context)
    if not context.arguments.keep_history and os.path.exists(paths.database):
        _remove_notes(context)
    done = take_back(as_dict(record), keeps_history=context.arguments.keep_history)
    for line in done.told:
        print(line)
    if done.left:
        print(*(f"memoryd: {line}" for line in done.left), STILL_THERE, sep="\n", file=sys.stderr)
        code = 1
    print(f"The program itself is removed by: {program_removal(sys.prefix)}", file=sys.stderr)
    return code


def _completed(paths: Paths, record: SetupRecord | None) -> SetupRecord:
    """The record with what memoryd knows without it: somebody may have lost it, or never run setup."""
    from memoryd.clients.connections import note_of
    from memoryd.clients.registry import CONNECTED, WITH_PLUGIN
    from memoryd.setup.record import SetupRecord

    record = record or SetupRecord(paths.state_dir)
    files = tuple(dict.fromkeys((*record.plugin_files, *WITH_PLUGIN[0].plugin_names())))
    folder = record.plugin_folder or WITH_PLUGIN[0].plugin_folder(paths)
    is_ours = bool(record.plugin_folder) or WITH_PLUGIN[0].is_own_plugin(paths)
    pieces = list(record.pieces)
    for client in CONNECTED:
        for piece in client.pieces(paths, sys.executable):
            if os.path.exists(piece.file) and os.path.realpath(piece.file) not in {noted.file for noted in pieces}:
                with suppress(ClientError):
                    pieces.append(note_of(client.name, piece, follow=True))
    return record._replace(plugin_folder=folder if is_ours else "", plugin_files=files, pieces=tuple(pieces))


def _agreed(context: Context, record: SetupRecord) -> bool:
    from memoryd.formatting import short

    if context.arguments.yes:
        return True
    home = context.paths.home
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("Uninstalling asks first, and there is nobody to ask.", "memoryd uninstall --yes")
    _refuse_a_terminal(context)
    print_message("This removes, as far as it is there:")
    for path, what in (
        (record.plugin_folder, "the plugin"),
        *((piece.file, "what setup put into it") for piece in record.pieces),
        (record.service_file, "the service"),
        (record.config.file if record.config else "", "what setup wrote into it"),
        (context.paths.state_dir, _state_going(context)),
    ):
        if path:
            print_message(f"  {short(path, home)}: {what}")
    print_message(
        "The memories that memoryd wrote, also at your request, go as well."
        if context.arguments.purge
        else "Your memories stay."
    )
    print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _state_going(context: Context) -> str:
    if context.arguments.keep_history:
        return "log and caches, but not the history of your memories"
    return "log, caches and the history of your memories: no undo and no why any more (--keep-history leaves it)"


def _remove_service(context: Context, record: SetupRecord) -> None:
    """Stop the daemon. Raises BusyError where it is none of the service's, ServiceError where the service stays."""
    from memoryd.daemon.single_instance import running_instance
    from memoryd.formatting import short
    from memoryd.service import manager

    try:
        service = manager(context.paths, context.environment, context.clock)
        state = service.state()
        if state.is_installed and state.is_ours:
            service.remove()
            print(f"Stopped the service and removed {short(service.file, context.paths.home)}.")
    except ServiceError:
        if record.service_file and os.path.exists(record.service_file):
            raise
    if (running := running_instance(context.paths)) is not None:
        raise _runs(running.pid)


def _refuse_a_terminal(context: Context) -> None:
    """Raise BusyError before anything is asked, where memoryd runs without a service: only the user can stop it."""
    from memoryd.daemon.single_instance import running_instance
    from memoryd.service import manager

    running = running_instance(context.paths)
    try:
        is_by_service = manager(context.paths, context.environment, context.clock).state().is_installed
    except ServiceError:
        is_by_service = False
    if running is not None and not is_by_service:
        raise _runs(running.pid)


def _runs(pid: int) -> BusyError:
    return BusyError(f"memoryd runs as process {pid}, in a terminal perhaps.", f"kill {pid}")


def _remove_old_hooks(context: Context) -> int:
    from memoryd.clients.registry import WITH_PLUGIN
    from memoryd.formatting import short

    client = WITH_PLUGIN[0]
    try:
        if client.old_hooks(context.paths):
            changed = client.remove_old_hooks(context.paths, context.clock.now(), follow=False)
            print(f"Took the hooks of memoryd out of {short(changed.path, context.paths.home)}.")
    except ClientError as error:
        print(f"memoryd: {error.sentence}\n  fix: {error.fix}", file=sys.stderr)
        return 1
    return 0


def _purge(context: Context) -> None:
    from contextlib import closing

    from memoryd.formatting import count, short
    from memoryd.jobs.memory_dirs import all_memory_dirs
    from memoryd.setup.purge import purge
    from memoryd.state.database import open_database

    with closing(open_database(context.paths)) as database:
        gone = purge(database, context.clock.now())
    for path in gone:
        print(f"Deleted {short(path, context.paths.home)}.")
    kept = sum(len(_memories_in(place.path)) for place in all_memory_dirs(context.paths, context.config))
    stay = f"; {count(kept, 'memory')} that your agent or you wrote or changed stay" if kept else ""
    print(f"Deleted {count(len(gone), 'memory')}{stay}.")


def _memories_in(memory_dir: str) -> list[str]:
    from memoryd.memory.directory import open_directory

    try:
        with open_directory(memory_dir) as directory:
            return list(directory.listing().topics)
    except (OSError, StateError):
        return []


def _remove_notes(context: Context) -> None:
    """Remove the notes of sessions, which may be in a directory of the user's; what is damaged goes with the rest."""
    from contextlib import closing

    from memoryd.jobs.notes import remove_old
    from memoryd.state.database import open_database

    with suppress(StateError), closing(open_database(context.paths)) as database:
        remove_old(database, context.paths, float("inf"), context.clock.now())


def program_removal(prefix: str) -> str:
    """The command that removes the program, by what the installers leave in its environment, wherever that is."""
    if os.path.exists(os.path.join(prefix, "uv-receipt.toml")):
        return "uv tool uninstall memoryd"
    if os.path.exists(os.path.join(prefix, "pipx_metadata.json")):
        return "pipx uninstall memoryd"
    if prefix.endswith("/memoryd/venv"):
        return "make uninstall, in the clone"
    return f"{sys.executable} -m pip uninstall memoryd"
