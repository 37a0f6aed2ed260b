"""Recall job: choose and render the memories that help with a prompt."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from memoryd.daemon.wake_file import wake
from memoryd.errors import StateError
from memoryd.jobs import prefetch
from memoryd.jobs.recall_matches import (
    Match,
    RecallTask,
    Request,
    beside_memories,
    candidates,
    global_matches,
    notes_match,
    probable_matches,
    quoted_matches,
    team_matches,
)
from memoryd.jobs.session_rules import Tier, rules_for_session
from memoryd.language.memory_aside import asks_to_leave_aside
from memoryd.memory.tier_names import place_of
from memoryd.recall import choose, rank, surface
from memoryd.recall import shown as shown_log
from memoryd.recall import team as team_recall
from memoryd.recall.index import changed_at_ns, up_to_date_index
from memoryd.recall.manners import LEFT_ASIDE, WITHOUT_MEMORY
from memoryd.recall.reading import read_memory
from memoryd.recall.store import IndexedMemory, open_store
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.recall.store import Directory, Store
    from memoryd.state.database import Database

SINGLE_WORD = "fewer than two words say too little"
NO_MEMORIES = "there are no memories yet"
NOTHING_RELEVANT = "nothing is relevant enough"
BUDGET_USED = "this session has been shown its share"
NO_ROOM = "there is no room for what is relevant"
ALL_KNOWN = "the session knows what is relevant"
_KEPT_FOR_RULES = 2  # of the memories that go with a prompt
_READING_SECONDS = 0.05  # for changed memories while a client waits; the rest is read by the daemon


class Recalled(NamedTuple):
    """Memory that is shown to the client."""

    name: str
    type: str
    description: str
    score: float
    at: float
    gone: tuple[str, ...]
    is_unconfirmed: bool = False
    """The user said it once; `name` is the file that it would get."""
    author: str = ""
    """Who shared it with the team; empty: it is the user's own."""


class RecallAnswer(NamedTuple):
    memories: tuple[Recalled, ...] = ()
    text: str = ""
    """Text for the client: all memories, inside the mark of memoryd."""
    why_not: str = ""
    """Reason why nothing is shown."""
    selector: str = "local"
    fallback: str = ""
    """Why the model did not choose, where the config wants that."""
    shown: tuple[shown_log.Shown, ...] = ()
    """Memories that the session knows once it has the text; for `record_shown`."""


class _Chosen(NamedTuple):
    matches: list[Match]
    gone: Mapping[str, tuple[str, ...]]
    """What memories of the directory name and the repository no longer has."""
    most_bytes: int


def recall(
    paths: Paths,
    config: Config,
    environment: Mapping[str, str],
    clock: Clock,
    memory_dir: str,
    request: Request,
    database: Database | None = None,
) -> RecallAnswer:
    """Choose the memories for a prompt. Raises StateError, BusyError.

    `database`: the state database, where the caller has it open.

    1. whether the prompt wants memory at all, and says enough
    2. the directory's terms, made true to its files
    3. candidates, without what the session was shown or has read, and without manuals of tools in use
    4. the choice: by probability, or by the model where the config wants that and nobody waits (see `prefetch`)
    5. as much of them as there is room for
    """
    if asks_to_leave_aside(request.prompt):
        return RecallAnswer(text=WITHOUT_MEMORY, why_not=LEFT_ASIDE)
    if not choose.is_worth_asking(request.prompt):
        return RecallAnswer(why_not=SINGLE_WORD)
    task = RecallTask(paths, config, environment, clock, memory_dir, request, database)
    with closing(open_store(paths)) as store:
        chosen, answer = _chosen(task, store)
    return answer if chosen is None else _surfaced(request, chosen, answer, clock.now())


def ready_memories(
    paths: Paths,
    config: Config,
    memory_dir: str,
    session_id: str,
    now: float,
    *,
    most_characters: int = 0,
    with_call: bool = False,
) -> RecallAnswer:
    """What a model has picked for an earlier prompt of this session and is not shown yet, taken and noted as shown.

    For whoever hands something to the session next: the hook of a prompt or of a tool call. Empty, and as cheap as a look
    for a file, where there is nothing. Raises StateError.
    """
    names = prefetch.take_ready(paths, session_id, memory_dir, now)
    if not names:
        return RecallAnswer()
    shown = {memory.name for memory in shown_log.shown_to(paths, session_id, memory_dir)}
    left = round(config.recall.session_kilobytes * 1024) - shown_log.spent(paths, session_id)
    most_bytes = min(left, round(config.recall.prompt_kilobytes * 1024))
    matches = [
        _picked(paths, memory_dir, name, mtime_ns)
        for name in names
        if name not in shown and (mtime_ns := changed_at_ns(*place_of(name, memory_dir, paths.global_dir))) is not None
    ]
    request = Request("", session_id, most_characters=most_characters)
    answer = RecallAnswer(selector="model")
    answer = _surfaced(request, _Chosen(matches, {}, most_bytes), answer, now, surface.LATER)
    record_shown(paths, memory_dir, request, answer, now, with_call=with_call)
    return answer


def record_shown(
    paths: Paths, memory_dir: str, request: Request, answer: RecallAnswer, now: float, *, with_call: bool = False
) -> None:
    """Record what a session was shown, so that it is not shown again. Called after the answer: a kill must not hide a memory."""
    if not request.session_id or not answer.shown:
        return
    try:
        shown_log.record(
            paths, request.session_id, memory_dir, answer.shown, now, text=answer.text, with_call=with_call
        )
    except OSError as error:
        raise StateError(
            f"What the session was shown cannot be noted: {error.strerror}.", f"ls -ld {paths.state_dir}"
        ) from error


def _chosen(task: RecallTask, store: Store) -> tuple[_Chosen | None, RecallAnswer]:
    """The memories to hand over; None where there are none, and the answer says why."""
    request, memory_dir = task.request, task.memory_dir
    hurry = _READING_SECONDS if request.is_waited_for else None
    directory = up_to_date_index(store, memory_dir, task.clock.now(), seconds=hurry)
    if directory is not None and directory.is_unfinished:
        wake(task.paths)
    quotes, has_team, last_session = beside_memories(task)
    team = team_recall.up_to_date_team(store, memory_dir, task.clock.now(), seconds=hurry) if has_team else None
    person = _person(task, store, hurry)
    has_memories = directory is not None and directory.memories
    if not has_memories and not quotes and team is None and person is None and last_session is None:
        return None, RecallAnswer(why_not=NO_MEMORIES)
    shown = shown_log.shown_to(task.paths, request.session_id, memory_dir) if request.session_id else []
    spent = shown_log.spent(task.paths, request.session_id) if request.session_id else 0
    left = round(task.config.recall.session_kilobytes * 1024) - spent
    if left <= 0:
        return None, RecallAnswer(why_not=BUDGET_USED)
    known = request.read.union(memory.name for memory in shown)
    number = sum(each.memories for each in (directory, team, person) if each is not None) + len(quotes)
    task = task._replace(floor=_floor(task, number))
    query = rank.query_of(request.prompt)
    found = candidates(task, store, directory, query) if directory is not None else []
    matches = probable_matches(task, memory_dir, [one for one in found if one.memory.name not in known])
    answer = RecallAnswer()
    if task.config.recall.selector == "model" and not request.is_waited_for:
        matches, answer = _by_model(task, matches, known)
    beside = quoted_matches(task, store, quotes, query, known)
    beside += team_matches(task, store, team, query, known, found) if team is not None else []
    if person is not None and answer.selector == "local":  # the model has seen them
        beside += global_matches(task, store, person, query, known)
    matches = _with_others(matches, beside)
    rules = []
    if request.session_id and query.words and not shown:
        tiers = [Tier(memory_dir, directory)] if directory is not None else []
        tiers += [Tier(task.paths.global_dir, person, is_global=True)] if person is not None else []
        there = known.union(match.candidate.memory.name for match in matches)
        rules = rules_for_session(store, memory_dir, tiers, quotes, found, there, number)
    notes = notes_match(task, store, last_session, query, known) if last_session is not None else []
    if answer.selector == "local":
        matches = _probable_enough(matches, task.floor)
        if not matches and not rules and not notes:
            is_known = any(one.probability >= task.floor.best and one.memory.name in known for one in found)
            return None, answer._replace(why_not=ALL_KNOWN if is_known else NOTHING_RELEVANT)
    most = task.config.recall.most_memories
    matches = matches[: most - min(len(rules), _KEPT_FOR_RULES)]
    matches += [Match(rank.Candidate(one, 0.0, ()), parsed, one.has_secret, quote) for one, parsed, quote in rules]
    matches += notes
    if not matches:
        return None, answer._replace(why_not=NOTHING_RELEVANT)
    most_bytes = min(left, round(task.config.recall.prompt_kilobytes * 1024))
    gone = store.gone(directory.id) if directory is not None else {}
    return _Chosen(matches[:most], gone, most_bytes), answer


def _person(task: RecallTask, store: Store, seconds: float | None) -> Directory | None:
    """The memories about the person, their terms true to their files; None where there are none."""
    place = task.paths.global_dir
    if not place or place == task.memory_dir:
        return None
    found = up_to_date_index(store, place, task.clock.now(), seconds=seconds)
    return found if found is not None and found.memories else None


def _floor(task: RecallTask, memories: int) -> choose.Floor:
    """As asked for, else what is usual among so many memories."""
    if task.request.least is not None:
        return choose.Floor(task.request.least, task.request.least, share=0.0)
    is_model_to_follow = task.request.is_waited_for and task.config.recall.selector == "model"
    return choose.floor_of(memories, is_model_to_follow=is_model_to_follow)


def _probable_enough(matches: list[Match], floor: choose.Floor) -> list[Match]:
    """Without those that are far less probable than the best; none where the best is not probable enough."""
    best = max((match.candidate.probability for match in matches), default=0.0)
    least = floor.share * best
    return [match for match in matches if match.candidate.probability >= least] if best >= floor.best else []


def _with_others(matches: list[Match], others: list[Match]) -> list[Match]:
    """Both, the most probable first; what a model has chosen keeps its place before the others."""
    if not others or any(match.candidate.probability == 0.0 for match in matches):
        return [*matches, *others]
    return sorted((*matches, *others), key=lambda match: -match.candidate.probability)


def _by_model(task: RecallTask, matches: list[Match], known: frozenset[str]) -> tuple[list[Match], RecallAnswer]:
    """Memories that a model picks from the manifest; the local matches where it fails, with the reason."""
    from memoryd.jobs.model_choice import choose_by_model  # noqa: PLC0415 - this way is slow anyway

    choice = choose_by_model(
        task.paths,
        task.config,
        task.environment,
        task.clock,
        task.memory_dir,
        prompt=task.request.prompt,
        tools=task.request.tools,
        known=known,
        seconds=task.config.recall.model_seconds,
    )
    if choice.names is None:
        return matches, RecallAnswer(fallback=choice.why)
    by_name = {match.candidate.memory.name: match for match in matches}
    picked = [
        by_name.get(name) or _picked(task.paths, task.memory_dir, name, choice.changed_at[name])
        for name in choice.names
    ]
    return picked, RecallAnswer(selector="model")


def _picked(paths: Paths, memory_dir: str, name: str, mtime_ns: int) -> Match:
    """A memory that only the model thought of."""
    parsed = read_memory(*place_of(name, memory_dir, paths.global_dir))
    known = IndexedMemory(0, name, mtime_ns, 0, 0, parsed.type or "", has_secret=True)
    return Match(rank.Candidate(known, 0.0, ()), parsed, may_have_secret=True)


def _surfaced(
    request: Request, chosen: _Chosen, answer: RecallAnswer, now: float, lead: str = surface.LEAD
) -> RecallAnswer:
    """Answer with as many memories as fit."""
    memories = [_surface_memory(match, chosen.gone) for match in chosen.matches]
    pieces = surface.pieces_of(memories, now, most_bytes=chosen.most_bytes, most_characters=request.most_characters)
    if not pieces:
        return answer._replace(why_not=NO_ROOM)
    fitting = {piece.name for piece in pieces}
    recalled = tuple(
        Recalled(
            match.quote.file if match.quote else memory.name,
            memory.type,
            memory.description,
            match.candidate.probability,
            memory.at,
            memory.gone,
            memory.is_unconfirmed,
            memory.author,
        )
        for memory, match in zip(memories, chosen.matches, strict=True)
        if memory.name in fitting
    )
    shown = tuple(shown_log.Shown(piece.name, piece.bytes) for piece in pieces)
    return answer._replace(memories=recalled, text=surface.rendered(pieces, lead), shown=shown)


def _surface_memory(match: Match, gone: Mapping[str, tuple[str, ...]]) -> surface.Memory:
    known = match.candidate.memory
    description, body = _without_secrets(match)
    if match.quote is not None:
        memory = surface.Memory(known.name, match.parsed.type or "", description, body, match.quote.said_at)
        return memory._replace(is_unconfirmed=not match.quote.log, log=match.quote.log)
    at = known.mtime_ns / 1e9
    return surface.Memory(
        known.name,
        match.parsed.type or "",
        description,
        body,
        at,
        gone.get(known.name, ()),
        author=match.author,
        overrides="" if match.author else match.parsed.overrides,
        branch=match.branch,
    )


def _without_secrets(match: Match) -> tuple[str, str]:
    """Description and body, redacted where the index says that the file has a secret."""
    description, body = match.parsed.description, match.parsed.body
    if not match.may_have_secret:
        return description, body
    from memoryd.security.redact import redact  # noqa: PLC0415 - 40 ms that hardly any memory costs

    return redact(description), redact(body)
