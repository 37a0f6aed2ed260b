"""Session notes: brought up to date from what is new in a transcript, handed back after a compaction, removed when old.

The row in the database is what counts, the file is made of it in the same transaction. Whoever is killed leaves the notes as
they were, or the new ones; of two processes the later finds that it is late, and reads again from where the other ended.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from memoryd import atomic_file
from memoryd.clients.registry import client_named
from memoryd.clock import elapsed
from memoryd.errors import BusyError, MemorydError
from memoryd.jobs import gates
from memoryd.jobs.notes_due import due
from memoryd.model import Cursor
from memoryd.notes.facts import SessionFacts
from memoryd.notes.hand_back import handed_back
from memoryd.notes.parts import parts_of
from memoryd.notes.sections import HEAD, rendered
from memoryd.projects import root_of
from memoryd.recall.surface import HOOK_CHARACTERS, marked
from memoryd.sources.session import NotATranscriptError
from memoryd.state import notes as kept_notes
from memoryd.state.notes import KeptNotes
from memoryd.transcripts.tail import opened_tail

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.notes import NotedSession

KEPT_DAYS = 7
RESUMED_SECONDS = 2 * 86_400.0
"""A session that is gone on with after so long gets its notes back too."""
_FOLDER = "session-memory"
HOOK_SECONDS = 2.5
"""So long a hook reads: the client waits for five, and the rest of the answer takes time too."""
_BATCH_BYTES = 16 << 20
"""So much is read between two stores."""
_HOOK_BATCH_BYTES = 1 << 20
"""The same in a hook: what it has read is not lost when its time is over."""
_TRIES = 5


def notes_file(paths: Paths, config: Config, session_id: str) -> str:
    own = paths.session_file(_FOLDER, session_id, ".md")
    return os.path.join(config.notes.directory, os.path.basename(own)) if config.notes.directory else own


def update_due(database: Database, paths: Paths, config: Config, now: float) -> list[tuple[NotedSession, str]]:
    """Bring the notes of all live sessions up to date; those that failed, with the reason.

    Nothing that is in one transcript keeps the others from their notes: a session that failed waits until it grows.
    """
    failed = []
    for place in due(database, paths, config, now):
        try:
            update(database, paths, config, place, now)
        except MemorydError:
            raise  # about the database, so about all
        except Exception as error:  # noqa: BLE001 - as said
            kept_notes.note_failure(database, place, now)
            failed.append((place, type(error).__name__))  # what it says may quote the transcript
    return failed


def update(
    database: Database,
    paths: Paths,
    config: Config,
    place: NotedSession,
    now: float,
    *,
    any_length: bool = False,
    seconds: float | None = None,
) -> KeptNotes | None:
    """Bring the notes of a session up to date; also of a short one, if of `any_length`. None where there are none.

    `seconds`: somebody waits. What was not read by then is read the next time; the notes are those of what was.

    1. read what is new, from where the last look ended, or all of it where the transcript was rewritten
    2. make the file anew and store both, unless somebody else was faster: then begin again
    """
    tries_left = _TRIES
    most_bytes, until = (_BATCH_BYTES, None) if seconds is None else (_HOOK_BATCH_BYTES, elapsed() + seconds)
    while tries_left:
        known = kept_notes.notes_of(database, place.session_id)
        made, facts, is_complete = read_on(place, known, now, most_bytes)
        is_wanted = any_length or facts.tokens >= kept_notes.NOTED_TOKENS or bool(known and known.file)
        file = notes_file(paths, config, place.session_id) if is_wanted and not facts.opted_out else ""
        made = made._replace(file=file, branch=facts.branch, parts=parts_of(facts, made.written) if file else ())
        is_current = known == made and (not file or os.path.exists(file))
        if not is_current and not kept_notes.store(database, made, partial(_write, made, facts, known)):
            tries_left -= 1
        elif is_complete or (until is not None and elapsed() > until):
            return made._replace(revision=made.revision + (not is_current)) if file else None
    raise BusyError(f"The notes of session {place.session_id} are made by another process.", "memoryd notes")


def read_on(
    place: NotedSession, known: KeptNotes | None, now: float, most_bytes: int = _BATCH_BYTES
) -> tuple[KeptNotes, SessionFacts, bool]:
    """What the notes are made of after the next bytes, and whether that is all. Nothing is stored.

    Raises OSError and NotATranscriptError.
    """
    cursor = known.cursor if known else Cursor()
    with opened_tail(client_named(place.client), place.path, cursor) as tail:
        is_known = known is not None and not tail.rewritten
        facts = SessionFacts(known.facts if known and is_known else "")
        for _, entry in tail.entries(most_bytes):
            facts.take(entry)
            if facts.opted_out:
                facts = SessionFacts()
                facts.opted_out = True
        active_at = min(tail.found.mtime_ns / 1e9, now)
        made = KeptNotes(
            session_id=place.session_id,
            client=place.client,
            path=place.path,
            cursor=tail.cursor(),
            facts=facts.as_json(),
            tokens=facts.tokens,
            calls=facts.calls,
            last_calls=facts.calls_in_turn,
            active_at=active_at,
            revision=known.revision if known else 0,
        )
        if known is not None and is_known and not facts.opted_out:
            made = made._replace(
                written=known.written,
                written_offset=known.written_offset,
                written_tokens=known.written_tokens,
                written_calls=known.written_calls,
                failures=known.failures,
            )
        return made, facts, tail.is_complete


def _write(notes: KeptNotes, facts: SessionFacts, before: KeptNotes | None) -> None:
    if before is not None and before.file != notes.file:
        _remove(before.file)
    if notes.file:
        atomic_file.write(notes.file, rendered(notes.session_id, facts, notes.written).encode("utf-8", "replace"))


def write_again(database: Database, notes: KeptNotes) -> bool:
    """Store what a model wrote, with the file; False where the notes have changed since."""
    facts = SessionFacts(notes.facts)
    notes = notes._replace(parts=parts_of(facts, notes.written))
    return kept_notes.store(database, notes, partial(_write, notes, facts, None))


# --- for a hook -------------------------------------------------------------------------------------------------------


def update_before_compaction(
    database: Database, paths: Paths, config: Config, place: NotedSession, now: float
) -> KeptNotes | None:
    """Bring the notes up to date, however short the session is. `place` is as the client tells: it may be new to us."""
    known = kept_notes.place_of(database, place.session_id)
    place = known._replace(path=place.path or known.path) if known else place
    if not place.path or gates.place_left_alone(
        place.cwd, place.project_root or root_of(place.cwd), config, paths.state_dir
    ):
        return None
    try:
        return update(database, paths, config, place, now, any_length=True, seconds=HOOK_SECONDS)
    except (OSError, NotATranscriptError):  # it is not written yet, or gone: what was noted counts
        return kept_notes.notes_of(database, place.session_id)


def hand_back(
    database: Database,
    paths: Paths,
    config: Config,
    place: NotedSession,
    now: float,
    *,
    is_compacted: bool,
    most_characters: int = HOOK_CHARACTERS,
) -> str:
    """The notes for a session that goes on without what it knew; empty where there are none, or it has them already."""
    before = kept_notes.notes_of(database, place.session_id)
    if not is_compacted and (before is None or now - before.active_at < RESUMED_SECONDS):
        return ""
    notes = update_before_compaction(database, paths, config, place, now)
    if notes is None or not notes.file:
        return ""
    try:
        size = os.stat(notes.path).st_size
    except OSError:
        size = notes.cursor.offset
    if not kept_notes.claim_hand_back(database, place.session_id, size):
        return ""
    why = "compacted" if is_compacted else "left some days ago"
    room = most_characters - len(marked(""))
    text = handed_back(SessionFacts(notes.facts), notes.written, notes.file, room, why=why)
    return marked(text) if text else ""


# --- upkeep -----------------------------------------------------------------------------------------------------------


def remove_old(database: Database, paths: Paths, since: float, now: float) -> int:
    """Remove the notes of sessions that were not active since then, and files of our own that no row knows."""
    removed = 0
    for session_id, file in kept_notes.expired(database, since, now):
        removed += _remove(file)
        kept_notes.drop(database, session_id)
    known = {notes.file for notes in kept_notes.all_notes(database)}
    folder = os.path.join(paths.state_dir, _FOLDER)
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.path not in known and entry.stat(follow_symlinks=False).st_mtime < since:
                removed += _remove(entry.path)
    return removed


def _remove(file: str) -> bool:
    """Remove notes; whether there were any. Nothing else: the directory may be the user's, with files of their own."""
    if not file or (atomic_file.read_regular(file, len(HEAD)) or b"") != HEAD.encode():
        return False
    os.remove(file)
    return True
