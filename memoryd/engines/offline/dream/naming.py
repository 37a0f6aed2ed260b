"""Names of memories in progress lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.offline.classifier import TYPES

if TYPE_CHECKING:
    from memoryd.engines.offline.dream.draft import Draft

_MOST_CHARACTERS = 40


def name_in_words(draft: Draft, most_words: int = 3) -> str:
    """A few plain words: the name of its file without the type, or its title."""
    name = draft.files[0].rpartition("/")[2].removesuffix(".md") if draft.files else draft.title
    words = re.findall(r"[^\W_]+", name)
    if len(words) > 1 and words[0] in TYPES:
        words = words[1:]
    return " ".join(words[:most_words])[:_MOST_CHARACTERS].strip() or "a memory"
