"""Context that hooks have added to a prompt of Gemini CLI: it stands before the user's words, or in a part of its own."""

from __future__ import annotations

import re

_HOOK = re.compile(r"\s*<hook_context>.*?(?:</hook_context>|\Z)\s*", re.DOTALL)
"""It is escaped, so that the first closing tag is its own."""


def without_hook_context(text: str) -> str:
    while found := _HOOK.match(text):
        text = text[found.end() :]
    return text
