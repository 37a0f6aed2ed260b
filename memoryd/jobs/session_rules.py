"""Rules that go with the first prompt of a session that says something, whatever that is.

A rule about every answer ("in German", "no emojis") shares no word with the prompts that it is for: it is known by what it speaks
of, among however many memories. In a project of few memories the other rules go with it, those first that the prompt may mean:
they cost less than to miss one. A rule about a command, a path or a kind of work comes with the tool call that it is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.memory.tier_names import as_global
from memoryd.recall.index import is_unchanged
from memoryd.recall.quotes import parsed_quote, place_of_quotes
from memoryd.recall.reading import read_memory
from memoryd.recall.store import IndexedMemory
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from memoryd.memory.quick_parse import QuickParse
    from memoryd.recall.rank import Candidate
    from memoryd.recall.store import Directory, Store
    from memoryd.state.quotes import Quote

_MOST_ABOUT_ANSWERS = 3
_TYPES = ("feedback", "user")
"""How to work and for whom; facts are for those who ask."""
_HANDFUL = 5
"""As many memories and quotes, together, as a session may be given without a search; with each one more, one rule less."""


class Rule(NamedTuple):
    memory: IndexedMemory
    """`has_secret`: it may have one."""
    parsed: QuickParse
    quote: Quote | None = None
    """Of an unconfirmed one, which has no file."""


class Tier(NamedTuple):
    """A memory directory whose rules hold in the session."""

    memory_dir: str
    directory: Directory
    is_global: bool = False


def rules_for_session(
    store: Store,
    memory_dir: str,
    tiers: Sequence[Tier],
    quotes: Mapping[str, Quote],
    found: Sequence[Candidate],
    known: Collection[str],
    memories: int,
) -> list[Rule]:
    """The rules that the session does not know yet. `found`: what the prompt may mean; `memories`: how many there are."""
    about_answers = [
        *(_rule(tier, memory) for tier in tiers for memory in store.about_every_answer(tier.directory.id)),
        *_quoted(store, memory_dir, quotes),
    ]
    chosen = [rule for rule in about_answers if rule.memory.name not in known][:_MOST_ABOUT_ANSWERS]
    room = min(_HANDFUL, 2 * _HANDFUL - memories) - len(chosen)
    if room > 0:
        there = {*known, *(rule.memory.name for rule in chosen)}
        likely = {candidate.memory.name: candidate.probability for candidate in found}
        others = [rule for rule in _without_calls(store, tiers, quotes) if rule.memory.name not in there]
        chosen += sorted(others, key=lambda rule: -likely.get(rule.memory.name, 0.0))[:room]
    return chosen


def _without_calls(store: Store, tiers: Sequence[Tier], quotes: Mapping[str, Quote]) -> Iterator[Rule]:
    """The rules that no tool call is about, those with a file first."""
    for tier in tiers:
        for memory in store.without_calls(tier.directory.id):
            if memory.type in _TYPES:
                yield _rule(tier, memory)
    for name, quote in quotes.items():
        parsed = parsed_quote(quote)
        if parsed.type in _TYPES:
            yield _rule_of_quote(name, parsed, quote)


def _quoted(store: Store, memory_dir: str, quotes: Mapping[str, Quote]) -> Iterator[Rule]:
    """Unconfirmed rules about every answer."""
    directory = store.directory(place_of_quotes(memory_dir)) if quotes else None
    for memory in store.about_every_answer(directory.id) if directory is not None else ():
        if (quote := quotes.get(memory.name)) is not None:
            yield _rule_of_quote(memory.name, parsed_quote(quote), quote)


def _rule(tier: Tier, memory: IndexedMemory) -> Rule:
    parsed = read_memory(tier.memory_dir, memory.name)
    # Checked after reading: a file that changed since it was indexed may have got a secret.
    has_secret = memory.has_secret or not is_unchanged(tier.memory_dir, memory)
    name = as_global(memory.name) if tier.is_global else memory.name
    return Rule(memory._replace(name=name, has_secret=has_secret), parsed)


def _rule_of_quote(name: str, parsed: QuickParse, quote: Quote) -> Rule:
    return Rule(IndexedMemory(0, name, 0, 0, 0, parsed.type or "", has_secret=False), parsed, quote)
