"""Serve your memories to an agent over the Model Context Protocol, on standard input and output.

    codex mcp add memoryd -- memoryd mcp

The project is the directory that the client starts it in. Tools: recall, search, remember, forget, why; resources: the index
and each memory. `memoryd docs mcp` has the rest.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "mcp"
HELP = "for a client: your memories as tools and resources"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="the only way there is; accepted for clients that name it")
    parser.set_defaults(any_config=True)


def execute(context: Context) -> int:
    from memoryd.mcp.server import serve

    return serve(context.environment, os.getcwd())
