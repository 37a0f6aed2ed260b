"""Consolidation by the embedded engine: no model, and no change where it is not sure.

    inlined  ->  dates  ->  updates  ->  merges  ->  expiry

It works on drafts of the memories (`draft`). First what somebody wrote into the index becomes drafts of its own
(`inlined`), then days that are told relative to the day of writing get their date (`dating`), what the user said since
then changes, extends or joins the drafts (`updates`), near-duplicates become one (`merging`), and what has ended is
taken away (`expiry`). What has changed in the end are the revisions; others check them before they count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines import selfcheck
from memoryd.engines.offline.dream import dating, expiry, inlined, merging, updates
from memoryd.engines.offline.dream.draft import drafts_of, revisions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.model import Revision, Said, Shelved


def consolidate(
    shelf: Sequence[Shelved],
    index: str,
    said: Sequence[Said],
    instructions: Sequence[str],
    now: float,
    tell: Callable[[str, str], None] = lambda _phase, _line: None,
) -> list[Revision]:
    """What shall become of the memories on the shelf, oldest first.

    `said` are messages that nobody has worked on, and lines of daily logs, in the order in which they were said. `tell`
    takes the phase and a line of what is being done.
    """
    drafts = drafts_of(shelf)
    before = {one.name: one for one in shelf}

    def is_sound(draft: Draft) -> bool:
        return not any(
            selfcheck.is_refused(selfcheck.fates_of(revision, [before[name] for name in revision.files], now))
            for revision in revisions_of([draft], shelf)
        )

    for step in (  # each begins when the one before it has ended
        inlined.move(drafts, index),
        dating.resolve(drafts),
        updates.take_in(drafts, said, instructions, now, is_sound),
        merging.join(drafts),
        expiry.archive(drafts, now, said),
    ):
        for line in step:
            tell("consolidate", line)
    return revisions_of(drafts, shelf)


def moved_out_of(shelf: Sequence[Shelved], index: str) -> list[Revision]:
    """Only what somebody wrote into the index, as memories of its own."""
    drafts = drafts_of(shelf)
    for _ in inlined.move(drafts, index):
        pass
    return revisions_of(drafts, shelf)
