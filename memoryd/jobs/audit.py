"""Audit: what the user told agents in two or more sessions of the last days, most often first.

It reads sessions as they are now, and writes nothing: it is for people who have not decided yet whether they want memoryd.

1. Read the user's messages of every session that changed in that time.
2. Cut them into sentences, and group those that say the same, also in other words (`recall/restated.py`).
3. Keep groups of two or more sessions that hold beyond a task: by their words, or because the offline engine would keep one.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.registry import all_sessions
from memoryd.engines.offline import find
from memoryd.language.certainty import is_meant
from memoryd.language.lasting import may_last
from memoryd.language.sentences import sentences_of
from memoryd.model import Prompt, UserMessage
from memoryd.paths import is_below
from memoryd.projects import is_excluded, root_of
from memoryd.recall.again import groups_of
from memoryd.recall.restated import restated_of
from memoryd.security.redact import redact
from memoryd.transcripts.opt_out import is_opt_out
from memoryd.transcripts.read import entries_in

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.recall.restated import Restated

DAYS = 30
_DAY = 86_400.0
_LEAST_SESSIONS = 2
_LEAST_TOLD = 2
"""Words that tell something, or a negation: "no lodash" is an instruction, "continue" is none."""
_TEMPLATE_CHARACTERS = 200
"""A message that is longer and comes again letter by letter was typed by a program, or pasted."""


class SaidSentence(NamedTuple):
    """A sentence of the user."""

    text: str
    session_id: str
    project: str
    client: str
    said_at: float


class Repetition(NamedTuple):
    """What was said more than once, oldest first."""

    said: tuple[SaidSentence, ...]

    @property
    def text(self) -> str:
        """As it was said most often; of those the shortest."""
        often = Counter(sentence.text for sentence in self.said)
        return min(often, key=lambda text: (-often[text], len(text), text))

    @property
    def sessions(self) -> int:
        return len({sentence.session_id for sentence in self.said})


class AuditReport(NamedTuple):
    sessions: int
    """That were read."""
    messages: int
    repetitions: tuple[Repetition, ...]


def audit(paths: Paths, config: Config, now: float, days: float = DAYS) -> AuditReport:
    sessions, messages, sentences = _read(paths, config, now - days * _DAY, now)
    told = [(sentence, statement) for sentence in sentences if (statement := statement_of(sentence.text)) is not None]
    told.sort(key=lambda pair: pair[0].said_at)
    found = []
    for group in groups_of([statement for _, statement in told]):
        repetition = Repetition(tuple(told[number][0] for number in group))
        if repetition.sessions >= _LEAST_SESSIONS and _is_lasting(repetition):
            found.append(repetition)
    found.sort(key=lambda repetition: (-repetition.sessions, -len(repetition.said), -repetition.said[-1].said_at))
    return AuditReport(sessions, messages, tuple(found))


def statement_of(sentence: str) -> Restated | None:
    """What a sentence tells; nothing if it is a question, not meant, or tells too little to be compared."""
    if "[redacted:" in sentence or not is_meant(sentence) or sentence.rstrip().endswith("?"):
        return None
    statement = restated_of(sentence)
    told = len(statement.words) + len(statement.literals) + len(statement.pairs)
    asks_first = any(word.is_second for word in statement.words)  # "no installs without my ok"
    return statement if told + (statement.has_negation or asks_first) >= _LEAST_TOLD else None


def _is_lasting(repetition: Repetition) -> bool:
    """Whether it holds beyond a task. The engine, which decides by one message, is asked only where words do not tell."""
    texts = list(dict.fromkeys(sentence.text for sentence in repetition.said))
    return any(map(may_last, texts)) or any(_is_kept(text, repetition.said[0]) for text in texts)


def _is_kept(text: str, said: SaidSentence) -> bool:
    """Whether the offline engine would write a sentence down at once."""
    return bool(find([UserMessage(said.session_id, "audit", said.said_at, text)]).written)


# --- reading ----------------------------------------------------------------------------------------------------------


def _read(paths: Paths, config: Config, since: float, now: float) -> tuple[int, int, list[SaidSentence]]:
    """How many sessions and messages there were, and the sentences; each message once, also where a fork repeats it."""
    seen: set[str] = set()
    sessions = messages = 0
    found: list[SaidSentence] = []
    for client, file in all_sessions(paths):
        if file.mtime_ns / 1e9 < since:
            continue
        prompts = [
            prompt
            for prompt in entries_in(client, file.path)
            if isinstance(prompt, Prompt)
            and since <= (prompt.said_at if prompt.said_at is not None else file.mtime_ns / 1e9) <= now + _DAY
        ]
        if not prompts or any(is_opt_out(prompt.text) for prompt in prompts):
            continue
        root = root_of(prompts[0].cwd) if prompts[0].cwd else ""
        if _is_left_alone(root, prompts[0].cwd, paths, config):
            continue
        sessions += 1
        for prompt in prompts:
            names = {*prompt.ids, *([prompt.text] if len(prompt.text) > _TEMPLATE_CHARACTERS else [])}
            is_known = not seen.isdisjoint(names)
            seen |= names
            if is_known:
                continue
            messages += 1
            at = prompt.said_at if prompt.said_at is not None else file.mtime_ns / 1e9
            session = prompt.session_id or os.path.basename(file.path)
            found += [
                SaidSentence(sentence, session, root, client.name, at) for sentence in sentences_of(redact(prompt.text))
            ]
    return sessions, messages, found


def _is_left_alone(root: str, cwd: str, paths: Paths, config: Config) -> bool:
    return is_below(cwd, paths.state_dir) or any(
        is_excluded(path, config.projects.exclude) for path in (root, cwd) if path
    )
