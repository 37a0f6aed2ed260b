"""Rules in `status`: which memories bind and how often they refused a call, and what came of all that were handed over."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import BusyError, StateError
from memoryd.recall.outcomes import MemoryOutcome, outcomes
from memoryd.recall.store import store_to_look
from memoryd.rules.confirmed import confirmed

if TYPE_CHECKING:
    from memoryd.paths import Paths

_UNKNOWN = "deny-unknown"


class BindingRule(NamedTuple):
    memory_dir: str
    file: str
    refuses: tuple[str, ...]
    """`run npm install`, `edit db/`: what the user has confirmed."""
    asks: tuple[str, ...]
    """The same, of what merely stands in the file: it refuses nothing."""
    outcome: MemoryOutcome

    @property
    def request(self) -> str:
        """What the user can do about a file that asks for more than was confirmed; empty where it does not."""
        if self.asks:
            return f"asks to be binding ({'; '.join(self.asks)}); memoryd enforce {self.file} makes it so"
        if not self.refuses:
            return f"its `enforce` is not understood and refuses nothing; memoryd enforce {self.file}"
        return ""


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
    binding = []
    for key, patterns in found.items():
        bind = confirmed(paths, *key)
        refuses, asks = (tuple(each for each in patterns if (each in bind) is wanted) for wanted in (True, False))
        binding.append(BindingRule(*key, refuses, asks, counts.get(key, MemoryOutcome())))
    with_calls, followed, corrected = (
        sum(getattr(outcome, name) for outcome in counts.values()) for name in ("with_calls", "followed", "corrected")
    )
    return RulesStatus(tuple(binding), with_calls, followed, corrected)
