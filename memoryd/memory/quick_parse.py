"""Quick parse of a topic file without YAML: enough to search and compare thousands of them."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from memoryd.memory.keys import keys_in
from memoryd.memory.limits import FRONTMATTER_BYTES
from memoryd.memory_types import MEMORY_TYPES
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from memoryd.memory.document import Document
    from memoryd.memory_types import MemoryType

_FRONTMATTER = re.compile(
    rf"\ufeff?---[ \t]*\r?\n(.{{0,{FRONTMATTER_BYTES}}}?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_LINE = re.compile(r"( *)([A-Za-z_][\w-]{0,100}):(?: +(.*?))? *", re.ASCII)
_NO_LINE = re.compile(r" *(?:#.*)?")
_ODD = "\t\r\x85\u2028\u2029\ufeff"
"""Characters that end a line in YAML alone, or that YAML does not take as space."""
_QUOTED = re.compile(r'"(?:[^"\\]|\\["\\/nt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4})*"|\'(?:[^\']|\'\')*\'')
_NOT_PLAIN = frozenset("|>[]{}&*!%@`\"',?:-")
"""First characters of values that are more than the text of their line."""
_LOOKS_LIKE = r"(?m)^[ \t]*(name|description|type|keys):[ \t]*(.*?)[ \t]*\r?$"


class QuickParse(NamedTuple):
    name: str
    description: str
    type: MemoryType | None
    keys: tuple[str, ...]
    body: str
    enforce: str = ""
    """What is refused because of it; empty: nothing."""
    author: str = ""
    """Who shared it with the team."""
    overrides: str = ""
    """The team's rule that the user has decided against with it."""


@lru_cache(maxsize=4096)
def quick_parse(data: bytes) -> QuickParse:
    """Read frontmatter with one key per line, as every client writes it; anything else is parsed, which takes longer.

    Broken frontmatter is read as it was probably meant: `description: first: this` is no YAML, and common.
    """
    text = data.decode("utf-8", "surrogateescape")
    found = _FRONTMATTER.match(text)
    if found is None:
        return QuickParse("", "", None, (), text)
    told = _plain_scalars(found[1].replace("\r\n", "\n"))
    if told is None:
        document = _parsed(data)
        if document.values:
            author, overrides = (str(document.metadata.get(key) or "") for key in ("author", "overrides"))
            return QuickParse(
                document.name,
                document.description,
                document.type,
                document.keys,
                document.body,
                document.enforce,
                author,
                overrides,
            )
        values = {key: value.strip("\"'") for key, value in re.findall(_LOOKS_LIKE, found[1])}
        inside = values
    else:
        values, inside = told
    return QuickParse(
        values.get("name", ""),
        values.get("description", ""),
        _kind(values.get("type", "")) or _kind(inside.get("type", "")),
        keys_in(inside.get("keys", "")) or keys_in(values.get("keys", "")),
        text[found.end() :],
        inside.get("enforce", ""),
        inside.get("author", ""),
        inside.get("overrides", ""),
    )


def _plain_scalars(block: str) -> tuple[dict[str, str], dict[str, str]] | None:
    """The scalars of a frontmatter and those inside its `metadata`; None where a line is not plainly one of them."""
    if any(character in block for character in _ODD):
        return None
    values: dict[str, str] = {}
    inside: dict[str, dict[str, str]] = {}
    place: dict[str, str] | None = None
    depth = ""
    for line in block.split("\n"):
        if _NO_LINE.fullmatch(line):
            continue
        found = _LINE.fullmatch(line)
        value = _scalar(found[3] or "") if found else None
        if found is None or value is None:
            return None
        indent, key = found[1], found[2]
        if not indent:
            values[key] = value
            inside[key] = {}
            place, depth = (None if value else inside[key]), ""
        elif place is None or indent != (depth or indent):
            return None
        else:
            depth = indent
            place[key] = value
    return values, inside.get("metadata", {})


def _scalar(written: str) -> str | None:
    """Value that ends with its line; None where it may go on."""
    if _QUOTED.fullmatch(written):
        if written[0] == "'":
            return written[1:-1].replace("''", "'")
        try:
            return str(json.loads(written))
        except ValueError:  # a control character, which YAML does not allow either
            return None
    plain = written.partition(" #")[0].rstrip(" ")
    if plain.startswith("#"):
        return ""
    return None if plain[:1] in _NOT_PLAIN or ": " in plain or plain.endswith(":") else plain


def _kind(text: str) -> MemoryType | None:
    return next((kind for kind in MEMORY_TYPES if kind == text), None)


def _parsed(data: bytes) -> Document:
    from memoryd.memory.document import parse  # noqa: PLC0415 - 50 ms that plain frontmatter does not cost

    return parse(data)
