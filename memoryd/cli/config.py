"""Check the config file and print the settings in force, defaults included, as TOML.

It changes nothing: settings are changed in the file itself. Exits with 78 if the file cannot be used, and names the line.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memoryd.cli.output import add_json_option, print_json
from memoryd.errors import UsageError

if TYPE_CHECKING:
    from memoryd.cli import Context

NAME = "config"
HELP = "check the config file, show the settings in force"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--schema",
        dest="any_config",  # it is the same whatever the file holds
        action="store_true",
        help="print the JSON Schema of the config file, for editors",
    )
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)  # `config set NAME VALUE` is what people try
    add_json_option(parser)


def execute(context: Context) -> int:
    if context.arguments.words:
        import shlex

        file = shlex.quote(context.paths.config_file)
        raise UsageError("memoryd config shows the settings; they are changed in the file.", f"${{EDITOR:-vi}} {file}")
    if context.arguments.any_config:
        from memoryd.config.json_schema import json_schema

        print_json(json_schema())
        return 0
    return _check(context)


def _check(context: Context) -> int:
    import os
    import sys

    from memoryd.daemon.single_instance import running_instance
    from memoryd.daemon.wake_file import wake

    settings = context.config
    if running_instance(context.paths) is not None:
        wake(context.paths)  # it takes in what has just been checked
    if context.arguments.json:
        print_json(_plain(settings))
        return 0
    if not os.path.exists(context.paths.config_file):
        print(f"There is no {context.paths.config_file}; these are the defaults.", file=sys.stderr)
    values = _plain(settings)
    for name, value in values.items():
        if not isinstance(value, dict):
            print(_line(name, value))
    for name, table in values.items():
        if isinstance(table, dict):
            print(f"\n[{name}]")
            for key, value in table.items():
                print(_line(key, value))
    return 0


def _plain(value: Any) -> Any:
    """Tables and prices as dictionaries."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def _line(key: str, value: Any) -> str:
    if value is None:
        return f"# {key} is not set"
    name = key if key.replace("_", "").isalnum() else _toml(key)  # of a project: its root
    return f"{name} = {_toml(value)}"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items() if item is not None)
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value, ensure_ascii=False)  # JSON strings are TOML strings
