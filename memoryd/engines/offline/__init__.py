"""The embedded engine: no network, no key, no download. Precise before complete.

It works on what the user said and on nothing else, sentence by sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline.wishes import statement, wishes_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.model import Finding, Said


__all__ = ["find", "statement"]


def find(messages: Iterable[Said]) -> list[Finding]:
    """What in these messages asks to be remembered, in the order it was said."""
    return [finding for said in messages for finding in wishes_in(said)]
