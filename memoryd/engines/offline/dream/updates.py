"""What the user said since then changes, extends or joins the memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.model import Said


def take_in(drafts: list[Draft], said: Sequence[Said], instructions: Sequence[str], now: float) -> Iterator[str]:
    """Change the drafts in place; yields a line for each change."""
    yield from ()
