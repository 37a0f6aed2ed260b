"""The embedded engine: no network, no key, no download. Precise before complete.

It works on what the user said and on nothing else. A message becomes sentences (`sentences`), sentences are judged by a
small model (`features`, `judge`), those worth keeping are joined to facts (`told`) and written down (`compose`); a fact
is then held against what is known already (`subjects`). What stood around it may be what it is searched by (`keys`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.evidence import evidence_of
from memoryd.engines.offline.compose import finding_of
from memoryd.engines.offline.judge import type_of
from memoryd.engines.offline.keys import keys_of
from memoryd.engines.offline.known import Known
from memoryd.engines.offline.told import Told, told_in
from memoryd.model import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memoryd.model import Said, Shelved, Withdrawal

_LOOKS_BACK = 3
"""Messages that "forget what I said" can be about."""

__all__ = ["find", "statement"]


def find(
    messages: Iterable[Said],
    shelf: Callable[[], Sequence[Shelved]] = lambda: (),
    instructions: Sequence[str] = (),
) -> list[Finding | Withdrawal]:
    """What these messages, in the order they were said, add to the memories on the shelf, change in them or take back."""
    known = Known(shelf, instructions)
    before: tuple[str, ...] = ()
    for said in messages:
        facts = told_in(said, known.is_changed_by)
        if not any(told.is_taken_back for told in facts):
            known.take_back(said, said.after or before)
        before = (said.message_id, *before[: _LOOKS_BACK - 1])
        for told in facts:
            if not told.is_taken_back:
                finding = finding_of(said, told)
                known.add(finding._replace(keys=keys_of(said, finding)))
    # One that is brought up to date keeps the keys that it has: they may be better than these.
    return [one._replace(keys=()) if isinstance(one, Finding) and one.replaces else one for one in known.news()]


def statement(said: Said) -> Finding:
    """What the user asks to be remembered in so many words, taken as it is."""
    text = " ".join(said.text.split())
    finding = finding_of(said, Told((text,), type_of((text,))))
    return finding._replace(evidence=evidence_of(said, text))
