"""What somebody wrote into the index becomes memories of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.engines.offline.dream.draft import Draft


def move(drafts: list[Draft], index: str) -> Iterator[str]:
    """Change the drafts in place; yields a line for each change."""
    yield from ()
