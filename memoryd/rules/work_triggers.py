"""Triggers of the kinds of work that a memory is about: which they are, in which language, by commands or in files. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.language.actions import names_action
from memoryd.language.forbidden import first_clause, prohibitions_in
from memoryd.language.tokens import split
from memoryd.rules.named import PATH_LIKE, WORD, Trigger
from memoryd.rules.named_work import work_named_in
from memoryd.rules.programs import LANGUAGE_OF_PACKAGES, LANGUAGE_PROGRAMS, ORDINARY_WORDS
from memoryd.rules.work import FILES
from memoryd.rules.work_kinds import WORK, by_name
from memoryd.rules.written_terms import CODE, CODE_LIKE

if TYPE_CHECKING:
    from collections.abc import Iterator

_DONE = re.compile(r"\b\w+ed\b")


def done_by(work: list[str], texts: tuple[str, ...], programs: set[str], scope: str) -> Iterator[Trigger]:
    """Kinds of work: done by commands, and by changes of files where the memory does not speak of running something."""
    if not work:
        return
    languages = _languages(texts) or _languages_of(texts, programs) or [""]
    is_about_running = any(names_action("start", first_clause(text)) for text in texts)
    is_about_editing = any(prohibition.verb == "edit" for text in texts for prohibition in prohibitions_in(text))
    for name in work:
        kind = by_name()[name]
        names = [name, f"{name}{FILES}"] if kind.paths and (kind.is_in_files or not is_about_running) else [name]
        names = names[-1:] if is_about_editing else names
        yield from (Trigger("work", name, language, scope) for name in names for language in languages)


def is_qualified(work: str, program: str, text: str) -> bool:
    """Whether it is work with one program that a text speaks of: "Playwright tests"."""
    found = re.search(rf"\b{re.escape(program)}[ -]([a-z]+)", text, re.IGNORECASE)
    return found is not None and work in work_named_in(found[1], [found[1].lower()])


def _languages(texts: tuple[str, ...]) -> list[str]:
    """Languages that the first clause of a text names: what it says of tests or formatting is about theirs."""
    words = [word for text in texts for word in WORD.findall(first_clause(text)) if word != "go"]
    named = (LANGUAGE_OF_PACKAGES.get(word.lower(), word.lower()) for word in words)
    return [language for language in dict.fromkeys(named) if language in LANGUAGE_PROGRAMS]


def _languages_of(texts: tuple[str, ...], programs: set[str]) -> list[str]:
    """Languages whose programs a text names: who speaks of pytest means the tests in Python."""
    named = programs | {word.lower() for text in texts for word in WORD.findall(text)} - ORDINARY_WORDS
    return [language for language, own in LANGUAGE_PROGRAMS.items() if not named.isdisjoint(own - ORDINARY_WORDS)]


def work_in(texts: tuple[str, ...], run: set[str], *, has_path: bool) -> list[str]:
    """The kinds of work that the first clause of a text names, beside the commands in it.

    What "is pushed" or "was merged" tells a state more often than what is being done: it counts where nothing else does, and
    not where the text names something else; but what goes to the main branch counts always.
    """
    done: set[str] = set()
    found: set[str] = set()
    for text, is_whole in zip(texts, (True, False), strict=True):
        clause = CODE_LIKE.sub(" ", PATH_LIKE.sub(" ", CODE.sub(" ", text))).strip()
        clause = clause if is_whole else first_clause(clause)
        words = [word for word in split(clause) if word not in run]
        named = work_named_in(clause, words)
        done |= named
        still = [word for word in words if not word.endswith("ed")] if named else []
        is_all = len(still) == len(words)
        found |= named if is_all else work_named_in(_DONE.sub(" ", clause), still) | named & {"push to main"}
    found = found or (set() if has_path else done)
    plainer = {name for name in found if not by_name()[name].is_vague}
    found = plainer if plainer or run or has_path else found
    wider = {work.part_of for work in WORK if work.name in found}
    return [work.name for work in WORK if work.name in found and work.name not in wider]
