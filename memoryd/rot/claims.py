"""Claims of a memory about the repository: the paths, symbols and commands that it names. Pure.

A memory is Markdown in any language. Paths count also in plain text, symbols and commands in backticks only. What the
memory itself calls gone, planned or forbidden, anywhere in it, is no claim.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.rot.commands import named_in_command
from memoryd.rot.disclaimers import disclaims
from memoryd.rot.naming import is_constant, path_in, symbol_in

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_CHARACTERS = 65_536
"""Behind that a memory is a document, and documents describe more than one repository."""

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = re.compile(r"\s*(?:```+|~~~+)\s*(\w*)")
_SHELLS = frozenset({"", "bash", "console", "fish", "sh", "shell", "zsh"})
_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+|\s*>\s*|\s*\|")
_HEADING = re.compile(r"#{1,6}\s")
# Every repetition is bounded or cannot start inside itself: a memory of 64 kB of brackets must not take a minute.
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)(.{1,300}?)(?<!`)\1(?!`)")
_LINK = re.compile(r"\]\([^)]{0,200}\)|\[\[[^\]]{0,200}\]\]")
_ADDRESS = re.compile(
    r"\b(?:[a-z][a-z0-9+.-]{1,15}://|www\.|mailto:|git@)\S{1,2000}|[\w.+-]{1,64}@[\w.-]{1,200}\.\w{1,30}\S{0,200}",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?;])[\"')\]*_]*\s+(?=[\"'(\[*_]*[A-ZÀ-ÞЀ-Я])|(?<=[\u3002\uff01\uff1f\uff1b])")
_PATH_LIKE = re.compile(r"(?<![\w<>{}$%=\\@~:/.-])[.\w*@+-]*/[\w./*@+-]*(?::\d+)?(?![<>{}$%=\\])", re.ASCII)
_ENVIRONMENT = re.compile(
    r"\b(?:env|environ\w*|export\w*|unset|variables?|secrets?|dotenv|umgebungsvariable\w*)\b|环境变量|環境変数|переменн",
    re.IGNORECASE,
)
_LONGEST_COMMAND = 300
_CODE_MARK = "\0"
"""Stands for a piece of code while its sentence is looked at, so that nothing in code ends or withdraws a sentence."""


class Claim(NamedTuple):
    """Something that must be in the repository if the memory is right."""

    kind: Literal["path", "symbol", "command"]
    text: str


class _Sentence(NamedTuple):
    prose: str
    codes: tuple[str, ...]
    is_withdrawn: bool
    """By what stands above it."""


def claims_of(text: str) -> tuple[Claim, ...]:
    """The claims of a memory, given as its description and body, in the order in which it makes them."""
    made: dict[Claim, None] = {}
    withdrawn: set[str] = set()
    for sentence in _sentences(_COMMENT.sub(" ", text[:MOST_CHARACTERS].replace(_CODE_MARK, " "))):
        claims = list(_claims_in(sentence))
        # Asked last, and only of sentences with a claim: it is the dear part.
        if claims and (sentence.is_withdrawn or _withdraws(sentence.prose)):
            withdrawn.update(claim.text for claim in claims)
        else:
            made.update(dict.fromkeys(claims))
    return tuple(claim for claim in made if claim.text not in withdrawn)


def _claims_in(sentence: _Sentence) -> Iterator[Claim]:
    for found in _PATH_LIKE.finditer(sentence.prose):
        if path := path_in(found[0], is_code=False):
            yield Claim("path", path)
    is_about_environment = _ENVIRONMENT.search(sentence.prose) is not None
    for code in sentence.codes:
        if any(map(str.isspace, code)):
            yield from (Claim(kind, name) for kind, name in named_in_command(code))
        elif _ADDRESS.search(code):
            continue
        elif path := path_in(code, is_code=True):
            yield Claim("path", path)
        elif (symbol := symbol_in(code)) and not (is_about_environment and is_constant(symbol)):
            yield Claim("symbol", symbol)


def _sentences(text: str) -> Iterator[_Sentence]:
    """Sentences with their code. A heading withdraws what stands below it, and a line that ends in a colon its list."""
    below_heading = in_list = False
    for kind, block in _blocks(text):
        if kind == "code":
            yield _Sentence("", (block,), below_heading or in_list)
            continue
        codes = [found[2].strip() for found in _CODE.finditer(block)]
        prose = _ADDRESS.sub(" ", _LINK.sub("] ", _CODE.sub(_CODE_MARK, block)))
        if kind == "heading":
            below_heading = _withdraws(prose)
        if kind != "item":
            in_list = False
        used = 0
        for part in _SENTENCE_END.split(prose):
            own = tuple(codes[used : used + part.count(_CODE_MARK)])
            used += len(own)
            yield _Sentence(part, own, below_heading or in_list)
            in_list = in_list or (part.rstrip(" *_").endswith((":", "\uff1a")) and _withdraws(part))


def _withdraws(prose: str) -> bool:
    """Whether a sentence takes back what it names; a folder may be called `old` without being it."""
    return disclaims(_PATH_LIKE.sub(" ", prose))


def _blocks(text: str) -> Iterator[tuple[Literal["prose", "item", "heading", "code"], str]]:
    """Paragraphs, items of lists, headings, and the lines of fenced code that may be typed into a shell."""
    kind: Literal["prose", "item"] = "prose"
    lines: list[str] = []
    language: str | None = None
    for line in [*text.splitlines(), ""]:
        fence = _FENCE.match(line)
        is_new = fence or not line.strip() or _BULLET.match(line) or _HEADING.match(line)
        if lines and (is_new or language is not None):
            yield kind, " ".join(lines)
            lines = []
        if fence:
            language = fence[1].lower() if language is None else None
        elif language is not None:
            if language in _SHELLS and 0 < len(line.strip()) <= _LONGEST_COMMAND:
                yield "code", line.strip()
        elif _HEADING.match(line):
            yield "heading", line
        elif line.strip():
            if not lines:
                kind = "item" if _BULLET.match(line) else "prose"
            lines.append(line.strip())
