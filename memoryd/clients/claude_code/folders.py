"""Folders that Claude Code keeps the sessions of a directory in, by the directory's path."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SLUG_LENGTH = 200


def slug_of(path: str) -> str:
    """The folder name that the client derives from a path: every character but ASCII letters and digits is a hyphen.

    Names over 200 characters are cut and get a hash; the client's hash is not this one, so a long name is only a
    proposal and `slug_folder` looks for the client's own.
    """
    path = unicodedata.normalize("NFC", path)
    # The client counts UTF-16 units: a character beyond the basic plane is two.
    name = re.sub(r"[^a-zA-Z0-9]", lambda match: "--" if match[0] > "\uffff" else "-", path)
    return name if len(name) <= SLUG_LENGTH else f"{name[:SLUG_LENGTH]}-{_base36(_simple_hash(path))}"


def slug_folder(transcripts_root: str, path: str, holds: Callable[[str], bool]) -> str:
    """The name of the folder that stands for `path` below the transcripts' root.

    For a long path the client's folder is found by its first 200 characters; if several begin so, `holds` tells which
    one has sessions of this path.
    """
    slug = slug_of(path)
    if len(slug) <= SLUG_LENGTH:
        return slug
    begin = slug[: SLUG_LENGTH + 1]
    try:
        names = sorted(name for name in os.listdir(transcripts_root) if name.startswith(begin))
    except OSError:
        return slug
    if slug in names or not names:
        return slug
    if len(names) == 1:
        return names[0]
    return next((name for name in names if holds(name)), slug)


def _simple_hash(text: str) -> int:
    units = text.encode("utf-16-le", "surrogatepass")
    value = 0
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) & 0xFFFFFFFF
    return abs(value - (1 << 32) if value >= 1 << 31 else value)


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"
