"""Context for a client without a memory of its own: what memories are, how to use them, and the index."""

from __future__ import annotations

import os
from typing import NamedTuple

from memoryd.memory.global_lines import HEADING, carries_global_lines, with_absolute_link
from memoryd.memory.index import as_loaded
from memoryd.memory.limits import INDEX_NAME, INDEX_SHOWN_BYTES, MOST_BYTES, MOST_LINES
from memoryd.security.redact import redact

GUIDE = """\
# Memory

You have memories of earlier sessions, one Markdown file each, in `{directory}`. Its index stands below; read a file when
its line has to do with the work at hand.

## What a memory is
- user: who the person is, what they know, want and like
- feedback: how to work: what was corrected, and what was approved
- project: the situation: dates, decisions, incidents, owners
- reference: where to look: trackers, dashboards, channels, documents

## Saving
memoryd reads the finished conversation and saves what is worth it; you need not. If you are asked to remember something,
write one file for one fact, with `name`, `description` and `type` in its frontmatter, and nothing into the index: that is
made by memoryd. Never save what the code, its history or the instruction files already say, how a bug was fixed, where
the task at hand stands, or a secret. Write dates as dates, not as "next week".

## Using
- A memory was true when it was written. Before you recommend a path, a function or a flag that it names, look whether
  it is still there; for the present state of things ask the repository (`git log`), not a memory.
- Where a memory and what you see disagree, trust what you see, and say so.
- Told to leave memory aside, act as if there were none.
"""
_CUT = "\n> Only a part of the index was loaded: it is longer than {limit}. What is further below is in the directory."


class LoadedIndex(NamedTuple):
    text: str
    """As a client loads it: cut, and warned where it was."""
    is_cut: bool


def index_of(memory_dir: str, most_characters: int = 0, global_dir: str = "") -> LoadedIndex:
    """The index of a directory, empty where there is none. `most_characters`: that a client takes of all.

    Where it has no lines of the global memories, as in a project that has no index yet, the global index stands below it.
    """
    text = _text_of(memory_dir)
    if carries_global_lines(memory_dir, global_dir) and HEADING not in text.split("\n"):
        others = [with_absolute_link(line, global_dir) for line in _text_of(global_dir).split("\n")]
        beside = "\n".join(others).strip()
        text = f"{text.rstrip()}\n\n{HEADING}\n{beside}\n".lstrip() if beside else text
    loaded, is_cut = as_loaded(text)
    limit = f"{MOST_LINES} lines or {MOST_BYTES // 1000} KB"
    if most_characters and len(loaded) > most_characters:
        loaded = loaded[: loaded.rfind("\n", 0, most_characters) + 1 or most_characters]
        is_cut, limit = True, f"{most_characters:,} characters"
    note = _CUT.format(limit=limit) if is_cut else ""
    return LoadedIndex(f"{loaded.rstrip()}\n{note}" if loaded.strip() else "", is_cut)


def _text_of(memory_dir: str) -> str:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open(os.open(os.path.join(memory_dir, INDEX_NAME), flags), "rb") as file:
            return redact(
                file.read(INDEX_SHOWN_BYTES).decode("utf-8", "replace")
            )  # a person may have written one there
    except OSError:
        return ""


def context_of(memory_dir: str, global_dir: str = "") -> str:
    """Everything: the guide, and the index as a client would load it."""
    index = index_of(memory_dir, global_dir=global_dir)
    return (
        f"{GUIDE.format(directory=memory_dir)}\n## {INDEX_NAME}\n{index.text or 'There are no memories yet.'}".rstrip()
    )
