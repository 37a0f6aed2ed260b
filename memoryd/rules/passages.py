"""Sentences of a memory as rules see them: the folders that they are about or hold in, and what they forbid to write. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.language.actions import names_action
from memoryd.language.forbidden import (
    clauses_of,
    forbidden_spans,
    forbids_change,
    is_behind_negation,
    is_behind_place_word,
    is_negated,
)
from memoryd.language.replaced import swap_in
from memoryd.rot.naming import begins_like_branch, path_in
from memoryd.rules.named import PATH_LIKE, Trigger, commands_in
from memoryd.rules.written_terms import CODE, forbidden_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FOLDER = re.compile(r"(?<![\w<>{}$%=\\@~:/.*-])\.?[\w.-]*\w(?:/[\w.-]*\w)*/(?![\w*<{])", re.ASCII)
"""A folder is written with a slash at its end."""
_LONG_OPTION = re.compile(r"(?<![\w-])--[a-z]\w*(?:-\w+)*", re.ASCII)
_HOME_PATH = re.compile(r"(?<![\w/])(?:~|\$HOME|\$\{HOME\})/[\w./*@+-]+", re.ASCII)


class Passage(NamedTuple):
    text: str
    is_negated: bool
    commands: tuple[Trigger, ...]
    folders: tuple[str, ...]
    """Those that it names."""
    left_alone: tuple[str, ...]
    """Those in which nothing is to be changed."""
    not_deleted: tuple[str, ...]
    code: tuple[str, ...]
    """Pieces that are not to be written."""
    options: tuple[str, ...]
    """Long options that are not to be used."""
    forbidden_commands: tuple[Trigger, ...]


def read_passage(text: str) -> Passage:
    negated = is_negated(text)
    spans = forbidden_spans(text) if negated else []
    commands = tuple(trigger for _, trigger in commands_in(text))
    folders = tuple(_folders_in(text)) if "/" in text else ()
    forbidding = [clause for clause in clauses_of(text) if is_negated(clause)] if negated and folders else []
    left_alone = [folder for clause in forbidding if forbids_change(clause) for folder in _folders_in(clause)]
    kept = [folder for clause in forbidding if names_action("delete", clause) for folder in _folders_in(clause)]
    code = tuple(forbidden_code(text, spans)) if negated else ()
    options = tuple(option for span in spans for option in _LONG_OPTION.findall(span)) if "--" in text else ()
    swap = swap_in(text) if commands else None
    spans = [*spans, swap.old] if swap else spans
    forbidden = tuple(trigger for span in spans for _, trigger in commands_in(span)) if commands else ()
    return Passage(text, negated, commands, folders, tuple(left_alone), tuple(kept), code, options, forbidden)


def scope_of(passages: Iterable[Passage]) -> str:
    """Folders that a rule holds in, by the sentences that it is told in."""
    return " ".join(
        dict.fromkeys(folder for passage in passages for folder in passage.folders if folder not in passage.left_alone)
    )


def likely_paths(text: str) -> Iterator[Trigger]:
    """Words with a slash in a sentence, and paths below the home directory. They may be no path: then no call has it."""
    if "/" not in text:
        return
    for found in _HOME_PATH.finditer(text):
        yield Trigger("edit", "", found[0].rstrip("."))
    prose = CODE.sub(lambda code: " " * len(code[0]), text)
    for found in PATH_LIKE.finditer(prose):
        path = found[0].rstrip("./")
        if "/" not in path.strip("./") or begins_like_branch(path) or _is_list(prose, found.start()):
            continue
        if not path_in(found[0], is_code=False):
            yield Trigger("edit", "", path)


def is_folder(path: str) -> bool:
    """A part of the project: a path without the ending that a file has, and neither of the machine nor of one tool alone."""
    return "." not in path.rsplit("/", 1)[-1] and not path.startswith(("~", "$", "."))


def _folders_in(text: str) -> Iterator[str]:
    for found in _FOLDER.finditer(text):
        yield found[0]
    pieces = [code[2] for code in CODE.finditer(text) if "/" in code[2].strip("/")]
    yield from (piece for piece in pieces if path_in(piece, is_code=True) == piece and is_folder(piece))
    yield from (trigger.pattern for trigger in likely_paths(text) if is_folder(trigger.pattern))


def _is_list(text: str, at: int) -> bool:
    """Whether words with slashes are several things that are forbidden: "no malloc/calloc"."""
    return (
        is_behind_negation(text, at)
        and not is_behind_place_word(text, at)
        and not names_action("delete", text)
        and not forbids_change(text)
    )
