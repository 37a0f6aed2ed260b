"""Set memoryd up, step by step; each says what it changes before it does.

    memoryd setup                        ask about each step
    memoryd setup --yes                  take what is preselected, with the engine in the package
    memoryd setup --yes --engine claude  let your own claude command read what you say
    memoryd setup --show                 what was set up, and where

Run it again at any time, also after an upgrade: nothing is done twice. `memoryd uninstall` takes everything back.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option
from memoryd.cli.setup_engine import LOCAL_ADDRESS, choose_engine
from memoryd.cli.setup_talk import SetupTalk
from memoryd.errors import BusyError, ClientError, ConfigError, ServiceError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from memoryd.cli import Context
    from memoryd.cli.screen import Block
    from memoryd.clients.base import ConnectedClient

NAME = "setup"
HELP = "set it up: plugin, engine, service, first memories"
_ENGINES = ("claude", "anthropic", "local", "offline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask; with no --engine, the one in the package")
    parser.add_argument("--engine", choices=_ENGINES, help="who reads what you say")
    parser.add_argument("--key-file", metavar="FILE", default="", help="for --engine anthropic: a file with the key")
    parser.add_argument("--model", default="", help="for --engine local: the name of the model")
    parser.add_argument(
        "--base-url", metavar="URL", default="", help=f"for --engine local: its address [{LOCAL_ADDRESS}]"
    )
    parser.add_argument("--no-service", action="store_true", help="leave the service alone")
    parser.add_argument("--no-history", action="store_true", help="leave alone what was said before")
    parser.add_argument("--follow", action="store_true", help="change settings also where they are links")
    parser.add_argument("--show", action="store_true", help="only tell what was set up")
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.setup_show import show
    from memoryd.setup.record import SetupRecord, only_setup, read_record, uninstaller

    if context.arguments.show:
        return show(context, read_record(context.paths))
    if context.arguments.json:
        raise UsageError("--json is for --show.", "memoryd setup --show --json")
    if not context.arguments.yes and not (sys.stdin is not None and sys.stdin.isatty()):
        raise UsageError("Setup asks before each step, and there is nobody to ask.", "memoryd setup --yes")
    # Before the lock and the first memories make them.
    paths = context.paths
    inside = (uninstaller(paths), os.path.join(paths.global_dir, "MEMORY.md"), os.path.join(paths.memory_root, "-"))
    fresh = SetupRecord(paths.state_dir).with_folders_of(inside)
    with only_setup(context.paths):
        record = read_record(context.paths) or SetupRecord(context.paths.state_dir)
        folders = tuple(dict.fromkeys((*record.folders, *fresh.folders)))
        setup = _Setup(context, record._replace(python=sys.executable, folders=folders))
        setup.note(setup.record)
        return setup.run()


class _Setup(SetupTalk):
    """The steps, and how it ends."""

    def run(self) -> int:
        """All steps, one after the other; one that fails does not stop the others."""
        steps: list[tuple[str, Callable[[], None]]] = [
            ("Claude Code", self.plugin),
            *((client.title, partial(self.connect, client)) for client in self.others()),
            ("Engine", partial(choose_engine, self)),
            ("First memories", self.history),
            ("Service", self.service),
        ]
        for title, step in steps:
            self.begin(title)
            try:
                step()
            except (ClientError, ConfigError, BusyError) as error:
                self.fail(error)
        self.end()
        return 1 if self.has_failed else 0

    def end(self) -> None:
        from memoryd.cli.screen import Command, Paragraph

        blocks: list[Block] = [Paragraph("")]
        if self.connected:
            blocks.append(Paragraph(f"The next session of {' or '.join(self.connected)} knows what is remembered."))
        blocks += [Command("memoryd status", before="what it does:  ")]
        blocks += [Command("memoryd uninstall", before="to undo this:  ")]
        self.screen.show(blocks)

    # --- steps --------------------------------------------------------------------------------------------------------

    def plugin(self) -> None:
        """The plugin of each client that is here, and out with what an older memoryd left in its settings."""
        import shutil

        from memoryd.clients.registry import WITH_PLUGIN

        client = WITH_PLUGIN[0]
        is_here = os.path.isdir(self.paths.claude_dir) or shutil.which(
            "claude", path=self.context.environment.get("PATH")
        )
        if not is_here:
            self.tell(f"{client.title} was not found here, so there is nothing to connect. Later: memoryd setup")
            return
        settings = client.read_settings(self.paths, self.context.environment)
        folder = client.plugin_folder(self.paths)
        if any(name.split("@")[0] == "memoryd" for name in settings.plugins):
            self.tell("The plugin is there already, from a marketplace; a second one would answer each prompt twice.")
            self.connected.append(client.title)
        elif (state := client.plugin_state(self.paths, sys.executable)) == "installed":
            self.tell(f"{self.short(folder)} is up to date.")
            self._note_plugin(())
            self.connected.append(client.title)
        else:
            self.tell(
                f"{'Makes' if state == 'missing' else 'Brings up to date:'} the plugin {self.short(folder)}: hooks that hand memories back with your prompts, tools for"
                " the agent, and four skills. Your settings are not touched."
            )
            if self.agrees("Make it?" if state == "missing" else "Do it?"):
                self._make_plugin()
                self.connected.append(client.title)
        self._remove_old_hooks()
        if settings.hooks_off.by:
            self.tell(f"{client.title} will not run its hooks: {settings.hooks_off.by}.")

    def _make_plugin(self) -> None:
        from memoryd.clients.registry import WITH_PLUGIN
        from memoryd.jobs.call_hook import follow_commits

        earlier = self.record.plugin_files
        self._note_plugin(earlier)
        made = WITH_PLUGIN[0].install_plugin(self.paths, sys.executable, earlier)
        self.note(self.record._replace(plugin_files=made.files))
        follow_commits(self.paths, self.context.config, self.context.clock.now())
        self.tell("Done; new sessions use it.")

    def _note_plugin(self, earlier: Sequence[str]) -> None:
        """Its folder and files, with those of an earlier version, which are still there."""
        from memoryd.clients.registry import WITH_PLUGIN

        folder = WITH_PLUGIN[0].plugin_folder(self.paths)
        files = tuple(dict.fromkeys((*earlier, *WITH_PLUGIN[0].plugin_names())))
        record = self.record.with_folders_of([folder])
        self.note(record._replace(plugin_folder=folder, plugin_files=files))

    def _remove_old_hooks(self) -> None:
        from memoryd.clients.registry import WITH_PLUGIN

        client = WITH_PLUGIN[0]
        if not (old := client.old_hooks(self.paths)):
            return
        file = self.short(client.settings_file(self.paths))
        self.tell(f"An older memoryd left hooks in {file}: {', '.join(old)}. With the plugin each would run twice.")
        if self.agrees("Take them out? Every other byte stays."):
            changed = client.remove_old_hooks(self.paths, self.context.clock.now(), follow=False)
            self.tell(f"Took them out. What was in the file before: {self.short(changed.backup)}")

    def others(self) -> list[ConnectedClient]:
        """The other clients that are here: used or configured before, or on the PATH."""
        import shutil

        from memoryd.clients.registry import CONNECTED, present_clients

        present, search = present_clients(self.paths), self.context.environment.get("PATH")

        def is_here(client: ConnectedClient) -> bool:
            is_configured = os.path.isdir(client.settings_folder(self.paths))
            return client in present or is_configured or bool(shutil.which(client.program, path=search))

        return [client for client in CONNECTED if is_here(client)]

    def connect(self, client: ConnectedClient) -> None:
        """What a client reads gets memoryd's hooks and MCP server; each file is noted before it is changed."""
        from memoryd.clients.connections import note_of, put_in, state_of

        pieces = client.pieces(self.paths, sys.executable)
        state = state_of(pieces)
        if state != "installed":
            verb = "Adds" if state == "missing" else "Brings up to date"
            self.tell(*(f"{verb} {piece.what}: {self.short(piece.file)}" for piece in pieces))
            self.tell("Everything else in these files stays byte for byte.")
            if not self.agrees("Do it?"):
                return
        noted = {(note.client, note.file): note for note in self.record.pieces}
        notes = [note_of(client.name, piece, follow=self.context.arguments.follow) for piece in pieces]
        notes = [noted.setdefault((note.client, note.file), note) for note in notes]
        self.note(self.record.with_folders_of(note.file for note in notes)._replace(pieces=tuple(noted.values())))
        for piece, note in zip(pieces, notes, strict=True):
            put_in(piece, note)
        self.connected.append(client.title)
        self.tell("It is up to date." if state == "installed" else "Done; new sessions use it.")
        if obstacle := client.obstacle(self.paths, sys.executable):
            self.tell(f"{obstacle.sentence}.")

    def history(self) -> None:
        if self.context.arguments.no_history:
            self.tell("Left alone; memoryd backfill works on it later.")
            return
        from memoryd.clients.registry import all_sessions
        from memoryd.formatting import count
        from memoryd.jobs.call_hook import follow_commits
        from memoryd.jobs.repository_identity import record_identities
        from memoryd.setup.first_memories import has_history, keep, preview, read_sessions
        from memoryd.state import inbox
        from memoryd.state.database import open_database

        with closing(open_database(self.paths)) as database:
            read_sessions(database, self.paths, self.context.config, self.context.clock)
            if not has_history(database, self.paths, self.context.config, self.context.clock.now()):
                is_first = next(all_sessions(self.paths), None) is None
                self.tell(
                    "There is no session here yet." if is_first else "All that your sessions hold was read before."
                )
                return
            if shown := preview(self.paths, self.context.config):
                self.tell(
                    "From what you said so far, on this machine alone and free of charge, it would keep for instance:"
                )
                self.tell(*(f"- {memory.project}: {memory.said}" for memory in shown))
            else:
                self.tell("Your newest sessions hold nothing that the engine in the package would keep; the older may.")
            self.tell("memoryd undo takes back what came of one session, memoryd forget one memory.")
            if not self.agrees("Read all of it and keep what matters?"):
                self.tell("Nothing was kept; memoryd backfill does it later.")
                return
            done = list(keep(database, self.paths, self.context.config, self.context.clock))
            follow_commits(self.paths, self.context.config, self.context.clock.now())
            record_identities(self.paths, [worked.project_root for worked in done], self.context.clock.now())
            held = len(inbox.waiting(database))  # what one session left open, another may have confirmed
        self.note(self.record._replace(history_at=self.context.clock.now()))
        kept: set[tuple[str, str]] = set()  # what one session brought, another may have replaced
        for worked in done:
            kept |= {(worked.memory_dir, name) for name in worked.outcome.saved}
            kept -= {(worked.memory_dir, name) for name in worked.outcome.removed}
        more = f"; {count(held, 'change')} to say yes or no to: memoryd review" if held else ""
        self.tell(f"Kept {count(len(kept), 'memory')} from {count(len(done), 'session')}{more}.")

    def service(self) -> None:
        if self.context.arguments.no_service:
            self.tell("Left alone; memoryd service install starts it, memoryd run is memoryd in a terminal.")
            return
        from memoryd import __version__
        from memoryd.cli.service import print_what_is_missing
        from memoryd.service import manager
        from memoryd.service.control import is_up_to_date, refuse_another, start

        try:
            service = manager(self.paths, self.context.environment, self.context.clock)
            state = service.state()
        except ServiceError as error:
            self.tell(f"Skipped: {error.sentence} Without a service: memoryd run")
            return
        if state.is_installed and not state.is_ours:
            self.tell(f"Skipped: {self.short(service.file)} was not written by memoryd.")
            return
        self.tell(f"Writes {self.short(service.file)}: memoryd runs now and from each login on, at low priority.")
        if not self.agrees("Start it?"):
            return
        try:
            refuse_another(self.paths, state)
            self.note(
                self.record.with_folders_of([service.file])._replace(
                    service_file=service.file, service_manager=state.manager
                )
            )
            if is_up_to_date(self.paths, self.context.environment, service, sys.executable, __version__):
                self.tell(f"It runs already (process {state.pid}).")
                return
            state = start(self.paths, service)
        except ServiceError as error:
            self.fail(error)
            return
        self.tell(f"It runs (process {state.pid}).")
        print_what_is_missing(self.context, state)
