"""What has ended is taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.engines.offline.dream.draft import Draft


def archive(drafts: list[Draft], now: float) -> Iterator[str]:
    """Change the drafts in place; yields a line for each change."""
    yield from ()
