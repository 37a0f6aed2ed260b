"""Match of a tool call with the triggers of memories. Pure, and quick: a client waits for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memoryd.rules.calls import is_in_language, is_run, with_home, work_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.rules.calls import Call

ORDER = ("run", "edit", "name", "work", "files", "folder")
"""The plainer a memory names a call, the sooner it is handed over."""


class StoredTrigger(NamedTuple):
    """A trigger with the memory that has it."""

    memory_id: int
    kind: str
    key: str
    pattern: str


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


def keys_of(call: Call) -> set[str]:
    """What the triggers that may fit are looked up by."""
    paths = (*call.changed, *call.named)
    folders = {part.lower() for path in paths for part in path.split("/")[:-1]}
    extensions = {path.rpartition(".")[2].lower() for path in call.changed if "." in path}
    return {
        *(command.program for command in call.commands),
        *work_of(call),
        *folders,
        *extensions,
        *call.names,
        *([""] if paths else []),
    }


def matched(call: Call, triggers: Iterable[StoredTrigger]) -> list[int]:
    """The memories that speak of a call, the plainest first; among those the newest, which has the highest number."""
    works = work_of(call)
    best: dict[int, int] = {}
    for trigger in triggers:
        if _fits(trigger, call, works):
            best[trigger.memory_id] = min(best.get(trigger.memory_id, len(ORDER)), ORDER.index(trigger.kind))
    return sorted(best, key=lambda memory_id: (best[memory_id], -memory_id))


def _fits(trigger: StoredTrigger, call: Call, works: frozenset[str]) -> bool:
    if trigger.kind == "run":
        return any(is_run(trigger.pattern, command) for command in call.commands)
    if trigger.kind == "edit":
        return any(is_at(trigger.pattern, path, call.root) for path in (*call.changed, *call.named))
    if trigger.kind == "name":
        return trigger.key in call.names
    if trigger.kind == "work":
        return trigger.key in works and is_in_language(trigger.pattern, call)
    if trigger.kind == "files":
        return any(path.lower().endswith(f".{trigger.key}") for path in call.changed)
    # A rule that merely has a word in common with a folder: only for what is changed there, and not at its very top.
    return any(
        trigger.key in path.lower().split("/")[1:-1] or path.lower().startswith(f"{trigger.key}/")
        for path in call.changed
    )


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
