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
from typing import TYPE_CHECKING, Any

from memoryd.cli.output import add_json_option
from memoryd.cli.setup_dialogue import SetupDialogue
from memoryd.errors import BusyError, ClientError, ConfigError, ServiceError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from memoryd.cli import Context
    from memoryd.clients.base import ConnectedClient
    from memoryd.setup.engines import EngineChoice, RecentUse

NAME = "setup"
HELP = "set it up: plugin, engine, service, first memories"
_ENGINES = ("claude", "anthropic", "offline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask; with no --engine, the one in the package")
    parser.add_argument("--engine", choices=_ENGINES, help="who reads what you say")
    parser.add_argument("--key-file", metavar="FILE", default="", help="for --engine anthropic: a file with the key")
    parser.add_argument("--no-service", action="store_true", help="leave the service alone")
    parser.add_argument("--no-history", action="store_true", help="leave alone what was said before")
    parser.add_argument("--follow", action="store_true", help="change settings also where they are links")
    parser.add_argument("--show", action="store_true", help="only tell what was set up")
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.setup_show import show
    from memoryd.setup.record import SetupRecord, read_record, uninstaller

    if context.arguments.show:
        return show(context, read_record(context.paths))
    if context.arguments.json:
        raise UsageError("--json is for --show.", "memoryd setup --show --json")
    if not context.arguments.yes and not (sys.stdin is not None and sys.stdin.isatty()):
        raise UsageError("Setup asks before each step, and there is nobody to ask.", "memoryd setup --yes")
    record = read_record(context.paths) or SetupRecord(context.paths.state_dir)
    record = record._replace(python=sys.executable).with_folders_of([uninstaller(context.paths)])
    setup = _Setup(context, record)
    setup.note(record)
    steps: list[tuple[str, Callable[[], None]]] = [
        ("Claude Code", setup.plugin),
        *((client.title, partial(setup.connect, client)) for client in setup.others()),
        ("Engine", setup.engine),
        ("First memories", setup.history),
        ("Service", setup.service),
    ]
    for title, step in steps:
        setup.begin(title)
        try:
            step()
        except (ClientError, ConfigError, BusyError) as error:
            setup.fail(error)
    setup.end()
    return 1 if setup.has_failed else 0


class _Setup(SetupDialogue):
    """The steps of one run."""

    def plugin(self) -> None:
        """The plugin of each client that is here, and out with what an older memoryd left in its settings."""
        import shutil

        from memoryd.clients import WITH_PLUGIN

        client = WITH_PLUGIN[0]
        is_here = os.path.isdir(self._paths.claude_dir) or shutil.which(
            "claude", path=self._context.environment.get("PATH")
        )
        if not is_here:
            self.tell(f"{client.title} was not found here, so there is nothing to connect. Later: memoryd setup")
            return
        settings = client.read_settings(self._paths, self._context.environment)
        folder = client.plugin_folder(self._paths)
        if any(name.split("@")[0] == "memoryd" for name in settings.plugins):
            self.tell("The plugin is there already, from a marketplace; a second one would answer each prompt twice.")
        elif (state := client.plugin_state(self._paths, sys.executable)) == "installed":
            self.tell(f"{self._short(folder)} is up to date.")
            self._note_plugin(())
        else:
            self.tell(
                f"{'Makes' if state == 'missing' else 'Brings up to date:'} the plugin {self._short(folder)}: hooks that hand memories back with your prompts, tools for"
                " the agent, and four skills. Your settings are not touched."
            )
            if self.agrees("Make it?" if state == "missing" else "Do it?"):
                self._make_plugin()
        self._remove_old_hooks()
        if settings.hooks_off.by:
            self.tell(f"{client.title} will not run its hooks: {settings.hooks_off.by}.")

    def _make_plugin(self) -> None:
        from memoryd.clients import WITH_PLUGIN
        from memoryd.jobs.call_hook import follow_rules

        earlier = self._record.plugin_files
        self._note_plugin(earlier)
        made = WITH_PLUGIN[0].install_plugin(self._paths, sys.executable, earlier)
        self.note(self._record._replace(plugin_files=made.files))
        follow_rules(self._paths)
        self.tell("Done; new sessions use it.")

    def _note_plugin(self, earlier: Sequence[str]) -> None:
        """Its folder and files, with those of an earlier version, which are still there."""
        from memoryd.clients import WITH_PLUGIN

        folder = WITH_PLUGIN[0].plugin_folder(self._paths)
        files = tuple(dict.fromkeys((*earlier, *WITH_PLUGIN[0].plugin_names())))
        record = self._record.with_folders_of([folder])
        self.note(record._replace(plugin_folder=folder, plugin_files=files))

    def _remove_old_hooks(self) -> None:
        from memoryd.clients import WITH_PLUGIN

        client = WITH_PLUGIN[0]
        if not (old := client.old_hooks(self._paths)):
            return
        file = self._short(client.settings_file(self._paths))
        self.tell(f"An older memoryd left hooks in {file}: {', '.join(old)}. With the plugin each would run twice.")
        if self.agrees("Take them out? Every other byte stays."):
            changed = client.remove_old_hooks(self._paths, self._context.clock.now(), follow=False)
            self.tell(f"Took them out. What was in the file before: {self._short(changed.backup)}")

    def others(self) -> list[ConnectedClient]:
        """The other clients that are here: used or configured before, or on the PATH."""
        import shutil

        from memoryd.clients import CONNECTED, present_clients

        present, search = present_clients(self._paths), self._context.environment.get("PATH")

        def is_here(client: ConnectedClient) -> bool:
            is_configured = os.path.isdir(client.settings_folder(self._paths))
            return client in present or is_configured or bool(shutil.which(client.program, path=search))

        return [client for client in CONNECTED if is_here(client)]

    def connect(self, client: ConnectedClient) -> None:
        """What a client reads gets memoryd's hooks and MCP server; each file is noted before it is changed."""
        from memoryd.clients.connections import note_of, put_in, state_of

        pieces = client.pieces(self._paths, sys.executable)
        state = state_of(pieces)
        if state != "installed":
            verb = "Adds" if state == "missing" else "Brings up to date"
            self.tell(*(f"{verb} {piece.what}: {self._short(piece.file)}" for piece in pieces))
            self.tell("Everything else in these files stays byte for byte.")
            if not self.agrees("Do it?"):
                return
        noted = {(note.client, note.file): note for note in self._record.pieces}
        notes = [note_of(client.name, piece, follow=self._context.arguments.follow) for piece in pieces]
        notes = [noted.setdefault((note.client, note.file), note) for note in notes]
        self.note(self._record.with_folders_of(note.file for note in notes)._replace(pieces=tuple(noted.values())))
        for piece, note in zip(pieces, notes, strict=True):
            put_in(piece, note)
        self.tell("It is up to date." if state == "installed" else "Done; new sessions use it.")
        if obstacle := client.obstacle(self._paths, sys.executable):
            self.tell(f"{obstacle.sentence}.")

    def engine(self) -> None:
        from memoryd.setup.engines import EngineChoice

        given, config = self._context.arguments, self._context.config
        if given.engine:
            choice = EngineChoice(given.engine, os.path.abspath(given.key_file) if given.key_file else "")
        elif given.yes:
            choice = EngineChoice(config.engine)
        else:
            choice = self._chosen_engine()
        if choice.name == "anthropic" and not choice.key_file and not choice.base_url and not _has_key(config):
            raise ConfigError(
                "The engine anthropic needs a key, and the config names none.",
                "memoryd setup --engine anthropic --key-file FILE",
            )
        if choice == EngineChoice(config.engine):
            self.tell(f"{_told(config.engine)} Nothing to change.")
        else:
            self._write_engine(choice)
        self.note(self._record._replace(engine=choice.name))
        if choice.name == "claude":
            self._warn_without_login()

    def _warn_without_login(self) -> None:
        from memoryd.cli.screen import Command
        from memoryd.setup.engines import has_logged_in_claude

        if not has_logged_in_claude(self._paths, self._context.environment):
            self.tell("No claude command with a login was found here; nothing is read until there is one.")
            self._screen.show([Command("memoryd doctor", before="   what is missing: ")])

    def _write_engine(self, choice: EngineChoice) -> None:
        from memoryd import atomic_file
        from memoryd.setup.engines import config_text
        from memoryd.setup.record import ConfigChange

        file = os.path.realpath(self._paths.config_file)
        data = atomic_file.read_regular(file, 1 << 20)
        now = data.decode() if data is not None else None
        text = config_text(now, choice, self._paths)
        known = self._record.config
        before = known.before if known and known.file == file and known.after == now else now
        self.tell(f'Writes engine = "{choice.name}" into {self._short(file)}.')
        self.note(self._record.with_folders_of([file])._replace(config=ConfigChange(file, before, text)))
        try:
            atomic_file.write(file, text.encode())
        except OSError as error:
            raise ConfigError(f"{file} cannot be written: {error.strerror}.", f"ls -l {file}") from error
        self.tell(_told(choice.name))

    def _chosen_engine(self) -> EngineChoice:
        """What the user picks from a list; a logged-in claude, or what is in force, is preselected."""
        from memoryd.cli.screen import Paragraph
        from memoryd.setup.engines import EngineChoice, has_logged_in_claude, in_words

        config, use = self._context.config, self._use()
        has_claude = has_logged_in_claude(self._paths, self._context.environment)
        names = ["claude", "anthropic", "local", "offline"]
        about = {
            "claude": "your own claude command with your login",
            "anthropic": "a key of yours",
            "local": "a model on your machine (Ollama and the like)",
            "offline": "rules and a small model in the package",
        }
        preselected = config.engine if config.engine != "auto" else "claude" if has_claude else "offline"
        self.tell("Who reads what you say and decides what is kept?")
        for number, name in enumerate(names, 1):
            mark = "*" if name == preselected else " "
            self.tell(f"{mark} {number} {name}: {about[name]}")
            missing = "not found here, or not logged in; " if name == "claude" and not has_claude else ""
            self._screen.show([Paragraph(missing + in_words(name, use), indent=7)])
        picked = self._picked(names, preselected)
        if picked is None:
            return EngineChoice(config.engine)
        if picked == "anthropic" and not _has_key(config):
            file = self._line("file that holds the key")
            return EngineChoice(picked, os.path.abspath(os.path.expanduser(file)) if file else "")
        if picked == "local":
            url = self._line("its address [http://localhost:11434]") or "http://localhost:11434"
            return EngineChoice("anthropic", base_url=url, model=self._line("the name of the model"))
        return EngineChoice(config.engine if picked == "offline" and config.engine == "auto" else picked)

    def _picked(self, names: list[str], preselected: str) -> str | None:
        """The name that the user picks by its number; None where nobody answers: a plan or a key is not used by default."""
        while True:
            print(f"   1 to {len(names)} [{names.index(preselected) + 1}]: ", end="", file=sys.stderr, flush=True)
            answer = sys.stdin.readline()
            if not answer:
                return None
            if not answer.strip():
                return preselected
            if answer.strip() in map(str, range(1, len(names) + 1)):
                return names[int(answer) - 1]
            self.tell(f"{answer.strip()} is none of them: type a number from 1 to {len(names)}.")

    def _line(self, question: str) -> str:
        print(f"   {question}: ", end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip()

    def _use(self) -> RecentUse:
        from memoryd.setup.engines import recent_use
        from memoryd.setup.first_memories import read_sessions
        from memoryd.state.database import open_database

        with closing(open_database(self._paths)) as database:
            read_sessions(database, self._paths, self._context.config, self._context.clock)
            return recent_use(database, self._paths, self._context.config, self._context.clock.now())

    def history(self) -> None:
        if self._context.arguments.no_history:
            self.tell("Left alone; memoryd backfill works on it later.")
            return
        from memoryd.formatting import count
        from memoryd.setup.first_memories import has_history, keep, preview, read_sessions
        from memoryd.state import inbox
        from memoryd.state.database import open_database

        with closing(open_database(self._paths)) as database:
            read_sessions(database, self._paths, self._context.config, self._context.clock)
            if not has_history(database, self._paths, self._context.config, self._context.clock.now()):
                self.tell("There is nothing in your sessions that was not read yet.")
                return
            if shown := preview(self._paths, self._context.config):
                self.tell(
                    "From what you said so far, on this machine alone and free of charge, it would keep for instance:"
                )
                self.tell(*(f"- {memory.project}: {memory.said}" for memory in shown))
            else:
                self.tell("Your newest sessions hold nothing that the engine in the package would keep; the older may.")
            self.tell("memoryd undo takes each memory back.")
            if not self.agrees("Read all of it and keep what matters?"):
                self.tell("Nothing was kept; memoryd backfill does it later.")
                return
            done = list(keep(database, self._paths, self._context.config, self._context.clock))
            held = len(inbox.waiting(database))  # what one session left open, another may have confirmed
        self.note(self._record._replace(history_at=self._context.clock.now()))
        saved = sum(len(worked.outcome.saved) for worked in done)
        more = f"; {count(held, 'change')} to say yes or no to: memoryd review" if held else ""
        self.tell(f"Kept {saved} {'memory' if saved == 1 else 'memories'} from {count(len(done), 'session')}{more}.")

    def service(self) -> None:
        if self._context.arguments.no_service:
            self.tell("Left alone; memoryd service install starts it, memoryd run is memoryd in a terminal.")
            return
        from memoryd import __version__
        from memoryd.cli.service import print_what_is_missing
        from memoryd.service import manager
        from memoryd.service.control import is_up_to_date, refuse_another, start

        try:
            service = manager(self._paths, self._context.environment, self._context.clock)
            state = service.state()
        except ServiceError as error:
            self.tell(f"Skipped: {error.sentence} Without a service: memoryd run")
            return
        if state.is_installed and not state.is_ours:
            self.tell(f"Skipped: {self._short(service.file)} was not written by memoryd.")
            return
        self.tell(f"Writes {self._short(service.file)}: memoryd runs now and from each login on, at low priority.")
        if not self.agrees("Start it?"):
            return
        try:
            refuse_another(self._paths, state)
            self.note(
                self._record.with_folders_of([service.file])._replace(
                    service_file=service.file, service_manager=state.manager
                )
            )
            if is_up_to_date(self._paths, self._context.environment, service, sys.executable, __version__):
                self.tell(f"It runs already (process {state.pid}).")
                return
            state = start(self._paths, service)
        except ServiceError as error:
            self.fail(error)
            return
        self.tell(f"It runs (process {state.pid}).")
        print_what_is_missing(self._context, state)


def _has_key(config: Any) -> bool:
    anthropic = config.anthropic
    return bool(anthropic.api_key_file or anthropic.api_key_command or anthropic.api_key_variable)


def _told(engine: str) -> str:
    return {
        "claude": "Your own claude command reads what you say, with your login.",
        "anthropic": "A model reads what you say, with your key or at your address.",
        "offline": "The engine in the package reads what you say: no network, free.",
        "auto": "The engine in the package reads what you say, unless the config names a key.",
    }[engine]
