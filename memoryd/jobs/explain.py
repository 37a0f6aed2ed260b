"""Explanation of a memory: what it rests on and what became of it, for people (`why`) and for agents (`memoryd mcp`)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import iso
from memoryd.jobs.evidence_lookup import FoundEvidence, evidence_by_file
from memoryd.memory.directory import open_directory
from memoryd.memory.document import parse
from memoryd.state import history, log_lines, queries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoryd.memory.document import Document
    from memoryd.model import Evidence
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.history import Change, Heir, Removal


class Explanation(NamedTuple):
    name: str
    document: Document | None
    """None: it is no longer there."""
    evidence: tuple[Evidence, ...]
    changes: tuple[Change, ...]
    found: FoundEvidence = FoundEvidence()
    """What its file says of its evidence, where the database has none under this name."""
    removal: Removal | None = None
    heir: Heir | None = None
    """The memory that its last change made it part of, or renamed it to."""
    clients: Mapping[str, str] = MappingProxyType({})
    """In which client each session was held, as far as that is known."""

    @property
    def merged_from(self) -> list[str]:
        return str(self.document.metadata.get("mergedFrom", "")).split() if self.document else []

    def gone(self, moment: Callable[[float], str] = iso) -> str:
        """Sentence that tells what took the memory away; empty where it is there."""
        if self.document is not None:
            return ""
        if self.heir and self.heir.is_renamed and self.removal:
            why = self.removal.why.rstrip(".。")
            return f"{self.name} is called {self.heir.name} now ({_when(self.removal, moment)}): {why}."
        if self.heir:
            return f"{self.name} became part of {self.heir.name}."
        if self.removal is None:
            return f"{self.name} is no longer there. It was taken away by hand, or by another program; memoryd did not do it."
        return f"{self.name} is no longer there: {_what_took(self.removal, moment)}."


def explain(
    database: Database, paths: Paths, memory_dir: str, name: str, line_number: int | None = None
) -> Explanation:
    """Everything that is known of a memory that is there, or was; or of a line of a daily log, by its number."""
    document = _document(memory_dir, name)
    evidence = tuple(history.evidence_of(database, memory_dir, name))
    if document is not None and line_number is not None:
        lines = document.body.splitlines()
        line = lines[line_number - 1] if 0 < line_number <= len(lines) else ""
        logged = log_lines.lines_of(database, memory_dir, name).get(log_lines.digest_of_line(line))
        evidence = tuple(piece for piece in evidence if logged is not None and piece in logged.evidence)
    changes = tuple(history.recent(database, memory_dir, name))
    if document is None:
        removal = history.removal_of(database, memory_dir, name)
        is_taken_back = removal is not None and removal.change.kind in ("undo", "redo")
        heir = history.heir_of(database, removal.change.id, name) if removal and not is_taken_back else None
        return Explanation(
            name, None, evidence, changes, removal=removal, heir=heir, clients=_clients(database, evidence)
        )
    found = FoundEvidence() if evidence else evidence_by_file(database, paths, name, document)
    evidence = evidence or found.evidence
    return Explanation(name, document, evidence, changes, found, clients=_clients(database, evidence))


def _clients(database: Database, evidence: tuple[Evidence, ...]) -> Mapping[str, str]:
    return queries.clients_of_sessions(database, {piece.session_id for piece in evidence})


def _document(memory_dir: str, name: str) -> Document | None:
    try:
        with open_directory(memory_dir) as directory:
            state = directory.read(name)
    except FileNotFoundError:
        return None
    return parse(state.data) if state else None


def _when(removal: Removal, moment: Callable[[float], str]) -> str:
    return f"{moment(removal.change.at)}, change {removal.change.id}"


def _what_took(removal: Removal, moment: Callable[[float], str]) -> str:
    change, why, when = removal.change, removal.why.rstrip(".。"), _when(removal, moment)
    if change.kind == "forget":
        return f"you had it forgotten ({when})"
    if change.kind in ("undo", "redo"):
        return f"it went with the {change.kind} of change {change.undoes} ({when})"
    if change.kind == "review":
        return f"you said yes to taking it away ({when}): {why}"
    by = "a dream" if change.kind == "dream" else "memoryd"
    return f"{by} took it away ({when}): {why}"
