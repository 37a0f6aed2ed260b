"""Excerpts of long messages: what a model is shown of one, and so what a memory can rest on. Pure."""

from __future__ import annotations

MESSAGE_CHARACTERS = 12_000
"""Of one message; a longer one is a paste."""


def cut(text: str, most: int) -> str:
    """Two thirds of the room for the beginning, the rest for the end."""
    text = text.strip()
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3].rstrip()} […] {text[-(most // 3) :].lstrip()}"
