"""Daily logs (`logs/2026/10/2026-10-18.md`): lines about what was said and done that day. Read, never changed."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime

from memoryd.model import UserMessage

_NAME = re.compile(r"logs/(?:\d{4}/\d\d/)?(\d{4})-(\d\d)-(\d\d)\.md")
_LINE = re.compile(r"\s*[-*]\s+(?:\[?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?\]?[\s,:-]*)?(?P<text>\S.*)")
_USER = re.compile(r"(?i)(?:the )?user(?P<how>(?: \([^()]{1,40}\)| [a-z]{1,20})?)\s*:\s*(?P<said>\S.*)")
_PERSON = re.compile(r"(?P<who>(?:[A-ZÀ-Þ][\w'’.-]{1,30} ?){1,3}):\s+\S")  # noqa: RUF001
_NO_PERSON = frozenset(
    {"assistant", "agent", "claude", "ai", "note", "notes", "todo", "done", "fixed", "bug", "idea", "plan", "result"}
    | {"warning", "error", "info", "decision", "question", "status", "summary", "update", "next", "open", "reminder"}
)
_FIRST_PERSON = re.compile(r"I(?:['’](?:m|ve|d|ll))? ")  # noqa: RUF001
_CLAUSE = re.compile(r"(?<=[.!?;,])\s+")


def said_in_log(name: str, text: str) -> list[UserMessage]:
    """Messages in a daily log: lines that quote the user or a named person. Lines about what was done are left out.

    The id of a line comes of its log and its words, so that it stays the same when the line moves.
    """
    day = _NAME.fullmatch(name)
    if day is None:
        return []
    said = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line.rstrip())
        words = _words_of(match["text"]) if match else ""
        if match is None or not words:
            continue
        try:
            year, month, date = map(int, day.groups())
            at = datetime(year, month, date, int(match["hour"] or 12), int(match["minute"] or 0)).astimezone()
        except (ValueError, OverflowError):
            continue
        digest = hashlib.blake2b(match["text"].encode("utf-8", "replace"), digest_size=8).hexdigest()
        said.append(UserMessage(name, f"{name}#{digest}", at.timestamp(), words))
    return said


def _words_of(line: str) -> str:
    """Words that a line quotes; empty where it quotes nobody."""
    if by_user := _USER.match(line):
        how = by_user["how"].strip()
        return _without_the_writer(by_user["said"]) if how.isalpha() else by_user["said"]
    person = _PERSON.match(line)
    if person is not None and not {word.lower() for word in person["who"].split()} & _NO_PERSON:
        return line
    return ""


def _without_the_writer(text: str) -> str:
    """The words without clauses in the first person: in "user annoyed: I renamed …" it is whoever wrote the log."""
    return " ".join(clause for clause in _CLAUSE.split(text) if not _FIRST_PERSON.match(clause))
