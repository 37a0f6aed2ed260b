"""What a memory no longer says after it was rewritten. Pure.

A rewrite is to change what newer words change, and nothing else: a reason, an exception or a number that goes quietly is
how memories rot.
"""

from __future__ import annotations

import re

from memoryd.engines.offline.subjects import subject_of

_PART = re.compile(r"\*\*[^*\n]{1,40}:\*\*")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？;；])\s+|\n+|(?<=[。！？；])")  # noqa: RUF001
_VALUE = re.compile(r"[\w./:-]*\d[\w./:-]*")
_NEGATION = re.compile(
    r"(?i)\b(?:not|never|no|without|except|unless|only|nicht|nie|kein\w*|ohne|nur|außer|no|nunca|sin|solo|sauf|jamais|pas|sans|seulement)\b"
    r"|[不没别禁除只]"
)
_STILL_SAID = 0.7
"""So many of its words: it is the same statement, in other words."""


def lost_in(before: str, after: str, newer: str) -> list[str]:
    """The statements of a text that the other one no longer makes, and that newer words do not speak of.

    A statement goes on where its words do, with every value in it and every word that turns its sense.
    """
    left = _statements(after)
    everything = " ".join(left)
    spoken_of = subject_of(newer)
    lost = []
    for statement in _statements(before):
        subject = subject_of(statement)
        if not subject and not _VALUE.search(statement):
            continue
        # One that turns a sense has to stand as a whole: what turns another does not do for it.
        others = left if _NEGATION.search(statement) else [*left, everything]
        if any(_is_same(statement, other) for other in others):
            continue
        if not subject & spoken_of:
            lost.append(statement)
    return lost


def parts_lost(before: str, after: str) -> list[str]:
    """Named parts, as in `**Why:**`, that are gone; a rewrite may bring one up to date, but not drop it."""
    there = {part.lower() for part in _PART.findall(after)}
    return [part for part in dict.fromkeys(_PART.findall(before)) if part.lower() not in there]


def _is_same(statement: str, other: str) -> bool:
    subject = subject_of(statement)
    shared = len(subject & subject_of(other))
    if subject and shared < len(subject) * _STILL_SAID:
        return False
    if not set(_values(statement)) <= set(_values(other)):
        return False
    return not _NEGATION.search(statement) or bool(_NEGATION.search(other))


def _statements(text: str) -> list[str]:
    found = [" ".join(piece.split()) for piece in _SENTENCE_END.split(_PART.sub("", text))]
    return [piece for piece in found if piece]


def _values(text: str) -> list[str]:
    return [value.strip(".:/-") for value in _VALUE.findall(text.lower())]
