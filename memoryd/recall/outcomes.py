"""Outcomes of memories: how often each was handed over, what that cost, and what the sessions did afterwards.

Counted from the files that `shown` keeps of sessions, so for as long as those are there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.recall.shown import sessions_since

if TYPE_CHECKING:
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
        return -(-self.bytes // BYTES_PER_TOKEN)


_COUNTS = [name for name in MemoryOutcome._fields if not name.startswith("refused_")]


def outcomes(paths: Paths, since: float = 0.0) -> dict[tuple[str, str], MemoryOutcome]:
    """By memory directory and name, of what happened since then."""
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
            key = (str(place), name)
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


def _sum(one: MemoryOutcome, other: MemoryOutcome) -> MemoryOutcome:
    latest = max(one, other, key=lambda outcome: outcome.refused_at)
    counts = {name: getattr(one, name) + getattr(other, name) for name in _COUNTS}
    return MemoryOutcome(**counts, refused_in=latest.refused_in, refused_at=latest.refused_at)
