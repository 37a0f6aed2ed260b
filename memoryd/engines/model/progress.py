"""Progress of a dream, told from the agent's calls: the phase, and a line of three to five words. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from memoryd.engines.model.dream_brief import INSTRUCTIONS, LOGS, REPOSITORY, TRANSCRIPTS
from memoryd.language.date_words import count_in_words
from memoryd.memory.limits import INDEX_NAME
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.engines.model.agent import ToolCallDone

Phase = Literal["orient", "gather", "consolidate", "prune"]
_WRITING = ("Edit", "Write")
_MOST_WORDS = 3
_SEARCHED_WORDS = 2
_SEARCHED_CHARACTERS = 24
_TYPED = re.compile(r"^(?:user|feedback|project|reference)[_-]+")
_WORD = re.compile(r"[^\W_]+")


def phase_of(ran: Sequence[ToolCallDone], before: Phase) -> Phase:
    """Where a turn is: what it writes tells most, then where it looks. A look back does not lead back."""
    written = [one for one in ran if one.result.changed]
    if written:
        return "prune" if all(map(_removes, written)) else "consolidate"
    if before in ("consolidate", "prune"):
        return before if ran else "prune"
    return "gather" if any(one.tool == "Grep" or _folder(one) for one in ran) else before


def line_of(ran: Sequence[ToolCallDone]) -> str:
    """What a turn is about: its writes before its looks, of which the last one counts."""
    written = [one for one in ran if one.result.changed]
    if written:
        names = list(dict.fromkeys(str(one.given["file_path"]) for one in written))
        removed = [one for one in written if _removes(one)]
        if removed and len(removed) < len(written):
            return merging(names)
        verb = "Removing" if removed else "Writing" if _makes(written[-1]) else "Updating"
        return f"{verb} {topic_of(str(written[-1].given['file_path']))}"
    return _looking(ran[-1]) if ran else "Finishing the consolidation"


def merging(names: Sequence[str]) -> str:
    """A line like "Merging two deploy notes", after the word that the names share, or the first of them."""
    words = [_words(name) for name in names]
    shared = [word for word in words[0] if all(word in other for other in words[1:])]
    number = count_in_words(len(names))
    return f"Merging {number} {(shared or words[0])[0]} notes"


def topic_of(name: str) -> str:
    """What a memory is about, by its file: `feedback_review_size.md` is "review size"; of one word, "the mocks note"."""
    words = _words(name)[:_MOST_WORDS]
    return " ".join(words) if len(words) > 1 else f"the {words[0]} note"


def _words(name: str) -> list[str]:
    return _WORD.findall(_TYPED.sub("", name.removesuffix(".md").lower())) or ["nameless"]


def _looking(one: ToolCallDone) -> str:
    folder = _folder(one)
    if one.tool == "Grep":
        words = " ".join(_WORD.findall(redact(str(one.given.get("pattern", ""))))[:_SEARCHED_WORDS])
        return f'Searching for "{words[:_SEARCHED_CHARACTERS]}"' if words else "Searching the memories"
    if folder:
        things = {LOGS: "the daily logs", INSTRUCTIONS: "the instructions", TRANSCRIPTS: "a past session"}
        return f"Reading {things.get(folder, 'the repository')}"
    if one.tool == "Read":
        name = str(one.given.get("file_path", ""))
        return "Reading the index" if name == INDEX_NAME else f"Reading {topic_of(name.rpartition('/')[2])}"
    return f"Trying {topic_of(str(one.given.get('file_path', '')))}" if one.tool in _WRITING else "Listing the memories"


def _folder(one: ToolCallDone) -> str:
    """The folder beside the memories that a look is into."""
    given: dict[str, Any] = one.given
    places = " ".join(str(given.get(key, "")) for key in ("file_path", "path", "glob", "command"))
    found = re.search(rf"(?<![\w/.-])(?:\./)?({LOGS}|{INSTRUCTIONS}|{REPOSITORY}|{TRANSCRIPTS})(?=/|\s|$)", places)
    return found[1] if found and one.tool not in _WRITING else ""


def _removes(one: ToolCallDone) -> bool:
    return one.tool == "Write" and not one.given.get("content")


def _makes(one: ToolCallDone) -> bool:
    return one.tool == "Write"
