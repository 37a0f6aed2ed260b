"""Difference of a memory directory and a store, three-way: each against what was last the same on both sides. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from memoryd.state.sync import Synced

Step = Literal["put", "delete", "take", "drop", "compare", "keep deleted", "forget"]
"""put, delete: in the store, as it was changed here. take, drop: here, as it was changed in the store. compare: both have
changed it, perhaps alike; where not, the local one is put. keep deleted: it was deleted here and changed there, and is deleted.
forget: both have deleted it."""


class Difference(NamedTuple):
    steps: Mapping[str, Step]
    """By key; keys without a step are the same on both sides, or left alone."""

    def keys(self, *steps: Step) -> list[str]:
        return [key for key, step in self.steps.items() if step in steps]


def difference(
    synced: Mapping[str, Synced],
    local: Mapping[str, str],
    remote: Mapping[str, str],
    left_alone: Collection[str] = (),
) -> Difference:
    """What has to be done with each key.

    `local` maps keys to SHA-256, `remote` to the hashes of the store. Keys that are `left_alone` get no step, whatever is or is
    not there: a file that cannot be read, or that is kept apart, was not deleted by anybody.
    """
    steps: dict[str, Step] = {}
    for key in sorted({*synced, *local, *remote}):
        if key in left_alone:
            continue
        base, here, there = synced.get(key), local.get(key), remote.get(key)
        is_changed_here = here != (base.sha256 if base else None)
        is_changed_there = there != (base.remote_hash if base else None)
        if not is_changed_here and not is_changed_there:
            continue
        if is_changed_here and is_changed_there:
            steps[key] = _both(here, there)
        elif is_changed_here:
            steps[key] = "delete" if here is None else "put"
        else:
            steps[key] = "drop" if there is None else "take"
    return Difference(steps)


def _both(here: str | None, there: str | None) -> Step:
    if here is None:
        return "forget" if there is None else "keep deleted"
    return "put" if there is None else "compare"
