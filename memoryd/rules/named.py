"""Commands, paths and kinds of files that a text names plainly. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.language.tokens import is_stop
from memoryd.rot.naming import path_in
from memoryd.rules.calls import command_of
from memoryd.rules.programs import GIT_SUBCOMMANDS, GO_SUBCOMMANDS, NAMES_IN_PROSE, PROGRAMS, WITH_SUBCOMMANDS
from memoryd.rules.written_terms import CODE

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal[
    "run",
    "edit",
    "text",
    "name",
    "work",
    "files",
    "words",
    "asked",
    "deny-run",
    "deny-edit",
    "deny-unknown",
]


class Trigger(NamedTuple):
    kind: Kind
    key: str
    """What a call is asked for: a program, a kind of work, an extension, a folder; empty for a path."""
    pattern: str
    """What has to fit: a command, a path, a piece of code, words."""
    scope: str = ""
    """Folders that it holds in, with blanks between them; empty: everywhere."""


PATH_LIKE = re.compile(r"(?<![\w<>{}$%=\\@~:/.-])[.\w*@+-]*/[\w./*@+-]*", re.ASCII)
_FILE_NAME = re.compile(r"(?<![\w/.-])[A-Za-z_][\w-]*\.[a-z]{1,6}(?![\w/])", re.ASCII)
_ENDING = re.compile(r"(?<![\w/.*])\*?([._]\w+\.[a-z]{1,5})(?![\w/.])", re.ASCII)
_EXTENSION = re.compile(r"(?<![\w/>}*])\*?\.([a-z][a-z0-9]{0,7})(?![\w/.])", re.ASCII)
_OF_FILES = re.compile(r"`?[ -]?(?:files?|Dateie?n?|ファイル|文件)\b|`?\s?(?:ファイル|文件)")
WORD = re.compile(r"--?[A-Za-z][\w-]*|[\w@.+-]*\w|[^\s\w]")
_COMMAND_WORD = re.compile(r"--?[A-Za-z][\w-]*|[a-z][a-z0-9:-]*")
_SUBCOMMANDS = {"git": GIT_SUBCOMMANDS, "go": GO_SUBCOMMANDS}
"""Of programs that say nothing about a call without one."""
IN_PROSE = PROGRAMS | NAMES_IN_PROSE.keys() | _SUBCOMMANDS.keys()
_BETWEEN = re.compile(
    r"\s*(?:[,、/]|\b(?:and|or|und|oder|et|ou|y|o|e)\b|和|或|や)?\s*(?:\b(?:and|or|und|oder|et|ou|y|o|e)\b)?\s*"
)
"""Between the commands of a list."""
_SHELL_OPERATOR = re.compile(r"\s(?:&&|\|\|?|;|>)")
_MOST_WORDS_OF_COMMAND = 5


def files_named(text: str) -> Iterator[Trigger]:
    """Paths and kinds of files."""
    yield from (trigger for _, trigger in paths_in(text))
    yield from _extensions(text)


def commands_in(text: str) -> Iterator[tuple[int, Trigger]]:
    """Every command that a text names, and where."""
    prose = text
    if "`" in text:
        before: list[str] = []
        end = 0
        for code in CODE.finditer(text):
            words = _SHELL_OPERATOR.split(code[2].rstrip(" .…"))[0].split()
            if words and words[0] in GIT_SUBCOMMANDS and before[:1] == ["git"]:
                words = ["git", *words]
            if (
                len(words) == 1
                and len(before) > 1
                and words[0].isalpha()
                and _BETWEEN.fullmatch(text, end, code.start())
            ):
                words = [*before[:-1], *words]  # `aws s3 sync`, `rm` and `mv`
            if words and is_command(words):
                yield code.start(), run_trigger(words)
                before = [] if any(word.startswith("-") for word in words) else words
            end = code.end()
        prose = CODE.sub(lambda code: " " * (len(code[0]) - 1) + ".", text)
    found = list(WORD.finditer(prose))
    for at, word in enumerate(found):
        program = word[0].lower()
        if program in IN_PROSE and (at + 1 == len(found) or found[at + 1][0] != "|"):  # a pipe is more than its program
            program = NAMES_IN_PROSE.get(program, program)
            behind = []
            for other in found[at + 1 : at + _MOST_WORDS_OF_COMMAND]:
                if not _COMMAND_WORD.fullmatch(other[0]) or is_stop(other[0]):
                    break
                behind.append(other[0])
            yield from ((word.start(), trigger) for trigger in _in_prose(program, behind))


def _in_prose(program: str, behind: list[str]) -> Iterator[Trigger]:
    """A program in a sentence, with its subcommand if the next word may be one, and with options behind that."""
    known = _SUBCOMMANDS.get(program)
    first = behind[0] if behind else "-"
    has_subcommand = program in WITH_SUBCOMMANDS and not first.startswith("-") if known is None else first in known
    subcommand = [first] if has_subcommand else []
    if program == "go" and first == "mod":
        subcommand = behind[:2]
    options = [word for word in behind[len(subcommand) :] if word.startswith("-")]
    if subcommand or known is None:
        yield run_trigger([program, *subcommand, *options])


def is_command(words: list[str]) -> bool:
    """Whether code is a command: a known program, or words that can only be one."""
    program = words[0]
    if program.startswith("-") or not re.fullmatch(r"[\w./-]+", program, re.ASCII):
        return False
    return program in PROGRAMS or (len(words) > 1 and all(map(_is_argument, words[1:])))


def _is_argument(word: str) -> bool:
    return re.fullmatch(r"[\w./:@=+*,-]+", word, re.ASCII) is not None


def run_trigger(words: list[str]) -> Trigger:
    return Trigger("run", command_of(words).program, " ".join(words[:_MOST_WORDS_OF_COMMAND]))


def paths_in(text: str) -> Iterator[tuple[int, Trigger]]:
    """Every path that a text names, and where."""
    prose = text
    if "`" in text:
        for code in CODE.finditer(text):
            if path := path_in(code[2].strip(), is_code=True):
                yield code.start(), Trigger("edit", "", path)
        prose = CODE.sub(lambda code: " " * len(code[0]), text)
    if "/" in prose:
        for found in PATH_LIKE.finditer(prose):
            if path := path_in(found[0], is_code=False):
                yield found.start(), Trigger("edit", "", path)
    for found in _FILE_NAME.finditer(prose):
        if path := path_in(found[0], is_code=True):
            yield found.start(), Trigger("edit", "", path)


def _extensions(text: str) -> Iterator[Trigger]:
    """`*.sql`, `.go`, `.pb.go`; of a list the last one tells: ".glb and .blend files"."""
    yield from (Trigger("edit", "", f"*{found[1]}") for found in _ENDING.finditer(text))
    is_next_meant, next_start = False, -1
    for found in reversed(list(_EXTENSION.finditer(text))):
        is_listed = is_next_meant and _BETWEEN.fullmatch(text, found.end(), next_start) is not None
        is_next_meant = is_listed or bool(
            path_in(f"file.{found[1]}", is_code=True) or _OF_FILES.match(text, found.end())
        )
        next_start = found.start()
        if is_next_meant:
            yield Trigger("files", found[1], "")
