"""Definitions that commands run: targets of make, recipes of just, scripts of a package, modules of Python.

Whether a name is defined now is answered generously: any mention in any such file counts, and a rule with a pattern or
a variable for all that it could mean. Whether it was defined once is answered strictly, by a line that defines it.
"""

from __future__ import annotations

import os
import re
import stat
from fnmatch import fnmatchcase
from typing import NamedTuple

MOST_FILES = 500
MOST_BYTES = 1 << 20


class Definers(NamedTuple):
    """The files that one tool reads."""

    names: frozenset[str]
    endings: tuple[str, ...]
    mention: str
    """A regular expression for any mention of NAME."""
    definition: str
    """An extended one, which git understands, for a line that defines NAME."""
    noun: str

    def include(self, path: str) -> bool:
        name = os.path.basename(path)
        return name in self.names or name.endswith(self.endings)

    def mentions(self, text: str, name: str) -> bool:
        if re.search(self.mention.replace("NAME", re.escape(name)), text):
            return True
        computed = (re.sub(f"{_VARIABLE}|%", "*", targets) for targets in _TARGETS.findall(text) if self is MAKE)
        return any(fnmatchcase(name, pattern) for targets in computed for pattern in targets.split())

    def defining_line(self, name: str) -> str:
        return self.definition.replace("NAME", name.replace(".", "[.]"))


_VARIABLE = r"\$\([^)\n]*\)|\$\{[^}\n]*\}"
_TARGETS = re.compile(rf"^(?=[^\s#])((?:{_VARIABLE}|\$(?![({{])|[^:=\n$])*):(?!=)", re.MULTILINE)
_WHOLE_WORD = r"(?<![\w.-])NAME(?![\w.-])"
_RULE_END = "([[:space:]][^:=]*)?:([^=]|$)"

MAKE = Definers(
    frozenset({"Makefile", "makefile", "GNUmakefile"}),
    (".mk", ".make"),
    _WHOLE_WORD,
    f"^([^#:=[:space:]]+[[:space:]]+)*NAME{_RULE_END}",
    "target in Makefile",
)
JUST = Definers(
    frozenset({"justfile", "Justfile", ".justfile"}),
    (".just",),
    _WHOLE_WORD,
    f"^@?NAME{_RULE_END}",
    "recipe in justfile",
)
PACKAGE = Definers(
    frozenset({"package.json"}), (), r'"NAME"', '"NAME"[[:space:]]*:[[:space:]]*"[^"0-9^~*]', "script in package.json"
)


def definers_of(command: str) -> tuple[Definers, str] | None:
    """Whose command it is and which name it needs, for commands in the form of `named_in_command`."""
    match command.split(" "):
        case ["make", name]:
            return MAKE, name
        case ["just", name]:
            return JUST, name
        case [_, "run", name]:
            return PACKAGE, name
    return None


def text_of(path: str) -> str | None:
    """What stands in such a file; None where it is none, too large, or cannot be read. A pipe is not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            return None
        return file.read(MOST_BYTES).decode("utf-8", "replace")


def module_files(module: str) -> list[str]:
    """The files that `python -m` looks for, from where its packages begin."""
    path = module.replace(".", "/")
    return [f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py"]
