"""The user's words of turns that are known by their place in a transcript."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from memoryd.model import Prompt, Said
from memoryd.transcripts import claude_code
from memoryd.transcripts.follow import open_transcript
from memoryd.transcripts.tail import whole_lines

if TYPE_CHECKING:
    from collections.abc import Iterable


def read_prompts(path: str, places: Iterable[tuple[str, int]]) -> dict[str, Said]:
    """The prompts with these ids, each at its byte offset; one that is no longer there is left out.

    Raises OSError and NotATranscriptError like `open_transcript`.
    """
    descriptor = open_transcript(path)
    try:
        found = {}
        for prompt_id, start in places:
            said = _prompt_at(descriptor, start, prompt_id)
            if said is not None:
                found[prompt_id] = said
        return found
    finally:
        os.close(descriptor)


def _prompt_at(descriptor: int, start: int, prompt_id: str) -> Said | None:
    for line in whole_lines(descriptor, start):
        for entry in claude_code.entries_of(line.data or b"", Counter()):
            if isinstance(entry, Prompt) and entry.ids[0] == prompt_id:
                return Said(entry.session_id, prompt_id, entry.said_at, entry.text)
        return None  # only the line at this place counts
    return None
