"""Review: hard checks by code, then meaning by a model, or doubts by rules where there is no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.language.evidence import find_quote, is_of_repository
from memoryd.memory.quick_parse import quick_parse
from memoryd.model import FileChange, Group, Verdict
from memoryd.review.changes import GroupView
from memoryd.review.doubts import doubts_about
from memoryd.review.hard import NOT_QUOTED, problems_of, run_problems, used_elsewhere, worst
from memoryd.review.meaning import Hints, judge_meaning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.model import Evidence, UserMessage
    from memoryd.review.context import RepositoryReading, ReviewContext, Writing
    from memoryd.review.meaning import Ask

ACCEPTED = Verdict("accepted")


class Review:
    """The review of one job; engines ask it while they work, the job asks it of what they return."""

    def __init__(self, context: ReviewContext, ask: Ask | None = None) -> None:
        self.context = context
        self._ask = ask
        self._judged: dict[Group, Verdict] = {}
        self._staged: dict[str, list[Evidence]] = {}
        self._rewritten: set[str] = set()

    @property
    def messages(self) -> Sequence[UserMessage]:
        """All that the user said that can be quoted, oldest first."""
        return self.context.messages

    def add_messages(self, messages: Sequence[UserMessage]) -> None:
        """Let words be quoted that the engine shows to its author beside the signal, in past sessions for instance."""
        known = {message.message_id for message in self.context.messages}
        said = [*self.context.messages, *(message for message in messages if message.message_id not in known)]
        self.context = self.context._replace(messages=sorted(said, key=lambda message: message.said_at or 0.0))

    def add_repository(self, repository: RepositoryReading) -> None:
        """Let a dream rest on what its author reads of the repository."""
        self.context = self.context._replace(repository=repository)

    def find_evidence(self, quote: str) -> Evidence | None:
        """The user's words that are quoted, or, in a dream, the line of the repository; None where nobody has them."""
        found = find_quote(quote, self.context.messages)
        return found or (self.context.repository.evidence(quote) if self.context.job == "dream" else None)

    def check_write(self, writing: Writing) -> str | None:
        """The hard checks on one write of an agent: None where it may be staged, else why not and what to do instead.

        The file is compared with the state before the run, whatever has been staged since. What would be held may be
        staged: the user decides on it.
        """
        state = self.context.snapshot.files.get(writing.name)
        before = state.data if state else None
        if writing.after == before:  # nothing of what the agent had done to it is left
            self._staged.pop(writing.name, None)
            return None
        evidence = self.find_evidence(writing.quote) if writing.quote.strip() else None
        if writing.quote.strip() and evidence is None:
            return NOT_QUOTED
        is_rewrite = before is not None and writing.after is not None
        if evidence and not is_rewrite:
            # What a memory is replaced by rests on the same words as its removal.
            own = {writing.kept_in} if writing.kept_in else set()
            if problem := used_elsewhere(writing.name, evidence, self._quoted_for_others(), own):
                return problem
        # A file may be edited in several steps, each with the words that it rests on.
        earlier = () if writing.is_whole else self._staged.get(writing.name, ())
        quoted = [*earlier, *([evidence] if evidence else [])]
        group = Group(
            (FileChange(writing.name, before, writing.after),),
            "",
            tuple((writing.name, piece) for piece in dict.fromkeys(quoted)),
        )
        if self.context.job == "dream":
            # A merge or a move is staged file by file: which memories belong to it is known when it is done.
            everything = self._all_memories()
            has_words = any(not is_of_repository(piece) for piece in quoted)
            group = group._replace(reason="learnt" if has_words else "merged", from_index=(everything,))
        # Text and description may be brought up to date by two edits: whether they agree is judged when all is done.
        problems = problems_of(GroupView(group, self.context), is_finished=False)
        found = worst(problem for problem in problems if problem.state != "held")
        if found is None:
            self._staged[writing.name] = quoted
            (self._rewritten.add if is_rewrite else self._rewritten.discard)(writing.name)
        return found.reason if found else None

    def _quoted_for_others(self) -> list[tuple[str, Evidence]]:
        """What the new memories and the removals rest on that are staged so far."""
        return [
            (name, piece) for name, pieces in self._staged.items() if name not in self._rewritten for piece in pieces
        ]

    def judge(self, groups: Sequence[Group]) -> list[Verdict]:
        """A verdict for each group; what was judged before in this review is not asked again."""
        if not groups:
            return []
        views = [GroupView(group, self.context) for group in groups]
        beside = run_problems(views, self.context)
        verdicts: dict[int, Verdict] = {}
        for number, view in enumerate(views):
            own = worst(problem for problem in (*problems_of(view), beside[number]) if problem is not None)
            if own is not None:
                verdicts[number] = Verdict(own.state, own.reason)
        asked = [
            number for number in range(len(views)) if number not in verdicts and groups[number] not in self._judged
        ]
        self._judge_meaning([views[number] for number in asked])
        return [verdicts.get(number) or self._judged[group] for number, group in enumerate(groups)]

    def _judge_meaning(self, views: Sequence[GroupView]) -> None:
        if not views:
            return
        if self.context.job == "remember":  # the user has written it down
            self._judged |= {view.group: ACCEPTED for view in views}
            return
        doubts = [doubts_about(view) for view in views]
        if self._ask is None:
            verdicts = [Verdict("held", found[0]) if found else ACCEPTED for found in doubts]
        else:
            hints = [Hints(found, self._objections_to(view)) for view, found in zip(views, doubts, strict=True)]
            verdicts = judge_meaning(views, hints, self._ask)
        self._judged |= {view.group: verdict for view, verdict in zip(views, verdicts, strict=True)}

    def _objections_to(self, view: GroupView) -> list[str]:
        """What was said of earlier changes in this run to the same file, or resting on the same message.

        Without it, an author whose change was turned down could offer it in other words until a reviewer gives in.
        """
        names = {change.name for change in view.changes}
        said = {message.message_id for message in view.messages}
        return [
            f"{', '.join(change.name for change in group.changes)}: {verdict.reason}"
            for group, verdict in self._judged.items()
            if verdict.state != "accepted"
            and (
                not names.isdisjoint(change.name for change in group.changes)
                or not said.isdisjoint(evidence.message_id for _, evidence in group.evidence)
            )
        ]

    def _all_memories(self) -> str:
        parsed = [quick_parse(state.data) for state in self.context.snapshot.files.values()]
        told = [text for memory in parsed for text in (memory.name, memory.description, memory.body, *memory.keys)]
        return "\n".join((*told, self.context.snapshot.index_text))
