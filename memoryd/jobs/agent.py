"""Extraction by a model: the agent edits a private copy of the memories, and the difference is what shall change."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memoryd.engines.anthropic import extraction, loop
from memoryd.engines.anthropic.client import PromptTooLongError
from memoryd.engines.anthropic.tools import ToolBox
from memoryd.jobs.changeset import group_of
from memoryd.jobs.judge import Judge
from memoryd.memory.directory import open_directory
from memoryd.memory.document import parse
from memoryd.memory.guards import RefusedError
from memoryd.memory.manifest import manifest_of
from memoryd.memory.staging import changes_in, staged
from memoryd.model import Finding, Withdrawal
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.engines.anthropic.loop import Limits
    from memoryd.engines.anthropic.wire import Reply
    from memoryd.memory.staging import Staged
    from memoryd.model import Evidence, Exchange, FileChange, Group
    from memoryd.state.database import Database

T = TypeVar("T")

_TRIES = 3
_LESS = 0.6
_SAFE = 0.9


class Extracted(NamedTuple):
    groups: tuple[Group, ...]
    taken: int
    """How many of the turns, from the first on, this is about: the others did not fit."""


def extract(
    database: Database,
    memory_dir: str,
    place: str,
    exchanges: Sequence[Exchange],
    instructions: Sequence[str],
    *,
    model: str,
    limits: Limits,
    ask: Callable[[dict[str, Any]], Reply],
    now: Callable[[], float],
    note: Callable[[str, str], None],
) -> Extracted:
    """Let the agent work on turns, whose words are redacted.

    1. copy the memories
    2. brief the agent; where the turns do not fit, or it declines, with fewer of them
    3. let it edit the copy, each write judged as it comes
    4. make changes of what it did, in our form, with what they rest on

    Raises what `loop.Run` raises; RunFailedError where not even one turn fits, RefusedError where the model declines.
    """
    with ExitStack() as stack:
        try:
            directory = stack.enter_context(open_directory(memory_dir))
        except FileNotFoundError:
            directory = None
        shutil.rmtree(place, ignore_errors=True)  # of a process that died: the caller is the only worker here
        copy = stack.enter_context(staged(directory, place))
        texts = [redact(text) for text in instructions]
        shared = extraction.shared_by_runs(manifest_of(copy.before), texts, limits)

        def work(taken: int) -> Judge:
            brief = extraction.brief_of(exchanges[:taken], shared)
            judge = Judge(database, memory_dir, copy, exchanges[:taken], texts)
            with ToolBox(copy.path, judge) as box:
                loop.Run(brief, model, box, ask, limits, now, note).to_the_end()
            return judge

        judge, taken = with_fewer(work, extraction.fitting(exchanges, shared, limits), copy)
        session_id = exchanges[0].said.session_id
        groups = [
            group_of(change, _meant(change, judge.evidence[change.name]), session_id, now())
            for change in changes_in(copy)
            if not is_same(change)
        ]
        return Extracted(tuple(groups), taken)


def with_fewer(work: Callable[[int], T], taken: int, copy: Staged) -> tuple[T, int]:
    """Let the agent work on so many turns; where they do not fit, or it declines, on fewer, while nothing is changed.

    What came of it, and how many it were. Raises RunFailedError and RefusedError where that does not help.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            return work(taken), taken
        except PromptTooLongError as error:
            if taken <= 1 or not tries_left or changes_in(copy):
                break
            share = error.limit / error.tokens * _SAFE if error.limit and error.tokens else _LESS
            taken = max(1, min(taken - 1, int(taken * share)))
        except loop.DeclinedError as error:
            if taken <= 1 or not tries_left or changes_in(copy):
                sentence = "The model does not want to work on this conversation."
                raise RefusedError("model", sentence, turns=taken) from error
            taken = taken // 2  # it may be about one of them only
    raise loop.RunFailedError("what was said does not fit into the model's window")


def is_same(change: FileChange) -> bool:
    """Whether a rewritten memory says what it said, but for white space, search keys or what is ours to set."""
    if change.before is None or change.after is None:
        return False
    before, after = parse(change.before), parse(change.after)
    return (before.type, before.description, before.body.split()) == (after.type, after.description, after.body.split())


def _meant(change: FileChange, evidence: Sequence[Evidence]) -> Finding | Withdrawal:
    """What the agent did to a file, as every engine says it."""
    newest, *older = reversed(evidence)
    if change.after is None:
        return Withdrawal(change.name, newest)
    given = parse(change.after)
    assert given.type is not None  # noqa: S101 - judged
    return Finding(given.type, given.name, given.description, given.body, newest, tuple(older), change.name, given.keys)
