"""Numbers, sizes, times and names as a person reads them."""

from __future__ import annotations

import re
from datetime import datetime

_THOUSAND = 1000


def count(number: int, noun: str) -> str:
    """`1 turn`, `2,000 turns`, `2 memories`."""
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("ry") else f"{number:,} {noun}s"


def size(number_of_bytes: float) -> str:
    """`812 B`, `4.2 MB`: three digits at most."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number_of_bytes < _THOUSAND or unit == "TB":
            break
        number_of_bytes /= _THOUSAND
    digits = 0 if unit == "B" or number_of_bytes >= 10 else 1  # noqa: PLR2004 - two digits say enough
    return f"{number_of_bytes:.{digits}f} {unit}"


def shown(text: str) -> str:
    """A text from a file or its name, safe for a terminal: control characters are written as escapes."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def is_utf8(name: str) -> bool:
    """Whether a name or path is text. Other bytes come as lone surrogates, which no database and no request can hold."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def escaped(name: str) -> str:
    """A name or path as text: bytes that are not UTF-8 are written as escapes."""
    return name if is_utf8(name) else name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def part_around(text: str, place: int, most: int) -> str:
    """The part of a text around a place, cut between words."""
    if len(text) <= most:
        return text
    start = min(max(0, place - most // 3), len(text) - most)
    part = text[start : start + most]
    if start:
        part = "…" + part.partition(" ")[2]
    if start + most < len(text):
        part = part.rpartition(" ")[0] + " …"
    return part


def quoted(text: str) -> str:
    """What somebody else said, inside a sentence of ours: people see it, the log does not."""
    return '"' + text.replace('"', "'") + '"'


def unquoted(sentence: str) -> str:
    """A sentence without what it quotes; a quotation that was cut off reaches to the end."""
    return re.sub(r'"[^"]*(?:"|\Z)', '"..."', sentence)


def short(path: str, home: str) -> str:
    """A path as a person writes it, with `~` for the home directory."""
    is_at_home = path.startswith(home.rstrip("/") + "/")
    return shown("~" + path[len(home.rstrip("/")) :] if is_at_home else path)


def ago(seconds: float) -> str:
    """`12 s`, `3 min`, `5 h`, `12 days`."""
    seconds = max(0.0, seconds)
    for limit, divisor, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{int(seconds / divisor)} {unit}"
    return f"{int(seconds / 86_400)} days"


def clock_time(at: float) -> str:
    """The time of day where the user is."""
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S")
