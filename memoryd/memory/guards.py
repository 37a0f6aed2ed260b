"""Guards: rules that no commit may break, whoever asks for it; checked on the result. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.errors import MemorydError
from memoryd.memory.daily_logs import is_log_line, is_own_log
from memoryd.memory.document import parse
from memoryd.memory.limits import INDEX_NAME, MEMORY_BYTES
from memoryd.security.redact import find_secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.model import Changeset, FileChange, Group

_PLAIN_NAME = re.compile(r"[^/\x00-\x1f\x7f\ud800-\udfff]{1,200}\.md")


class RefusedError(MemorydError):
    """A guard refused a change; nothing was written."""

    def __init__(self, guard: str, sentence: str, fix: str = "", *, turns: int | None = None) -> None:
        super().__init__(sentence, fix)
        self.guard = guard
        self.turns = turns
        """How many of the turns, from the first on, this is about; None: all that were looked at."""


def check(changeset: Changeset, odd: Mapping[str, str]) -> None:
    """Raise RefusedError for the first rule that a changeset breaks.

    `odd` are the names in the directory that are left alone, and why. Commands that put back what once was there are
    not asked for its form. The user's own yes to a proposal also counts for a pinned memory.
    """
    makes_memories = changeset.kind in ("extract", "remember", "dream", "review")
    names = [change.name for group in changeset.groups for change in group.changes if change.offset is None]
    if len(names) != len(set(names)):
        raise RefusedError("one change a file", "The same file is changed twice in one commit.")
    for group in changeset.groups:
        for change in group.changes:
            if change.offset is not None:
                _check_line(changeset, group, change)
                continue
            _check_name(change)
            if change.name in odd:
                raise RefusedError("left alone", f"{change.name} is left alone: it is {odd[change.name]}.")
            # What once stood there is put back as it was, whatever it holds: it is the user's.
            is_new = changeset.kind not in ("undo", "redo", "restore", "purge")
            if is_new and change.after is not None and (secret := find_secret(change.after.decode("utf-8", "replace"))):
                raise RefusedError("no secret", f"{change.name} would hold a secret ({secret}).")
            if makes_memories:
                if changeset.kind != "review":
                    _check_pinned(change)
                _check_memory(change, group, needs_evidence=_needs_evidence(changeset, group, change))
                if changeset.kind in ("dream", "review"):
                    _check_whose(change)


def _check_line(changeset: Changeset, group: Group, change: FileChange) -> None:
    """A line of a daily log: in the log of a day, by itself, without a secret, and resting on what the user said."""
    if not is_own_log(change.name):
        raise RefusedError("inside the directory", f"{change.name!r} is no name for a daily log.")
    if changeset.kind in ("undo", "redo") or change.after is None:
        return
    if len(change.after) > MEMORY_BYTES or not is_log_line(change.after):
        raise RefusedError("no truncated text", f"{change.name} would get something that is no line of a log.")
    if secret := find_secret(change.after.decode("utf-8", "replace")):
        raise RefusedError("no secret", f"{change.name} would hold a secret ({secret}).")
    if not group.evidence:
        raise RefusedError("evidence", f"A line of {change.name} rests on nothing that the user said.")


def _check_name(change: FileChange) -> None:
    name = change.name
    if not _PLAIN_NAME.fullmatch(name) or name.startswith(".") or name.casefold() == INDEX_NAME.casefold():
        raise RefusedError("inside the directory", f"{name!r} is no name for a memory.")


def _needs_evidence(changeset: Changeset, group: Group, change: FileChange) -> bool:
    """A dream may also rest on what the memories said before: on those of the group, or on passages of the index."""
    if changeset.kind != "dream":
        return changeset.kind == "extract"
    return not changeset.index_edit.without and all(other.before is None for other in (change, *group.changes))


def _check_whose(change: FileChange) -> None:
    """Refuse to change a file that is no memory: its owner keeps it."""
    if change.before is not None and parse(change.before).type is None:
        raise RefusedError("foreign", f"{change.name} is no memory that memoryd understands, and stays as it is.")


def _check_pinned(change: FileChange) -> None:
    before = parse(change.before) if change.before is not None else None
    if before is not None and before.enforce:
        raise RefusedError("pinned", f"{change.name} binds.", f"memoryd enforce {change.name} --off")
    if before is not None and before.is_pinned:
        raise RefusedError("pinned", f"{change.name} is pinned.", f"remove `pinned` from {change.name} first")


def _check_memory(change: FileChange, group: Group, *, needs_evidence: bool) -> None:
    if change.after is None:
        return
    if len(change.after) > MEMORY_BYTES and (change.before is None or len(change.before) < len(change.after)):
        raise RefusedError("size", f"{change.name} would have {len(change.after):,} bytes; a memory is a page or two.")
    after = parse(change.after)
    if after.problem or not after.name or not after.description or after.type is None:
        why = after.problem or "name, description or a type is missing"
        raise RefusedError("valid frontmatter", f"{change.name} would not be a valid memory: {why}.")
    if not after.body.strip() or not change.after.endswith(b"\n"):
        raise RefusedError("no truncated text", f"{change.name} would be empty or cut off.")
    if needs_evidence and not any(name == change.name for name, _ in group.evidence):
        raise RefusedError("evidence", f"{change.name} rests on nothing that the user said.")
