"""Remembering on request: what a person writes down by a command, and what an agent writes down with the user's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.registry import all_sessions, instructions_at
from memoryd.engines.base import Signal
from memoryd.engines.choose import chosen_engine
from memoryd.engines.offline import statement
from memoryd.engines.offline.engine import without_known
from memoryd.errors import BusyError, EngineRestsError, MemorydError, UsageError
from memoryd.jobs.holds import hold_of
from memoryd.language.evidence import find_quote
from memoryd.memory.changeset import groups_of
from memoryd.memory.directory import open_directory
from memoryd.memory.tiers import tiers_of
from memoryd.model import Changeset, UserMessage, Verdict
from memoryd.projects import root_of
from memoryd.review.context import ReviewContext
from memoryd.review.review import Review
from memoryd.review.verdict import sorted_by_verdict
from memoryd.security.invisible import without_invisible
from memoryd.security.redact import find_secret, redact
from memoryd.sources.session import NotATranscriptError
from memoryd.state import jobs
from memoryd.transcripts.digest import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.engines.base import Engine
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.memory_types import MemoryType
    from memoryd.model import Group, HeldGroup
    from memoryd.paths import Paths
    from memoryd.state.database import Database

MOST_CHARACTERS = 2000
_QUOTABLE_SECONDS = 86_400.0
_REVIEW_SECONDS = 45.0
"""Time that a model has to judge it: some clients end a call after a minute."""
_TRIES = 5
"""Only a program that does not know memoryd's lock can take a name that was free: an editor, the client."""
_KNOWN = "A memory says just that already."
_NOT_QUOTED = "An agent asked for it, and the words that it quotes are not in what you said here in the last 24 hours."


class Remembered(NamedTuple):
    """What came of a request."""

    saved: tuple[str, ...] = ()
    """Files that were written."""
    held: tuple[HeldGroup, ...] = ()
    """What was kept from being written, and why."""
    is_quoted: bool = True
    """Whether the user said the words that were given as theirs."""


def checked_text(text: str) -> str:
    """What is to be remembered, as one line of words that are seen. Raises UsageError and MemorydError."""
    text = without_invisible(text.encode("utf-8", "replace").decode()).strip()
    if len(text) > MOST_CHARACTERS:
        raise UsageError(
            f"That is {len(text):,} characters; a memory is one fact in a sentence or two.", "memoryd remember --help"
        )
    if not any(letter.isalnum() for letter in text):
        raise UsageError("There is nothing to remember.", 'memoryd remember "always run the linter"')
    if secret := find_secret(text):
        raise MemorydError(f"That holds a secret ({secret}), and secrets are not kept.", "leave the value out")
    return text


def remember(
    database: Database, memory_dir: str, text: str, now: float, kind: MemoryType | None = None
) -> tuple[str, ...]:
    """Write down what the user wrote into a command; returns the files. Raises UsageError, MemorydError, BusyError."""
    memory = statement(UserMessage("", f"remember:{now}", now, checked_text(text)), kind)
    # Locked before the name is chosen: ten commands at once would all choose the same one.
    tiers = tiers_of(database, memory_dir)
    with open_directory(memory_dir, create=True) as directory, directory.locked():
        for _ in range(_TRIES):
            snapshot = tiers.snapshot(database)
            groups = groups_of(snapshot, without_known(snapshot, [memory]), now)
            if not groups:
                raise MemorydError(_KNOWN, "memoryd memories")
            changeset = Changeset("remember", "you asked for it", groups)
            if not tiers.commit(database, directory, changeset, now).conflicted:
                return _written(groups)
        raise _in_use(directory)


class AgentRequest(NamedTuple):
    """What an agent asks for: a text to be remembered, and the user's words that it claims to rest on."""

    memory_dir: str
    cwd: str
    text: str
    quote: str


def remember_for_agent(
    database: Database,
    paths: Paths,
    config: Config,
    environment: Mapping[str, str],
    clock: Clock,
    request: AgentRequest,
) -> Remembered:
    """Write down what an agent made of the user's words. Neither the text nor the quote is believed:

    1. the quote is sought in what the user said in this project within a day, also in sessions that go on
    2. found: the memory rests on those words, and review judges it like any other that is not the user's own writing, with
       the model of the engine that the config names
    3. not found, doubtful, or a model that cannot be asked now: it waits in the inbox for the user

    Raises UsageError and MemorydError where the agent could mend it: nothing is kept then, not even in the inbox.
    """
    text, now = checked_text(request.text), clock.now()
    said = messages_since(paths, root_of(request.cwd), now - _QUOTABLE_SECONDS)
    evidence = find_quote(redact(request.quote[: 2 * MOST_CHARACTERS]), said)
    memory = statement(
        UserMessage("", f"remember:{now}", now, text)
        if evidence is None
        else UserMessage(evidence.session_id, evidence.message_id, evidence.said_at or now, text)
    )
    memory = memory._replace(evidence=(evidence,) if evidence else (), line=f"an agent asked: {text}")
    instructions = [redact(words) for words in instructions_at(request.cwd, paths)]
    with (
        chosen_engine(database, paths, config, environment, clock) as engine,
        open_directory(request.memory_dir, create=True) as directory,
    ):
        tiers = tiers_of(database, request.memory_dir)
        for _ in range(_TRIES):
            snapshot = tiers.snapshot(database)
            context = ReviewContext(
                "extract",
                snapshot,
                said,
                now,
                instructions,
                lambda piece: tiers.is_refused(database, piece),
            )
            groups = groups_of(snapshot, without_known(snapshot, [memory]), now)
            if not groups:
                raise MemorydError(_KNOWN)
            # Not under the directory's lock, as a model may be asked: the commit tells if a file was changed meanwhile.
            if evidence is None:
                verdicts = _unquoted(context, groups)
            else:
                verdicts = _judged(database, config, clock, engine, context, groups)
            accepted, held = sorted_by_verdict(groups, verdicts, config.review)
            accepted, unusable = tiers.committable(accepted)
            held += unusable
            session_id = evidence.session_id if evidence else ""
            changeset = Changeset("remember", "you asked an agent for it", accepted, session_id, held=held)
            if not tiers.commit(database, directory, changeset, now).conflicted:
                return Remembered(_written(accepted), held, evidence is not None)
        raise _in_use(directory)


def messages_since(paths: Paths, root: str, since: float) -> list[UserMessage]:
    """What the user said in a project, in sessions of all clients, oldest first and without secrets."""
    found: dict[str, UserMessage] = {}
    for client, file in all_sessions(paths, [root]):
        if file.mtime_ns / 1e9 < since:
            continue
        try:
            digest = digest_of(client, file.path)
        except (OSError, NotATranscriptError):
            continue
        for message in digest.said if digest else ():
            if (message.said_at or 0.0) >= since and message.cwd and root_of(message.cwd) == root:
                found.setdefault(message.message_id, message)
    return sorted(found.values(), key=lambda message: message.said_at or 0.0)


def _unquoted(context: ReviewContext, groups: tuple[Group, ...]) -> list[Verdict]:
    """Verdicts without the user's words: whatever is said in their place, the user has to look at it."""
    refuse = [verdict for verdict in Review(context).judge(groups) if verdict.state == "refused"]
    if refuse:
        raise MemorydError(f"Not kept: {refuse[0].reason}")
    return [Verdict("held", _NOT_QUOTED)] * len(groups)


def _judged(
    database: Database,
    config: Config,
    clock: Clock,
    engine: Engine,
    context: ReviewContext,
    groups: tuple[Group, ...],
) -> list[Verdict]:
    """The verdicts on what an agent asked for. Raises MemorydError for what it can say better, or must not say."""
    memory_dir = context.snapshot.path
    job_id = jobs.begin_request(database, jobs.REMEMBER, memory_dir, context.now)
    ask = engine.meaning_asker(Signal(job_id, context.now, deadline=context.now + _REVIEW_SECONDS), memory_dir)
    try:
        if ask and (hold := hold_of(database, config, context.now)):
            raise EngineRestsError(hold.text)
        verdicts = Review(context, ask).judge(groups)
    except MemorydError as error:
        jobs.end_request(database, job_id, "failed", clock.now(), error.sentence)
        return [Verdict("held", f"The model could not be asked whether your words carry it: {error.sentence}")] * len(
            groups
        )
    unfit = [verdict for verdict in verdicts if verdict.state in ("refused", "repairable")]
    jobs.end_request(database, job_id, "succeeded", clock.now(), unfit[0].reason if unfit else "")
    if unfit:
        raise MemorydError(f"Not kept: {unfit[0].reason}")
    return verdicts


def _written(groups: tuple[Group, ...]) -> tuple[str, ...]:
    return tuple(change.name for group in groups for change in group.changes)


def _in_use(directory: MemoryDirectory) -> BusyError:
    return BusyError(
        f"Somebody else keeps making files of the same name in {directory.path}. Nothing was saved.",
        "the same command again",
    )
