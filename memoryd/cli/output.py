"""Printing of data by commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


def add_json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, described in docs/json.md")


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
