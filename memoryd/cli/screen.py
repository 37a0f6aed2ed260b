"""Screens: one description, shown in colour on a terminal and as plain text elsewhere.

A screen is a list of blocks:

- `Paragraph(words, indent=0)`: a line, or several where it does not fit.
- `Rows(pairs)`: names and what is said of them, in two columns.
- `Table(columns, rows)`: the last column takes the room that is left; where there is too little of it, its cells go below
  the others, and so does a single one with a word that does not fit. A row may be shorter than the columns.
- `Command(text, before="fix: ")`: what a person copies; never broken into lines by us.
- `Section(title, blocks)`: a title, and blocks below it, indented.
- `Gap()`: an empty line. Sections bring their own.

Words are a string, a `Word` with a meaning, or a list of both: `["saved ", strong("a.md"), dim(" 3 min ago")]`. Meanings,
not colours: `good`, `warn`, `bad`, `dim`, `strong`. Nobody escapes anything: all text goes through `formatting.shown`, and what
the terminal cannot write is spelt in ASCII.

    Screen(context.environment).show([Section("problems", [Paragraph(bad("It hurts.")), Command("memoryd retry")])])

On a terminal rich does it: width, wrapping, NO_COLOR, wide letters; TERM=dumb means no escape codes. Lines end between words:
the name of a file that is wider than the terminal is left to it, so that it can be copied whole. Without a terminal the text is never wrapped, so that a line can be found with grep, and rich is not imported.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Sequence
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple, TextIO

from memoryd.formatting import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rich.console import Console, RenderableType
    from rich.text import Text

Meaning = Literal["", "good", "warn", "bad", "dim", "strong"]

_STYLES: dict[Meaning, str] = {
    "": "",
    "good": "green",
    "warn": "yellow",
    "bad": "bold red",
    "dim": "dim",
    "strong": "bold",
}
_SPELT = str.maketrans({"—": "-", "–": "-", "…": "...", "·": "|", "●": "*", "○": "o", "→": "->", "×": "x", "≥": ">="})  # noqa: RUF001
_DUMB = ("", "dumb", "unknown")
_BETWEEN = "  "
_INDENT = 2
_LEAST_LAST = 28
"""A last column narrower than this goes below the others."""
_PLAIN_MOST = 60
"""Widest column in plain text; a wider cell shifts the rest of its row."""
_DEFAULT_WIDTH = 80
_LEAST_WIDTH = 20


class Word(NamedTuple):
    text: str
    meaning: Meaning = ""


Words = str | Word | Sequence[str | Word]


def good(text: str) -> Word:
    return Word(text, "good")


def warn(text: str) -> Word:
    return Word(text, "warn")


def bad(text: str) -> Word:
    return Word(text, "bad")


def dim(text: str) -> Word:
    return Word(text, "dim")


def strong(text: str) -> Word:
    return Word(text, "strong")


class Paragraph(NamedTuple):
    words: Words
    indent: int = 0


class Rows(NamedTuple):
    pairs: Sequence[tuple[str, Words]]


class Column(NamedTuple):
    title: str = ""
    is_number: bool = False
    """Numbers stand at the right."""
    most: int = 24
    """Wider cells wrap on a terminal; plain text has the room."""


class Table(NamedTuple):
    columns: Sequence[Column]
    rows: Sequence[Sequence[Words]]


class Command(NamedTuple):
    text: str
    before: str = "fix: "


class Section(NamedTuple):
    title: Words
    blocks: Sequence[Block]


class Gap(NamedTuple):
    pass


Block = Paragraph | Rows | Table | Command | Section | Gap


class Screen:
    """Where blocks are shown: a stream, and what the environment says of the terminal behind it."""

    def __init__(self, environment: Mapping[str, str], stream: TextIO | None = None) -> None:
        self._environment = environment
        self._stream = stream or sys.stdout or io.StringIO()  # None if the process was started with a closed output
        self.is_terminal = self._stream.isatty()
        self.can_redraw = self.is_terminal and environment.get("TERM", "") not in _DUMB
        self._encoding = self._encoding_of()

    def show(self, blocks: Iterable[Block]) -> None:
        self._stream.writelines(f"{line}\n" for line in self.lines(blocks))

    def write(self, codes: str) -> None:
        """Write escape codes and lines that this screen made, and flush."""
        self._stream.write(codes)
        self._stream.flush()

    def lines(self, blocks: Iterable[Block], *, is_whole: bool = True) -> list[str]:
        """The screen as lines, with escape codes on a terminal. `is_whole`: commands and words as long as they are."""
        if self.is_terminal:
            return [line for block in blocks for line in self._drawn(block, 0, is_whole=is_whole)]
        return [line for block in blocks for line in _plain(block, 0, self._text)]

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines of the terminal, as they are now."""
        try:
            columns, lines = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            columns, lines = 0, 0
        named = self._environment.get("COLUMNS", "")
        return columns or (int(named) if named.isdecimal() and int(named) else _DEFAULT_WIDTH), lines or 24

    def _encoding_of(self) -> str:
        """Encoding of the terminal: Python writes UTF-8 also in the C locale, which the terminal may not understand."""
        chosen = next(filter(None, map(self._environment.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "")
        if chosen in ("C", "POSIX"):
            return "ascii"
        return getattr(self._stream, "encoding", None) or "utf-8"

    def _text(self, text: str) -> str:
        """Safe for a terminal, and in letters that can be written."""
        text = shown(text)
        if text.isascii():
            return text
        try:
            text.encode(self._encoding)
        except UnicodeEncodeError:
            return text.translate(_SPELT).encode(self._encoding, "backslashreplace").decode(self._encoding)
        return text

    # --- on a terminal ----------------------------------------------------------------------------------------------

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(
            file=self._stream,
            force_terminal=True,
            color_system="auto" if self.can_redraw else None,
            no_color=bool(self._environment.get("NO_COLOR")),
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
            _environ=self._environment,
        )

    def _drawn(self, block: Block, indent: int, *, is_whole: bool) -> Iterator[str]:
        match block:
            case Paragraph(words, more):
                yield from self._rendered(self._rich(words), indent + more, is_whole=is_whole)
            case Rows(pairs):
                yield from self._table([Column(), Column()], [[dim(a), b] for a, b in pairs], indent, is_whole=is_whole)
            case Table(columns, rows):
                yield from self._table(columns, rows, indent, is_whole=is_whole)
            case Command(text, before):
                yield from self._rendered(self._rich([dim(before), text]), indent, is_whole=is_whole, is_line=is_whole)
            case Section(title, blocks):
                yield ""
                title = strong(title) if isinstance(title, str) else title
                yield from self._rendered(self._rich(title), indent, is_whole=is_whole)
                for inner in blocks:
                    yield from self._drawn(inner, indent + _INDENT, is_whole=is_whole)
            case Gap():
                yield ""

    def _table(
        self, columns: Sequence[Column], rows: Sequence[Sequence[Words]], indent: int, *, is_whole: bool
    ) -> Iterator[str]:
        last = len(columns) - 1
        widths = [
            max(width, _widest_word((row[number] for row in rows if number < len(row)), self._text) if is_whole else 0)
            for number, width in enumerate(_widths(columns[:-1], rows, self._text))
        ]
        room = self._width(indent) - sum(widths) - len(_BETWEEN) * len(widths)
        cells = [row[last] for row in rows if len(row) > last]
        longest = max((_width(_joined(cell, self._text)) for cell in cells), default=0)
        has_room = room >= min(_LEAST_LAST, longest)

        def fits(row: Sequence[Words]) -> bool:
            return has_room and (not is_whole or _widest_word(row[last:], self._text) <= room)

        has_title = has_room and any(column.title for column in columns)
        for is_fitting, some in groupby(rows, fits):
            if is_fitting or has_title:
                fitting = list(some) if is_fitting else []
                yield from self._rendered(self._grid(columns, widths, fitting, has_title=has_title), indent)
            has_title = False
            for row in () if is_fitting else some:
                yield from self._stacked(columns, row, indent, is_whole=is_whole)

    def _stacked(
        self, columns: Sequence[Column], row: Sequence[Words], indent: int, *, is_whole: bool
    ) -> Iterator[str]:
        """What is short in one line, what is long below it."""
        last = len(columns) - 1
        short: list[str | Word] = []
        for cell, column in zip(row[:last], columns, strict=False):
            if _joined(cell, self._text):
                short += [_BETWEEN, dim(f"{column.title} " if column.title else "")] if short else []
                short += _listed(cell)
        if short:
            yield from self._rendered(self._rich(short), indent, is_whole=is_whole)
        if len(row) > last:
            yield from self._rendered(self._rich(row[last]), indent + _INDENT, is_whole=is_whole)

    def _grid(
        self, columns: Sequence[Column], widths: Sequence[int], rows: Sequence[Sequence[Words]], *, has_title: bool
    ) -> RenderableType:
        from rich import table

        grid = table.Table.grid(padding=(0, len(_BETWEEN), 0, 0), pad_edge=False)
        grid.header_style = ""
        for column, width in zip(columns, [*widths, None], strict=True):
            grid.add_column(
                self._rich(dim(column.title)),
                justify="right" if column.is_number else "left",
                width=width,
                overflow="fold",
            )
        grid.show_header = has_title
        for row in rows:
            grid.add_row(*(self._rich(cell) for cell in row))
        return grid

    def _rich(self, words: Words) -> Text:
        from rich.text import Text

        text = Text()
        for word in _listed(words):
            piece = word if isinstance(word, Word) else Word(word)
            text.append(self._text(piece.text), _STYLES[piece.meaning])
        return text

    def _width(self, indent: int) -> int:
        return max(_LEAST_WIDTH, self.size[0] - indent)

    def _rendered(
        self, what: RenderableType, indent: int, *, is_whole: bool = False, is_line: bool = False
    ) -> list[str]:
        """Lines of something; `is_whole`: no word is broken, `is_line`: nor the line."""
        from rich.text import Text

        console = self._console
        console.width = self._width(indent)
        if is_whole and not is_line and isinstance(what, Text):
            lines = what.divide(_line_starts(what.plain, console.width))
            for line in lines:
                line.rstrip()
            what = Text("\n").join(lines)
        with console.capture() as captured:
            console.print(what, overflow="ignore" if is_whole else "fold", crop=not is_whole)
        # Without the blanks that fill up a column.
        return [(" " * indent + line).rstrip() for line in captured.get().splitlines()]


def _line_starts(text: str, width: int) -> list[int]:
    """Where lines begin, but for the first: before words that do not fit behind the others."""
    starts: list[int] = []
    used = _width(text) - _width(text.lstrip())
    for number, word in enumerate(re.finditer(r"\S+\s*", text)):
        if number and used + _width(word[0].rstrip()) > width:
            starts.append(word.start())
            used = 0
        used += _width(word[0])
    return starts


# --- without one ------------------------------------------------------------------------------------------------------


def _plain(block: Block, indent: int, spelt: Callable[[str], str]) -> Iterator[str]:
    left = " " * indent
    joined = partial(_joined, spelt=spelt)
    match block:
        case Paragraph(words, more):
            yield left + " " * more + joined(words)
        case Rows(pairs):
            yield from _plain(Table([Column(), Column()], list(pairs)), indent, spelt)
        case Table(columns, rows):
            titles = [[column.title for column in columns]] if any(column.title for column in columns) else []
            roomy = [column._replace(most=_PLAIN_MOST) for column in columns[:-1]]
            widths = _widths(roomy, rows, spelt)
            for row in (*titles, *rows):
                cells = [
                    _padded(joined(cell), width, is_number=column.is_number)
                    for cell, width, column in zip(row, (*widths, 0), columns, strict=False)
                ]
                yield (left + _BETWEEN.join(cells)).rstrip()
        case Command(text, before):
            yield left + joined([before, text])
        case Section(title, blocks):
            yield ""
            yield left + joined(title)
            for inner in blocks:
                yield from _plain(inner, indent + _INDENT, spelt)
        case Gap():
            yield ""


def _listed(words: Words) -> list[str | Word]:
    return [words] if isinstance(words, str | Word) else list(words)


def _joined(words: Words, spelt: Callable[[str], str]) -> str:
    return "".join(spelt(word.text if isinstance(word, Word) else word) for word in _listed(words))


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[Words]], spelt: Callable[[str], str]) -> list[int]:
    """Width of each column: what its cells need, up to its maximum."""
    found = []
    for number, column in enumerate(columns):
        cells = [column.title, *(_joined(row[number], spelt) for row in rows if number < len(row))]
        found.append(min(max(map(_width, cells)), column.most))
    return found


def _widest_word(cells: Iterable[Words], spelt: Callable[[str], str]) -> int:
    return max((_width(word) for cell in cells for word in _joined(cell, spelt).split()), default=0)


def _padded(text: str, width: int, *, is_number: bool) -> str:
    fill = " " * (width - _width(text))
    return fill + text if is_number else text + fill


def _width(text: str) -> int:
    """Columns of a terminal that a text takes: East Asian letters take two, combining accents none."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.category(letter) in ("Mn", "Me") else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
