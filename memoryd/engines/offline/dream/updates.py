"""What the user said since then changes, extends or joins the memories.

Message by message, in the order in which they were said. Of each sentence that was meant:
1. somebody left, and somebody else does it now: the name changes (`persons`);
2. a value changed: it takes the place of the old one (`slots`, `rewriting`);
3. something is over: what the memory said becomes what once was (`former`);
4. what is left and worth keeping is added to the one memory it belongs to (`extending`), or is learnt (`learning`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.evidence import evidence_of
from memoryd.engines.offline.dream.extending import extends, home_of, with_sentence
from memoryd.engines.offline.dream.former import contradiction_in, since, with_former
from memoryd.engines.offline.dream.learning import draft_of, findings_in, is_known, is_over, whole
from memoryd.engines.offline.dream.persons import succession_in, with_successor
from memoryd.engines.offline.dream.rewriting import with_values
from memoryd.engines.offline.dream.slots import CLEARLY, find_slots, nearness, texts_of
from memoryd.engines.offline.dream.statements import meant, own_words, statements_in
from memoryd.engines.offline.dream.wording import rarity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.engines.offline.dream.statements import Statement
    from memoryd.model import Finding, Said

_TYPES = frozenset({"user", "feedback", "project", "reference"})
_WORDS = 3


def take_in(drafts: list[Draft], said: Sequence[Said], instructions: Sequence[str], now: float) -> Iterator[str]:
    """Change the drafts in place; yields a line for each change."""
    messages = meant([own_words(message) for message in said])
    findings = findings_in(messages, instructions)
    for message in messages:
        statements = statements_in(message)
        used: set[str] = set()
        for draft, statement in _changes(statements, drafts, used):
            if draft.is_fixed:
                continue
            draft.evidence = (*draft.evidence, evidence_of(message, statement.quote))
            yield draft.change("updated", f"Updating {subject_in_words(draft)}")
        for finding in findings.get(message.message_id, ()):
            if any(quote in finding.evidence.quote for quote in used):
                continue
            line = _taken_up(message, finding, statements, drafts, now)
            if line:
                yield line


def _changes(
    statements: Sequence[Statement], drafts: Sequence[Draft], used: set[str]
) -> Iterator[tuple[Draft, Statement]]:
    """Change what the statements of a message change; `used` takes the sentences that are told with that."""
    focus: Draft | None = None
    for statement in statements:
        if not statement.says_it_changed:
            continue
        rare = rarity([texts_of(draft) for draft in drafts])
        changed = [
            _with_successor(statement, statements, drafts, rare),
            _with_values(statement, drafts, rare, focus),
        ]
        if not any(changed):
            changed.append(_with_former(statement, statements, drafts, rare, used))
        for draft in changed:
            if draft is not None:
                focus = draft
                used.add(statement.quote)
                yield draft, statement


def _with_values(
    statement: Statement, drafts: Sequence[Draft], rare: Mapping[str, float], focus: Draft | None
) -> Draft | None:
    """Put the new values of a statement into the memory that has the old ones."""
    draft, slots = find_slots(statement, drafts, rare, focus)
    if draft is not None and not draft.is_fixed:
        draft.body, draft.description = with_values(draft.body, draft.description, slots, statement)
    return draft


def _with_successor(
    statement: Statement, message: Sequence[Statement], drafts: Sequence[Draft], rare: Mapping[str, float]
) -> Draft | None:
    """Put the name of who does it now into the memory that names who did it."""
    quotes = [one.quote for one in message]
    draft = _nearest(statement, [one for one in drafts if succession_in(statement, one, quotes)], rare)
    change = succession_in(statement, draft, quotes) if draft is not None else None
    if draft is None or change is None or draft.is_fixed:
        return draft
    draft.body, draft.description = with_successor(draft.body, change), with_successor(draft.description, change)
    return draft


def _with_former(
    statement: Statement,
    message: Sequence[Statement],
    drafts: Sequence[Draft],
    rare: Mapping[str, float],
    used: set[str],
) -> Draft | None:
    """Tell as former what a statement says is over."""
    draft = _nearest(statement, [one for one in drafts if contradiction_in(statement, one, rare)], rare)
    change = contradiction_in(statement, draft, rare) if draft is not None else None
    if draft is None or change is None or draft.is_fixed:
        return draft
    told = [one for one in message if one.quote not in used]
    draft.body, draft.description = with_former(draft, change, told)
    used.update(one.quote for one in told)
    return draft


def _nearest(statement: Statement, drafts: Sequence[Draft], rare: Mapping[str, float]) -> Draft | None:
    """The one of these memories that a statement is about; None where two could be meant."""
    found = sorted(((nearness(statement, draft, rare), number) for number, draft in enumerate(drafts)), reverse=True)
    if not found or (len(found) > 1 and found[0][0] < CLEARLY * found[1][0]):
        return None
    return drafts[found[0][1]]


def _taken_up(
    message: Said, finding: Finding, statements: Sequence[Statement], drafts: list[Draft], now: float
) -> str | None:
    """Add a finding to the memory it belongs to, or make it one; None where it is known, over or no fact by itself."""
    finding_whole = whole(message, finding)
    if finding_whole is None or is_known(finding_whole, drafts) or is_over(message, finding_whole, now):
        return None
    rare = rarity([texts_of(draft) for draft in drafts])
    own = [one for one in statements if one.quote in finding_whole.evidence.quote]
    home = home_of(own[0], drafts, rare) if own else None
    if home is not None and not home.is_fixed and any(extends(one, home) for one in own):
        home.body = with_sentence(home.body, since(own[0], " ".join(one.told for one in own)))
        home.evidence = (*home.evidence, finding_whole.evidence)
        return home.change("updated", f"Updating {subject_in_words(home)}")
    new = draft_of(message, finding_whole)
    drafts.append(new)
    return new.change("learnt", f"Learning about {subject_in_words(new)}")


def subject_in_words(draft: Draft) -> str:
    """What a memory is about in a few words, by its name."""
    name = draft.files[0].removesuffix(".md") if draft.files else draft.title
    words = re.split(r"[-_\s]+", name)
    words = words[1:] if len(words) > 1 and words[0] in _TYPES else words
    return " ".join(words[:_WORDS])
