"""Consolidation by the embedded engine: no model, and only changes that are certain.

    inlined  ->  dates  ->  learning  ->  merging  ->  expiry

It works on drafts of the memories (`draft`). First what somebody wrote into the index becomes drafts of its own
(`inlined`), then days that are told relative to the day of writing get their date (`dating`), messages that nobody has
worked on are read as extraction reads them (`learning`), memories that say the same become one (`merging`), and what has
expired is taken away (`expiry`). What has changed in the end are the revisions; others check them before they count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.offline.dream import dating, expiry, index_content, merging
from memoryd.engines.offline.dream.draft import drafts_of, revisions_of
from memoryd.engines.offline.dream.learning import Learnt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.engines.base import LoggedFact
    from memoryd.engines.offline import Findings
    from memoryd.model import Revision, StoredMemory, UserMessage


class Consolidated(NamedTuple):
    revisions: tuple[Revision, ...]
    learnt: Findings
    """What was said beside that: unconfirmed memories, suspected contradictions."""
    left_to_extraction: frozenset[str]
    """Messages in which something was found that a dream does not use: their turns are not done."""


def consolidate(
    memories: Sequence[StoredMemory],
    index: str,
    said: Sequence[UserMessage],
    instructions: Sequence[str],
    now: float,
    tell: Callable[[str, str], None] = lambda _phase, _line: None,
    unconfirmed: Sequence[StoredMemory] = (),
    logged: Sequence[LoggedFact] = (),
) -> Consolidated:
    """Revisions of the memories on the memories, oldest first.

    `said` are messages that nobody has worked on, and lines of daily logs, in the order in which they were said. `logged`
    are lines that extraction has left to this dream: then it changes and takes back what extraction would have. `tell` takes
    the phase and a line of what is being done.
    """
    drafts = drafts_of(memories)
    learnt = Learnt()
    for step in (  # each begins when the one before it has ended
        index_content.move(drafts, index),
        dating.resolve(drafts),
        learnt.learn(drafts, said, memories, instructions, unconfirmed, logged),
        merging.join(drafts),
        expiry.archive(drafts, now, said),
    ):
        for line in step:
            tell("consolidate", line)
    rest = learnt.found._replace(written=())
    return Consolidated(tuple(revisions_of(drafts, memories)), rest, frozenset(learnt.left_to_extraction))
