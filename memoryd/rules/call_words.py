"""Words of a tool call, by where they stand in it. Pure, and quick: a client waits for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.language.stems import stem
from memoryd.language.tokens import is_stop, split
from memoryd.record import NamedTuple
from memoryd.rules.calls import is_reading
from memoryd.rules.programs import FILE_KINDS, TELLERS

if TYPE_CHECKING:
    from memoryd.rules.calls import Call, ShellCommand

PROSE = (".md", ".mdx", ".rst", ".adoc", ".txt")
"""Endings of texts for people: what they tell of is not done there."""
_SUBCOMMAND = re.compile(r"[a-z][\w:-]*")
_MOST_REPLACED = 2000


class CallWords(NamedTuple):
    """Stems, and the text that pieces of code are looked for in."""

    programs: set[str]
    subcommands: set[str]
    arguments: set[str]
    """And options."""
    paths: set[str]
    """Folders and names of the files that are changed."""
    extensions: set[str]
    """Of files, and the languages that they are of."""
    written: set[str]
    replaced: set[str]
    told: set[str]
    """What is only looked at, or told to people."""
    text: str

    @property
    def live(self) -> set[str]:
        """Those of what is done."""
        return self.programs | self.subcommands | self.arguments | self.paths | self.extensions | self.written


def words_of(call: Call) -> CallWords:
    words = CallWords(set(), set(), set(), set(), set(), set(), set(), set(), _text_of(call))
    for command in (*call.commands, *call.elsewhere, *call.scripted):
        _add_command(words, command)
    for path in call.changed:
        words.paths.update(stems_of(path))
    for path in call.named:
        words.arguments.update(stems_of(path))
    for path in (*call.changed, *call.named):
        ending = path.rpartition(".")[2].lower()
        words.extensions.update((ending, *(stem(name) for name, endings in FILE_KINDS.items() if ending in endings)))
    (words.told if is_prose(call) else words.written).update(stems_of(call.written))
    words.replaced.update(stems_of(call.replaced[:_MOST_REPLACED]))
    return words


def stems_of(text: str) -> set[str]:
    return {stem(word) for word in split(text) if len(word) > 1 and not is_stop(word)}


def is_prose(call: Call) -> bool:
    return bool(call.changed) and all(path.endswith(PROSE) for path in call.changed)


def only_looks(command: ShellCommand) -> bool:
    """Whether a command changes nothing, or only prints a text."""
    return is_reading(command) or (command.program in TELLERS and command.program not in ("gh", "glab"))


def _add_command(words: CallWords, command: ShellCommand) -> None:
    program, *others = command.words
    looks = only_looks(command)
    (words.told if looks else words.programs).update((program, *stems_of(program)))
    if command.words[:2] in (("git", "commit"), ("git", "tag")):
        del others[1:]  # a message
    for at, word in enumerate(others):
        is_subcommand = at == 0 and _SUBCOMMAND.fullmatch(word) is not None
        found = words.told if looks else words.subcommands if is_subcommand else words.arguments
        found.update(stems_of(word))
    (words.told if looks else words.arguments).update(stems_of(" ".join(command.options)))


def _text_of(call: Call) -> str:
    commands = (one for one in (*call.commands, *call.elsewhere, *call.scripted) if not only_looks(one))
    lines = (" ".join((*command.words, *sorted(command.options))) for command in commands)
    return "\n".join((*lines, *call.changed, "" if is_prose(call) else call.written))
