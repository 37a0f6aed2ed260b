"""Text that a call writes, beside what a memory forbids to write. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.rules.call_words import is_prose

if TYPE_CHECKING:
    from memoryd.rules.calls import Call
    from memoryd.rules.match import StoredTrigger


def has(trigger: StoredTrigger, call: Call) -> bool:
    """Whether a call writes a piece of code where a memory forbids it."""
    is_sql = any(path.endswith(".sql") for path in call.changed)
    return _is_in(trigger.scope, call) and _has_piece(trigger.pattern, call.written, is_sql=is_sql)


def _is_in(scope: str, call: Call) -> bool:
    """Whether something is written where a memory holds; what a text for people tells of is not done there."""
    endings = tuple(part[1:] for part in scope.split() if part.startswith("*."))
    folders = [part.strip("/") for part in scope.split() if not part.startswith("*.")]
    if endings and call.changed and not any(path.lower().endswith(endings) for path in call.changed):
        return False
    if not folders:
        return not is_prose(call)
    return any(f"/{folder}/" in f"/{path}" for folder in folders for path in call.changed)


def _has_piece(code: str, text: str, *, is_sql: bool) -> bool:
    """Whether a text has a piece of code, as a whole word; in SQL capitals make no difference."""
    if is_sql:
        code, text = code.lower(), text.lower()
    words = code.split()
    if not words or not all(word in text for word in words):  # a pattern takes long to make
        return False
    before = r"(?<!\w)" if code[0].isalnum() else ""
    behind = r"(?!\w)" if code[-1].isalnum() else ""
    piece = r"\s+".join(map(re.escape, words))
    return re.search(f"{before}{piece}{behind}", text) is not None
