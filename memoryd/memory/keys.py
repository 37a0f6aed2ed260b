"""Keys of a memory: words and questions that a later prompt may use for it; searched, never shown. Pure.

Keys state nothing, and nothing of them reaches a body. They are short pieces on one line; other text given for a key is
left out. Review checks that a model's keys name nothing that was never named.
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
"""An address would be a fact, and a redaction mark replaces a secret."""


def keys_in(value: Any) -> tuple[str, ...]:
    """The keys in a value of the frontmatter: a string of them with semicolons between, or a list."""
    if not value:
        return ()
    texts = value if isinstance(value, list) else [value]
    return bounded(part for text in texts if isinstance(text, str) for part in _BETWEEN.split(text))


def bounded(parts: Iterable[str]) -> tuple[str, ...]:
    """Keys from these parts: each once, on one line, limited in number and length; others are left out."""
    found: dict[str, str] = {}
    for part in parts:
        key = " ".join(part.split())
        if key and len(key) <= LONGEST and key.isprintable() and not _NO_KEY.search(key):
            found.setdefault(key.casefold(), key)
        if len(found) == MOST:
            break
    return tuple(found.values())


def joined(keys: Iterable[str]) -> str:
    """Keys as one scalar, without those that hold a secret; empty where all of them together would be one."""
    from memoryd.security.redact import find_secret  # noqa: PLC0415 - 40 ms that who only reads them need not pay

    parts = bounded(part for key in keys for part in _BETWEEN.split(key))
    text = "; ".join(key for key in parts if find_secret(key) is None)
    return text if find_secret(f'keys: "{text}"') is None else ""
