"""Extraction: the waiting turns of one memory directory become memories, or are done without."""

from __future__ import annotations

import fcntl
import hashlib
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import iso
from memoryd.engines import offline
from memoryd.errors import BusyError, MemorydError, StateError
from memoryd.memory.commit import commit, recover
from memoryd.memory.directory import open_directory
from memoryd.memory.document import body_of, new_document
from memoryd.memory.guards import RefusedError
from memoryd.model import Changeset, FileChange, Group
from memoryd.state import history, jobs
from memoryd.transcripts.follow import NotATranscriptError
from memoryd.transcripts.prompts import read_prompts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.model import Finding
    from memoryd.paths import Paths
    from memoryd.state.database import Database

_TRIES = 3
"""How often a session is worked on at once when somebody edits the same files meanwhile."""


class Outcome(NamedTuple):
    """What came of one session."""

    session_id: str
    outcome: str
    saved: tuple[str, ...] = ()
    detail: str = ""


class Session(NamedTuple):
    transcript_id: int
    session_id: str
    path: str


@contextmanager
def only_worker(paths: Paths, memory_dir: str) -> Iterator[None]:
    """Be the only process that extracts into this directory. Raises BusyError. Death gives it back."""
    place = os.path.join(paths.state_dir, "workers")
    os.makedirs(place, mode=0o700, exist_ok=True)
    name = hashlib.blake2b(memory_dir.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    descriptor = os.open(os.path.join(place, name), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(f"Another process is writing memories into {memory_dir}.", "memoryd status") from error
        yield
    finally:
        os.close(descriptor)


def extract(
    database: Database,
    paths: Paths,
    memory_dir: str,
    sessions: list[Session],
    now: float,
    *,
    with_history: bool = False,
) -> Iterator[Outcome]:
    """Work on the waiting turns of these sessions, one after the other.

    1. Be the only worker of this directory; finish the commits and end the jobs of dead ones.
    2. For each session: lease its turns, read what the user said, let the engine find, commit.

    A session that fails does not stop the next one.
    """
    with only_worker(paths, memory_dir):
        # First the commits: what a dead worker had written counts as done, and is not found a second time. A directory
        # that cannot be used is told by each session that wants it.
        with suppress(FileNotFoundError, StateError), open_directory(memory_dir) as directory, directory.locked():
            recover(database, directory, now)
        jobs.drop_lost(database, memory_dir, now)
        for session in sessions:
            for _ in range(_TRIES):
                job = jobs.claim(
                    database, memory_dir, session.transcript_id, session.session_id, now, history=with_history
                )
                if job is None:
                    break
                outcome = _work(database, memory_dir, session, job, now)
                if outcome is not None:
                    yield outcome
                    break


def _work(database: Database, memory_dir: str, session: Session, job: jobs.Job, now: float) -> Outcome | None:
    """Do one job; None where somebody's edit got in between and it is to be done again.

    Whatever fails, only this session waits: one that cannot be worked on must not hold up the others.
    """
    try:
        return _attempt(database, memory_dir, session, job, now)
    except RefusedError as error:
        jobs.finish(
            database,
            job,
            f"refused({error.guard})",
            now,
            turns=tuple(turn.id for turn in job.turns),
            detail=error.sentence,
        )
        return Outcome(session.session_id, f"refused({error.guard})", detail=error.sentence)
    except Exception as error:  # noqa: BLE001 - the border of a worker
        detail = str(error) if isinstance(error, MemorydError | OSError) else f"{type(error).__name__}: {error}"
        jobs.fail(database, job, detail, now)
        return Outcome(session.session_id, "failed", detail=detail)


def _attempt(database: Database, memory_dir: str, session: Session, job: jobs.Job, now: float) -> Outcome | None:
    try:
        said = read_prompts(session.path, [(turn.prompt_id, turn.start) for turn in job.turns])
    except (FileNotFoundError, NotADirectoryError, NotATranscriptError):
        jobs.finish(database, job, "skipped(transcript_gone)", now, turns=tuple(turn.id for turn in job.turns))
        return Outcome(session.session_id, "skipped(transcript_gone)")
    # A turn whose words are not where they were waits: the next look at the rewritten file finds them, or their end.
    turns = tuple(turn.id for turn in job.turns if turn.prompt_id in said)
    if not turns:
        jobs.fail(database, job, "the transcript was rewritten", now)
        return Outcome(session.session_id, "failed", detail="the transcript was rewritten")
    found = [one for one in offline.find(said.values()) if not _is_settled(database, memory_dir, one)]
    if found:
        with open_directory(memory_dir, create=True) as directory:
            groups = memories_of(directory, found, session.session_id, now)
            if groups:
                why = "what you asked to be remembered"
                changeset = Changeset("extract", why, groups, session.session_id, turns, job.id)
                if commit(database, directory, changeset, now).conflicted:
                    jobs.fail(database, job, "somebody else changed the same files", now)
                    return None
                jobs.succeed(database, job)
                return Outcome(
                    session.session_id, "succeeded", tuple(change.name for group in groups for change in group.changes)
                )
    jobs.finish(database, job, "succeeded_no_output", now, turns=turns)
    return Outcome(session.session_id, "succeeded_no_output")


def _is_settled(database: Database, memory_dir: str, finding: Finding) -> bool:
    """Whether these words have led to a memory already, or to one that the user took back."""
    return history.is_refused(database, memory_dir, finding.evidence) or history.rests_on(
        database, memory_dir, finding.evidence
    )


def memories_of(directory: MemoryDirectory, found: list[Finding], session_id: str, now: float) -> tuple[Group, ...]:
    """One new file for each finding that no memory says in the same words."""
    bodies = {}
    names = set()
    listing = directory.listing()
    for name in listing.topics:
        names.add(name.casefold())
        try:
            state = directory.read(name)
        except PermissionError:  # somebody else's: it cannot be compared, and is no reason to stop
            continue
        if state is not None:
            bodies[_words(body_of(state.data))] = name
    names.update(name.casefold() for name in listing.odd)
    groups = []
    for finding in found:
        if _words(finding.body) in bodies:
            continue
        name = _free_name(f"{finding.type}_{finding.name.replace('-', '_')}", names)
        names.add(name.casefold())
        bodies[_words(finding.body)] = name
        document = new_document(
            name=finding.name,
            description=finding.description,
            kind=finding.type,
            body=finding.body,
            session_id=session_id,
            evidence=finding.evidence.hash,
            modified=iso(now),
        )
        groups.append(
            Group(
                (FileChange(name, None, document.render()),),
                f"you said: {finding.evidence.quote}",
                ((name, finding.evidence),),
            )
        )
    return tuple(groups)


def _free_name(stem: str, taken: set[str]) -> str:
    number = 1
    name = f"{stem}.md"
    while name.casefold() in taken:
        number += 1
        name = f"{stem}_{number}.md"
    return name


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()
