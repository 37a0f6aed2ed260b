"""Verdicts on the groups of a proposal, turned into what is committed and what goes into the inbox. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from memoryd.model import HeldGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.model import Group, Verdict

_ASKED_OF_ALL = 'Nothing is written unasked: review = "all".'


def sorted_by_verdict(
    groups: Sequence[Group], verdicts: Sequence[Verdict], mode: str
) -> tuple[tuple[Group, ...], tuple[HeldGroup, ...]]:
    """The groups to commit, and the others with the state in which the inbox gets them.

    `mode` is the config's `review`: with "all" nothing is written unasked, with "off" nothing doubtful is asked. What is
    still repairable when its author has no further try counts as held.
    """
    to_commit: list[Group] = []
    held: list[HeldGroup] = []
    for group, verdict in zip(groups, verdicts, strict=True):
        if verdict.state == "refused":
            held.append(HeldGroup(group, "refused", verdict.reason))
        elif verdict.state == "accepted" and mode != "all":
            to_commit.append(group)
        else:
            state: Literal["held", "dropped"] = "dropped" if mode == "off" else "held"
            held.append(HeldGroup(group, state, verdict.reason or _ASKED_OF_ALL))
    return tuple(to_commit), tuple(held)


def held_by_engine(asked: Sequence[HeldGroup], verdicts: Sequence[Verdict], mode: str) -> tuple[HeldGroup, ...]:
    """What an engine itself would have in the inbox, with what review says of it.

    A doubt changes nothing: none of it is written without the user. What breaks a hard rule is not kept, and with "off"
    nobody is asked whether an older memory still holds.
    """
    return tuple(
        held._replace(state="refused", reason=verdict.reason) if verdict.state == "refused" else held
        for held, verdict in zip(asked, verdicts, strict=True)
        if held.state == "unconfirmed" or mode != "off"
    )
