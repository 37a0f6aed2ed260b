"""The difference that a dream made in its copy, as revisions: memories that changed together belong together. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.engines.anthropic.progress import merging, topic_of
from memoryd.engines.statements import statements_of
from memoryd.jobs.agent import is_same
from memoryd.jobs.dream_judge import DATE, MADE_OF, is_memory
from memoryd.memory.document import parse
from memoryd.model import Revision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.memory.document import Document
    from memoryd.model import Evidence, FileChange

_LEAST_SAID = 0.5
"""So many of its statements have to be in a memory that a removed one is to have become part of."""
_WORD = re.compile(r"[\w./:-]*\w")


class _Target(NamedTuple):
    """A memory that says something in the end."""

    name: str
    after: Document
    change: FileChange | None
    """None: it is as it was."""


def revisions_of(
    before: Mapping[str, bytes], changes: Sequence[FileChange], evidence: Mapping[str, Sequence[Evidence]]
) -> tuple[Revision, ...]:
    """What the changes of the copy come to. `before` are the memories as they were.

    A memory that was removed joins the one that says most of its statements now; where none does, it is a revision of its
    own without a body. One that was written anew with what removed ones said takes the place of the first of them.
    """
    changes = [change for change in changes if not is_same(change)]
    targets = [_Target(one.name, parse(one.after), one) for one in changes if one.after is not None]
    touched = {change.name for change in changes}
    resting = [
        _Target(name, parse(data), None)
        for name, data in before.items()
        if name not in touched and is_memory(data) and not parse(data).is_pinned
    ]
    joined: dict[str, list[str]] = {}
    gone: list[str] = []
    for change in changes:
        if change.after is None:
            place = _heir(change, targets)
            if place is None and not evidence.get(change.name):
                place = _heir(change, resting, whole=True)
            if place is None:
                gone.append(change.name)
            else:
                joined.setdefault(place.name, []).append(change.name)
    revisions = [
        _revision(target, joined.get(target.name, []), before, evidence)
        for target in (*targets, *(one for one in resting if one.name in joined))
    ]
    return (*(one for one in revisions if one is not None), *(_removal(name, evidence.get(name, ())) for name in gone))


def _removal(name: str, evidence: Sequence[Evidence]) -> Revision:
    """A memory that nothing takes in: newer words have ended it, or it has ended by itself."""
    reason: Literal["updated", "expired"] = "updated" if evidence else "expired"
    return Revision(reason, f"Removing {topic_of(name)}", (name,), evidence=tuple(evidence))


def _heir(removed: FileChange, targets: Sequence[_Target], *, whole: bool = False) -> _Target | None:
    """The memory that says most of what a removed one said; None where none says half of it, or all if asked for.

    By its words alone: whether it says it rightly is for others to tell, of both together.
    """
    statements = statements_of(parse(removed.before or b"").body)
    best, heir = 0, None
    for target in targets:
        there = statements_of(target.after.body)
        stems = frozenset().union(*(one.stems for one in there))
        forms = frozenset().union(*(one.forms for one in there))
        said = sum(
            one.covered_by(stems) >= MADE_OF and (forms.issuperset(one.values) or (bool(one.words) and not whole))
            for one in statements
        )
        if said > best:
            best, heir = said, target
    return heir if best >= len(statements) * (1 if whole else _LEAST_SAID) else None


def _revision(
    target: _Target,
    removed: Sequence[str],
    before: Mapping[str, bytes],
    evidence: Mapping[str, Sequence[Evidence]],
) -> Revision | None:
    name, after, _ = target
    files = (*([name] if name in before else []), *removed)
    was = parse(before[files[0]]) if files else None
    if was is not None and len(files) == 1 and _says(was) == _says(after):
        return None  # it has another name, which is no reason
    rests_on = sorted(
        {one for file in (name, *removed) for one in evidence.get(file, ())}, key=lambda one: one.said_at or 0
    )
    common = (
        after.type,
        "" if files else _title(after),
        after.description,
        after.body,
        tuple(rests_on),
        (),
        after.keys,
    )
    if was is None:
        return Revision("learnt", f"Learning {topic_of(name)}", (), *common)
    if len(files) > 1:
        return Revision("merged", merging(files), files, *common)
    if not rests_on and all(map(DATE.fullmatch, _words(after.body) - _words(was.body))):
        return Revision("dated", f"Dating {topic_of(name)}", files, *common)
    return Revision("updated", f"Updating {topic_of(name)}", files, *common)


def _says(document: Document) -> tuple[str | None, str, list[str]]:
    return document.type, document.description, document.body.split()


def _title(document: Document) -> str:
    return "-".join(re.findall(r"[^\W_]+", document.name.lower()))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))
