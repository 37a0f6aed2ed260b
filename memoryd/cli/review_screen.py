"""Rows of the inbox as a person sees them: what would be told, the words behind it, the doubt; and their list."""

from __future__ import annotations

import difflib
from datetime import datetime
from typing import TYPE_CHECKING

from memoryd.cli.screen import Column, Gap, Paragraph, Table, bad, dim, good, strong, warn
from memoryd.formatting import short
from memoryd.memory.document import parse
from memoryd.memory.history import diff
from memoryd.review.inbox import difference_from

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memoryd.cli.screen import Block, Word, Words
    from memoryd.model import Evidence, FileChange
    from memoryd.state.inbox import InboxRow

_WORDS_SHOWN = 2
_SESSION_LETTERS = 8
_HEADER_LINES = 2
_BOOKKEEPING = ("name", "description", "type", "metadata", "originSessionId", "evidence", "modified")
_PARTS = ("**Why:**", "**How to apply:**")


def row_blocks(
    row: InboxRow, place: str, changes: Sequence[FileChange], *, is_stale: bool, project: str = ""
) -> Iterator[Block]:
    """One row: `3 of 7 · feedback_x.md · held`, and all that a person needs to answer it."""
    title: list[str | Word] = [strong(place), " · ", strong(row.first.name), " · ", warn(row.held.state)]
    yield Gap()
    yield Paragraph([*title, dim(f" · {project}")] if project else title)
    if is_stale:
        yield Paragraph(warn("It was changed since: this is the difference to the file as it is now."))
    yield Gap()
    for change in changes:
        if len(changes) > 1:
            yield Paragraph(dim(change.name))
        yield from told_blocks(change)
    yield Gap()
    pieces = list(dict.fromkeys(piece for _, piece in row.group.evidence))
    for piece in pieces[-_WORDS_SHOWN:]:
        yield Paragraph([dim(_said_when(piece, piece.session_id[:_SESSION_LETTERS])), f'"{piece.quote}"'])
    if len(pieces) > _WORDS_SHOWN:
        yield Paragraph(dim(f"and {len(pieces) - _WORDS_SHOWN} more: w shows them"))
    yield Paragraph([dim("the doubt: "), row.held.reason])


def told_blocks(change: FileChange) -> Iterator[Block]:
    """Lines that come and go, without what only memoryd reads; the file itself where nothing else differs."""
    lines = list(difflib.unified_diff(told_lines(change.before), told_lines(change.after), n=0, lineterm=""))
    if not lines:
        yield from difference_blocks([change])
    for line in lines[_HEADER_LINES:]:
        if not line.startswith("@@"):
            told = f"{line[0]} {line[1:]}"
            yield Paragraph(good(told) if line[0] == "+" else bad(told))


def told_lines(data: bytes | None) -> list[str]:
    """What a memory tells: its type, its body, and of the frontmatter what the body does not say."""
    document = parse(data or b"")
    lines = [line for line in document.body.splitlines() if line.strip()]
    if document.problem or not document.body_start:
        return lines
    fields = document.values | document.metadata
    told = [f"{name}: {value}" for name, value in fields.items() if name not in _BOOKKEEPING]
    if _letters(document.description) not in _letters(document.body):
        told.insert(0, f"description: {document.description}")
    return [f"type: {document.type or 'none'}", *told, *lines]


def _letters(text: str) -> str:
    """A text without what sets its words apart, and without the names of its parts."""
    for part in _PARTS:
        text = text.replace(part, "")
    return "".join(letter for letter in text.lower() if letter.isalnum())


def difference_blocks(changes: Sequence[FileChange]) -> Iterator[Block]:
    """A unified difference of each file that would change."""
    for change in changes:
        for number, line in enumerate(diff(change).splitlines()):
            if number < _HEADER_LINES or line.startswith("@@"):
                yield Paragraph(dim(line))
            else:
                yield Paragraph(good(line) if line.startswith("+") else bad(line) if line.startswith("-") else line)


def evidence_blocks(row: InboxRow, turns: Mapping[str, tuple[str, str, str]]) -> Iterator[Block]:
    """Everything that a row rests on; `turns` has, by message, what was answered before it, what was said, and the reply."""
    yield Paragraph(row.group.why)
    if not row.group.evidence:
        yield Paragraph(dim("It rests on no words of yours, but on what the memories say already."))
    for name, piece in row.group.evidence:
        yield Gap()
        yield Paragraph([dim(f"{name}: {_said_when(piece, piece.session_id)}"), f'"{piece.quote}"'])
        for who, text in zip(
            ("the agent, before", "you", "the agent, then"), turns.get(piece.message_id, ()), strict=False
        ):
            for number, line in enumerate(text.strip().splitlines()):
                yield Paragraph([dim(f"{who}: "), line] if number == 0 else line, 2)


def list_blocks(rows: Sequence[InboxRow], home: str, *, with_project: bool) -> Iterator[Block]:
    cells: list[list[Words]] = [
        [
            str(row.id),
            row.held.state,
            op_of(row.first),
            *([short(row.project, home)] if with_project else []),
            row.first.name,
            f"In place of {row.replaced.name}. {row.held.reason}" if row.replaced else row.held.reason,
        ]
        for row in rows
    ]
    columns = [
        Column(is_number=True),
        Column(),
        Column(),
        *([Column()] if with_project else []),
        Column(most=40),
        Column(),
    ]
    yield Table(columns, cells)


def op_of(change: FileChange) -> str:
    return "remove" if change.after is None else "write"


def changes_of(row: InboxRow, current: Mapping[str, bytes | None], text: bytes | None) -> tuple[FileChange, ...]:
    """Changes that a yes would make to the files as they are now, with the user's own text of the first."""
    first, *others = difference_from(row, current)
    return (first if text is None else first._replace(after=text), *others)


def _said_when(piece: Evidence, session: str) -> str:
    when = f", {datetime.fromtimestamp(piece.said_at).astimezone():%Y-%m-%d}" if piece.said_at else ""
    return f"you said{when}{f', in session {session}' if session else ''}: "
