"""Words are data: every list has one owner, can be read, and stands nowhere else."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.language import lexicon

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(lexicon.__file__).parent.parent
FILES = sorted(path.stem for path in Path(lexicon.DATA).glob("*.toml"))
MODULES = {os.fspath(path.relative_to(PACKAGE)): path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
_WORD = re.compile(r"[^\W\d_]{2,}")
_SO_MANY = 8
_MOST_OF_IT = 0.7
_DIVIDED = re.compile(r"\w\??\|\w")
_BARE = re.compile(r"\s*(?:[^\W\d_A-Z]+\s+){11,}[^\W\d_A-Z]+\s*")
"""A list: alternatives of a pattern, or lower-case words and nothing else. A sentence for people is none."""
_GO_WITH_THEIR_CHECKS = {
    "language/subjects.py",
}


def entries_of(table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, entry in table.items():
        if isinstance(entry, dict):
            yield from ((f"{name}.{inner}", text) for inner, text in entries_of(entry))
        elif isinstance(entry, str):
            yield name, entry


def words_in(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(re.sub(r"\\[a-zA-Z]", " ", text.lower())))


LISTS = {
    f"{file}.{name}": listed
    for file in FILES
    for name, entry in entries_of(lexicon.table(file))
    if len(listed := words_in(entry)) >= _SO_MANY
} | {path.stem: words_in(path.read_text("utf-8")) for path in Path(lexicon.DATA).glob("*.txt")}


def literals_of(code: str) -> Iterator[str]:
    """The strings of a module that are no docstrings; the members of a set or tuple of strings as one."""
    nodes = list(ast.walk(ast.parse(code)))
    told = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            if _DIVIDED.search(node.value) or _BARE.fullmatch(node.value):
                yield node.value
        elif isinstance(node, ast.Set | ast.Tuple | ast.List):
            yield " ".join(
                member.value
                for member in node.elts
                if isinstance(member, ast.Constant) and isinstance(member.value, str)
            )


def test_a_data_file_is_asked_for_by_one_module_that_has_its_name() -> None:
    asks = re.compile(r"\b(?:pattern|words|table)\(\"(\w+)\"")
    asked = {(file, Path(module).stem) for module, code in MODULES.items() for file in asks.findall(code)}
    owners = {(file, file) for file in FILES if file != "dates"}
    assert asked == owners | {("dates", owner) for owner in ("dates", "date_words", "date_phrases")}


@pytest.mark.parametrize("file", FILES)
def test_every_pattern_of_a_file_compiles(file: str) -> None:
    for name, entry in lexicon.table(file).items():
        if isinstance(entry, str) and file != "dates":
            assert lexicon.pattern(file, name, month="may", weekday="monday").pattern


def test_no_list_of_words_stands_in_code_a_second_time() -> None:
    copies = [
        (module, name, literal[:200])
        for module, code in MODULES.items()
        if module not in _GO_WITH_THEIR_CHECKS
        for literal in literals_of(code)
        if len(said := words_in(literal)) >= _SO_MANY
        for name, listed in LISTS.items()
        if len(said & listed) >= max(_SO_MANY, _MOST_OF_IT * len(said))
    ]
    assert copies == []


def test_no_two_lists_of_the_data_are_the_same() -> None:
    names = sorted(LISTS)
    doubles = [
        (one, other)
        for at, one in enumerate(names)
        for other in names[at + 1 :]
        if len(LISTS[one] & LISTS[other]) > 0.9 * max(len(LISTS[one]), len(LISTS[other]))
    ]
    assert doubles == []
