"""Wording of dreams: what one did and what review kept it from doing, in the same words everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.formatting import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.state.dream_verdicts import NotDone

_DONE = {
    "learnt": "learnt",
    "updated": "brought up to date",
    "merged": "merged",
    "dated": "dated",
    "expired": "archived",
    "moved": "moved out of the index",
    "taken_back": "taken back",
}


def deed(reason: str, files: Sequence[str]) -> str:
    """Line about a group that was changed: `merged: b.md into a.md`."""
    first, *others = map(shown, files or ("",))
    what = f"{', '.join(others)} into {first}" if reason == "merged" and others else ", ".join([first, *others])
    return f"{_DONE.get(reason, reason)}: {what}"


def summary(why: str) -> str:
    """Numbers of a dream by what was done: `2 merged, 1 archived`."""
    return why.removeprefix("a dream: ").replace("expired", "archived").replace("the index", "the index made right")


def not_done_as_json(group: NotDone) -> dict[str, str | None]:
    """Group that was not changed, as data; described in docs/json.md."""
    return {"about": group.names, "statement": group.line, "fate": group.state, "by": group.reason or None}


def not_done(group: NotDone) -> str:
    """Sentence about a group that review held or refused."""
    names = shown(group.names.replace(" ", ", "))
    what = "waits for your answer in memoryd review" if group.state == "held" else "not changed"
    return f"{names}: {what}: {shown(group.reason)}"
