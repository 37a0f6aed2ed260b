"""Memories that match a prompt: the project's own, those about the person, the team's, and what waits to be confirmed."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from memoryd.errors import BusyError, StateError
from memoryd.jobs.quotes_beside import quotes_beside
from memoryd.memory.quick_parse import QuickParse
from memoryd.memory.tier_names import as_global
from memoryd.recall import choose, rank
from memoryd.recall import team as team_recall
from memoryd.recall.index import is_unchanged
from memoryd.recall.quotes import name_of_quote, parsed_quote, up_to_date_notes, up_to_date_quotes
from memoryd.recall.reading import read_memory
from memoryd.record import NamedTuple
from memoryd.state.database import state_to_read
from memoryd.state.last_session import last_on_branch
from memoryd.state.team import is_on as is_team_on

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.recall.rank import Candidate
    from memoryd.recall.store import Directory, Store
    from memoryd.state.database import Database
    from memoryd.state.last_session import LastSession
    from memoryd.state.quotes import Quote

_NEAREST = 20
NOTES_FOLDER = "notes/"
"""What the name of a note begins with that a session was shown."""
LEAST_OF_NOTES = 0.5
"""Of the probability that a part of the notes of the last session is meant: it was not kept as a memory."""


class Request(NamedTuple):
    """Prompt, and what is known of the session that asks."""

    prompt: str
    session_id: str = ""
    """Empty outside a session: no budget then, and nothing counts as shown."""
    tools: tuple[str, ...] = ()
    """In use right now."""
    read: frozenset[str] = frozenset()
    """Memories that the session has read or written by itself."""
    least: float | None = None
    """How probable a memory has to be; None: as many as there are tell."""
    most_characters: int = 0
    """Longest text that the client takes; 0: no limit."""
    root: str = ""
    """Of the project that the session works in; empty: not known."""
    branch: str = ""
    """That is checked out where the session works; empty: not known."""
    is_waited_for: bool = False
    """Whether a client waits: then no more is read than a few files, and no model is asked."""


class Match(NamedTuple):
    """Candidate, with the present content of its file."""

    candidate: Candidate
    parsed: QuickParse
    may_have_secret: bool
    quote: Quote | None = None
    """Of an unconfirmed memory, which has no file."""
    author: str = ""
    """Of a memory of the team, whose name then begins with its folder."""
    branch: str = ""
    """Whose last session it is a note of."""


class Beside(NamedTuple):
    """What is searched beside the memories of a directory, as the state database has it."""

    quotes: Mapping[str, Quote]
    """Unconfirmed memories, by the names that their terms are kept under."""
    has_team: bool = False
    last_session: LastSession | None = None
    """Of the branch that is checked out."""


class RecallTask(NamedTuple):
    """One prompt with everything that is needed to answer it."""

    paths: Paths
    config: Config
    environment: Mapping[str, str]
    clock: Clock
    memory_dir: str
    request: Request
    database: Database | None = None
    """The state database, where somebody has it open."""
    floor: choose.Floor = choose.Floor(0.0, 0.0)


def candidates(task: RecallTask, store: Store, directory: Directory, query: rank.Query) -> list[Candidate]:
    """The memories of a directory that the prompt may mean, the most probable first."""
    found = map(task.floor.raised, rank.candidates(store, directory, query))
    return sorted(found, key=lambda one: -one.probability)


def beside_memories(task: RecallTask) -> Beside:
    opened = nullcontext(task.database) if task.database is not None else state_to_read(task.paths)
    with suppress(StateError, BusyError), opened as database:  # the memories themselves are worth more than these
        if database is not None:
            places = dict.fromkeys((task.memory_dir, task.paths.global_dir or task.memory_dir))
            quotes = {name_of_quote(one.row_id): one for place in places for one in quotes_beside(database, place)}
            has_team = task.config.is_team_on and is_team_on(database, task.memory_dir)
            return Beside(quotes, has_team, _last_session(task, database))
    return Beside({})


def _last_session(task: RecallTask, database: Database) -> LastSession | None:
    request = task.request
    is_asked = bool(request.root and request.branch and request.session_id) and request.least is None
    if not is_asked or not task.config.features.notes:
        return None
    return last_on_branch(database, request.root, request.branch, request.session_id)


def notes_match(
    task: RecallTask, store: Store, last: LastSession, query: rank.Query, known: frozenset[str]
) -> list[Match]:
    """The part of the notes of the last session that is surely meant, once for each session that asks."""
    if any(name.startswith(NOTES_FOLDER) for name in known):
        return []
    import hashlib  # noqa: PLC0415 - 5 ms that a prompt need not pay where no session was on the branch

    parsed = {hashlib.sha256(part.encode()).hexdigest()[:16]: QuickParse("", "", None, (), part) for part in last.parts}
    wait = not task.request.is_waited_for
    directory = up_to_date_notes(store, task.memory_dir, parsed, task.clock.now(), wait=wait)
    found = rank.candidates(store, directory, query) if directory is not None else []
    best = next((one for one in found if one.memory.name in parsed), None)
    if best is None or best.probability < LEAST_OF_NOTES:
        return []
    memory = best.memory._replace(name=f"{NOTES_FOLDER}{last.session_id}", mtime_ns=round(last.active_at * 1e9))
    part = parsed[best.memory.name]
    return [Match(best._replace(memory=memory), part, may_have_secret=False, branch=task.request.branch)]


def quoted_matches(
    task: RecallTask, store: Store, quotes: Mapping[str, Quote], query: rank.Query, known: frozenset[str]
) -> list[Match]:
    """The unconfirmed memories that are probable enough."""
    parsed = {name: parsed_quote(quote) for name, quote in quotes.items()}
    wait = not task.request.is_waited_for
    directory = up_to_date_quotes(store, task.memory_dir, parsed, task.clock.now(), wait=wait)
    found = candidates(task, store, directory, query) if directory is not None else []
    return [
        Match(one, parsed[one.memory.name], may_have_secret=False, quote=quotes[one.memory.name])
        for one in found
        if one.probability >= task.floor.others and one.memory.name not in known and one.memory.name in quotes
    ]


def team_matches(
    task: RecallTask, store: Store, team: Directory, query: rank.Query, known: frozenset[str], own: Sequence[Candidate]
) -> list[Match]:
    """The team's memories that are probable enough, without those that the user has or has decided against."""
    least = task.floor.others
    found = [one for one in candidates(task, store, team, query) if one.probability >= least]
    # A rule of the user's own against one of the team's speaks of the same matter, and so is among the first.
    overridden = {read_memory(task.memory_dir, one.memory.name).overrides for one in own[:_NEAREST]} if found else set()
    return [
        Match(one._replace(memory=one.memory._replace(name=shared.name)), shared.parsed, True, author=shared.author)
        for one in found
        if (shared := team_recall.shared_memory(task.memory_dir, one.memory.name)) is not None
        and shared.name not in known | overridden
    ]


def probable_matches(task: RecallTask, memory_dir: str, found: Iterable[Candidate]) -> list[Match]:
    """Candidates that are probable enough, with their files, the most probable first.

    For a tool in use, manuals are left out and pitfalls get a bonus.
    """
    least = task.floor.others
    names = choose.names_of_tools(task.request.tools)
    matches = []
    for candidate in found:
        if candidate.probability + (choose.PITFALL_BONUS if names else 0.0) < least:
            continue  # not read
        probability = candidate.probability
        parsed = read_memory(memory_dir, candidate.memory.name)
        if names and choose.speaks_of(parsed, names):
            if choose.is_manual(parsed):
                continue
            if choose.is_pitfall(parsed):
                probability = min(1.0, probability + choose.PITFALL_BONUS)
        if probability >= least:
            # Checked after reading: a file that changed since it was indexed may have got a secret.
            may_have_secret = candidate.memory.has_secret or not is_unchanged(memory_dir, candidate.memory)
            matches.append(Match(candidate._replace(probability=probability), parsed, may_have_secret))
    return sorted(matches, key=lambda match: -match.candidate.probability)


def global_matches(
    task: RecallTask, store: Store, person: Directory, query: rank.Query, known: frozenset[str]
) -> list[Match]:
    """The memories about the person that are probable enough, by the names that they have beside a project's."""
    found = [one for one in candidates(task, store, person, query) if as_global(one.memory.name) not in known]
    return [
        match._replace(
            candidate=match.candidate._replace(
                memory=match.candidate.memory._replace(name=as_global(match.candidate.memory.name))
            )
        )
        for match in probable_matches(task, task.paths.global_dir, found)
    ]
