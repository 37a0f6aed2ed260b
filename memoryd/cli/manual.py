"""Manual page, made from the parser: what `--help` says, in the format of man."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd import __version__
from memoryd.cli.completion import commands_in

if TYPE_CHECKING:
    import argparse


def manual_page(parser: argparse.ArgumentParser) -> str:
    """The page of section 1."""
    from memoryd.cli import DESCRIPTION, EPILOG, KINDS

    commands = dict(commands_in(parser))
    lines = [
        f'.TH MEMORYD 1 "" "memoryd {__version__}" "User Commands"',
        ".SH NAME",
        f"memoryd \\- {_escaped(DESCRIPTION[0].lower() + DESCRIPTION[1:].rstrip('.'))}",
        ".SH SYNOPSIS",
        ".B memoryd",
        "COMMAND [options]",
        ".SH DESCRIPTION",
        _escaped(DESCRIPTION),
        ".SH COMMANDS",
    ]
    for kind, names in KINDS.items():
        lines.append(f".SS {_escaped(kind[0].upper() + kind[1:])}")
        for name in names:
            lines += _about(name, commands[name])
    status, _, rest = EPILOG.strip().partition("\n\n")
    lines += [".SH EXIT STATUS", _escaped(" ".join(status.removeprefix("exit codes:").split()) + " " + rest)]
    lines += [".SH SEE ALSO", ".B memoryd --help all", ".br", ".B memoryd COMMAND --help"]
    return "\n".join(lines) + "\n"


def _about(name: str, parser: argparse.ArgumentParser) -> list[str]:
    lines = [".TP", f".B memoryd {_escaped(name)}"]
    for number, paragraph in enumerate((parser.description or "").strip().split("\n\n")):
        if number:
            lines.append(".IP")
        if paragraph.startswith(" ") or "\n " in paragraph:
            lines += [".nf", *(_escaped(line.strip()) for line in paragraph.splitlines()), ".fi"]
        else:
            lines.append(_escaped(" ".join(paragraph.split())))
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        named = ", ".join(action.option_strings) or str(action.metavar or action.dest)
        if action.option_strings and action.nargs != 0:
            named += f" {action.metavar or action.dest.upper()}"
        if action.help and "-h" not in action.option_strings:
            lines += [".RS", ".TP", f".I {_escaped(named)}", _escaped(action.help), ".RE"]
    return lines


def _escaped(text: str) -> str:
    """Text that roff prints as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)
