"""Marks by which a user keeps a whole session out of memory."""

from __future__ import annotations

MARKERS = ("<memoryd-off>", "<memoryd-off/>", "DO NOT INDEX THIS CHAT")
"""In a prompt, wherever it stands. The last is what other tools agreed on."""


def is_opt_out(prompt: str) -> bool:
    return any(marker in prompt for marker in MARKERS)
