"""What the user said since then changes, extends or joins the memories.

Message by message, in the order in which they were said. Of each sentence that was meant:
1. somebody left, and somebody else does it now: the name changes (`persons`);
2. a value changed: it takes the place of the old one (`slots`, `rewriting`);
3. something is over: what the memory said becomes what once was (`former`);
4. what is left and worth keeping is added to the one memory it belongs to (`extending`), or is learnt (`learning`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.certainty import is_meant
from memoryd.engines.evidence import evidence_of
from memoryd.engines.offline.dream.extending import (
    adds_a_value,
    extends,
    home_of,
    is_addition,
    with_sentence,
)
from memoryd.engines.offline.dream.fitting import NAMES
from memoryd.engines.offline.dream.former import belongs_to, contradiction_in, since, with_former
from memoryd.engines.offline.dream.learning import draft_of, findings_in, goes_on, is_known, is_over, whole
from memoryd.engines.offline.dream.naming import called
from memoryd.engines.offline.dream.persons import succession_in, with_successor
from memoryd.engines.offline.dream.rewriting import tells_more, with_values
from memoryd.engines.offline.dream.slots import CLEARLY, find_slots, nearness
from memoryd.engines.offline.dream.statements import meant, own_words, statements_in
from memoryd.engines.offline.dream.wording import rarity, texts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.engines.offline.dream.statements import Statement
    from memoryd.model import Finding, Said


def take_in(
    drafts: list[Draft],
    said: Sequence[Said],
    instructions: Sequence[str],
    now: float,
    is_sound: Callable[[Draft], bool] = lambda _: True,
) -> Iterator[str]:
    """Change the drafts in place; yields a line for each change.

    `is_sound` tells whether a draft would be accepted: one change that is not must not take the others with it.
    """
    messages = meant([own_words(message) for message in said])
    findings = findings_in(messages, instructions, now)
    for message in messages:
        statements = [one for one in statements_in(message) if is_meant(one.quote)]
        used: set[str] = set()
        retold: set[str] = set()
        focus: Draft | None = None
        for statement in statements:
            if not statement.says_it_changed or statement.quote in retold:
                continue
            rare = rarity([texts_of(draft) for draft in drafts])
            before = {id(draft): replace(draft) for draft in drafts}
            for change in _changes(statement, statements, drafts, rare, focus):
                focus = change.draft
                used.update(one.quote for one in change.told)
                retold.update(one.quote for one in change.told if change.is_retold)
                if not focus.is_closed_to(message):
                    yield from _settled(change, statements, before[id(focus)], is_sound)
        for finding in findings.get(message.message_id, ()):
            if is_meant(finding.evidence.quote) and not any(quote in finding.evidence.quote for quote in used):
                yield from _taken_up(finding, message, statements, drafts, used, now)
        yield from _additions([one for one in statements if one.quote not in used], drafts)


class _Change(NamedTuple):
    draft: Draft
    told: tuple[Statement, ...]
    """The statements that it rests on."""
    is_retold: bool = False
    """They were told as a whole: nothing is left of them."""
    is_by_the_way: bool = False
    """A name changed here because it changed elsewhere."""


def _settled(
    change: _Change, message: Sequence[Statement], before: Draft, is_sound: Callable[[Draft], bool]
) -> Iterator[str]:
    """Note a change. Where it is not sound, the words stand beside what was known; where that is not either, nothing."""
    line = _noted(change, message)
    draft = change.draft
    if not is_sound(draft):
        _take_back(draft, before)
        if change.is_by_the_way:
            return
        draft.body = with_sentence(draft.body, since(change.told[0], " ".join(one.told for one in change.told)))
        line = _noted(change, message)
        if not is_sound(draft):
            _take_back(draft, before)
            return
    yield line


def _take_back(draft: Draft, before: Draft) -> None:
    for name in ("description", "body", "evidence", "reason", "line"):
        setattr(draft, name, getattr(before, name))


def _noted(change: _Change, message: Sequence[Statement]) -> str:
    """Give a draft the words that it rests on, from the first to the last, and say what was done."""
    places = [message.index(one) for one in change.told]
    quote = " ".join(one.quote for one in message[min(places) : max(places) + 1])
    known = [one for one in change.draft.evidence if one.message_id != change.told[0].said.message_id]
    same = [one.quote for one in change.draft.evidence if one not in known]
    if any(quote in one for one in same):
        quote = next(one for one in same if quote in one)
    elif same:
        quote = " ".join([*same, quote])
    change.draft.evidence = (*known, evidence_of(change.told[0].said, quote))
    return change.draft.change("updated", f"Updating {called(change.draft)}")


def _changes(
    statement: Statement,
    message: Sequence[Statement],
    drafts: Sequence[Draft],
    rare: Mapping[str, float],
    focus: Draft | None,
) -> list[_Change]:
    """What a statement changes; a memory that must not be changed is only named."""
    followed = _with_successor(statement, message, drafts, rare)
    changes = _with_values(statement, drafts, rare, focus, is_told=followed is not None)
    if followed is not None:
        return [followed, *changes]
    if changes:
        return changes
    ended = _with_former(statement, message, drafts, rare)
    return [ended] if ended is not None else []


def _with_values(
    statement: Statement, drafts: Sequence[Draft], rare: Mapping[str, float], focus: Draft | None, *, is_told: bool
) -> list[_Change]:
    """Put the new values of a statement into the memory that has the old ones; a name changes wherever it stands."""
    draft, slots = find_slots(statement, drafts, rare, focus)
    if draft is None:
        return []
    changes = [_Change(draft, (statement,))]
    names = [slot for slot in slots if slot.old.kind in NAMES]
    for other in drafts if names else ():
        body, description = with_values(other.body, other.description, names, statement)
        if (
            other is not draft
            and not other.is_closed_to(statement.said)
            and (body, description) != (other.body, other.description)
        ):
            other.body, other.description = body, description
            changes.append(_Change(other, (statement,), is_by_the_way=True))
    if not draft.is_closed_to(statement.said):
        draft.body, draft.description = with_values(draft.body, draft.description, slots, statement)
        if not is_told and tells_more(statement, draft, slots):
            draft.body = with_sentence(draft.body, since(statement, statement.told))
    return changes


def _with_successor(
    statement: Statement, message: Sequence[Statement], drafts: Sequence[Draft], rare: Mapping[str, float]
) -> _Change | None:
    """Put the name of who does it now into the memory that names who did it."""
    quotes = [one.quote for one in message]
    draft = _nearest(statement, [one for one in drafts if succession_in(statement, one, quotes)], rare)
    change = succession_in(statement, draft, quotes) if draft is not None else None
    if draft is None or change is None:
        return None
    if not draft.is_closed_to(statement.said):
        draft.body, draft.description = with_successor(draft.body, change), with_successor(draft.description, change)
    told = [one for one in message if one is statement or change.new.lower() in one.quote.lower()]
    return _Change(draft, tuple(told))


def _with_former(
    statement: Statement, message: Sequence[Statement], drafts: Sequence[Draft], rare: Mapping[str, float]
) -> _Change | None:
    """Tell as former what a statement says is over."""
    draft = _nearest(statement, [one for one in drafts if contradiction_in(statement, one, rare)], rare)
    change = contradiction_in(statement, draft, rare) if draft is not None else None
    if draft is None or change is None:
        return None
    told = tuple(one for one in message if one is statement or belongs_to(one, statement, draft))
    if not draft.is_closed_to(statement.said):
        draft.body, draft.description = with_former(draft, change, told)
    return _Change(draft, told, is_retold=True)


def _nearest(statement: Statement, drafts: Sequence[Draft], rare: Mapping[str, float]) -> Draft | None:
    """The one of these memories that a statement is about; None where two could be meant."""
    found = sorted(((nearness(statement, draft, rare), number) for number, draft in enumerate(drafts)), reverse=True)
    if not found or (len(found) > 1 and found[0][0] < CLEARLY * found[1][0]):
        return None
    return drafts[found[0][1]]


def _taken_up(
    part: Finding, message: Said, statements: Sequence[Statement], drafts: list[Draft], used: set[str], now: float
) -> Iterator[str]:
    """Add a finding to the memory it belongs to, or make it one; not where it is known, over or no fact by itself."""
    finding = whole(message, part)
    if finding is None:
        return
    own = [one for one in statements if one.quote in finding.evidence.quote]
    used.update(one.quote for one in own)
    if is_known(finding, drafts) or is_over(message, finding, now):
        return
    home = home_of(own[0], drafts, rarity([texts_of(draft) for draft in drafts])) if own else None
    if home is not None and not home.is_closed_to(message) and any(extends(one, home) for one in own):
        yield _added(home, own)
        return
    new = draft_of(message, finding)
    drafts.append(new)
    yield new.change("learnt", f"Learning about {called(new)}")


def _additions(statements: Sequence[Statement], drafts: Sequence[Draft]) -> Iterator[str]:
    """Add what is meant as an addition to the memory it belongs to, with the sentences that go on from it."""
    rare = rarity([texts_of(draft) for draft in drafts])
    done = 0
    for number, statement in enumerate(statements):
        home = home_of(statement, drafts, rare) if number >= done else None
        if (
            home is None
            or home.is_closed_to(statement.said)
            or not (is_addition(statement, home) or adds_a_value(statement, home))
        ):
            continue
        done = number + 1
        while done < len(statements) and goes_on(statements[done].quote):
            done += 1
        yield _added(home, statements[number:done])


def _added(home: Draft, told: Sequence[Statement]) -> str:
    home.body = with_sentence(home.body, since(told[0], " ".join(one.told for one in told)))
    return _noted(_Change(home, tuple(told)), told)
