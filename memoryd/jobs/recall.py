"""Recall: the memories that help with a prompt, put together from what is kept, what the session knows, and the room left."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import elapsed
from memoryd.errors import BusyError, MemorydError, StateError
from memoryd.memory.quick_parse import quick_parse
from memoryd.recall import choose, rank, surface
from memoryd.recall import shown as shown_log
from memoryd.recall.index import is_unchanged, read_memory, up_to_date_index
from memoryd.recall.quotes import up_to_date_quotes
from memoryd.recall.store import IndexedMemory, open_store
from memoryd.state.database import open_for_reading
from memoryd.state.inbox import unconfirmed_quotes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.memory.quick_parse import QuickParse
    from memoryd.paths import Paths
    from memoryd.recall.rank import Candidate
    from memoryd.recall.store import Store
    from memoryd.state.inbox import Quote

SINGLE_WORD = "fewer than two words say too little"
NO_MEMORIES = "there are no memories yet"
NOTHING_RELEVANT = "nothing is relevant enough"
BUDGET_USED = "this session has been shown its share"
NO_ROOM = "there is no room for what is relevant"
ALL_KNOWN = "the session knows what is relevant"


_READING_SECONDS = 1.0
"""Where a client waits, memories that have changed are read for so long; the rest is read with the next prompt."""
_SPARE_SECONDS = 0.7
_ASKED_CHARACTERS = 32_000


class Request(NamedTuple):
    """What is asked, and what is known of whoever asks."""

    prompt: str
    session_id: str = ""
    """Empty: nobody's session; then there is no budget, and nothing counts as shown."""
    tools: tuple[str, ...] = ()
    """In use right now."""
    read: frozenset[str] = frozenset()
    """Memories that the session has read or written by itself."""
    least: float | None = None
    """How probable a memory has to be; None: as many as there are tell."""
    most_characters: int = 0
    """That the client takes; 0: any number."""
    until: float | None = None
    """When the client stops waiting, as `elapsed` counts; None: it does not."""


class Recalled(NamedTuple):
    """One memory that is handed over."""

    name: str
    type: str
    description: str
    score: float
    at: float
    gone: tuple[str, ...]
    is_unconfirmed: bool = False
    """The user said it once; `name` is the file that it would get."""


class RecallAnswer(NamedTuple):
    memories: tuple[Recalled, ...] = ()
    text: str = ""
    """What a client is shown: all of them, inside our mark."""
    why_not: str = ""
    """Why it gets nothing."""
    selector: str = "local"
    fallback: str = ""
    """Why the model did not choose, where the config wants that."""
    shown: tuple[shown_log.Shown, ...] = ()
    """What a session has in front of it once it got the text; for `put_down`."""


class _Match(NamedTuple):
    """A candidate and what its file says now."""

    candidate: Candidate
    glance: QuickParse
    may_have_secret: bool
    quote: Quote | None = None
    """Of an unconfirmed memory, which has no file."""


class _Task(NamedTuple):
    """One prompt, and what it is answered with."""

    paths: Paths
    config: Config
    environment: Mapping[str, str]
    clock: Clock
    memory_dir: str
    request: Request


class _Chosen(NamedTuple):
    matches: list[_Match]
    gone: Mapping[str, tuple[str, ...]]
    """What memories of the directory name and the repository no longer has."""
    most_bytes: int


def recall(
    paths: Paths, config: Config, environment: Mapping[str, str], clock: Clock, memory_dir: str, request: Request
) -> RecallAnswer:
    """Choose the memories for a prompt. Raises StateError, BusyError.

    1. whether the prompt says enough
    2. the directory's terms, made true to its files
    3. candidates, without what the session was shown or has read, and without manuals of tools in use
    4. the choice: by probability, or by the model where the config wants that
    5. as much of them as there is room for
    """
    if not choose.is_worth_asking(request.prompt):
        return RecallAnswer(why_not=SINGLE_WORD)
    task = _Task(paths, config, environment, clock, memory_dir, request)
    store = open_store(paths)
    try:
        chosen, answer = _chosen(task, store)
    finally:
        store.close()
    return answer if chosen is None else _surfaced(task, chosen, answer)


def record_shown(paths: Paths, memory_dir: str, request: Request, answer: RecallAnswer, now: float) -> None:
    """What a session was shown does not come again. Behind the handing over: a kill between must not hide a memory."""
    if not request.session_id or not answer.shown:
        return
    try:
        shown_log.record(paths, request.session_id, memory_dir, answer.shown, now)
    except OSError as error:
        raise StateError(
            f"What the session was shown cannot be noted: {error.strerror}.", f"ls -ld {paths.state_dir}"
        ) from error


def _chosen(task: _Task, store: Store) -> tuple[_Chosen | None, RecallAnswer]:
    """The memories to hand over; None where there are none, and the answer says why."""
    request, memory_dir = task.request, task.memory_dir
    hurry = None if request.until is None else _READING_SECONDS
    directory = up_to_date_index(store, memory_dir, task.clock.now(), seconds=hurry)
    quotes = _quotes(task.paths, memory_dir)
    if (directory is None or not directory.memories) and not quotes:
        return None, RecallAnswer(why_not=NO_MEMORIES)
    shown = shown_log.shown_to(task.paths, request.session_id, memory_dir) if request.session_id else []
    left = round(task.config.recall.session_kilobytes * 1024)
    if request.session_id:
        left -= shown_log.spent(task.paths, request.session_id)
    if left <= 0:
        return None, RecallAnswer(why_not=BUDGET_USED)
    known = request.read.union(one.name for one in shown)
    if request.least is None:
        number = (directory.memories if directory is not None else 0) + len(quotes)
        request = request._replace(least=choose.least_probability(number))
        task = task._replace(request=request)
    query = rank.query_of(request.prompt)
    found = rank.candidates(store, directory, query) if directory is not None else []
    matches, answer = _by_probability(task, [one for one in found if one.memory.name not in known]), RecallAnswer()
    if task.config.recall.selector == "model":
        matches, answer = _by_model(task, matches, known)
    matches = _with_quotes(matches, _quoted(task, store, quotes, query, known))
    if not matches:
        is_known = any(one.probability >= _least(request) and one.memory.name in known for one in found)
        return None, answer._replace(why_not=ALL_KNOWN if is_known else NOTHING_RELEVANT)
    most_bytes = min(left, round(task.config.recall.prompt_kilobytes * 1024))
    gone = store.gone(directory.id) if directory is not None else {}
    return _Chosen(matches[: task.config.recall.most_memories], gone, most_bytes), answer


def _least(request: Request) -> float:
    return choose.LEAST_PROBABILITY if request.least is None else request.least


def _quotes(paths: Paths, memory_dir: str) -> dict[str, Quote]:
    """The unconfirmed memories of a directory, by the names that their terms are kept under."""
    with suppress(StateError, BusyError):  # the memories themselves are worth more than these
        database = open_for_reading(paths)
        if database is not None:
            with closing(database):
                return {f"unconfirmed:{one.row_id}": one for one in unconfirmed_quotes(database, memory_dir)}
    return {}


def _quoted(
    task: _Task, store: Store, quotes: Mapping[str, Quote], query: rank.Query, known: frozenset[str]
) -> list[_Match]:
    """The unconfirmed memories that are probable enough."""
    texts = {name: one.text for name, one in quotes.items()}
    directory = up_to_date_quotes(store, task.memory_dir, texts, task.clock.now())
    found = rank.candidates(store, directory, query) if directory is not None else []
    return [
        _Match(one, quick_parse(quotes[one.memory.name].text), may_have_secret=False, quote=quotes[one.memory.name])
        for one in found
        if one.probability >= _least(task.request) and one.memory.name not in known and one.memory.name in quotes
    ]


def _with_quotes(matches: list[_Match], quoted: list[_Match]) -> list[_Match]:
    """Both, the most probable first; what a model has chosen keeps its place before the quotes."""
    if not quoted or any(match.candidate.probability == 0.0 for match in matches):
        return [*matches, *quoted]
    return sorted((*matches, *quoted), key=lambda match: -match.candidate.probability)


def _by_probability(task: _Task, found: Iterable[Candidate]) -> list[_Match]:
    """The candidates that are probable enough, with what their files say, the most probable first.

    Of a tool in use right now, the manual is left out and the traps are wanted more.
    """
    least = _least(task.request)
    names = choose.names_of_tools(task.request.tools)
    matches = []
    for one in found:
        if one.probability + (choose.PITFALL_BONUS if names else 0.0) < least:
            continue  # it need not even be read
        probability = one.probability
        glance = read_memory(task.memory_dir, one.memory.name)
        if names and choose.speaks_of(glance, names):
            if choose.is_manual(glance):
                continue
            if choose.is_pitfall(glance):
                probability = min(1.0, probability + choose.PITFALL_BONUS)
        if probability >= least:
            # Asked behind the reading: what has changed since its terms were taken may have got a secret with that.
            may_have_secret = one.memory.has_secret or not is_unchanged(task.memory_dir, one.memory)
            matches.append(_Match(one._replace(probability=probability), glance, may_have_secret))
    return sorted(matches, key=lambda match: -match.candidate.probability)


def _by_model(task: _Task, matches: list[_Match], known: frozenset[str]) -> tuple[list[_Match], RecallAnswer]:
    """What a model picks from the manifest; where it does not, everything as it was, and why."""
    from memoryd.jobs.selection import select_by_model  # noqa: PLC0415 - this way is slow anyway
    from memoryd.memory.directory import HEAD_BYTES, open_directory  # noqa: PLC0415
    from memoryd.memory.manifest import manifest_of  # noqa: PLC0415
    from memoryd.memory.snapshot import memories_in  # noqa: PLC0415
    from memoryd.state.database import open_database  # noqa: PLC0415

    try:
        with open_directory(task.memory_dir) as directory:
            names = [name for name in directory.listing().topics if name not in known]
            files = {name: state for name in names if (state := directory.read(name, HEAD_BYTES))}
        with closing(open_database(task.paths)) as database:
            selected = select_by_model(
                database,
                task.config,
                task.environment,
                task.clock,
                memory_dir=task.memory_dir,
                query=_asked(task.request.prompt),
                manifest_lines=manifest_of(memories_in(files)),
                names=files.keys(),
                tools=task.request.tools,
                limit=task.config.recall.most_memories,
                seconds=_seconds_for_model(task),
            )
    except MemorydError as error:
        return matches, RecallAnswer(fallback=error.sentence)
    except OSError as error:
        return matches, RecallAnswer(fallback=f"The memories cannot be listed: {error.strerror}.")
    if selected.names is None:
        return matches, RecallAnswer(fallback=selected.why)
    by_name = {match.candidate.memory.name: match for match in matches}
    picked = [by_name.get(name) or _picked(task.memory_dir, name, files[name].mtime_ns) for name in selected.names]
    return picked, RecallAnswer(selector="model")


def _seconds_for_model(task: _Task) -> float:
    """As the config says, but never so long that the local choice would come too late."""
    seconds, until = task.config.recall.model_seconds, task.request.until
    return seconds if until is None else max(0.0, min(seconds, until - elapsed() - _SPARE_SECONDS))


def _asked(prompt: str) -> str:
    """What stands in the middle of a very long prompt was pasted, and takes long to search for secrets."""
    most = _ASKED_CHARACTERS
    return prompt if len(prompt) <= 2 * most else f"{prompt[:most]}\n{prompt[-most:]}"


def _picked(memory_dir: str, name: str, mtime_ns: int) -> _Match:
    """A memory that only the model thought of."""
    glance = read_memory(memory_dir, name)
    known = IndexedMemory(0, name, mtime_ns, 0, 0, glance.type or "", has_secret=True)
    return _Match(rank.Candidate(known, 0.0, ()), glance, may_have_secret=True)


def _surfaced(task: _Task, chosen: _Chosen, answer: RecallAnswer) -> RecallAnswer:
    """As much as there is room for, in words."""
    request, now = task.request, task.clock.now()
    memories = [_surface_memory(match, chosen.gone) for match in chosen.matches]
    pieces = surface.pieces_of(memories, now, most_bytes=chosen.most_bytes, most_characters=request.most_characters)
    if not pieces:
        return answer._replace(why_not=NO_ROOM)
    fitting = {piece.name for piece in pieces}
    recalled = tuple(
        Recalled(
            match.quote.file if match.quote else one.name,
            one.type,
            one.description,
            match.candidate.probability,
            one.at,
            one.gone,
            one.is_unconfirmed,
        )
        for one, match in zip(memories, chosen.matches, strict=True)
        if one.name in fitting
    )
    shown = tuple(shown_log.Shown(piece.name, piece.bytes) for piece in pieces)
    return answer._replace(memories=recalled, text=surface.rendered(pieces), shown=shown)


def _surface_memory(match: _Match, gone: Mapping[str, tuple[str, ...]]) -> surface.Memory:
    known = match.candidate.memory
    description, body = _without_secrets(match)
    if match.quote is not None:
        return surface.Memory(
            known.name, match.glance.type or "", description, body, match.quote.said_at, is_unconfirmed=True
        )
    at = known.mtime_ns / 1e9
    return surface.Memory(known.name, match.glance.type or "", description, body, at, gone.get(known.name, ()))


def _without_secrets(match: _Match) -> tuple[str, str]:
    """Description and body. A client or a person may have written a secret there; whether one did is known already."""
    description, body = match.glance.description, match.glance.body
    if not match.may_have_secret:
        return description, body
    from memoryd.security.redact import redact  # noqa: PLC0415 - 40 ms that hardly any memory costs

    return redact(description), redact(body)
