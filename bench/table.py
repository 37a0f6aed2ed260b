"""Figures as plain text: a sentence, then aligned rows."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def show(sentence: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    print("\n" + textwrap.fill(sentence, 100))
    for row in (head, *rows):
        first, *others = (
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  " + "   ".join((first, *others)).rstrip())


def times(figure: float, limit: float) -> str:
    """How many times as large a figure is as its limit."""
    ratio = figure / limit if limit else float("inf")
    return f"{ratio:.3f}x" if ratio < 0.1 else f"{ratio:.2f}x" if ratio < 10 else f"{ratio:,.0f}x"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.2f} ms" if seconds < 1 else f"{seconds * 1e3:,.0f} ms"


def megabytes(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"
