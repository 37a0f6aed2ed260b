"""Extraction by a model: the agent reads finished turns and edits a private copy of the memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoryd.engines.model import extraction_brief
from memoryd.engines.model.agent import AgentRun
from memoryd.engines.model.author import Repairs, StagedDraft, with_fewer
from memoryd.engines.model.proposal import StagedWrites
from memoryd.engines.model.tools import ToolBox
from memoryd.memory.manifest import manifest_of
from memoryd.memory.staging import changes_in, staged

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.engines.base import Signal
    from memoryd.engines.model.agent import RunLimits
    from memoryd.engines.model.reply import ModelReply
    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import Proposal
    from memoryd.review.review import Review


def extract(
    snapshot: Snapshot,
    signal: Signal,
    review: Review,
    place: str,
    *,
    model: str,
    limits: RunLimits,
    ask: Callable[[dict[str, Any]], ModelReply],
    now: Callable[[], float],
    note: Callable[[str, str], None],
) -> Proposal:
    """Let the agent work on turns.

    1. copy the memories
    2. brief the agent; where the turns do not fit, or it declines, with fewer of them
    3. let it edit the copy: code judges each write as it comes, review judges what a reply has written
    4. propose the difference, with what it rests on

    Raises what `AgentRun` raises; RunFailedError where not even one turn fits, RefusedError where the model declines.
    """
    with staged(snapshot, place):
        shared = extraction_brief.shared_by_runs(manifest_of(snapshot.memories), signal.instructions, limits)

        def work(taken: int) -> StagedDraft:
            brief = extraction_brief.brief_of(signal.exchanges[:taken], shared)
            draft = StagedDraft(place, snapshot, StagedWrites(snapshot, review), signal.now, is_dream=False)
            with ToolBox(place, draft.writes, writable=snapshot.folders) as box:
                AgentRun(brief, model, box, ask, limits, now, note, repairs=Repairs(draft, review)).to_the_end()
            return draft

        most = extraction_brief.fitting(signal.exchanges, shared, limits)
        draft, taken = with_fewer(work, most, lambda: bool(changes_in(place, snapshot)))
        return draft.proposal(taken)
