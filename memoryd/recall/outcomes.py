"""Outcomes of memories: how often they were handed over, what that cost, and what the sessions did afterwards.

Counted from the files that `shown` keeps of sessions, so for as long as those are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.formatting import count
from memoryd.memory.tier_names import place_of
from memoryd.recall.shown import sessions_since

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.paths import Paths

BYTES_PER_TOKEN = 4
"""About: of prose in English."""


class MemoryOutcome(NamedTuple):
    shown: int = 0
    """How often it was handed over,"""
    with_calls: int = 0
    """and how often of that with a tool call."""
    sessions: int = 0
    bytes: int = 0
    used: int = 0
    """Sessions that read or quoted it."""
    refused: int = 0
    """Calls that it kept from being made."""
    allowed: int = 0
    followed: int = 0
    """Calls that do what it forbids, after it was handed over."""
    corrected: int = 0
    """How often the user had to say it again after it was handed over."""
    refused_in: str = ""
    """The session whose call it refused last,"""
    refused_at: float = 0.0

    @property
    def tokens(self) -> int:
        return _tokens(self.bytes)


class SessionCost(NamedTuple):
    """What memories cost one session."""

    session: str
    last_at: float
    """When it was last handed any."""
    shown: int
    used: int
    """Memories that it read or quoted."""
    with_prompts: tuple[int, ...]
    """Tokens with each prompt that memories came with, the sentence before them included,"""
    with_calls: tuple[int, ...]
    """and with each tool call."""

    @property
    def tokens(self) -> int:
        return sum(self.with_prompts) + sum(self.with_calls)


class Use(NamedTuple):
    """How often memories were shown, in how many sessions, how often that was of use, and what it cost."""

    shown: int = 0
    sessions: int = 0
    used: int = 0
    tokens: int = 0
    prompts: int = 0
    """Prompts that memories came with,"""
    prompt_tokens: int = 0
    """and what half of them cost at most."""
    session_tokens: int = 0
    """What half of the sessions cost at most."""

    @property
    def in_words(self) -> str:
        """Cost, in words."""
        medians = [f"{self.prompt_tokens:,} a prompt"] if self.prompts else []
        medians.append(f"{self.session_tokens:,} a session")
        return f"{count(self.tokens, 'token')} handed over: {' and '.join(medians)} (median)"


_COUNTS = [name for name in MemoryOutcome._fields if not name.startswith("refused_")]


def outcomes(paths: Paths, since: float = 0.0) -> dict[tuple[str, str], MemoryOutcome]:
    """By memory directory and name, of what happened since then. Global memories are counted once for all projects."""
    found: dict[tuple[str, str], MemoryOutcome] = {}
    try:
        sessions = list(sessions_since(paths, since))
    except OSError:
        return found  # no session was ever handed anything
    for session_id, lines in sessions:
        of_session: dict[tuple[str, str], MemoryOutcome] = {}
        counted: set[tuple[str, str, str]] = set()  # what was noted twice because a kill came between counts once
        for line in lines:
            kind = next(
                (kind for kind in ("shown", "used", "refused", "allowed", "followed", "corrected") if kind in line), ""
            )
            if not kind:
                continue
            name = str(line[kind])
            place = line.get("memory_dir") or next((place for place, other in of_session if other == name), "")
            key = place_of(name, str(place), paths.global_dir)
            if (ident := line.get("call")) is not None:
                if (kind, name, str(ident)) in counted:
                    continue
                counted.add((kind, name, str(ident)))
            outcome = of_session.get(key, MemoryOutcome(sessions=1))
            outcome = outcome._replace(**{kind: getattr(outcome, kind) + 1})
            if kind == "shown":
                size = line.get("bytes")
                outcome = outcome._replace(
                    bytes=outcome.bytes + (size if isinstance(size, int) else 0),
                    with_calls=outcome.with_calls + (line.get("with") == "call"),
                )
            if kind == "refused":
                outcome = outcome._replace(refused_in=session_id, refused_at=float(line.get("at") or 0.0))
            of_session[key] = outcome
        for key, outcome in of_session.items():
            found[key] = _sum(found.get(key, MemoryOutcome()), outcome)
    return found


def use_since(paths: Paths, since: float) -> Use | None:
    """What came of recall since then; None where no session was ever shown anything."""
    try:
        sessions = list(sessions_since(paths, since))
    except OSError:
        return None
    used = sum("used" in line for _, lines in sessions for line in lines)
    return use_of(_costs(sessions))._replace(used=used)  # also of what was shown before


def use_of(costs: list[SessionCost]) -> Use:
    """Of these sessions together."""
    prompts = [tokens for cost in costs for tokens in cost.with_prompts]
    return Use(
        sum(cost.shown for cost in costs),
        len(costs),
        sum(cost.used for cost in costs),
        sum(cost.tokens for cost in costs),
        len(prompts),
        _median(prompts),
        _median([cost.tokens for cost in costs]),
    )


def session_costs(paths: Paths, since: float = 0.0) -> list[SessionCost]:
    """Of each session that was handed a memory since then, the latest first."""
    try:
        return sorted(_costs(sessions_since(paths, since)), key=lambda cost: -cost.last_at)
    except OSError:
        return []


def _costs(sessions: Iterable[tuple[str, list[dict[str, Any]]]]) -> list[SessionCost]:
    found = []
    for session_id, lines in sessions:
        together: dict[tuple[bool, float], int] = {}
        shown = [line for line in lines if "shown" in line]
        for line in shown:
            key = (line.get("with") == "call", float(line.get("at") or 0.0))
            sizes = (line.get("bytes"), line.get("beside"))
            together[key] = together.get(key, 0) + sum(size for size in sizes if isinstance(size, int))
        if shown:
            with_prompts, with_calls = (
                tuple(_tokens(size) for (is_call, _), size in together.items() if is_call is wanted)
                for wanted in (False, True)
            )
            used = sum("used" in line for line in lines)
            last_at = max(at for _, at in together)
            found.append(SessionCost(session_id, last_at, len(shown), used, with_prompts, with_calls))
    return found


def _tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)


def _median(numbers: list[int]) -> int:
    """The lower one of two in the middle; 0 where there are none."""
    return sorted(numbers)[(len(numbers) - 1) // 2] if numbers else 0


def _sum(one: MemoryOutcome, other: MemoryOutcome) -> MemoryOutcome:
    latest = max(one, other, key=lambda outcome: outcome.refused_at)
    counts = {name: getattr(one, name) + getattr(other, name) for name in _COUNTS}
    return MemoryOutcome(**counts, refused_in=latest.refused_in, refused_at=latest.refused_at)


def most_used_global(paths: Paths) -> tuple[str, ...]:
    """The global memories that sessions were handed, in whatever project, those first that they used most often."""
    found = {name: outcome for (place, name), outcome in outcomes(paths).items() if place == paths.global_dir}
    return tuple(sorted(found, key=lambda name: (-found[name].used, -found[name].shown, name)))
