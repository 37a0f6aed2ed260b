"""Groups that review held, for the tests of the inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.memory.document import new_document
from memoryd.model import Changeset, Evidence, FileChange, Group, HeldGroup
from memoryd.state import inbox, inbox_intake

if TYPE_CHECKING:
    from typing import Literal

    from memoryd.state.database import Database
    from memoryd.state.inbox import InboxRow

DOUBT = "It sounds like a suggestion, not like a decision."


def memory(body: str, *, modified: str = "2026-10-18T09:00:00Z", is_pinned: bool = False) -> bytes:
    data = new_document(
        name="review-size",
        description="how large a review may be",
        kind="feedback",
        body=body,
        session_id="s1",
        evidence="h",
        modified=modified,
    ).render()
    return data.replace(b"metadata:\n", b"metadata:\n  pinned: true\n") if is_pinned else data


def words(quote: str = "maybe 300 lines would be better", message_id: str = "m1") -> Evidence:
    return Evidence("s1", message_id, quote, f"hash of {quote}", 1_790_000_000.0)


def held(
    name: str = "feedback_review_size.md",
    before: bytes | None = None,
    after: bytes | None = memory("Under 300 lines."),
    *,
    state: Literal["held", "unconfirmed", "refused", "dropped"] = "held",
    said: tuple[Evidence, ...] = (words(),),
    reason: str = DOUBT,
) -> HeldGroup:
    change = FileChange(name, before, after)
    return HeldGroup(Group((change,), "you said", tuple((name, piece) for piece in said)), state, reason)


def numbered(number: int, state: Literal["held", "unconfirmed"] = "held") -> HeldGroup:
    """One of many, each of them from words of its own."""
    return held(f"feedback_{number}.md", state=state, said=(words(f"words {number}", f"m{number}"),))


def changeset(*rows: HeldGroup, **fields: object) -> Changeset:
    made = Changeset("extract", "what you said", (), "s1", held=rows)
    return made._replace(**fields)  # type: ignore[arg-type]


def store(database: Database, memory_dir: str, *rows: HeldGroup, now: float) -> list[InboxRow]:
    """Put rows into the inbox as the end of a job does; return what waits in the directory then."""
    with database.transaction():
        inbox_intake.publish(database, inbox_intake.add(database, memory_dir, rows, session_id="s1"), now)
    return inbox.waiting(database, memory_dir)
