"""How a dream is told: what it did, what its self-check found, in the same words everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.state.dreams import NotedFate

_DONE = {
    "learnt": "learnt",
    "updated": "brought up to date",
    "merged": "merged",
    "dated": "dated",
    "expired": "archived",
    "moved": "moved out of the index",
}
ACCEPTED = ("contradicted", "expired")
"""What may be gone; any other fate keeps a change from being made."""


def deed(reason: str, files: Sequence[str]) -> str:
    """What was done, in a line."""
    first, *others = map(shown, files or ("",))
    what = f"{', '.join(others)} into {first}" if reason == "merged" and others else ", ".join([first, *others])
    return f"{_DONE.get(reason, reason)}: {what}"


def summary(why: str) -> str:
    """What a dream's change says of itself: `2 merged, 1 archived`."""
    return why.removeprefix("a dream: ").replace("expired", "archived").replace("the index", "the index made right")


def fate_as_json(one: NotedFate) -> dict[str, str | None]:
    """The same as data, described in docs/json.md."""
    return {"about": one.name, "statement": one.statement, "fate": one.fate, "by": one.by or None}


def finding(one: NotedFate) -> str:
    """What the self-check says of a statement, in a sentence."""
    name, statement, by = shown(one.name.replace(" ", ", ")), shown(one.statement), shown(one.by)
    match one.fate:
        case "contradicted":
            return f'{name}: "{statement}" is gone, contradicted by "{by}"'
        case "expired":
            return f'{name}: "{statement}" is gone, expired{f" on {by}" if by else ""}'
        case "lost":
            return f'{name}: not changed, "{statement}" would be lost'
        case "invented":
            return f'{name}: not changed, nobody said "{by or statement}"'
    return f"{name}: not changed, {one.fate}: {by or statement}"
