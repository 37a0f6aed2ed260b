"""Tables in a TOML text, put behind all others and taken out; every other byte stays. Pure.

This needs the standard library alone: it is copied beside the script that takes memoryd back where memoryd itself is gone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.clients.json_entries import UnusableError

if TYPE_CHECKING:
    from collections.abc import Callable

_HEADER = re.compile(r"[ \t]*\[[ \t]*([^\[\]\r\n]+?)[ \t]*\][ \t]*(?:#.*)?\Z")
_ANY_HEADER = re.compile(r"[ \t]*\[")
_SILENT = re.compile(r"[ \t]*(?:#.*)?\Z")
"""A line without a key."""
ENDED, NOT_ENDED = "ended", "not ended"
"""Whether the last line of a text was, before a table was put behind it."""


class _Table(NamedTuple):
    name: str
    start: int
    end: int
    """Behind its last line with a key."""


def parsed(text: str) -> dict[str, Any]:
    """Raises UnusableError."""
    try:
        import tomllib
    except ImportError as error:  # where the script is run by another Python than memoryd's
        raise UnusableError("needs Python 3.11 to be read") from error
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnusableError("is not valid TOML") from error


def table_at(text: str, name: str) -> Any:
    """The table of a name, or what else stands there; None: nothing does. Raises UnusableError."""
    value: Any = parsed(text)
    for key in name.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def with_table(text: str | None, table: str) -> str:
    """With a table at its end, a blank line before it. Raises UnusableError."""
    text = text or ""
    parsed(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    result = text + gap + table.replace("\n", newline)
    try:
        parsed(result)
    except UnusableError as error:
        header, *lines = table.splitlines()
        above, _, name = header.strip("[]").rpartition(".")
        if table_at(text, f"{above}.{name}") is not None:
            raise UnusableError(f"has another `{above}.{name}`") from error
        raise UnusableError(
            f"has `{above}` as an inline table, between whose braces only you can put"
            f" `{name} = {{ {', '.join(lines)} }}`"
        ) from error
    return result


def without_tables(text: str, is_meant: Callable[[str], bool], before: str | None = ENDED) -> str:
    """Without the tables whose names are meant, and the blank line before each. Raises UnusableError."""
    parsed(text)
    is_cut = False
    while (table := next((found for found in _tables(text) if is_meant(found.name)), None)) is not None:
        head, tail = text[: table.start], text[table.end :]
        for blank in ("\r\n", "\n"):
            if head.endswith((f"\n{blank}", f"\n\r{blank}")) or head == blank:
                head = head[: -len(blank)]
                break
        text, is_cut = head + tail, True
    if is_cut and before == NOT_ENDED:
        text = text.removesuffix("\n").removesuffix("\r")
    parsed(text)
    return text


def is_left_alone(text: str, name: str) -> bool:
    """Whether a table has no keys, and there are none below it."""
    tables = _tables(text)
    found = [table for table in tables if table.name == name or table.name.startswith(f"{name}.")]
    return len(found) == 1 and not text[found[0].start : found[0].end].strip().partition("\n")[2].strip()


def _tables(text: str) -> list[_Table]:
    tables: list[_Table] = []
    name, start, end, at = "", 0, 0, 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if _ANY_HEADER.match(bare):
            if name:
                tables.append(_Table(name, start, end))
            found = _HEADER.match(bare)
            name, start = found[1] if found else "", at
            end = at + len(line)
        elif not _SILENT.match(bare):
            end = at + len(line)
        at += len(line)
    return [*tables, _Table(name, start, end)] if name else tables
