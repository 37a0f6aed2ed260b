"""Expiry: a project memory whose own end has passed, and of which nobody has just said that it goes on, is archived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline.dream.naming import name_in_words
from memoryd.language.dates import day_of
from memoryd.language.expiry import has_ended, is_said_to_go_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.model import UserMessage


def archive(drafts: list[Draft], now: float, said: Sequence[UserMessage] = ()) -> Iterator[str]:
    """Change the drafts in place; yields a line for each change. `said` is what may tell that something goes on."""
    today = day_of(now)
    if today is None:
        return
    for draft in drafts:
        if (
            draft.type == "project"
            and draft.files
            and not (draft.is_fixed or draft.is_archived or draft.evidence)
            and draft.reason in {None, "dated"}
            and has_ended(draft.description, draft.body, today)
            and not is_said_to_go_on(draft.description, draft.body, (message.text for message in said))
        ):
            draft.is_archived = True
            yield draft.change("expired", f"Archiving the {name_in_words(draft)}")
