"""Undo, redo and restore as changesets; evidence that they refuse."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Literal

from memoryd.errors import MemorydError
from memoryd.language.evidence import overlap
from memoryd.model import AT_THE_END, Changeset, FileChange, Group, IndexEdit
from memoryd.state import history

if TYPE_CHECKING:
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.model import Evidence
    from memoryd.state.changes import PlannedFile
    from memoryd.state.database import Database


def is_refused(database: Database, memory_dir: str, evidence: Evidence) -> bool:
    """Whether the user has undone a memory that came of these words, however an engine cuts the quote this time."""
    return history.is_refused(database, memory_dir, evidence) or any(
        overlap(quote, evidence.quote) for quote in history.refused_quotes(database, memory_dir, evidence.message_id)
    )


def is_settled(database: Database, memory_dir: str, evidence: Evidence) -> bool:
    """Whether these words have led to a memory already, or to one that the user took back.

    What was asked to be remembered counts however the quote is cut: an agent's tool may have written it down while the turn
    was still going on.
    """
    return (
        is_refused(database, memory_dir, evidence)
        or history.rests_on(database, memory_dir, evidence)
        or any(
            overlap(quote, evidence.quote)
            for quote in history.remembered_quotes(database, memory_dir, evidence.message_id)
        )
    )


def undoing(database: Database, change: history.Change) -> Changeset:
    """Changeset that undoes a change, mtimes included; undoing an undo makes the change again. One group per file.

    Only files that are still as the change left them are touched; files edited since stay.
    """
    kind: Literal["undo", "redo"] = "redo" if change.kind == "undo" else "undo"
    if change.state != "applied":
        raise MemorydError(f"Change {change.id} was never applied, so there is nothing to undo.", "memoryd history")
    if change.undone_by is not None:
        raise MemorydError(f"Change {change.id} is undone already, by change {change.undone_by}.", "memoryd history")
    groups: dict[int, list[FileChange]] = {}
    for file in history.files_of(database, change.id):
        if file.state == "applied":
            groups.setdefault(file.group, []).append(
                FileChange(
                    file.name,
                    file.after,
                    file.before,
                    file.after_mtime_ns,
                    file.before_mtime_ns,
                    file.mode,
                    # A line that comes back is appended: others may have come in its place.
                    AT_THE_END if file.offset is not None and file.before is not None else file.offset,
                )
            )
    in_order = list(groups.values())
    if any(file.offset is not None for files in in_order for file in files):
        in_order.reverse()  # of a log's lines the last one first: the log has its former time in the end
    return Changeset(
        kind,
        f"{kind} of change {change.id}",
        tuple(Group(tuple(files), f"{kind} of change {change.id}") for files in in_order),
        undoes=change.id,
        index_edit=_index_before(database, change),
    )


def _index_before(database: Database, change: history.Change) -> IndexEdit:
    """Edit that puts the index back as well: a dream may have moved words of a person out of it."""
    file = history.index_of(database, change.id)
    if file is None or file.after is None:
        return IndexEdit()
    return IndexEdit(was=file.after, shall_be=file.before, shall_be_mtime_ns=file.before_mtime_ns)


def restoring(database: Database, directory: MemoryDirectory, name: str, change: history.Change | None) -> Changeset:
    """Put a file back as a change left it, or, without one, as it was before its last change."""
    if change is not None and change.memory_dir != directory.path:
        raise MemorydError(f"Change {change.id} is of another project.", "memoryd history")
    file = _version(database, directory.path, name, change)
    if file.offset is not None:
        raise MemorydError(
            f"{name} is a daily log; its lines are put back by number.", f"memoryd undo {file.change_id}"
        )
    now = directory.read(name)
    wanted, mtime = (file.after, file.after_mtime_ns) if change else (file.before, file.before_mtime_ns)
    if change is None and wanted is None:
        wanted, mtime = file.after, file.after_mtime_ns
    if wanted is None:
        raise MemorydError(f"{name} did not exist after change {file.change_id}.", f"memoryd history {name}")
    if now is not None and now.data == wanted:
        raise MemorydError(f"{name} is already as it was then.", f"memoryd diff {name}")
    restored = FileChange(name, now.data if now else None, wanted, now.mtime_ns if now else None, mtime, mode=file.mode)
    return Changeset("restore", f"restored {name}", (Group((restored,), f"restored {name}"),))


def _version(database: Database, memory_dir: str, name: str, change: history.Change | None) -> PlannedFile:
    for version in [change] if change else history.recent(database, memory_dir, name):
        for file in history.files_of(database, version.id):
            if file.name == name and file.state == "applied":
                return file
    raise MemorydError(f"The history knows no {name} here.", "memoryd history")


def diff(file: PlannedFile | FileChange) -> str:
    """A unified diff of what a change did or would do to a file."""
    return "".join(
        line if line.endswith("\n") else line + "\n"
        for line in difflib.unified_diff(
            _lines(file.before),
            _lines(file.after),
            f"{file.name} before" if file.before is not None else "nothing",
            f"{file.name} after" if file.after is not None else "nothing",
        )
    )


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
