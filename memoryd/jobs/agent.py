"""Extraction by a model: the agent edits a private copy of the memories, and the difference is what shall change.

What it may write is decided at each call, by what the user said and not by how it is put: a memory rests on words that
stand in one of the user's messages, or it is not written.
"""

from __future__ import annotations

import re
import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.clock import iso
from memoryd.engines.anthropic import extraction, loop
from memoryd.engines.anthropic.client import PromptTooLongError
from memoryd.engines.anthropic.tools import ToolBox
from memoryd.engines.evidence import overlap, quoted, without_quotations
from memoryd.engines.offline.context import is_approval
from memoryd.engines.offline.known import is_instructed, paragraphs_of
from memoryd.engines.offline.sentences import sentences_of
from memoryd.engines.offline.subjects import subject_of
from memoryd.memory.directory import open_directory
from memoryd.memory.document import new_document, parse
from memoryd.memory.guards import RefusedError
from memoryd.memory.manifest import manifest_of
from memoryd.memory.staging import changes_in, staged
from memoryd.model import Group
from memoryd.security.redact import find_secret, redact
from memoryd.state import history
from memoryd.state.changes import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.engines.anthropic.loop import Limits
    from memoryd.engines.anthropic.tools import Writing
    from memoryd.engines.anthropic.wire import Reply
    from memoryd.memory.staging import Staged
    from memoryd.model import Evidence, Exchange, FileChange
    from memoryd.state.database import Database

NEAR_VERBATIM = 0.8
"""So much of a memory in the instruction files: they say it already."""
DESCRIPTION_CHARACTERS = 300
_LEAST_FOUNDED = 0.3
"""So many of the words of a fact have to be the user's; of facts that people wrote down from such messages it was 0.43."""
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s)\]>\"'`,;]+[^\s)\]>\"'`,;.]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_TRIES = 3
_LESS = 0.6
_SAFE = 0.9


class Extracted(NamedTuple):
    groups: tuple[Group, ...]
    taken: int
    """How many of the turns, from the first on, this is about: the others did not fit."""


def extract(
    database: Database,
    memory_dir: str,
    place: str,
    exchanges: Sequence[Exchange],
    instructions: Sequence[str],
    *,
    model: str,
    limits: Limits,
    ask: Callable[[dict[str, Any]], Reply],
    now: Callable[[], float],
    note: Callable[[str, str], None],
) -> Extracted:
    """Let the agent work on turns, whose words are redacted.

    1. copy the memories
    2. brief the agent; where the turns do not fit, or it declines, with fewer of them
    3. let it edit the copy, each write judged as it comes
    4. make changes of what it did, in our form, with what they rest on

    Raises what `loop.run` raises; RunFailedError where not even one turn fits, RefusedError where the model declines.
    """
    with ExitStack() as stack:
        try:
            directory = stack.enter_context(open_directory(memory_dir))
        except FileNotFoundError:
            directory = None
        shutil.rmtree(place, ignore_errors=True)  # of a process that died: the caller is the only worker here
        copy = stack.enter_context(staged(directory, place))
        manifest = manifest_of(copy.before)
        texts = [redact(text) for text in instructions]
        brief = extraction.brief_of(exchanges, manifest, texts, limits)
        taken = extraction.fitting(exchanges, brief, limits)
        for tries_left in reversed(range(_TRIES)):
            brief = extraction.brief_of(exchanges[:taken], manifest, texts, limits)
            judge = _Judge(database, memory_dir, copy, exchanges[:taken], texts)
            try:
                with ToolBox(copy.path, judge) as box:
                    loop.run(brief, model, box, ask, limits, now, note)
            except PromptTooLongError as error:
                if taken == 1 or not tries_left or changes_in(copy):
                    break
                share = error.limit / error.tokens * _SAFE if error.limit and error.tokens else _LESS
                taken = max(1, min(taken - 1, int(taken * share)))
                continue
            except loop.DeclinedError as error:
                if taken == 1 or not tries_left or changes_in(copy):
                    sentence = "The model does not want to work on this conversation."
                    raise RefusedError("model", sentence, turns=taken) from error
                taken = taken // 2  # it may be about one of them only
                continue
            session_id = exchanges[0].said.session_id
            groups = [
                _group(change, judge.evidence[change.name], session_id, now())
                for change in changes_in(copy)
                if not _is_same(change)
            ]
            return Extracted(tuple(groups), taken)
    raise loop.RunFailedError("what was said does not fit into the model's window")


class _Judge:
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
        problem = self._whose(writing.name) or _form(writing.after)
        if problem:
            return problem
        evidence = quoted(writing.quote, self._said)
        if evidence is None:
            return (
                "The quote is not in what the user said. Quote a whole statement of theirs, letter by letter, from a"
                " `user` part; what others said is no ground for a memory."
            )
        if problem := self._unfounded(writing, evidence):
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
        before = _told(writing.before)
        if writing.after is None:
            about = subject_of(before) & subject_of(said.text)
            return "" if about else "The quote does not speak of this memory, so it stays."
        words = " ".join(without_quotations(one.text) for one in self._said)
        if any(map(is_approval, sentences_of(said.text))):
            words += " " + said.answer
        fact = parse(writing.after).body.strip().partition("\n\n")[0]
        new = subject_of(fact) - subject_of(before)
        if len(new & subject_of(words)) < len(new) * _LEAST_FOUNDED:
            return "That is not what the user said: tell it in their own words and language, and nothing beyond them."
        for address in _ADDRESS.findall(_told(writing.after)):
            if address.lower() not in f"{before} {words}".lower():
                return f"The user never named {address}: leave it out."
        return ""

    def _is_settled(self, evidence: Evidence) -> bool:
        """A quote may be shorter or longer than the one that was refused: it is the same statement."""
        refused = history.refused_quotes(self._database, self._memory_dir, evidence.message_id)
        return any(overlap(evidence.quote, quote) for quote in refused) or history.rests_on(
            self._database, self._memory_dir, evidence
        )


def _form(after: bytes | None) -> str:
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


def _told(data: bytes | None) -> str:
    """All that a memory says."""
    document = parse(data or b"")
    return f"{document.description}\n{document.body}"


def _is_same(change: FileChange) -> bool:
    """Whether a rewritten memory says what it said, but for white space or keys that are ours to set."""
    if change.before is None or change.after is None:
        return False
    before, after = parse(change.before), parse(change.after)
    return (before.type, before.description, before.body.split()) == (after.type, after.description, after.body.split())


def _group(change: FileChange, evidence: list[Evidence], session_id: str, now: float) -> Group:
    """One memory as we write it. Of a rewritten one all stays that the agent had no reason to touch."""
    newest = evidence[-1]
    if change.after is not None:
        given = parse(change.after)
        assert given.type is not None  # noqa: S101 - judged
        if change.before is None:
            document = new_document(
                name=given.name,
                description=given.description,
                kind=given.type,
                body=given.body,
                session_id=session_id,
                evidence=newest.hash,
                modified=iso(now),
            )
        else:
            document = parse(change.before)
            values = {("description",): given.description, ("metadata", "evidence"): newest.hash}
            if given.type != document.type:
                values |= {("type",): given.type, ("metadata", "type"): given.type}
            for path, value in (values | {("metadata", "modified"): iso(now)}).items():
                document = document.with_value(path, value)
            document = document.with_body(given.body.strip("\n") + "\n")
        change = change._replace(after=document.render())
    why = "you took it back" if change.after is None else "you said" if change.before is None else "you said later"
    return Group((change,), f"{why}: {newest.quote}", tuple((change.name, one) for one in evidence))
