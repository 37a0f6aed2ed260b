"""What the agent may write in an extraction: decided at each call, by what the user said and not by how it is put.

A memory rests on words that stand in one of the user's messages and speaks of what they speak of, or it is not written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.evidence import overlap, quoted, without_quotations
from memoryd.engines.losses import lost_in, parts_lost
from memoryd.engines.offline.context import is_approval
from memoryd.engines.offline.known import is_instructed, paragraphs_of
from memoryd.engines.offline.sentences import sentences_of
from memoryd.engines.offline.subjects import subject_of
from memoryd.memory.document import parse
from memoryd.security.redact import find_secret
from memoryd.state import history
from memoryd.state.changes import digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.engines.anthropic.tools import Writing
    from memoryd.memory.staging import Staged
    from memoryd.model import Evidence, Exchange, Said
    from memoryd.state.database import Database

NEAR_VERBATIM = 0.8
"""So much of a memory in the instruction files: they say it already."""
DESCRIPTION_CHARACTERS = 300
NEVER_SAID = "That is not what the user said: tell it in their own words and language, and nothing beyond them."
NOT_QUOTED = (
    "The quote is not in what the user said. Quote a whole statement of theirs, letter by letter, from a"
    " `user` part; what others said is no ground for a memory."
)
_LEAST_FOUNDED = 0.3
"""So many of the words of a fact have to be the user's; of facts that people wrote down from such messages it was 0.43."""
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s)\]>\"'`,;]+[^\s)\]>\"'`,;.]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


class Judge:
    """Says to each write of the agent whether it may be; remembers what the memories rest on."""

    def __init__(
        self,
        database: Database,
        memory_dir: str,
        copy: Staged,
        exchanges: Sequence[Exchange],
        instructions: Sequence[str],
    ) -> None:
        self._database = database
        self._memory_dir = memory_dir
        self._copy = copy
        self._said = [exchange.said for exchange in exchanges]
        self._paragraphs = paragraphs_of(instructions)
        made = history.made(database, memory_dir)
        self._ours = {name for name, state in copy.before.items() if (name, digest(state.data)) in made}
        self.evidence: dict[str, list[Evidence]] = {}

    def __call__(self, writing: Writing) -> str | None:
        """None where it is allowed, else why not, and what to do instead."""
        problem = self._whose(writing.name) or form_problem(writing.after)
        if problem:
            return problem
        evidence = quoted(writing.quote, self._said)
        if evidence is None:
            return NOT_QUOTED
        if problem := self._unfounded(writing, evidence) or self._lossy(writing, evidence):
            return problem
        if self._is_settled(evidence):
            return "These words have been dealt with before: the memory exists, or the user took it back. Leave it."
        if writing.after is not None and is_instructed(parse(writing.after).body, self._paragraphs, NEAR_VERBATIM):
            return "The instruction files say this already. Leave it."
        self.evidence.setdefault(writing.name, []).append(evidence)
        return None

    def _whose(self, name: str) -> str:
        if name in self._copy.left_alone:
            return f"{name} is left alone: it is {self._copy.left_alone[name]}. Write a new memory instead."
        if name not in self._copy.before:
            return ""
        if parse(self._copy.before[name].data).is_pinned:
            return f"{name} is pinned by the user and stays as it is. Write a new memory instead."
        if name not in self._ours:
            return f"{name} was written by somebody else and stays as it is. Write a new memory instead."
        return ""

    def _unfounded(self, writing: Writing, evidence: Evidence) -> str:
        """Why words of the user do not carry a memory: it has to speak of what they speak of.

        What the agent had proposed counts with them only where they approve of it.
        """
        said = next(one for one in self._said if one.message_id == evidence.message_id)
        before = told_by(writing.before)
        if writing.after is None:
            about = subject_of(before) & subject_of(said.text)
            return "" if about else "The quote does not speak of this memory, so it stays."
        words = words_behind(said, self._said)
        fact = parse(writing.after).body.strip().partition("\n\n")[0]
        new = subject_of(fact) - subject_of(before)
        if not is_carried(new, words):
            return NEVER_SAID
        return unnamed_address(told_by(writing.after), f"{before} {words}")

    def _lossy(self, writing: Writing, evidence: Evidence) -> str:
        """What a rewrite would lose that the new words do not speak of."""
        if writing.before is None or writing.after is None:
            return ""
        before, after = parse(writing.before).body, parse(writing.after).body
        said = next(one for one in self._said if one.message_id == evidence.message_id)
        if parts := parts_lost(before, after):
            return f"{' and '.join(parts)} would be gone. Keep what the new words do not change."
        if lost := lost_in(before, after, said.text):
            return f"This would be gone: {lost[0][:200]} The new words do not speak of it, so keep it."
        return ""

    def _is_settled(self, evidence: Evidence) -> bool:
        """A quote may be shorter or longer than the one that was refused: it is the same statement."""
        refused = history.refused_quotes(self._database, self._memory_dir, evidence.message_id)
        return any(overlap(evidence.quote, quote) for quote in refused) or history.rests_on(
            self._database, self._memory_dir, evidence
        )


def form_problem(after: bytes | None) -> str:
    """What is wrong with the content of a memory; a removal has none."""
    if after is None:
        return ""
    document = parse(after)
    if document.problem or not document.body_start:
        return f"The file needs frontmatter between two lines of ---; {document.problem or 'there is none'}."
    if document.type is None:
        return "`type` must be user, feedback, project or reference."
    if not document.name or not document.description:
        return "`name` and `description` must be given, one line each."
    if len(document.description) > DESCRIPTION_CHARACTERS:
        return f"`description` is longer than {DESCRIPTION_CHARACTERS} characters: say the fact in one line."
    if not document.body.strip():
        return "There is no text below the frontmatter."
    if kind := find_secret(document.text):
        return f"The text holds a secret ({kind}), which is never kept. Say the fact without it."
    return ""


def words_behind(said: Said, messages: Sequence[Said]) -> str:
    """What a quote from a message can carry: these messages of the user, and what the message approves of."""
    words = " ".join(without_quotations(one.text) for one in messages)
    return f"{words} {said.answer}" if any(map(is_approval, sentences_of(said.text))) else words


def unnamed_address(text: str, known: str) -> str:
    """What is wrong with a text that names an address which nobody ever named."""
    for address in _ADDRESS.findall(text):
        if address.lower() not in known.lower():
            return f"The user never named {address}: leave it out."
    return ""


def is_carried(new: frozenset[str], words: str) -> bool:
    """Whether enough of what a fact newly speaks of is in what was said."""
    return len(new & subject_of(words)) >= len(new) * _LEAST_FOUNDED


def told_by(data: bytes | None) -> str:
    """All that a memory says."""
    document = parse(data or b"")
    return f"{document.description}\n{document.body}"
