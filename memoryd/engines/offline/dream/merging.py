"""Near-duplicates become one memory that says all that they said."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from memoryd.engines.offline.compose import DESCRIPTION_LENGTH, as_sentence, is_without_spaces
from memoryd.engines.offline.dream.alike import how_often, likeness, look_at
from memoryd.engines.offline.dream.naming import called
from memoryd.engines.offline.dream.parts import Parts, body_of, parts_of, same_words, united

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.engines.offline.dream.draft import Draft

_COUNT = {2: "two", 3: "three", 4: "four"}


def join(drafts: list[Draft]) -> Iterator[str]:
    """Change the drafts in place; yields a line for each change.

    1. Hold every two of them that may be changed against each other.
    2. Make groups, the likest first; who joins a group is like all that are in it.
    3. In each group one stays and says what the others said; those leave the list.
    """
    free = [draft for draft in drafts if not draft.is_fixed and not draft.is_archived and draft.type is not None]
    for group in _groups(free):
        target, *others = sorted(group, key=lambda draft: (not draft.files, -len(draft.body), draft.written_at))
        for other in others:
            _take_in(target, other)
            # By identity: two drafts may be equal, and only this one is to go.
            drafts[:] = [draft for draft in drafts if draft is not other]
        yield target.change("merged", f"Merging {_COUNT.get(len(group), 'several')} {called(target, 2)} notes")


def _groups(drafts: Sequence[Draft]) -> list[list[Draft]]:
    looks = [look_at(draft) for draft in drafts]
    often = how_often(looks)
    alike = {
        (one, other): score
        for one, other in combinations(range(len(drafts)), 2)
        if (score := likeness(looks[one], looks[other], often))
    }
    groups: list[set[int]] = []
    for one, other in sorted(alike, key=lambda pair: (-alike[pair], pair)):
        own = [group for group in groups if one in group or other in group] or [set[int]()]
        if len(own) > 1:
            continue
        joined = own[0] | {one, other}
        if all(pair in alike for pair in combinations(sorted(joined), 2)):
            groups = [group for group in groups if group is not own[0]] + [joined]
    return [[drafts[number] for number in sorted(group)] for group in groups]


def _take_in(target: Draft, other: Draft) -> None:
    """Make the target say what the other one says, too."""
    parts = Parts(
        *(united(one, another) for one, another in zip(parts_of(target.body), parts_of(other.body), strict=True))
    )
    both = _joined(target.description, other.description)
    if both is None and not _is_said(other.description, f"{target.description}\n{body_of(parts)}"):
        parts = parts._replace(fact=united(parts.fact, as_sentence(other.description)))
    target.description = both or target.description
    target.body = body_of(parts)
    target.files += other.files
    target.evidence += other.evidence
    target.from_index += other.from_index
    target.written_at = max(target.written_at, other.written_at)


def _joined(description: str, other: str) -> str | None:
    """Both descriptions in one line; None where that is too long for one."""
    if not other or _is_said(other, description):
        return description
    mark = "；" if is_without_spaces(description) else "; "  # noqa: RUF001
    text = f"{description.rstrip('.。; ')}{mark}{other}" if description else other
    return text if len(text) <= DESCRIPTION_LENGTH else None


def _is_said(text: str, where: str) -> bool:
    """Whether every word and number of a text stands elsewhere."""
    return set(same_words(text).split()) <= set(same_words(where).split())
