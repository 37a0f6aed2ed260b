"""Proposals to review, made of a few words: memories, messages, and what an engine would change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from memoryd.language.evidence import evidence_of, repository_evidence
from memoryd.memory.directory import FileState
from memoryd.memory.snapshot import Contents, Snapshot
from memoryd.model import FileChange, Group, UserMessage
from memoryd.review.context import ReviewContext
from memoryd.review.review import Review
from memoryd.state.changes import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from memoryd.model import ChangeReason, Evidence, Verdict
    from memoryd.review.meaning import Ask

MONDAY = datetime(2026, 10, 19, 10, 0, tzinfo=UTC).timestamp()
NOW = MONDAY + 86400
LONG_AGO = MONDAY - 40 * 86400


def memory(body: str, description: str = "", *, name: str = "", kind: str = "feedback", extra: str = "") -> str:
    """A whole topic file; its description is the first sentence of the body where none is given."""
    fact = body.partition("\n")[0].rstrip(".")
    told = description or fact
    words = name or "-".join(fact.casefold().replace("`", "").replace(",", "").split()[:2])
    return f'---\nname: {words}\ndescription: "{told}"\ntype: {kind}\n{extra}---\n{body.rstrip()}\n'


def said(*turns: str | tuple[str, str], session: str = "s1", at: float = MONDAY) -> list[UserMessage]:
    """The user's messages in order, a minute apart; a pair is what the agent had answered before, and the message."""
    messages: list[UserMessage] = []
    for number, turn in enumerate(turns):
        answer, text = turn if isinstance(turn, tuple) else ("", turn)
        before = tuple(message.text for message in reversed(messages))
        moment = at + 60 * number
        messages.append(UserMessage(session, f"{session}-{number}", moment, text, answer, "", before))
    return messages


def snapshot(
    files: Mapping[str, str], *, hand_edited: Sequence[str] = (), odd: Mapping[str, str] | None = None
) -> Snapshot:
    """Memories that memoryd wrote long ago."""
    states = {name: FileState(text.encode(), int(LONG_AGO * 1e9), 0o600) for name, text in files.items()}
    made = {(name, b"another" if name in hand_edited else digest(state.data)) for name, state in states.items()}
    return Snapshot("", lambda: Contents(states, odd or {}, None, made))


class ReadFile(NamedTuple):
    """A repository of which one file was read."""

    words: str

    def text(self) -> str:
        return self.words

    def evidence(self, quote: str) -> Evidence | None:
        lines = enumerate(self.words.split("\n"), 1)
        found = (number for number, line in lines if quote in line)
        return next((repository_evidence("src/a.py", number, "c0ffee", quote) for number in found), None)


def context_of(
    messages: Sequence[UserMessage],
    files: Mapping[str, str] | None = None,
    *,
    job: Literal["extract", "dream", "remember"] = "extract",
    instructions: Sequence[str] = (),
    is_refused: Callable[[Evidence], bool] = lambda _: False,
    repository: str = "",
    hand_edited: Sequence[str] = (),
    odd: Mapping[str, str] | None = None,
) -> ReviewContext:
    taken = snapshot(files or {}, hand_edited=hand_edited, odd=odd)
    return ReviewContext(job, taken, messages, NOW, instructions, is_refused, ReadFile(repository))


def group(
    context: ReviewContext,
    changes: Mapping[str, str | None],
    quote: str = "",
    *,
    reason: ChangeReason = "learnt",
    from_index: tuple[str, ...] = (),
) -> Group:
    """What an engine would return for these files; None is a removal. Each rests on the quote, where there is one."""
    files = context.snapshot.files
    moved = tuple(
        FileChange(
            name,
            files[name].data if name in files else None,
            text.encode("utf-8", "replace") if text is not None else None,
        )
        for name, text in changes.items()
    )
    found = Review(context, None).find_evidence(quote) or evidence_of(UserMessage("s1", "nobody", None, quote), quote)
    return Group(moved, "", tuple((name, found) for name in changes) if quote else (), reason, from_index)


def verdict_on(
    context: ReviewContext,
    changes: Mapping[str, str | None],
    quote: str = "",
    *,
    reason: ChangeReason = "learnt",
    from_index: tuple[str, ...] = (),
    ask: Ask | None = None,
) -> Verdict:
    [verdict] = Review(context, ask).judge([group(context, changes, quote, reason=reason, from_index=from_index)])
    return verdict
