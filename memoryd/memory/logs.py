"""Daily logs: `logs/2026/10/2026-10-18.md` holds what was said and done that day, a line each. Read, never changed."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime

from memoryd.model import Said

_NAME = re.compile(r"logs/(?:\d{4}/\d\d/)?(\d{4})-(\d\d)-(\d\d)\.md")
_LINE = re.compile(r"\s*[-*]\s+(?:\[?(?P<hour>\d{1,2}):(?P<minute>\d\d)\]?[\s,:-]*)?(?P<text>\S.*)")
_USER = re.compile(r"(?i)(?:the )?user\s*(?:[a-z]+\s*)?:\s*(?P<said>\S.*)")


def said_in_log(name: str, text: str) -> list[Said]:
    """What the user said by a daily log; a line that does not name the user is somebody else's, and is told as it is.

    A line is known by its log and its words, so that it is the same one wherever it stands later.
    """
    day = _NAME.fullmatch(name)
    if day is None:
        return []
    said = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            continue
        by_user = _USER.match(match["text"])
        words = by_user["said"] if by_user else match["text"]
        try:
            at = datetime(*map(int, day.groups()), int(match["hour"] or 12), int(match["minute"] or 0)).astimezone()  # type: ignore[arg-type]
        except (ValueError, OverflowError):
            continue
        digest = hashlib.blake2b(match["text"].encode("utf-8", "replace"), digest_size=8).hexdigest()
        said.append(Said(name, f"{name}#{digest}", at.timestamp(), words))
    return said
