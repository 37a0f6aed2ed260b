"""What is known while messages are read: the memories that are there, and the facts found so far.

A new fact is held against both. It may say nothing new, be a new version of an older one, or be new. A message may also
take back what was said before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.evidence import evidence_of
from memoryd.engines.offline.sentences import sentences_of
from memoryd.engines.offline.subjects import (
    changes,
    covered_by,
    is_all_about_it,
    is_same_subject,
    says_it_moved,
    short_words_of,
    speaks_of,
    speaks_of_words,
    subject_of,
    takes_back,
)
from memoryd.model import Withdrawal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.model import Evidence, Finding, Said, Shelved

REPEATED = 0.55
"""So much of a fact in paragraphs of instruction files: they say it already."""
REPEATED_POINTED = 0.25
"""The same where the fact itself points there."""
_TO_THE_RULES = re.compile(
    r"(?i)\b(?:our|the|usual|project) (?:rules|conventions|guidelines|style guide)\b|\b(?:CLAUDE|AGENTS)\.md\b|\b(?:in|like|as) the file\b"
)
SAID_BEFORE = 0.9
"""So much of a fact in one memory: it says nothing new."""
_LEAST_WORDS_IN_CLAUSE = 2
_LEAST_WORDS = 4


def paragraphs_of(instructions: Sequence[str]) -> list[str]:
    return [paragraph for text in instructions for paragraph in re.split(r"\n\s*\n|\n\s*[-*+]\s+|\n#", text)]


def is_instructed(body: str, paragraphs: Sequence[str], enough: float = REPEATED) -> bool:
    """Whether instruction files say it already, nearly in these words; a reason beside it does not matter.

    Clause by clause: people sum up several lines of a file in one sentence.
    """
    fact = fact_in(body)
    said = repeated = 0.0
    for clause in re.split(r"[,;:.()，、。；]\s*", fact):  # noqa: RUF001
        words = len(subject_of(clause))
        if words >= _LEAST_WORDS_IN_CLAUSE:
            said += words
            repeated += words * max((covered_by(clause, one) for one in paragraphs), default=0.0)
    enough = REPEATED_POINTED if _TO_THE_RULES.search(body) else enough
    return bool(said) and repeated / said >= enough


class Known:
    def __init__(self, shelf: Callable[[], Sequence[Shelved]], instructions: Sequence[str]) -> None:
        self._shelf = shelf
        self._paragraphs = paragraphs_of(instructions)
        self._found: list[Finding] = []
        self._withdrawn: dict[str, Withdrawal] = {}

    def add(self, finding: Finding) -> None:
        """Take in a fact, in the place of what it is a new version of."""
        if is_instructed(finding.body, self._paragraphs):
            return
        for earlier in self._found:
            if self._says_nothing_new(finding, earlier.body):
                return
            also = (earlier.evidence, *earlier.also)
            if finding.type == earlier.type and self._is_newer(finding, earlier.body, also):
                self._found.remove(earlier)  # it goes behind the others: "scratch that" is about what was said last
                self._found.append(finding._replace(replaces=earlier.replaces, also=also))
                return
        older = []
        for memory in reversed(self._shelf()):
            if memory.name in self._withdrawn or any(one.replaces == memory.name for one in self._found):
                continue
            if self._says_nothing_new(finding, memory.body):
                return
            if memory.is_ours and memory.type == finding.type and self._is_newer(finding, memory.body, memory.evidence):
                older.append(memory)
        # Which of several it is a new version of, nobody can tell: then it stands beside them.
        self._found.append(finding._replace(replaces=older[0].name) if len(older) == 1 else finding)

    def is_changed_by(self, sentence: str) -> bool:
        """Whether a sentence changes something said before, in these messages or when they were worked on earlier."""
        if not says_it_moved(sentence):
            return False
        quotes = [finding.evidence.quote for finding in self._found if finding.type == "project"]
        quotes += [
            one.quote
            for memory in self._shelf()
            if memory.is_ours and memory.type == "project"
            for one in memory.evidence
        ]
        return any(changes(sentence, quote) for quote in quotes)

    def take_back(self, said: Said, before: tuple[str, ...]) -> None:
        """Drop what a message takes back: the one thing that it names, or else what was told last.

        That was in the message before; in one of the last few where nothing else follows "forget that" or "what I said".
        A memory of another session only where it speaks of what was said: "drop the retry part" may be about the task.
        """
        names = [name for is_meant, name in map(takes_back, sentences_of(said.text)) if is_meant]
        if not names:
            return
        named = next(filter(None, names), "")
        if not is_all_about_it(said.text):
            before = before[:1]
        for finding in reversed(self._found):
            if speaks_of(finding.body, named) if named else finding.evidence.message_id in before:
                self._found.remove(finding)
                if finding.replaces:  # what it had replaced is meant as well
                    self._withdraw(finding.replaces, said)
                return
        meant = [
            memory
            for memory in self._shelf()
            if memory.is_ours
            and memory.name not in self._withdrawn
            and memory.evidence
            and (memory.evidence[-1].session_id == said.session_id or speaks_of_words(said.text))
            and (speaks_of(memory.body, named) if named else memory.evidence[-1].message_id in before)
        ]
        if len(meant) == 1 or (meant and not named):
            if not named:
                meant.sort(key=lambda memory: before.index(memory.evidence[-1].message_id))
            self._withdraw(meant[0].name, said)

    def news(self) -> list[Finding | Withdrawal]:
        return [*self._found, *self._withdrawn.values()]

    def _withdraw(self, name: str, said: Said) -> None:
        self._withdrawn[name] = Withdrawal(name, evidence_of(said, said.text[:400]))

    def _is_newer(self, finding: Finding, earlier: str, evidence: Sequence[Evidence]) -> bool:
        """Whether a fact is a new version of an earlier one: it says so, or nearly the same words with another value."""
        return is_same_subject(fact_in(finding.body), fact_in(earlier)) or any(
            one.message_id != finding.evidence.message_id
            and finding.type == "project"
            and changes(finding.evidence.quote, one.quote)
            for one in evidence
        )

    def _says_nothing_new(self, finding: Finding, body: str) -> bool:
        """Whether a text says a fact already. Few words prove little: "use tabs" is in "spaces instead of tabs"."""
        is_same = subject_of(finding.body) == subject_of(body)
        is_part = len(subject_of(finding.body)) >= _LEAST_WORDS and covered_by(finding.body, body) >= SAID_BEFORE
        return (is_same or is_part) and not self._says_otherwise(finding, body)

    def _says_otherwise(self, finding: Finding, body: str) -> bool:
        """Whether the same words with other numbers, another negation or another short word make it another fact."""
        marks = r"\d+(?:[-.:]\d+)*|\b(?:not|never|no|don't|nicht|kein\w*|nie|sin|nunca|pas|jamais)\b|n't|不|没|ない"
        return set(re.findall(marks, finding.body.lower())) != set(re.findall(marks, body.lower())) or bool(
            short_words_of(finding.body) - short_words_of(body)
        )


def fact_in(body: str) -> str:
    """What a memory says, without why and how."""
    return body.strip().partition("\n\n")[0]
