"""Scope of a memory: whether it goes with the person into every project, or stays in the one in which it was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline.classifier import is_manner, type_of
from memoryd.language.scope import says_everywhere, says_here
from memoryd.language.sentences import sentences_of

if TYPE_CHECKING:
    from memoryd.memory_types import MemoryType

_MANNER = 0.5
"""From here on feedback is taken to be about the person's manner. In doubt it belongs to the project: a rule that another
project is given by mistake does harm there, one that it lacks is said again."""


def is_about_person(text: str, kind: MemoryType) -> bool:
    """What somebody is, and feedback about how the person wants to be talked to; neither where it speaks of this project.

    Words such as "in all my projects" decide for feedback of any kind. Of feedback in several sentences one has to be about the
    person: the others may be its reason, or the task at hand.
    """
    if kind not in ("user", "feedback"):
        return False
    if says_everywhere(text):
        return True
    if says_here(text):
        return False
    return kind == "user" or any(is_manner(sentence) >= _MANNER for sentence in (text, *sentences_of(text)))


def differ_in_scope(first: str, second: str) -> bool:
    """Whether one sentence names this project and the other is about the person: two facts, also in one breath."""
    for one, other in ((first, second), (second, first)):
        if says_here(one) and not says_here(other) and is_about_person(other, type_of(other)):
            return True
    return False
