"""Rules in `status`: which memories bind and how often they refused a call, and what came of all that were handed over."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import BusyError, StateError
from memoryd.recall.outcomes import MemoryOutcome, outcomes
from memoryd.recall.store import store_to_look

if TYPE_CHECKING:
    from memoryd.paths import Paths

_UNKNOWN = "deny-unknown"


class BindingRule(NamedTuple):
    memory_dir: str
    file: str
    refuses: tuple[str, ...]
    """`run npm install`, `edit db/`; empty where what stands in the file is not understood."""
    outcome: MemoryOutcome


class RulesStatus(NamedTuple):
    binding: tuple[BindingRule, ...] = ()
    with_calls: int = 0
    """How often a memory was handed over with a tool call,"""
    followed: int = 0
    """how often a session then did what one forbids that it had been handed,"""
    corrected: int = 0
    """and how often the user had to say one again."""


def read_rules(paths: Paths, since: float) -> RulesStatus:
    """Counts since then; what cannot be read is empty."""
    found: dict[tuple[str, str], list[str]] = {}
    store = store_to_look(paths)
    if store is not None:
        with closing(store):
            try:
                rows = store.binding()
            except (StateError, BusyError):  # another process makes the file anew
                rows = []
        for memory_dir, name, kind, pattern in rows:
            patterns = found.setdefault((memory_dir, name), [])
            if kind != _UNKNOWN:
                patterns.append(f"{kind.removeprefix('deny-')} {pattern}")
    counts = outcomes(paths, since)
    binding = tuple(
        BindingRule(*key, tuple(patterns), counts.get(key, MemoryOutcome())) for key, patterns in found.items()
    )
    with_calls, followed, corrected = (
        sum(getattr(outcome, name) for outcome in counts.values()) for name in ("with_calls", "followed", "corrected")
    )
    return RulesStatus(binding, with_calls, followed, corrected)
