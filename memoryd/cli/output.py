"""Printing of data by commands."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


_USUAL_WIDTH = 80


def add_json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, described by memoryd docs json")


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_message(text: str) -> None:
    """Print a sentence to standard error; on a terminal its lines are broken between words."""
    print(wrapped(text), file=sys.stderr)


def wrapped(text: str) -> str:
    """The text with line breaks between words where standard error is a terminal; commands and paths stay whole."""
    if sys.stderr is None or not sys.stderr.isatty():
        return text
    import os
    import textwrap

    try:
        width = os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL_WIDTH
    except OSError:
        width = _USUAL_WIDTH
    return "\n".join(
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) or line for line in text.split("\n")
    )
