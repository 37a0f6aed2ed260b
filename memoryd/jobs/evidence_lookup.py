"""Evidence of a memory by what its file says: session and hash survive a rename, another directory and a lost database."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.registry import all_sessions
from memoryd.language.evidence import evidence_of
from memoryd.language.sentences import sentences_of
from memoryd.model import Prompt, UserMessage
from memoryd.security.redact import redact
from memoryd.state import history
from memoryd.transcripts.read import entries_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.memory.document import Document
    from memoryd.model import Evidence
    from memoryd.paths import Paths
    from memoryd.state.database import Database

_MOST_WORDS = 300
"""Of a message whose every passage is tried."""


class FoundEvidence(NamedTuple):
    evidence: tuple[Evidence, ...] = ()
    former_name: str = ""
    """Under which it was recorded, if that is another."""
    session_id: str = ""
    """Where the words were said, by the file alone; what they were is known only if there is evidence."""


def evidence_by_file(database: Database, paths: Paths, name: str, document: Document) -> FoundEvidence:
    """Look for what a file says it rests on: in the database, else in the transcript of its session."""
    session_id = str(document.metadata.get("originSessionId", ""))
    digest = str(document.metadata.get("evidence", ""))
    if not digest:
        return FoundEvidence(session_id=session_id)
    for former, evidence in history.evidence_by_hash(database, session_id, digest):
        return FoundEvidence((evidence,), former if former != name else "", session_id)
    found = next(_in_transcripts(paths, session_id, digest), None) if session_id else None
    return FoundEvidence((found,) if found else (), "", session_id)


def _in_transcripts(paths: Paths, session_id: str, digest: str) -> Iterator[Evidence]:
    for client, found in all_sessions(paths):
        if client.session_id(found.path) == session_id:
            for entry in entries_in(client, found.path):
                if isinstance(entry, Prompt):
                    yield from _with_hash(entry, digest)


def _with_hash(prompt: Prompt, digest: str) -> Iterator[Evidence]:
    """The passage of a message that has this hash."""
    text = redact(prompt.text)
    said = UserMessage(prompt.session_id, prompt.ids[0], prompt.said_at, text)
    for passage in _passages(text):
        evidence = evidence_of(said, passage)
        if evidence.hash == digest:
            yield evidence
            return


def _passages(text: str) -> Iterator[str]:
    sentences = sentences_of(text)
    yield text
    for start in range(len(sentences)):
        for end in range(start + 1, len(sentences) + 1):
            yield " ".join(sentences[start:end])
    words = text.split()[:_MOST_WORDS]
    for start in range(len(words)):
        for end in range(len(words), start, -1):
            yield " ".join(words[start:end])
