"""The step of setup in which the engine is chosen: who reads what the user says."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

from memoryd.errors import ConfigError

if TYPE_CHECKING:
    from memoryd.cli.setup_talk import SetupTalk
    from memoryd.setup.engines import EngineChoice, RecentUse

LOCAL_ADDRESS = "http://localhost:11434"


def choose_engine(talk: SetupTalk) -> None:
    from memoryd.setup.engines import EngineChoice

    given, config = talk.context.arguments, talk.context.config
    if given.engine == "local":
        choice = EngineChoice("anthropic", base_url=given.base_url or LOCAL_ADDRESS, model=given.model)
    elif given.engine:
        choice = EngineChoice(given.engine, os.path.abspath(given.key_file) if given.key_file else "")
    elif given.yes:
        choice = EngineChoice(config.engine)
    else:
        choice = _chosen_engine(talk)
    _check(choice, config)
    if choice == EngineChoice(config.engine):
        talk.tell(f"{_told(config.engine)} Nothing to change.")
    else:
        _write_engine(talk, choice)
    talk.note(talk.record._replace(engine=choice.name))
    if choice.name == "claude":
        _warn_without_login(talk)


def _warn_without_login(talk: SetupTalk) -> None:
    from memoryd.cli.screen import Command
    from memoryd.setup.engines import has_logged_in_claude

    if not has_logged_in_claude(talk.paths, talk.context.environment):
        talk.tell("No claude command with a login was found here; nothing is read until there is one.")
        talk.screen.show([Command("memoryd doctor", before="   what is missing: ")])


def _write_engine(talk: SetupTalk, choice: EngineChoice) -> None:
    from memoryd import atomic_file
    from memoryd.clients.edited_file import edit
    from memoryd.setup.engines import config_text
    from memoryd.setup.record import ConfigChange

    file = os.path.realpath(talk.paths.config_file)
    data = atomic_file.read_regular(file, 1 << 20)
    now = data.decode() if data is not None else None
    text = config_text(now, choice, talk.paths)
    known = talk.record.config
    before = known.before if known and known.file == file and known.after == now else now
    at = f" at {choice.base_url}" if choice.base_url else ""
    talk.tell(f'Writes engine = "{choice.name}"{at} into {talk.short(file)}.')
    talk.note(talk.record.with_folders_of([file])._replace(config=ConfigChange(file, before, text)))
    edit(file, lambda now: config_text(now, choice, talk.paths), again="memoryd setup")  # with the rights that it has
    talk.tell(_told(choice.name))


def _chosen_engine(talk: SetupTalk) -> EngineChoice:
    """What the user picks from a list; a logged-in claude, or what is in force, is preselected."""
    from memoryd.cli.screen import Paragraph
    from memoryd.engines.model.credentials import is_local
    from memoryd.setup.engines import EngineChoice, has_logged_in_claude, in_words

    config, use = talk.context.config, _use(talk)
    has_claude = has_logged_in_claude(talk.paths, talk.context.environment)
    names = ["claude", "anthropic", "local", "offline"]
    about = {
        "claude": "your own claude command with your login",
        "anthropic": "a key of yours",
        "local": "a model on your machine (Ollama and the like)",
        "offline": "rules and a small model in the package",
    }
    is_at_hand = config.engine == "anthropic" and is_local(config.anthropic.base_url)
    in_force = "local" if is_at_hand else config.engine
    preselected = in_force if in_force != "auto" else "claude" if has_claude else "offline"
    talk.tell("Who reads what you say and decides what is kept?")
    for number, name in enumerate(names, 1):
        mark = "*" if name == preselected else " "
        talk.tell(f"{mark} {number} {name}: {about[name]}")
        missing = "not found here, or not logged in" if name == "claude" and not has_claude else ""
        if told := "; ".join(filter(None, (missing, in_words(name, use)))):
            talk.screen.show([Paragraph(told, indent=7)])
    picked = _picked(talk, names, preselected)
    if picked is None:
        return EngineChoice(config.engine)
    if picked == "anthropic" and (is_at_hand or not _has_key(config)):
        return EngineChoice(picked, _key_file(talk))
    if picked == "local":
        known = config.anthropic if is_at_hand else None
        url = talk.line("its address", known.base_url if known else LOCAL_ADDRESS)
        return EngineChoice(
            "anthropic",
            base_url=url,
            model=talk.line("the name of the model", known.extraction_model if known else ""),
        )
    return EngineChoice(config.engine if picked == "offline" and config.engine == "auto" else picked)


def _picked(talk: SetupTalk, names: list[str], preselected: str) -> str | None:
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
        talk.tell(f"{answer.strip()} is none of them: type a number from 1 to {len(names)}.")


def _key_file(talk: SetupTalk) -> str:
    while file := talk.line("file that holds the key"):
        path = os.path.abspath(os.path.expanduser(file))
        if os.access(path, os.R_OK):
            return path
        talk.tell(f"{talk.short(path)} is not there, or cannot be read. Type its path again.")
    return ""


def _use(talk: SetupTalk) -> RecentUse:
    from memoryd.setup.engines import recent_use
    from memoryd.setup.first_memories import read_sessions
    from memoryd.state.database import open_database

    with closing(open_database(talk.paths)) as database:
        read_sessions(database, talk.paths, talk.context.config, talk.context.clock)
        return recent_use(database, talk.paths, talk.context.config, talk.context.clock.now())


def _check(choice: EngineChoice, config: Any) -> None:
    """Raise ConfigError for an engine that could not work."""
    if choice.base_url and not choice.model:
        raise ConfigError(
            "A local model has to be named, as its server knows it.", "memoryd setup --engine local --model NAME"
        )
    if choice.name == "anthropic" and not choice.key_file and not choice.base_url and not _has_key(config):
        raise ConfigError(
            "The engine anthropic needs a key, and the config names none.",
            "memoryd setup --engine anthropic --key-file FILE",
        )
    if choice.key_file and not os.access(choice.key_file, os.R_OK):
        raise ConfigError(
            f"The key file {choice.key_file} is not there, or cannot be read.", f"ls -l {choice.key_file}"
        )


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
