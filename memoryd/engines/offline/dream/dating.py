"""Days that are told relative to the day of writing get their date."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.engines.offline.dream.draft import Draft


def resolve(drafts: list[Draft]) -> Iterator[str]:
    """Change the drafts in place; yields a line for each change."""
    yield from ()
