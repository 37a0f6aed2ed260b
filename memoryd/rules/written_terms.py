"""Words and pieces of code that a memory forbids to write, found in what a call writes. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.language.forbidden import clauses_of, forbidden_things, is_negated
from memoryd.language.tokens import is_stop, split
from memoryd.rot.naming import path_in
from memoryd.rules.programs import FILE_KINDS, ORDINARY_WORDS, PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterator

CODE = re.compile(r"(?<!`)(`{1,3})(?!`)(.{1,300}?)(?<!`)\1(?!`)")
CODE_LIKE = re.compile(
    r"(?<![\w@./-])(?:@[A-Za-z]\w+|#[a-z]\w+|//\w+|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?|\w+(?:::\w+)+|[A-Za-z_]\w*\(\)|[a-z]+[A-Z]\w+"
    r"|[a-z]+(?:_[a-z]+)+|[A-Z][A-Z0-9_]{3,})(?![\w/-]|\.\w)",
    re.ASCII,
)
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_OR = re.compile(r"\b(?:or|and|nor|oder|und|noch|ou|et|ni|o|y|u)\b|[,/、和或]")
_WORD = re.compile(r"[^\W_]+", re.ASCII)
_MOST_WORDS = 3
_LEAST_LETTERS = 3


def forbidden_code(sentence: str, spans: list[str]) -> Iterator[str]:
    """Pieces of code that a sentence forbids: `any`, fmt.Println, @Autowired, KEYS; `spans`: what its negations are about.

    Those behind a negation are meant; where there are none, those in its clause: "console.log nicht einchecken".
    """
    found = [piece for span in spans for piece in _pieces_of(span)]
    before = (clause for clause in clauses_of(sentence) if is_negated(clause)) if spans and not found else ()
    yield from found or (piece for clause in before for piece in _pieces_of(clause))


def _pieces_of(text: str) -> Iterator[str]:
    for code in CODE.finditer(text):
        piece = code[2].strip()
        is_piece = len(piece) > 1 and piece != "()" and not _OPTION.fullmatch(piece)
        if is_piece and not is_known_command(piece):
            yield piece
    for found in CODE_LIKE.finditer(CODE.sub(" ", text)):
        piece = found[0].rstrip(".")
        if piece.lower() not in FILE_KINDS and not path_in(piece, is_code=True):
            yield piece


def is_known_command(code: str) -> bool:
    """Whether a piece of code begins with the name of a program that everybody knows."""
    return code.split(maxsplit=1)[0] in PROGRAMS | ORDINARY_WORDS | {"git"}


def forbidden_words(text: str) -> Iterator[tuple[str, ...]]:
    """What a text forbids to use, by its words: ("lombok",), ("default", "exports")."""
    for thing in forbidden_things(text):
        for part in _OR.split(CODE_LIKE.sub(_kept_word, CODE.sub(" ", thing))):
            words = _leading_words(part)
            if not words:
                break
            if len(words) <= _MOST_WORDS and PROGRAMS.isdisjoint(words):
                yield tuple(words)


def _kept_word(found: re.Match[str]) -> str:
    """What looks like code is looked for as it is; a word in capitals may be meant as a word too."""
    return found[0] if found[0].isalpha() else " "


def _leading_words(text: str) -> list[str]:
    """The words up to one that tells nothing: "in tests" names a place, and no thing."""
    found: list[str] = []
    for word in split(text):
        if is_stop(word) or not _WORD.fullmatch(word) or len(word) < _LEAST_LETTERS:
            break
        found.append(word)
    return found
