"""Invisible characters: programs read them, people do not see them, so they can hide text from a person."""

from __future__ import annotations

import re

_EMPTY = "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e00ff"
"""Zero width, direction, and the tag characters, which spell a text that is not shown."""
_JOINERS = "\u200c\u200d"
_JOINED = "\u0600-\u061b\u061d-\u180d\u180f-\u1aff\u2190-\u2bff\ufe0f\U00010a00-\U00011fff\U0001f000-\U0001faff"
"""What a joiner may stand behind: letters of scripts from Arabic to Mongolian, symbols, emoji."""
_VARIANTS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
"""One of them selects a form of the character before it; a row of them is a hidden text."""
ANY = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef"
"""All of them in few ranges: a search is as slow as the ranges are many."""
_INVISIBLE = f"[{ANY}](?:(?<=[{_EMPTY}])|(?<=[{_JOINERS}])(?<![{_JOINED}][{_JOINERS}])|(?<=[{_VARIANTS}][{_VARIANTS}]))"


def without_invisible(text: str) -> str:
    """Drop every character that shows nothing and says nothing.

    The joiners U+200C and U+200D are spelling in Persian and Indic scripts and hold emoji together: one of them stays
    behind a character that can be joined. The flag of a region is spelled with tag characters and becomes a black flag.
    """
    return text if text.isascii() else re.sub(_INVISIBLE, "", text)  # compiled only if needed: a hook has no time
