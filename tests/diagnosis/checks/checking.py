"""What tests of doctor's checks share: a moment, and ways to pick from checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.diagnosis.problems import Check

NOW = 1_790_000_000.0
DAY = 86_400.0


def verdicts(checks: Iterable[Check]) -> list[tuple[str, str]]:
    return [(check.name, check.verdict) for check in checks]


def the(name: str, checks: Iterable[Check]) -> Check:
    """The only check of that name."""
    (found,) = [check for check in checks if check.name == name]
    return found
