"""What was said in turns that are known by their place in a transcript, and what the assistant saved in them."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from memoryd.model import Prompt, Reply, Said
from memoryd.transcripts import claude_calls, claude_code
from memoryd.transcripts.follow import open_transcript
from memoryd.transcripts.tail import whole_lines

if TYPE_CHECKING:
    from collections.abc import Iterable


class Place(NamedTuple):
    """Where a turn stands in its transcript."""

    prompt_id: str
    start: int
    end: int
    before: int | None = None
    """Where the turn before it begins; None where there is none."""
    before_ids: tuple[str, ...] = ()
    """The prompts of the turns before it, the last one first."""


class Heard(NamedTuple):
    """One turn: what the user said, what the assistant did and answered, and the memories that it wrote itself."""

    said: Said
    saved: tuple[str, ...] = ()
    reply: str = ""
    calls: tuple[str, ...] = ()


class _Rest(NamedTuple):
    """What followed a prompt."""

    answer: str
    saved: tuple[str, ...]
    calls: tuple[str, ...]


def read_turns(path: str, places: Iterable[Place], memory_dir: str, *, with_calls: bool = False) -> dict[str, Heard]:
    """The turns at these places, by the id of their prompt; one that is no longer there is left out.

    Tool calls are told only where somebody wants to know: they have to be parsed for it.

    Raises OSError and NotATranscriptError like `open_transcript`.
    """
    found: dict[str, Heard] = {}
    read: dict[int, _Rest] = {}
    descriptor = open_transcript(path)
    try:
        for place in places:
            prompt = _prompt_at(descriptor, place)
            if prompt is None:
                continue
            if place.before is not None and place.before not in read:
                read[place.before] = _rest(descriptor, place.before, place.start, memory_dir)
            read[place.start] = rest = _rest(descriptor, place.start, place.end, memory_dir, with_calls=with_calls)
            answer = read[place.before].answer if place.before is not None else ""
            said = Said(
                prompt.session_id, place.prompt_id, prompt.said_at, prompt.text, answer, prompt.cwd, place.before_ids
            )
            found[place.prompt_id] = Heard(said, rest.saved, rest.answer, rest.calls)
    finally:
        os.close(descriptor)
    return found


def _prompt_at(descriptor: int, place: Place) -> Prompt | None:
    for line in whole_lines(descriptor, place.start):
        for entry in claude_code.entries_of(line.data or b"", Counter()):
            if isinstance(entry, Prompt) and place.prompt_id in entry.ids:  # a copy, where the original is gone
                return entry
        return None  # only the line at this place counts
    return None


def _rest(descriptor: int, start: int, end: int, memory_dir: str, *, with_calls: bool = False) -> _Rest:
    """The assistant's last words between two places, and the files it wrote into its memory there."""
    answer = ""
    calls: list[str] = []
    saved: dict[str, str] = {}
    for line in whole_lines(descriptor, start):
        if line.start >= end:
            break
        data = line.data or b""
        if saved:
            for call in claude_calls.failed_calls(data):
                saved.pop(call, None)
        if not claude_code.may_be_a_reply(data):
            continue
        for entry in claude_code.entries_of(data, Counter()):
            if isinstance(entry, Reply) and entry.texts:
                answer = entry.texts[-1]
        saved |= claude_calls.saved_by(data, memory_dir)
        if with_calls:
            calls += claude_calls.calls_in(data)
    return _Rest(answer, tuple(dict.fromkeys(saved.values())), tuple(calls))
