"""MEMORY.md: rebuilt by code from the live directory, never written by a model. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAME = "MEMORY.md"
MOST_LINES = 200
MOST_BYTES = 25_000
"""Clients cut the index here, and load only what stands above."""
WARN_LINES = 140
LINE_CHARACTERS = 150

_ENTRY = re.compile(r"\s*[-*+] \[(?P<title>[^\]\n]*)\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Topic:
    """What the index says of one topic file."""

    title: str
    hook: str


@dataclass(frozen=True, slots=True)
class Index:
    text: str
    left_out: tuple[str, ...] = ()
    """Topic files that have no line because the index is full, oldest first."""

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())


def rebuild(
    text: str,
    files: Mapping[str, int],
    topic: Callable[[str], Topic],
    *,
    refresh: Mapping[str, str | None] | None = None,
    exists: Callable[[str], bool] = lambda _path: False,
) -> Index:
    """The index for these topic files, from the one that is there.

    `files` maps names to their mtime; `topic` reads one and is asked only for files that need a new line. `refresh` maps
    files that this commit changes to the line that stood for them before: if a person has not touched that line, it is
    made anew. `exists` tells whether another relative link (`team/x.md`) leads somewhere.

    Every topic has one line, every line resolves. Lines that are still right stay as they are, and so do headings and
    free text; new lines go behind the last entry. If it grows past what clients load, the oldest entries are left out.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    kept: list[str] = []
    seen: set[str] = set()
    last_entry = -1
    for line in text.splitlines():
        name = entry_of(line)
        if name is None:
            kept.append(line)
            continue
        is_topic = name in files
        if name in seen or not (is_topic or _leads_elsewhere(name) or exists(name)):
            continue
        seen.add(name)
        if is_topic and refresh and name in refresh and refresh[name] in (None, line):
            line = entry(name, topic(name))  # noqa: PLW2901 - the line made anew
        kept.append(line)
        last_entry = len(kept) - 1
    fresh = [name for name in sorted(files, key=lambda one: (files[one], one)) if name not in seen]
    # Only as many as can ever be shown are read: of thousands without a line, the newest.
    skipped, fresh = (fresh[:-MOST_LINES], fresh[-MOST_LINES:]) if len(fresh) > MOST_LINES else ([], fresh)
    at = last_entry + 1 if last_entry >= 0 else len(kept)
    kept[at:at] = [entry(name, topic(name)) for name in fresh]
    kept, left_out = _within_limits(kept, files)
    result = newline.join(kept) + newline if kept else ""
    if text and not text.endswith(("\n", "\r")) and result.rstrip("\r\n") == text:
        result = text  # nothing changed: not even the missing newline at its end
    return Index(result, (*skipped, *left_out))


def entry(name: str, topic: Topic) -> str:
    """`- [Title](file.md) — hook`, at most 150 characters, cut at a word."""
    head = f"- [{_inline(topic.title).replace('[', '(').replace(']', ')')}]({quote(name)})"
    hook = _inline(topic.hook)
    room = LINE_CHARACTERS - len(head) - len(" — ")
    if not hook or room < len("word…"):
        return head
    if len(hook) > room:
        hook = hook[: room - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"
    return f"{head} — {hook}"


def entry_of(line: str) -> str | None:
    """The file that a line of the index stands for; None for headings, text and other lists."""
    match = _ENTRY.match(line)
    return unquote(match["target"]).removeprefix("./") if match else None


def as_loaded(text: str) -> tuple[str, bool]:
    """What a client loads of an index, and whether that is not all of it."""
    lines = text.splitlines(keepends=True)
    cut = "".join(lines[:MOST_LINES])
    data = cut.encode("utf-8", "surrogateescape")
    if len(data) > MOST_BYTES:
        cut = data[: data.rfind(b"\n", 0, MOST_BYTES) + 1].decode("utf-8", "surrogateescape")
    return cut, cut != text


def _within_limits(lines: list[str], files: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Leave out entries of the oldest topics until the rest fits. A person's own lines are never left out."""
    sizes = [len(line.encode("utf-8", "surrogateescape")) + 1 for line in lines]
    size, number = sum(sizes), len(lines)
    where = {entry_of(line): position for position, line in enumerate(lines)}
    left_out: dict[str, int] = {}
    for name in sorted(files, key=lambda one: (files[one], one)):
        if number <= MOST_LINES and size <= MOST_BYTES:
            break
        if (position := where.get(name)) is not None:
            left_out[name] = position
            size -= sizes[position]
            number -= 1
    gone = set(left_out.values())
    return [line for position, line in enumerate(lines) if position not in gone], list(left_out)


def _leads_elsewhere(target: str) -> bool:
    """A link that is no topic file of this directory: a web page, a place in a file."""
    return "://" in target or target.startswith(("#", "mailto:"))


def _inline(text: str) -> str:
    return " ".join(text.split())
