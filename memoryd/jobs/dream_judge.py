"""What the agent may write in a dream: decided at each call, by what the memories said before and what the user said.

A statement that moves from one memory to another is in none or in both of them for a while, so what is lost in the end is
not decided here: others look at the whole outcome.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.evidence import overlap, quoted
from memoryd.engines.losses import lost_in, parts_lost
from memoryd.engines.offline.known import is_instructed, paragraphs_of
from memoryd.engines.offline.subjects import subject_of
from memoryd.engines.statements import statements_of
from memoryd.jobs.judge import (
    NEAR_VERBATIM,
    NEVER_SAID,
    NOT_QUOTED,
    form_problem,
    is_carried,
    told_by,
    unnamed_address,
    words_behind,
)
from memoryd.memory.directory import open_directory
from memoryd.memory.document import parse
from memoryd.memory.glance import glance_at
from memoryd.security.redact import find_secret
from memoryd.state import history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.engines.anthropic.tools import Writing
    from memoryd.memory.staging import Staged
    from memoryd.model import Evidence, Said
    from memoryd.state.database import Database

DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
MADE_OF = 0.7
"""So many of the words of a statement in other texts: it may come from there."""
_MARK = re.compile(r"\[(?:…|redacted\b|line cut|cut:|the file has|only the first)")
"""What stands for something that is not shown: who writes it has not read what he replaces."""


class DreamJudge:
    """Says to each write of the agent whether it may be; remembers what the memories newly rest on."""

    def __init__(
        self, database: Database, memory_dir: str, copy: Staged, said: Sequence[Said], instructions: Sequence[str]
    ) -> None:
        self._database = database
        self._memory_dir = memory_dir
        self._copy = copy
        self._said = said
        self._paragraphs = paragraphs_of(instructions)
        self._told = [_glanced(state.data) for state in copy.before.values()]
        self.evidence: dict[str, list[Evidence]] = {}

    def __call__(self, writing: Writing) -> str | None:
        """None where it is allowed, else why not, and what to do instead."""
        problem = self._whose(writing.name) or form_problem(writing.after) or _marked(writing)
        if problem:
            return problem
        evidence = None
        if writing.quote.strip():
            evidence = quoted(writing.quote, self._said)
            if evidence is None:
                return NOT_QUOTED
            if self._is_taken_back(evidence):
                return "The user took back what these words had led to. Leave it."
        elsewhere = self._now_told(writing.name)
        problem = self._truncated(writing, elsewhere) or self._unfounded(writing, elsewhere, evidence)
        if problem:
            return problem
        if evidence is not None:
            self.evidence.setdefault(writing.name, []).append(evidence)
        return None

    def _whose(self, name: str) -> str:
        if name in self._copy.left_alone:
            return f"{name} is left alone: it is {self._copy.left_alone[name]}."
        state = self._copy.before.get(name)
        if state is None:
            return ""
        document = parse(state.data)
        if document.is_pinned:
            return f"{name} is pinned by the user and stays as it is."
        if not is_memory(state.data):
            return f"{name} is no memory that memoryd understands, and stays as it is."
        if find_secret(document.text):
            return f"{name} holds a secret, so only the user changes it."
        return ""

    def _truncated(self, writing: Writing, elsewhere: str) -> str:
        """What a rewrite drops of the parts that a memory has, although no other one has them."""
        state = self._copy.before.get(writing.name)
        if state is None or writing.after is None:
            return ""
        before, after = parse(state.data).body, parse(writing.after).body
        for part in parts_lost(before, after):
            words = before.partition(part)[2].partition("\n\n")[0]
            if lost_in(words, elsewhere, ""):
                return f"{part} would be gone. Keep it, or first write it into the memory that takes this one in."
        return ""

    def _unfounded(self, writing: Writing, elsewhere: str, evidence: Evidence | None) -> str:
        """Why nothing carries what a memory newly says: neither a memory as it was or is, nor words of the user."""
        known = "\n".join((*self._told, elsewhere, told_by(writing.before)))
        said = next((one for one in self._said if evidence and one.message_id == evidence.message_id), None)
        if writing.after is None:
            is_about = said is None or subject_of(told_by(writing.before)) & subject_of(said.text)
            return "" if is_about else "The quote does not speak of this memory, so it stays."
        body = parse(writing.after).body
        words = ""
        if said is not None:
            words = words_behind(said, [one for one in self._said if one.session_id == said.session_id])
            if not is_carried(subject_of(DATE.sub("", body)) - subject_of(known), words):
                return NEVER_SAID
        elif new := _first_new(body, known):
            return f"No memory says this: {new[:200]} Quote the user's words for it, or leave it out."
        if writing.name not in self._copy.before and is_instructed(body, self._paragraphs, NEAR_VERBATIM):
            return "The instruction files say this already. Leave it."
        return unnamed_address(told_by(writing.after), f"{known} {words}")

    def _is_taken_back(self, evidence: Evidence) -> bool:
        refused = history.refused_quotes(self._database, self._memory_dir, evidence.message_id)
        return any(overlap(evidence.quote, quote) for quote in refused)

    def _now_told(self, name: str) -> str:
        """What the other memories of the copy say now."""
        with open_directory(self._copy.path) as directory:
            states = [directory.read(other) for other in directory.listing().topics if other != name]
        return "\n".join(_glanced(state.data) for state in states if state is not None)


def is_memory(data: bytes) -> bool:
    """Whether a file is a memory as memoryd understands it: all others are somebody else's."""
    document = parse(data)
    return not document.problem and bool(document.body_start) and document.type is not None


def _glanced(data: bytes) -> str:
    """What `told_by` says, of hundreds of files at each call."""
    glance = glance_at(data)
    return f"{glance.description}\n{glance.body}"


def _first_new(text: str, known: str) -> str:
    """A statement that is not made of what is known; a day may get its date."""
    there = statements_of(known)
    stems = frozenset().union(*(one.stems for one in there))
    forms = frozenset().union(*(one.forms for one in there))
    for one in statements_of(text):
        values = [value for value in one.values if not DATE.fullmatch(value)]
        if one.covered_by(stems) < MADE_OF or not forms.issuperset(values):
            return one.text
    return ""


def _marked(writing: Writing) -> str:
    """What is wrong with a text that holds a mark for what was not shown, which was not there before."""
    if writing.after is None:
        return ""
    before = (writing.before or b"").decode("utf-8", "replace")
    for mark in _MARK.findall(writing.after.decode("utf-8", "replace")):
        if mark not in before:
            return f"The text holds {mark!r}, which stands for words that you were not shown. Read them, or use Edit."
    return ""
