"""Recall: the memories that help with a prompt, put together from what is kept, what the session knows, and the room left."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import StateError
from memoryd.recall import choose, rank, sessions, surface
from memoryd.recall.catalogue import catalogue_of, is_unchanged, read_memory
from memoryd.recall.store import Known, open_store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.memory.glance import Glance
    from memoryd.paths import Paths
    from memoryd.recall.rank import Candidate

SINGLE_WORD = "a single word says too little"
NO_MEMORIES = "there are no memories yet"
NOTHING_RELEVANT = "nothing is relevant enough"
BUDGET_USED = "this session has been shown its share"
ALL_KNOWN = "the session knows what is relevant"


class Request(NamedTuple):
    """What is asked, and what is known of whoever asks."""

    prompt: str
    session_id: str = ""
    """Empty: nobody's session; then there is no budget, and nothing counts as shown."""
    tools: tuple[str, ...] = ()
    """In use right now."""
    read: frozenset[str] = frozenset()
    """Memories that the session has read or written by itself."""
    least: float = choose.LEAST_PROBABILITY
    most_characters: int = 0
    """That the client takes; 0: any number."""


class Recalled(NamedTuple):
    """One memory that is handed over."""

    name: str
    type: str
    description: str
    score: float
    at: float
    gone: tuple[str, ...]


class Answer(NamedTuple):
    memories: tuple[Recalled, ...] = ()
    text: str = ""
    """What a client is shown: all of them, inside our mark."""
    why_not: str = ""
    """Why it gets nothing."""
    selector: str = "local"
    fallback: str = ""
    """Why the model did not choose, where the config wants that."""


class _Match(NamedTuple):
    """A candidate and what its file says now."""

    candidate: Candidate
    glance: Glance
    may_have_secret: bool


def recall(
    paths: Paths, config: Config, environment: Mapping[str, str], clock: Clock, memory_dir: str, request: Request
) -> Answer:
    """Choose the memories for a prompt, and put down what a session is shown. Raises StateError, BusyError.

    1. whether the prompt says enough
    2. the directory's terms, made true to its files
    3. candidates, without what the session was shown or has read, and without manuals of tools in use
    4. the choice: by probability, or by the model where the config wants that
    5. as much of them as there is room for
    """
    if not choose.is_worth_asking(request.prompt):
        return Answer(why_not=SINGLE_WORD)
    now = clock.now()
    store = open_store(paths)
    try:
        directory = catalogue_of(store, memory_dir, now)
        if directory is None or not directory.memories:
            return Answer(why_not=NO_MEMORIES)
        shown = sessions.shown(paths, request.session_id, memory_dir) if request.session_id else []
        left = surface.SESSION_BYTES - sum(one.bytes for one in shown)
        if left <= 0:
            return Answer(why_not=BUDGET_USED)
        known = request.read.union(one.name for one in shown)
        found = rank.candidates(store, directory, rank.query_of(request.prompt))
        matches = _matches(memory_dir, [one for one in found if one.memory.name not in known], request.tools)
        answer = Answer()
        if config.recall.selector == "model":
            matches, answer = _by_model(paths, config, environment, clock, memory_dir, request, matches, known)
        if answer.selector == "local":
            matches = [one for one in matches if one.candidate.probability >= request.least]
        matches = matches[: choose.MOST_CHOSEN]
        if not matches:
            is_known = any(one.probability >= request.least and one.memory.name in known for one in found)
            return answer._replace(why_not=ALL_KNOWN if is_known else NOTHING_RELEVANT)
        gone = store.gone(directory.id)
    finally:
        store.close()
    pieces, answer = _surfaced(matches, gone, request, min(left, surface.QUERY_BYTES), now, answer)
    if request.session_id and pieces:
        try:
            shown_now = [sessions.Shown(piece.name, piece.bytes) for piece in pieces]
            sessions.record(paths, request.session_id, memory_dir, shown_now, now)
        except OSError as error:
            raise StateError(
                f"What the session was shown cannot be noted: {error.strerror}.", f"ls -ld {paths.state_dir}"
            ) from error
    return answer


def _matches(memory_dir: str, found: Sequence[Candidate], tools: Sequence[str]) -> list[_Match]:
    """The candidates with what their files say, the most probable first.

    Of a tool in use right now, the manual is left out and the traps are wanted more.
    """
    names = choose.names_of_tools(tools)
    matches = []
    for one in found:
        glance = read_memory(memory_dir, one.memory.name)
        if names and choose.speaks_of(glance, names):
            if choose.is_manual(glance):
                continue
            if choose.is_pitfall(glance):
                one = one._replace(probability=min(1.0, one.probability + choose.PITFALL_BONUS))  # noqa: PLW2901
        # Looked at behind the reading: what has changed since its terms were taken may have got a secret with that.
        matches.append(_Match(one, glance, one.memory.has_secret or not is_unchanged(memory_dir, one.memory)))
    return sorted(matches, key=lambda match: -match.candidate.probability)


def _surfaced(
    matches: Sequence[_Match],
    gone: Mapping[str, tuple[str, ...]],
    request: Request,
    most_bytes: int,
    now: float,
    answer: Answer,
) -> tuple[list[surface.Piece], Answer]:
    memories = [
        surface.Memory(
            match.candidate.memory.name,
            match.glance.type or "",
            *_without_secrets(match),
            match.candidate.memory.mtime_ns / 1e9,
            gone.get(match.candidate.memory.name, ()),
        )
        for match in matches
    ]
    pieces = surface.pieces_of(memories, now, most_bytes=most_bytes, most_characters=request.most_characters)
    if not pieces:
        return [], answer._replace(why_not=BUDGET_USED)
    fitting = {piece.name for piece in pieces}
    recalled = tuple(
        Recalled(one.name, one.type, one.description, match.candidate.probability, one.at, one.gone)
        for one, match in zip(memories, matches, strict=True)
        if one.name in fitting
    )
    return pieces, answer._replace(memories=recalled, text=surface.rendered(pieces))


def _without_secrets(match: _Match) -> tuple[str, str]:
    """Description and body. A client or a person may have written a secret there; whether one did is known already."""
    description, body = match.glance.description, match.glance.body
    if not match.may_have_secret:
        return description, body
    from memoryd.security.redact import redact  # noqa: PLC0415 - 40 ms that hardly any memory costs

    return redact(description), redact(body)


def _by_model(
    paths: Paths,
    config: Config,
    environment: Mapping[str, str],
    clock: Clock,
    memory_dir: str,
    request: Request,
    matches: list[_Match],
    known: frozenset[str],
) -> tuple[list[_Match], Answer]:
    """What a model picks from the manifest; where it does not, everything as it was, and why."""
    from memoryd.errors import MemorydError  # noqa: PLC0415 - this way is slow anyway
    from memoryd.jobs.selection import select_by_model  # noqa: PLC0415
    from memoryd.memory.directory import HEAD_BYTES, open_directory  # noqa: PLC0415
    from memoryd.memory.manifest import manifest_of  # noqa: PLC0415
    from memoryd.state.database import open_database  # noqa: PLC0415

    try:
        with open_directory(memory_dir) as directory:
            files = {name: state for name in directory.listing().topics if (state := directory.read(name, HEAD_BYTES))}
        wanted = {name: state for name, state in files.items() if name not in known}
        database = open_database(paths)
        try:
            selected = select_by_model(
                database,
                config,
                environment,
                clock,
                memory_dir=memory_dir,
                query=request.prompt,
                manifest_lines=manifest_of(wanted),
                names=wanted.keys(),
                tools=request.tools,
                limit=choose.MOST_CHOSEN,
                seconds=config.recall.model_seconds,
            )
        finally:
            database.close()
    except (MemorydError, OSError) as error:
        return matches, Answer(fallback=getattr(error, "sentence", None) or f"{type(error).__name__}.")
    if selected.names is None:
        return matches, Answer(fallback=selected.why)
    by_name = {match.candidate.memory.name: match for match in matches}
    picked = [by_name.get(name) or _picked(memory_dir, name, wanted[name].mtime_ns) for name in selected.names]
    return picked, Answer(selector="model")


def _picked(memory_dir: str, name: str, mtime_ns: int) -> _Match:
    """A memory that only the model thought of."""
    glance = read_memory(memory_dir, name)
    known = Known(0, name, mtime_ns, 0, 0, glance.type or "", has_secret=True)
    return _Match(rank.Candidate(known, 0.0, ()), glance, may_have_secret=True)
