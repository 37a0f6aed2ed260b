"""Paths that a shell command writes, changes or deletes, as far as its text tells. Pure; nothing is run."""

from __future__ import annotations

import os
import re
import shlex

_HEREDOC = re.compile(
    r"<<-?[ \t]*(?P<quote>[\"']?)(?P<end>\w+)(?P=quote)(?P<rest>[^\n]*)\n(?:.*?^[ \t]*(?P=end)[ \t]*$|.*)",
    re.DOTALL | re.MULTILINE,
)
_ASSIGNMENT = re.compile(r"(\w+)=(.*)", re.DOTALL)
_BEFORE_A_COMMAND = frozenset({"sudo", "command", "env", "nohup", "time", "then", "do", "else", "{", "!", "builtin"})
_KEYWORDS = frozenset({"then", "do", "else", "if", "while", "{", "!", "builtin", "$"})
_CHANGE_ALL = frozenset({"rm", "shred", "touch", "truncate", "tee", "patch", "mv"})
_CHANGE_LAST = frozenset({"cp", "mv", "install", "ln", "rsync"})
_IN_PLACE = re.compile(r"-(?:\w*i|i.*|-in-place.*)")


def written_by(command: str) -> list[str]:
    """The paths of the files that a command changes, as they are written in it, behind the directory it has gone to.

    Redirections and the usual programs are understood; what a script does that the command runs is not.
    """
    found: list[str] = []
    values: dict[str, str] = {}
    place = ""
    words: list[str] = []
    tokens = [*_tokens(_HEREDOC.sub(r"\g<rest>", command)), ";"]
    position = 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        if set(token) <= set(";&|()"):
            place = _simple(words, place, found)
            words = []
        elif set(token) <= set("<>&|"):
            if ">" in token and not (token.endswith("&") and tokens[position].isdigit()):
                found.append(os.path.join(place, _with_values(tokens[position], values)))
            if words and words[-1].isdigit():
                words.pop()  # the number of a descriptor
            position += 1
        elif not words and (assignment := _ASSIGNMENT.fullmatch(token)):
            values[assignment[1]] = _with_values(assignment[2], values)
        elif words or token not in _BEFORE_A_COMMAND:
            words.append(_with_values(token, values))
    return found


def simple_commands(command: str) -> list[list[str]]:
    """The words of each command in a shell line, without assignments and redirections; also what `$(…)` runs."""
    found: list[list[str]] = [[]]
    skip = False
    for token in [*_tokens(_HEREDOC.sub(r"\g<rest>", command)), ";"]:
        if skip:
            skip = False
        elif set(token) <= set(";&|()`"):
            found.append([])
        elif set(token) <= set("<>&|"):
            skip = True
        elif token in _KEYWORDS and not found[-1]:
            continue
        elif found[-1] or not _ASSIGNMENT.fullmatch(token):
            found[-1].append(token)
    return [words for words in found if words]


def _simple(words: list[str], place: str, found: list[str]) -> str:
    """Add what one simple command changes; return the directory that the next one is run in."""
    if not words:
        return place
    program = os.path.basename(words[0])
    options = [word for word in words[1:] if word.startswith("-")]
    names = [os.path.join(place, word) for word in words[1:] if not word.startswith("-")]
    if program in ("cd", "pushd"):
        return names[0] if names else "~"
    if program in _CHANGE_ALL:
        found += names
    if program in _CHANGE_LAST and len(names) > 1:
        found += [names[-1], os.path.join(names[-1], os.path.basename(names[0]))]
    if program in ("sed", "perl") and any(map(_IN_PLACE.fullmatch, options)):
        found += names[1:] or names
    if program == "dd":
        found += [os.path.join(place, word.removeprefix("of=")) for word in words if word.startswith("of=")]
    if program == "find" and names and ("-delete" in options or "rm" in words):
        found.append(os.path.join(names[0], "*"))
    return place


def _tokens(command: str) -> list[str]:
    """Words without their quotes, and operators; a line's end is one."""
    text = re.sub(r"^[ \t]*#[^\n]*$", "", command.replace("\\\n", " "), flags=re.MULTILINE).replace("\n", " ; ")
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.commenters = ""
        lexer.whitespace_split = True
        return list(lexer)
    except ValueError:  # a quote that is never closed
        return re.findall(r"[;&|()<>]+|[^\s;&|()<>\"']+", text)


def _with_values(word: str, values: dict[str, str]) -> str:
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda name: values.get(name[1] or name[2], name[0]), word)
