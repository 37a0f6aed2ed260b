"""Hooks that older versions of memoryd put into Claude Code's settings: found in its text, and taken out. Pure.

Today's hooks are in the plugin.
"""

from __future__ import annotations

from memoryd.clients.json_entries import Before, UnusableError, entries_in, without_entries

__all__ = ["Before", "UnusableError", "events_with_hooks", "without_hooks"]


def events_with_hooks(text: str) -> tuple[str, ...]:
    """The events for which a hook of ours is in the settings, also where it does not count. Raises UnusableError."""
    return tuple(dict.fromkeys(entry.way[1] for entry in entries_in(text)))


def without_hooks(text: str, before: Before | None = None) -> str | None:
    """Without any hook of ours, and without what was made for them; None: the file is to go. Raises UnusableError."""
    return without_entries(text, before)
