"""The embedded engine: no network, no key, no download. Precise before complete.

It works on what the user said and on nothing else, sentence by sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline.wishes import is_taken_back, statement, wishes_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.model import Finding, Said


__all__ = ["find", "statement"]


def find(messages: Iterable[Said]) -> list[Finding]:
    """What in these messages asks to be remembered, in the order it was said, and was not taken back by a later one."""
    found: list[Finding] = []
    for said in messages:
        found = [finding for finding in found if not is_taken_back(finding, found[-1], said)]
        found += wishes_in(said)
    return found
