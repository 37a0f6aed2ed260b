"""Show a page of the documentation, or what there is.

    memoryd docs           what you may want to do, and the page for it
    memoryd docs setup     that page

On a terminal it is shown by your $PAGER, elsewhere printed as it is.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from memoryd.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "docs"
HELP = "the documentation of this version, by task"
_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_FOLDERS = (os.path.join(_PACKAGE, "docs"), os.path.join(os.path.dirname(_PACKAGE), "docs"))
"""Where the wheel has the pages, and where a clone has them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", nargs="?", default="README", metavar="PAGE", help="its name: setup, audit, json")
    parser.set_defaults(any_config=True)  # it explains the config, too


def execute(context: Context) -> int:
    import difflib

    page = os.path.basename(context.arguments.page).removesuffix(".md")
    pages = pages_by_name()
    if page not in pages:
        near = difflib.get_close_matches(page, pages, n=1)
        raise UsageError(f"There is no page {page}.", f"memoryd docs {near[0]}" if near else "memoryd docs")
    with open(pages[page], encoding="utf-8") as file:
        text = file.read()
    if sys.stdout.isatty():
        import pydoc

        pydoc.pager(text)
    else:
        print(text, end="")
    return 0


def pages_by_name() -> dict[str, str]:
    """The files of the pages, by their names without the ending."""
    folder = next(filter(os.path.isdir, _FOLDERS), "")
    names = sorted(os.listdir(folder)) if folder else []
    return {name.removesuffix(".md"): os.path.join(folder, name) for name in names if name.endswith(".md")}
