"""Simple commands of a shell line, as far as its text tells. Pure; nothing is run; one pass over the text."""

from __future__ import annotations

import re

from memoryd.record import NamedTuple

_LITERAL = re.compile(r"\$\(\([^()\n]*\)\)|\$\{[^{}\"'`\n]*\}|[^\s\\'\"`$;&|()<>#]+")
_REDIRECTION = re.compile(r"<<<|<<-?|&>>?|<>|<&|>&|>>|>\||<|>")
_QUOTED = re.compile(r"[^\"\\`$]+")
_ASSIGNMENT = re.compile(r"(\w+)\+?=(.*)", re.DOTALL)
_KEYWORDS = frozenset({"then", "do", "else", "elif", "if", "while", "until", "{", "!", "builtin"})
_NOT_FOLLOWED = frozenset({"case", "function"})
"""What stands behind them is laid out in another way than commands are."""


class SimpleCommand(NamedTuple):
    words: tuple[str, ...]
    """Without their quotes, without keywords."""
    assignments: tuple[tuple[str, str], ...] = ()
    """Those before the first word."""
    redirections: tuple[tuple[str, str], ...] = ()
    """Operator and target."""


class ShellLine(NamedTuple):
    commands: tuple[SimpleCommand, ...]
    """Also those that `$(…)`, `<(…)` and backticks run; they stand before the command that they are a part of."""
    is_understood: bool
    """False where it may mean something else: open quotes, arrays, functions, `case`."""
    heredocs: tuple[str, ...] = ()
    """The text of each `<<`, which a command reads."""


def read_shell_line(text: str) -> ShellLine:
    return _Reader(text).read()


class _Frame:
    """A command that is being read; one for the line, and one for each parenthesis or substitution that is open."""

    def __init__(self, closing: str) -> None:
        self.closing = closing
        self.is_in_quotes = False
        self.start_command()

    def start_command(self) -> None:
        self.words: list[str] = []
        self.assignments: list[tuple[str, str]] = []
        self.redirections: list[tuple[str, str]] = []
        self.redirection = ""
        self.start_word()

    def start_word(self) -> None:
        self.pieces: list[str] = []
        self.is_word = False
        self.was_quoted = False

    def add(self, piece: str, *, quoted: bool = False) -> None:
        self.pieces.append(piece)
        self.is_word = True
        self.was_quoted = self.was_quoted or quoted


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: list[SimpleCommand] = []
        self.frames = [_Frame("")]
        self.heredocs: list[tuple[str, bool]] = []
        self.heredoc_texts: list[str] = []
        self.is_understood = True

    def read(self) -> ShellLine:
        while self.at < len(self.text):
            if self.frames[-1].is_in_quotes:
                self._read_in_quotes(self.frames[-1])
            else:
                self._read_plain(self.frames[-1])
        self.is_understood = self.is_understood and len(self.frames) == 1 and not self.frames[0].is_in_quotes
        while self.frames:
            self._end_command(self.frames.pop())
        return ShellLine(tuple(self.found), self.is_understood, tuple(self.heredoc_texts))

    def _read_in_quotes(self, frame: _Frame) -> None:
        character = self.text[self.at]
        if character == '"':
            frame.is_in_quotes = False
            self.at += 1
        elif character == "\\":
            self._read_escaped(frame)
        elif literal := _QUOTED.match(self.text, self.at) or _LITERAL.match(self.text, self.at):
            frame.add(literal[0], quoted=True)
            self.at = literal.end()
        else:
            self._read_substitution(frame)

    def _read_plain(self, frame: _Frame) -> None:
        text, character = self.text, self.text[self.at]
        if literal := _LITERAL.match(text, self.at):
            frame.add(literal[0])
            self.at = literal.end()
        elif character == "\\":
            self._read_escaped(frame)
        elif character == "'":
            end = text.find("'", self.at + 1)
            self.is_understood = self.is_understood and end >= 0
            frame.add(text[self.at + 1 : max(end, 0)], quoted=True)
            self.at = end + 1 if end >= 0 else self.at + 1
        elif character == '"':
            frame.add("", quoted=True)
            frame.is_in_quotes = True
            self.at += 1
        elif character == "#":
            self._read_hash(frame)
        elif character == "(":
            self._read_parenthesis(frame)
        elif character in "$`" or text[self.at : self.at + 2] in ("<(", ">("):
            self._read_substitution(frame)
        elif character == ")":
            self._close(frame)
        elif redirection := _REDIRECTION.match(text, self.at):
            if "".join(frame.pieces).isdigit() and not frame.was_quoted:
                frame.start_word()  # the number of a descriptor
            self._end_word(frame)
            frame.redirection = redirection[0]
            self.at = redirection.end()
        elif character in ";&|\n":
            self._end_command(frame)
            self.at += 1
            if character == "\n":
                self._read_heredocs()
        else:
            self._end_word(frame)
            self.at += 1

    def _read_escaped(self, frame: _Frame) -> None:
        escaped = self.text[self.at + 1 : self.at + 2]
        if escaped != "\n":
            keeps = frame.is_in_quotes and escaped not in ("$", "`", '"', "\\")
            frame.add(f"\\{escaped}" if keeps else escaped, quoted=True)
        self.at += 2

    def _read_hash(self, frame: _Frame) -> None:
        """A comment, unless it stands inside a word."""
        if frame.is_word:
            frame.add("#")
            self.at += 1
        else:
            end = self.text.find("\n", self.at)
            self.at = end if end >= 0 else len(self.text)

    def _read_parenthesis(self, frame: _Frame) -> None:
        """Opening: a subshell where a command may begin, otherwise an array or a function."""
        if frame.is_word or frame.words or frame.redirection or self.text.startswith("((", self.at):
            self.is_understood = False
        self.frames.append(_Frame(")"))
        self.at += 1

    def _read_substitution(self, frame: _Frame) -> None:
        """What stands inside is a line of its own; its output is a part of the word."""
        if self.text[self.at] == "`":
            if frame.closing == "`" and not frame.is_in_quotes:
                self._close(frame)
                return
            closing, size = "`", 1
        elif self.text.startswith("(", self.at + 1):
            closing, size = ")", 2
            self.is_understood = self.is_understood and not self.text.startswith("$((", self.at)
        else:
            frame.add("$")
            self.at += 1
            return
        frame.add("$()", quoted=True)
        self.frames.append(_Frame(closing))
        self.at += size

    def _close(self, frame: _Frame) -> None:
        if frame.closing == self.text[self.at]:
            self._end_command(self.frames.pop())
        else:
            self.is_understood = False
            self._end_command(frame)
        self.at += 1

    def _end_word(self, frame: _Frame) -> None:
        if not frame.is_word:
            return
        word, was_quoted = "".join(frame.pieces), frame.was_quoted
        frame.start_word()
        if frame.redirection.startswith("<<") and frame.redirection != "<<<":
            self.heredocs.append((word, frame.redirection == "<<-"))
        elif frame.redirection:
            frame.redirections.append((frame.redirection, word))
        elif not frame.words and (assignment := _ASSIGNMENT.fullmatch(word)):
            frame.assignments.append((assignment[1], assignment[2]))
        elif frame.words or was_quoted or word not in _KEYWORDS:
            if not frame.words and not was_quoted and word in _NOT_FOLLOWED:
                self.is_understood = False
            frame.words.append(word)
        frame.redirection = ""

    def _end_command(self, frame: _Frame) -> None:
        self._end_word(frame)
        if frame.words or frame.assignments or frame.redirections:
            command = SimpleCommand(tuple(frame.words), tuple(frame.assignments), tuple(frame.redirections))
            self.found.append(command)
        frame.start_command()

    def _read_heredocs(self) -> None:
        """Text up to the line that ends it; to the end where there is no such line."""
        for end, may_be_indented in self.heredocs:
            start = end_of_text = self.at
            while self.at < len(self.text):
                newline = self.text.find("\n", self.at)
                newline = newline if newline >= 0 else len(self.text)
                line = self.text[self.at : newline]
                self.at = newline + 1
                if (line.lstrip("\t") if may_be_indented else line) == end:
                    break
                end_of_text = self.at
            self.heredoc_texts.append(self.text[start:end_of_text])
        self.heredocs.clear()
