"""Parser of the Bash tool: one command of an allow-list, taken apart so that it can be put together anew. Pure.

No shell ever sees the model's words. Options are looked up in tables: what is not written here is refused, whatever it means
to the program; GNU's abbreviations of long options are not written here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.model.sandbox import PASSED_OVER, NotAllowedError, ToolError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMAND_CHARACTERS = 4_000
PROGRAMS = ("ls", "find", "grep", "cat", "stat", "wc", "head", "tail")
_ALLOWED = f"one command of {' '.join(PROGRAMS)}, without pipes, redirection, substitution or a second command"

_PIECE = re.compile(
    r"""(?P<space>[ \t]+)
    |'(?P<single>[^']*)'
    |"(?P<double>(?:[^"\\]|\\.)*)"
    |\\(?P<escaped>[^\n])
    |(?P<plain>[^\s'"\\|&;<>()`$#{}]+|(?<=\S)\#)
    |(?P<refused>.|\n)""",
    re.VERBOSE | re.DOTALL,
)
_REFUSED = {
    **dict.fromkeys("|&;", "pipes, lists and background commands"),
    **dict.fromkeys("<>", "redirection"),
    **dict.fromkeys("`$", "substitution (in single quotes a $ is plain)"),
    **dict.fromkeys("()", "a subshell"),
    **dict.fromkeys("{}", "brace expansion"),
    **dict.fromkeys("\n\r", "a second line"),
    **dict.fromkeys("'\"\\", "an open quote"),
    "#": "a comment",
}


class BashWord(NamedTuple):
    text: str
    is_pattern: bool
    """Whether it holds a `*`, `?` or `[` that no quote protects."""


class BashCommand(NamedTuple):
    program: str
    options: tuple[tuple[str, str | None], ...]
    """By the first spelling in the table, with the value where one is taken. Of `find`, its expression."""
    operands: tuple[BashWord, ...]

    def has(self, option: str) -> bool:
        return any(name == option for name, _ in self.options)

    def values(self, option: str) -> list[str]:
        return [value for name, value in self.options if name == option and value is not None]


_COUNT = re.compile(r"[0-9]{1,7}")
_SIGNED = re.compile(r"[+-]?[0-9]{1,7}")
_ANY = re.compile(r"[^\x00]{0,1000}", re.DOTALL)
_STAT_FORMAT = re.compile(r"(?:[^%\\]|%[nsFyYaAh%]){1,200}")


def _table(flags: str, **valued: re.Pattern[str]) -> dict[str, tuple[str, re.Pattern[str] | None]]:
    """`-i/--ignore-case -v`: spellings of an option with a slash between them, the first is what it is called here."""
    table: dict[str, tuple[str, re.Pattern[str] | None]] = {}
    for row, check in (*((row, None) for row in flags.split()), *valued.items()):
        for spelling in row.split("/"):
            table[spelling] = row.split("/")[0], check
    return table


# Left out on purpose: whatever follows links (-L -H -R), reads names or patterns from a file (-f, --files0-from,
# --exclude-from), waits (tail -f), can take for ever (grep -P), looks at the target of a link (ls -F with -l) or marks up.
_OPTIONS = {
    "ls": _table(
        "-l/--format=long -a/--all/-A/--almost-all -1 -t -S -r/--reverse -h/--human-readable -d/--directory"
        " -R/--recursive -p",
        **{"--sort": re.compile("time|size|name")},
    ),
    "grep": _table(
        "-E/--extended-regexp -F/--fixed-strings -G/--basic-regexp -i/--ignore-case/-y -v/--invert-match -w/--word-regexp"
        " -x/--line-regexp -n/--line-number -H/--with-filename -h/--no-filename -c/--count -l/--files-with-matches"
        " -L/--files-without-match -o/--only-matching -r/--recursive -s/--no-messages",
        **{
            "-m/--max-count": _COUNT,
            "-A/--after-context": _COUNT,
            "-B/--before-context": _COUNT,
            "-C/--context": _COUNT,
            "-e/--regexp": _ANY,
            "--include": _ANY,
            "--exclude": _ANY,
            "--exclude-dir": _ANY,
        },
    ),
    "cat": _table("-n/--number -b/--number-nonblank -s/--squeeze-blank -A/--show-all -E/--show-ends -T/--show-tabs"),
    "stat": _table("", **{"-c/--format": _STAT_FORMAT}),
    "wc": _table("-l/--lines -w/--words -c/--bytes -m/--chars -L/--max-line-length"),
    "head": _table("-q/--quiet/--silent -v/--verbose", **{"-n/--lines": _SIGNED, "-c/--bytes": _SIGNED}),
    "tail": _table("-q/--quiet/--silent -v/--verbose", **{"-n/--lines": _SIGNED, "-c/--bytes": _SIGNED}),
}
FIND_PASSES_OVER = [
    *("(", "-name", ".?*", *(word for name in PASSED_OVER for word in ("-o", "-name", name)), ")"),
    *("-prune", "-o"),
]
"""What is hidden is not shown, so it need not be searched: it would fill the output."""
FIND_LIMITS = ("-maxdepth", "-mindepth")
"""They mean the whole search, wherever they stand; find wants them in front."""
_FIND = {
    **dict.fromkeys(("-name", "-iname", "-path", "-ipath", "-wholename"), _ANY),
    **dict.fromkeys(FIND_LIMITS, re.compile("[0-9]{1,3}")),
    **dict.fromkeys(("-mtime", "-mmin"), _SIGNED),
    "-size": re.compile(r"[+-]?[0-9]{1,9}[bckwMG]?"),
    "-type": re.compile("[fd]"),
    **dict.fromkeys(("(", ")", "!", "-not", "-a", "-and", "-o", "-or")),
}


def parse(text: str) -> BashCommand:
    """Take a command apart. Raises NotAllowedError with what is allowed instead."""
    if len(text) > _COMMAND_CHARACTERS:
        raise NotAllowedError(f"a command has at most {_COMMAND_CHARACTERS} characters")
    words = _words(text.strip(" \t\n"))
    if not words:
        raise ToolError(f"the command is empty; give {_ALLOWED}")
    program = words[0].text
    if program not in PROGRAMS:
        raise NotAllowedError(f"{shown(program)} is not allowed; Bash takes {_ALLOWED}")
    return _find(words[1:]) if program == "find" else _with_options(program, words[1:])


def _words(text: str) -> list[BashWord]:
    words: list[BashWord] = []
    current: list[str] | None = None  # an empty pair of quotes is a word too
    is_pattern = False
    for piece in (*_PIECE.finditer(text), None):
        if piece is None or piece["space"]:
            if current is not None:
                words.append(BashWord("".join(current), is_pattern))
            current, is_pattern = None, False
            continue
        kind = piece.lastgroup or ""
        if kind == "refused" or (kind == "double" and re.search(r"[$`]", re.sub(r"\\.", "", piece["double"]))):
            letter = piece["refused"] or "$"
            raise NotAllowedError(f"not allowed: {_REFUSED.get(letter, 'this character')}; Bash takes {_ALLOWED}")
        value = piece[kind]
        if kind == "double":
            value = re.sub(r"\\([\\\"$`])", r"\1", value)
        if "\0" in value or "\n" in value:
            raise NotAllowedError("a command is one line without NUL")
        is_pattern |= kind == "plain" and any(letter in value for letter in "*?[")
        current = [*(current or ()), value]
    return words


def _with_options(program: str, words: list[BashWord]) -> BashCommand:
    table = _OPTIONS[program]
    options: list[tuple[str, str | None]] = []
    operands: list[BashWord] = []
    waiting = iter(words)
    for word in waiting:
        text = word.text
        if text == "--":
            operands += waiting
        elif text == "-":
            raise NotAllowedError(f"{program} reads files only; - is not allowed")
        elif not text.startswith("-"):
            operands.append(word)
        elif re.fullmatch(r"-[0-9]{1,7}", text) and program in ("head", "tail", "grep"):
            options.append(("-C" if program == "grep" else "-n", text[1:]))
        elif text in table and table[text][1] is None:
            options.append((table[text][0], None))
        elif text.startswith("--"):
            name, equals, value = text.partition("=")
            if name not in table or table[name][1] is None:
                raise _not_allowed(program, text, table)
            options.append(_valued(program, name, value if equals else None, waiting))
        else:
            options += _letters(program, text, waiting)
    return BashCommand(program, tuple(options), tuple(operands))


def _letters(program: str, text: str, waiting: Iterator[BashWord]) -> list[tuple[str, str | None]]:
    """The short options of one word: `-rn`, `-A3`, `-ie pattern`."""
    table = _OPTIONS[program]
    options: list[tuple[str, str | None]] = []
    for position, letter in enumerate(text[1:], 2):
        option = f"-{letter}"
        if option not in table:
            raise _not_allowed(program, option, table)
        if table[option][1] is not None:
            options.append(_valued(program, option, text[position:] or None, waiting))
            break
        options.append((table[option][0], None))
    return options


def _valued(program: str, option: str, value: str | None, waiting: Iterator[BashWord]) -> tuple[str, str | None]:
    name, check = _OPTIONS[program][option]
    if value is None:
        following = next(waiting, None)
        if following is None:
            raise ToolError(f"{program} {option} needs a value")
        value = following.text
    if check is not None and not check.fullmatch(value):
        raise NotAllowedError(f"{program} {option} does not take {shown(value)}")
    return name, value


def _not_allowed(program: str, option: str, table: dict[str, tuple[str, re.Pattern[str] | None]]) -> NotAllowedError:
    return NotAllowedError(
        f"{program} {shown(option)} is not allowed; {program} takes {' '.join(table) or 'no options'}"
    )


def _find(words: list[BashWord]) -> BashCommand:
    """`find`: where to look, then an expression. That it prints what it finds goes without saying."""
    begins = (place for place, word in enumerate(words) if word.text.startswith(("-", "(", ")", "!")))
    start = next(begins, len(words))
    waiting = iter(words[start:])
    expression: list[tuple[str, str | None]] = []
    for word in waiting:
        if word.text == "-print" and next(waiting, None) is None:
            break
        if word.text not in _FIND:
            raise NotAllowedError(f"find {shown(word.text)} is not allowed; find takes {' '.join(_FIND)}")
        check = _FIND[word.text]
        value = None
        if check is not None:
            following = next(waiting, None)
            if following is None:
                raise ToolError(f"find {word.text} needs a value")
            value = following.text
            if not check.fullmatch(value):
                raise NotAllowedError(f"find {word.text} does not take {shown(value)}")
        expression.append((word.text, value))
    return BashCommand("find", tuple(expression), tuple(words[:start]))
