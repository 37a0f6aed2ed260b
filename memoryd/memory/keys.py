"""The keys of a memory: words and questions that a later prompt may use for it, only ever searched, never read. Pure.

They are nobody's statements: none is lost with them, and nothing of them reaches a body. So they are kept to what a search
needs, short pieces on one line, and whatever else is given for one is left out. That a model's keys name nothing which was
never named is for the jobs to see.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 24
LONGEST = 80
"""Characters of one key; a longer one is a statement."""
_BETWEEN = re.compile("[;\uff1b]")
_NO_KEY = re.compile(r"://|\[redacted\b")
"""An address would be a fact, and a mark stands for something that nobody may search for."""


def keys_in(value: Any) -> tuple[str, ...]:
    """The keys in a value of the frontmatter: a string of them with semicolons between, or a list."""
    texts = value if isinstance(value, list) else [value]
    return bounded(part for text in texts if isinstance(text, str) for part in _BETWEEN.split(text))


def bounded(parts: Iterable[str]) -> tuple[str, ...]:
    """These as keys: each once, on one line, and not too many; what can be none is left out."""
    found: dict[str, str] = {}
    for part in parts:
        key = " ".join(part.split())
        if key and len(key) <= LONGEST and key.isprintable() and not _NO_KEY.search(key):
            found.setdefault(key.casefold(), key)
        if len(found) == MOST:
            break
    return tuple(found.values())


def joined(keys: Iterable[str]) -> str:
    """The keys as one scalar, without those that hold a secret; empty where only all of them together would be one."""
    from memoryd.security.redact import find_secret  # noqa: PLC0415 - 40 ms that who only reads them need not pay

    parts = bounded(part for key in keys for part in _BETWEEN.split(key))
    text = "; ".join(key for key in parts if find_secret(key) is None)
    return text if find_secret(f'keys: "{text}"') is None else ""
