"""Changes of a group as review looks at them: each file before the run and after it, with the words it rests on."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from memoryd.language.evidence import find_quote, is_of_repository
from memoryd.memory.document import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.memory.document import Document
    from memoryd.model import Evidence, Group, UserMessage
    from memoryd.review.context import ReviewContext

OPEN_REASONS = frozenset({"merged", "dated", "expired", "moved"})
"""What a dream may do without quoting anybody: nothing new is said by it."""


class Quoted(NamedTuple):
    """Quoted words, and the message they stand in; None where the user never said them."""

    evidence: Evidence
    message: UserMessage | None
    is_read: bool = False
    """It is a line of the repository, which this dream has read."""


class ReviewedChange(NamedTuple):
    """One file, before the run and after it. Loss is measured against the state before the run, never a staged one."""

    name: str
    before: Document | None
    after: Document | None
    quotes: tuple[Quoted, ...]

    @property
    def is_removal(self) -> bool:
        return self.after is None

    @property
    def is_rewrite(self) -> bool:
        return self.before is not None and self.after is not None

    @property
    def text(self) -> str:
        return all_text(self.after)

    @property
    def old_text(self) -> str:
        return all_text(self.before)


class GroupView:
    """A group with everything that its judges look at."""

    def __init__(self, group: Group, context: ReviewContext) -> None:
        self.group = group
        self.context = context
        self.reason = group.reason
        self.is_dream = context.job == "dream"

    @cached_property
    def changes(self) -> tuple[ReviewedChange, ...]:
        files = self.context.snapshot.files
        return tuple(
            ReviewedChange(
                change.name,
                parse(files[change.name].data) if change.name in files else None,
                parse(change.after) if change.after is not None else None,
                tuple(
                    self._quoted(evidence)
                    for name, evidence in self.group.evidence
                    if name == change.name and (change.after is None or evidence not in self._inherited)
                ),
            )
            for change in self.group.changes
        )

    @cached_property
    def quotes(self) -> tuple[Quoted, ...]:
        return tuple(dict.fromkeys(quoted for change in self.changes for quoted in change.quotes))

    @cached_property
    def messages(self) -> tuple[UserMessage, ...]:
        """The messages that the quotes stand in."""
        return tuple(dict.fromkeys(quoted.message for quoted in self.quotes if quoted.message is not None))

    @property
    def writes(self) -> tuple[ReviewedChange, ...]:
        return tuple(change for change in self.changes if not change.is_removal)

    @property
    def removals(self) -> tuple[ReviewedChange, ...]:
        return tuple(change for change in self.changes if change.is_removal)

    @cached_property
    def old_text(self) -> str:
        """All that the memories of the group said before the run, and the passages of the index that move into them."""
        return "\n".join((*(change.old_text for change in self.changes), *self.group.from_index))

    @cached_property
    def new_text(self) -> str:
        return "\n".join(change.text for change in self.writes)

    @cached_property
    def _inherited(self) -> frozenset[Evidence]:
        """What the memories of the group rest on already: a merge takes it over, and nobody has to quote it again."""
        known = self.context.snapshot.contents.evidence
        return frozenset(evidence for change in self.group.changes for evidence in known.get(change.name, ()))

    def _quoted(self, evidence: Evidence) -> Quoted:
        if is_of_repository(evidence):
            is_read = self.is_dream and self.context.repository.evidence(evidence.quote) is not None
            return Quoted(evidence, None, is_read)
        said = [message for message in self.context.messages if message.message_id == evidence.message_id]
        return Quoted(evidence, said[-1] if said and find_quote(evidence.quote, said) is not None else None)


def all_text(document: Document | None) -> str:
    """All that stands in a memory: what it states, and its keys."""
    return "\n".join((stated_text(document), *written_keys(document))) if document is not None else ""


def stated_text(document: Document | None) -> str:
    """All that a memory states: title, description and body. Keys are only searched: they prove nothing."""
    if document is None:
        return ""
    name = document.name.replace("-", " ").replace("_", " ")
    return f"{name}\n{document.description}\n{document.body}"


def written_keys(document: Document) -> list[str]:
    """The keys as they stand in the file: a search leaves out what can be none, a reader of the file does not."""
    found = []
    for value in (document.metadata.get("keys"), document.values.get("keys")):
        texts = value if isinstance(value, list) else [value]
        found += [key.strip() for text in texts if isinstance(text, str) for key in re.split("[;\uff1b]", text)]
    return found


def neighbours(said: UserMessage, messages: Sequence[UserMessage]) -> tuple[str, str]:
    """What the user said directly before and after a message in its session; empty where there is nothing."""
    session = [message for message in messages if message.session_id == said.session_id]
    at = next((place for place, message in enumerate(session) if message.message_id == said.message_id), None)
    if at is None:
        return "", ""
    return session[at - 1].text if at else "", session[at + 1].text if at + 1 < len(session) else ""


def later_messages(said: UserMessage, messages: Sequence[UserMessage], most: int = 3) -> list[UserMessage]:
    """What the user said next in the session of a message."""
    session = [message for message in messages if message.session_id == said.session_id]
    at = next((place for place, message in enumerate(session) if message.message_id == said.message_id), len(session))
    return session[at + 1 : at + 1 + most]
