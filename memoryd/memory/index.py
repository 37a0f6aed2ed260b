"""MEMORY.md: rebuilt by code from the live directory, never written by a model. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from memoryd.memory.limits import MOST_BYTES, MOST_LINES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoryd.model import IndexEdit

LINE_CHARACTERS = 150

# Brackets in a title and parentheses in a name count where they are balanced, as in Markdown.
_ENTRY = re.compile(
    r"\s*[-*+][ \t]+\[(?:[^\[\]]|\[[^\[\]]*+\])*+\]"
    r"\((?:<(?P<angled>[^<>]+)>|(?P<target>(?:[^()\s]|\([^()\s]*+\))++))\)"
)
# What would end the link or mean something else in it. The rest stays readable: agents open files by what stands here.
_TO_QUOTE = re.compile(r"[\s()<>%#?:\\\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_CONTENT_WORD = re.compile(r"[^\W_]{3,}|\d[\d.,:/-]*|[\u3040-\u9fff]{2}")
_ROUND = str.maketrans("[]", "()")
_UNFIT = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")


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
        return self.text.count("\n") + (not self.text.endswith("\n") and self.text != "")


def rebuild(
    text: str,
    files: Mapping[str, int],
    topic: Callable[[str], Topic],
    *,
    refresh: Mapping[str, str | None] | None = None,
    changed: Mapping[str, tuple[str, str]] | None = None,
    exists: Callable[[str], bool] = lambda _path: False,
) -> Index:
    """The index for these topic files, from the one that is there.

    `files` maps names to their mtime; `topic` reads one and is asked only for files that need a new line. `refresh` maps
    files that this commit changes to the line that stood for them before: if a person has not touched that line, it is
    made anew. `changed` maps them to what they said and what they say: a line in a person's words that tells what is no
    longer said keeps its title and gets the file's own description. `exists` tells whether another relative link (`team/x.md`) leads somewhere.

    Every topic has one line, every line resolves. Lines that are still right stay as they are, and so do headings and
    free text; new lines go behind the last entry. If it grows past what clients load, the oldest entries are left out.
    """
    # Two rounds at most: a long entry that is left out may make room for the shorter line that code would write.
    while (built := _rebuild_once(text, files, topic, refresh or {}, changed or {}, exists)).left_out and (
        built.text != text
    ):
        text = built.text
    return built


def _rebuild_once(
    text: str,
    files: Mapping[str, int],
    topic: Callable[[str], Topic],
    refresh: Mapping[str, str | None],
    changed: Mapping[str, tuple[str, str]],
    exists: Callable[[str], bool],
) -> Index:
    newline = "\r\n" if "\r\n" in text else "\n"
    kept: list[str] = []
    seen: set[str] = set()
    last_entry = -1
    for line in _lines(text):
        name = entry_of(line)
        if name is None:
            kept.append(line)
            continue
        is_topic = name in files
        if name in seen or not (is_topic or exists(name)):
            continue
        seen.add(name)
        bare = line.rstrip("\r\n")
        if is_topic and name in refresh and refresh[name] in (None, bare):
            line = entry(name, topic(name)) + line[len(bare) :]  # noqa: PLW2901 - the line made anew
        elif name in changed and _is_stale(hook_of(bare), *changed[name]):
            line = entry(name, Topic(title_of(bare), topic(name).hook)) + line[len(bare) :]  # noqa: PLW2901
        kept.append(line)
        last_entry = len(kept) - 1
    by_age = sorted(files, key=lambda name: (files[name], name))
    # Only files that can get a line are read: the oldest, with a line or without, are left out first.
    newest = set(by_age[-MOST_LINES:])
    skipped = [name for name in by_age if name not in seen and name not in newest]
    fresh = [name for name in by_age if name not in seen and name in newest]
    at = last_entry + 1 if last_entry >= 0 else len(kept)
    if fresh and at and not kept[at - 1].endswith("\n"):
        kept[at - 1] += newline
    kept[at:at] = [entry(name, topic(name)) + newline for name in fresh]
    kept, left_out = _within_limits(kept, files)
    return Index("".join(kept), tuple(sorted((*skipped, *left_out), key=lambda name: (files[name], name))))


def edited(text: str, edit: IndexEdit) -> str:
    """The index with what a changeset asks for beside its entries.

    Passages are taken out where they stand as they were read. A change that is taken back puts the index back as it was;
    where somebody has edited it since, what the change had taken out of it comes back at its end.
    """
    for passage in edit.without:
        text = text.replace(passage, "", 1)
    if edit.shortened:
        text = "".join(_shortened(line) if entry_of(line) in edit.shortened else line for line in _lines(text))
    if edit.was is None:
        return text
    before = (edit.shall_be or b"").decode("utf-8", "surrogateescape")
    after = edit.was.decode("utf-8", "surrogateescape")
    if text == after:
        return before
    text = _with_entries_of(before, after, text)
    there = {*_lines(text), *_lines(after)}
    taken_out = [line for line in _lines(before) if line.strip() and entry_of(line) is None and line not in there]
    return "\n".join([text.rstrip("\n"), *[line.rstrip("\n") for line in taken_out]]) + "\n" if taken_out else text


def _with_entries_of(before: str, after: str, text: str) -> str:
    """Text with the entries that a change had removed or rewritten as they were, where nobody has edited them since."""
    lines = _lines(text)
    made, now = ({entry_of(line): line for line in _lines(index)} for index in (after, text))
    for line in _lines(before):
        name = entry_of(line)
        if name is None or made.get(name) == line or now.get(name) != made.get(name):
            continue
        if name in now:
            lines[lines.index(now[name])] = line
        else:
            last = max((at for at, kept in enumerate(lines) if entry_of(kept)), default=len(lines) - 1)
            lines.insert(last + 1, line if line.endswith("\n") else line + "\n")
    return "".join(lines)


def _is_stale(hook: str, before: str, after: str) -> bool:
    """Whether a line has words of a memory that are no longer in it."""
    told, was, now = (set(_CONTENT_WORD.findall(text.casefold())) for text in (hook, before, after))
    return bool(told & was - now)


def title_of(line: str) -> str:
    match = _ENTRY.match(line)
    return match[0].partition("[")[2].rpartition("](")[0] if match else ""


def is_too_long(line: str) -> bool:
    return len(line.rstrip("\r\n")) > LINE_CHARACTERS


def hook_of(line: str) -> str:
    """What an entry says behind its link."""
    match = _ENTRY.match(line)
    return line[match.end() :].strip(" \t\r\n—–-:") if match else ""  # noqa: RUF001 - dashes that people write


def _shortened(line: str) -> str:
    """Line with a person's own title and words, cut to the limit."""
    match, name = _ENTRY.match(line), entry_of(line)
    if match is None or name is None or not is_too_long(line):
        return line
    end = line[len(line.rstrip("\r\n")) :]
    return entry(name, Topic(title_of(line), hook_of(line))) + end


def entry(name: str, topic: Topic, *, counts_link: bool = True) -> str:
    """`- [Title](file.md) — hook`, at most 150 characters, cut at a word. Only a long file name makes it longer.

    Without `counts_link` the 150 are for what a person reads: an absolute link leads into another directory.
    """
    link = _link_to(name)
    most = LINE_CHARACTERS - (len(link) if counts_link else len("]()"))
    title = _cut(_inline(topic.title).translate(_ROUND), max(most - len("- ["), 1))
    head = f"- [{title}{link}"
    room = most - len("- [") - len(title) - len(" — ")
    hook = _inline(topic.hook)
    return f"{head} — {_cut(hook, room)}" if hook and room >= len("word…") else head


def _link_to(name: str) -> str:
    return f"]({_TO_QUOTE.sub(lambda match: quote(match[0], safe='', errors='surrogateescape'), name)})"


def link_to(name: str) -> bytes:
    """The bytes by which an entry leads to a file."""
    return _link_to(name).encode("utf-8", "surrogateescape")


def entry_of(line: str) -> str | None:
    """The file that a line of the index stands for; None for headings, text, other lists and links to elsewhere."""
    match = _ENTRY.match(line)
    if match is None:
        return None
    target = match["angled"] or match["target"]
    if "://" in target or target.startswith(("#", "mailto:")):
        return None
    return unquote(target, errors="surrogateescape").removeprefix("./")


def as_loaded(text: str) -> tuple[str, bool]:
    """Part of an index that a client loads, and whether it is cut."""
    cut = "".join(_lines(text)[:MOST_LINES])
    data = cut.encode("utf-8", "surrogateescape")
    if len(data) > MOST_BYTES:
        cut = data[: data.rfind(b"\n", 0, MOST_BYTES) + 1].decode("utf-8", "surrogateescape")
    return cut, cut != text


def _within_limits(lines: list[str], files: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Leave out entries of the oldest topics until the rest fits. A person's own lines and the newest topic stay."""
    sizes = [len(line.encode("utf-8", "surrogateescape")) for line in lines]
    size, number = sum(sizes), len(lines)
    where = {entry_of(line): position for position, line in enumerate(lines)}
    left_out: dict[str, int] = {}
    for name in sorted(files, key=lambda name: (files[name], name))[:-1]:
        if number <= MOST_LINES and size <= MOST_BYTES:
            break
        if (position := where.get(name)) is not None:
            left_out[name] = position
            size -= sizes[position]
            number -= 1
    gone = set(left_out.values())
    return [line for position, line in enumerate(lines) if position not in gone], list(left_out)


def _lines(text: str) -> list[str]:
    """Lines with their ends. Not `splitlines`, which also splits at form feeds and line separators."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _inline(text: str) -> str:
    return " ".join(_UNFIT.sub(" ", text).split())


def _cut(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    return text[: room - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"
