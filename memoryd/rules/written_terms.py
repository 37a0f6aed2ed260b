"""Pieces of code that a memory forbids to write, found in what a call writes. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.language.forbidden import clauses_of, is_negated
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
