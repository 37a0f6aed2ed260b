"""Match of a tool call with the triggers of memories. Pure, and quick: a client waits for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.record import NamedTuple
from memoryd.rules.calls import is_reading, is_run, with_home
from memoryd.rules.programs import READERS
from memoryd.rules.work import FILES, is_in_language, work_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.rules.calls import Call

_ODDS_OF_ONE, _GROWTH = 0.22, 0.62
"""How surely a rule has to speak of a call to be handed over: the odds where it is the only one, and the power by which they grow
with the number of rules, since the more there are, the more likely is a wrong one among them. `python -m training.rule_calls`
prints them.
"""
WORDS = "\2"
"""Key of the words of all rules: a call that does something is compared with each of them."""
PLAIN = ("run", "edit", "text", "name")
"""Kinds of triggers by which a rule names what it is about."""
WRITTEN = "\1"
"""Key of what is looked for in the text that a call writes."""


class StoredTrigger(NamedTuple):
    """A trigger with the memory that has it."""

    memory_id: int
    kind: str
    key: str
    pattern: str
    scope: str = ""


class Forbidden(NamedTuple):
    verb: str
    """`run` or `edit`."""
    pattern: str

    def __str__(self) -> str:
        return f"{self.verb} {self.pattern}"

    def fits(self, call: Call) -> bool:
        if self.verb == "run":
            return call.is_understood and any(is_run(self.pattern, command) for command in call.commands)
        return any(is_at(self.pattern, path, call.root) for path in call.changed)


def keys_of(call: Call) -> tuple[str, ...]:
    """What the triggers that may fit are looked up by."""
    paths = (*call.changed, *call.named)
    works = work_of(call)
    extensions = (part.lower() for path in call.changed for part in path.rpartition("/")[2].split(".")[1:])
    keys = (
        *([WORDS] if paths or not all(map(is_reading, call.commands)) else []),
        *(command.program for command in (*call.commands, *call.elsewhere, *call.scripted)),
        *works,
        *([f"secret{FILES}", WRITTEN] if call.written else []),
        *extensions,
        *call.names,
        *([""] if paths else []),
    )
    return tuple(dict.fromkeys(keys))


def least_probability(rules: int, odds_of_one: float = _ODDS_OF_ONE, growth: float = _GROWTH) -> float:
    """Among so many rules, that one of them speaks of a call, for it to be handed over."""
    odds: float = odds_of_one * max(1, rules) ** growth
    return odds / (1 + odds)


def matched(call: Call, triggers: Iterable[StoredTrigger], rules: int | None = None) -> list[int]:
    """The memories that speak of a call: those that name it, then the others, the surest first. Of two the newer, which has the
    higher number. `rules`: how many there are; None: those of `triggers`.
    """
    triggers = list(triggers)
    fitting = fitting_kinds(call, triggers)
    chances = {number: 1.0 for number, kinds in fitting.items() if not kinds.isdisjoint(PLAIN)}
    rows = rows_of(triggers)
    if rows:
        from memoryd.rules.evidence import evidence_of  # noqa: PLC0415 - what only looks at something needs none

        for one in evidence_of(call, rows, fitting):
            chances[one.memory_id] = one.probability
    probable = sorted(((chance, number) for number, chance in chances.items()), reverse=True)
    least = least_probability(len(rows) if rules is None else rules)
    return [number for chance, number in probable if chance >= least]


def rows_of(triggers: Iterable[StoredTrigger]) -> list[tuple[int, str, str]]:
    """Memory, words and pieces of code of each rule."""
    return [(one.memory_id, one.pattern, one.scope) for one in triggers if one.kind == "words"]


def fitting_kinds(call: Call, triggers: Iterable[StoredTrigger]) -> dict[int, set[str]]:
    """The kinds of triggers that fit a call, by memory; those of tests apart from other work."""
    works = work_of(call)
    found: dict[int, set[str]] = {}
    for trigger in triggers:
        if trigger.kind != "words" and _fits(trigger, call, works):
            is_test = trigger.kind == "work" and trigger.key.removesuffix(FILES) == "test"
            found.setdefault(trigger.memory_id, set()).add("test" if is_test else trigger.kind)
    return found


def _fits(trigger: StoredTrigger, call: Call, works: frozenset[str]) -> bool:
    kind, key = trigger.kind, trigger.key
    run = (*call.commands, *call.elsewhere, *call.scripted)
    if kind == "run":
        found = [command for command in run if is_run(trigger.pattern, command)]
        if key in READERS and trigger.scope:  # what looks at files is run all the time, and mostly elsewhere
            return any(
                folder.strip("/") in word
                for folder in trigger.scope.split()
                for command in found
                for word in command.words
            )
        return bool(found) and _may_hold(trigger.scope, call)
    if kind == "edit":
        return any(is_at(trigger.pattern, path, call.root) for path in (*call.changed, *call.named))
    if kind == "name":
        return key in call.names
    if kind == "work":
        is_done = key in works or (key == f"secret{FILES}" and _writes_secret(call))
        return (
            is_done
            and is_in_language(trigger.pattern, call)
            and _may_hold(trigger.scope, call, is_path_known=key in ("commit", "delete") or key.endswith(FILES))
        )
    if kind == "files":
        return any(path.lower().endswith(f".{key}") or f"/.{key}." in f"/{path.lower()}" for path in call.changed)
    from memoryd.rules import written  # noqa: PLC0415 - few calls write something

    return kind == "text" and written.has(trigger, call)


def _may_hold(scope: str, call: Call, *, is_path_known: bool = False) -> bool:
    """Whether a rule that holds in some folders may hold for a call: not if all that it does is in others.

    A command that is run at the root of the project may be about any of them, unless it tells what it works on.
    """
    folders = [folder.strip("/") for folder in scope.split()]
    places = [*call.folders, *call.changed, *call.named] if call.folders or is_path_known or not call.commands else []
    if not folders or not places:
        return True
    return any(
        f"{place}/".startswith(f"{folder}/") or f"{folder}/".startswith(f"{place}/")
        for place in places
        for folder in folders
    )


def _writes_secret(call: Call) -> bool:
    from memoryd.security.redact import redact  # noqa: PLC0415 - 40 ms, and only where a memory speaks of secrets

    return redact(call.written) != call.written


def is_at(pattern: str, path: str, root: str = "") -> bool:
    """Whether a path is the one that a memory names, or is below it; a name without a folder is meant anywhere.

    Anywhere in the project, whose `root` paths are told from: a path elsewhere is absolute, and only an absolute pattern means
    it. `~` and `$HOME` are the home directory.
    """
    pattern = with_home(pattern.removeprefix("./"))
    if path.startswith("/") and not pattern.startswith("/"):
        return False
    if pattern.startswith("/") and root:
        path = os.path.join(root, path)
    if "*" in pattern:
        from fnmatch import fnmatchcase  # noqa: PLC0415 - few patterns have one

        return fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")
    folder = pattern.rstrip("/")
    if path == folder or path.startswith(f"{folder}/"):
        return True
    return path.endswith(f"/{folder}") or (pattern.endswith("/") and f"/{folder}/" in f"/{path}")
