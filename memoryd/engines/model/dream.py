"""A dream by a model: the agent consolidates a private copy of the memories, with all that it can look at beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.engines.model import dream_brief
from memoryd.engines.model.agent import AgentRun
from memoryd.engines.model.author import Repairs, StagedDraft, with_fewer
from memoryd.engines.model.dream_folders import DreamFolders
from memoryd.engines.model.progress import line_of, phase_of
from memoryd.engines.model.proposal import StagedWrites
from memoryd.engines.model.tools import ToolBox
from memoryd.language.evidence import repository_evidence
from memoryd.memory.manifest import manifest_of
from memoryd.memory.staging import changes_in, staged
from memoryd.model import Progress
from memoryd.projects import head_commit
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.engines.base import Signal
    from memoryd.engines.model.agent import RunLimits, ToolCallDone
    from memoryd.engines.model.progress import Phase
    from memoryd.engines.model.reply import ModelReply
    from memoryd.engines.model.shown_text import ShownText
    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import Evidence, Proposal
    from memoryd.review.review import Review

_TEXT_CHARACTERS = 300


class DreamBudget(NamedTuple):
    spent: Callable[[], float]
    usd_per_run: float


def dream(
    snapshot: Snapshot,
    signal: Signal,
    review: Review,
    place: str,
    *,
    model: str,
    limits: RunLimits,
    ask: Callable[[dict[str, Any]], ModelReply],
    budget: DreamBudget,
    now: Callable[[], float],
    note: Callable[[str, str], None],
) -> Proposal:
    """Let the agent consolidate the memories.

    1. copy the memories, and write the sessions out as plain text
    2. brief the agent; where the turns do not fit, or it declines, with fewer of them
    3. let it edit the copy: code judges each write as it comes, review judges the whole when it is done
    4. propose the difference, if it has come to an end by itself

    Raises what `AgentRun` and `signal.tell` raise; RunFailedError where no end was reached, RefusedError where the model
    declines.
    """
    with staged(snapshot, place):
        folders = DreamFolders(snapshot.path, signal.project_root, signal.instructions, signal.sessions)
        review.add_messages(folders.said)
        manifest = manifest_of(snapshot.memories, with_unknown_times=True)
        material = dream_brief.Material(
            manifest,
            len(snapshot.memories),
            folders.names,
            signal.changed,
            folders.sessions,
            now(),
            snapshot.index_text,
        )

        def work(taken: int) -> StagedDraft:
            turns = signal.turns[:taken]
            draft = StagedDraft(place, snapshot, StagedWrites(snapshot, review), signal.now, is_dream=True)
            with ToolBox(
                place,
                draft.writes,
                mounts=folders.mounts,
                windowed=(dream_brief.TRANSCRIPTS,),
                writable=snapshot.folders,
            ) as box:
                folders.write_into(box)
                if dream_brief.REPOSITORY in box.shown:
                    review.add_repository(ReadRepository(box.shown[dream_brief.REPOSITORY], signal.project_root))
                brief = dream_brief.brief_of(turns, material, limits)
                watch = _Watch(limits.turns, budget, signal.tell)
                AgentRun(
                    brief, model, box, ask, limits, now, note, watch=watch, repairs=Repairs(draft, review), whole=True
                ).to_the_end()
            return draft

        most = dream_brief.fitting(signal.turns, material, limits)
        draft, taken = with_fewer(work, most, lambda: bool(changes_in(place, snapshot)))
        return draft.proposal(taken)


class ReadRepository:
    """What the agent has read of the repository by now: review lets statements about code rest on it."""

    def __init__(self, shown: ShownText, root: str) -> None:
        self._shown = shown
        self._commit = head_commit(root)

    def text(self) -> str:
        return self._shown.text()

    def evidence(self, quote: str) -> Evidence | None:
        """The line that holds these words, with its path, number and commit; None where none was read."""
        line = self._shown.line_with(quote)
        return None if line is None else repository_evidence(line.path, line.number, self._commit, quote)


class _Watch:
    """Tells after each turn how far the dream has come, and the agent when it has to end."""

    def __init__(self, turns: int, budget: DreamBudget, tell: Callable[[Progress], None]) -> None:
        self._turns_left = turns
        self._budget = budget
        self._tell = tell
        self._phase: Phase = "orient"
        self._tools = 0
        self._files: dict[str, None] = {}

    def __call__(self, reply: ModelReply, ran: Sequence[ToolCallDone]) -> str:
        self._turns_left -= 1
        self._tools += len(ran)
        self._phase = phase_of(ran, self._phase)
        self._files |= dict.fromkeys(
            str(call.given["file_path"]).removeprefix("./") for call in ran if call.result.changed
        )
        said = " ".join(" ".join(block["text"] for block in reply.content if block["type"] == "text").split())
        spent = self._budget.spent()
        text = redact(said)[:_TEXT_CHARACTERS]
        self._tell(Progress(self._phase, redact(line_of(ran)), text, self._tools, tuple(self._files), spent))
        return dream_brief.hint(self._turns_left, spent, self._budget.usd_per_run)
