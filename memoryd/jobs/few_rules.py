"""Rules of a project with a handful of memories: all of them go with the first prompt of a session that says something.

A rule about every answer ("in German", "no emojis") shares no word with the prompts that it is for. Where there are many
memories, such a rule stands among others that would be handed over in vain; a handful costs less than to miss it. A rule about
a command, a path or a kind of work comes with the tool call that it is about, and is left to that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.memory.quick_parse import quick_parse
from memoryd.recall.index import is_unchanged
from memoryd.recall.reading import read_memory
from memoryd.recall.store import IndexedMemory

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from memoryd.memory.quick_parse import QuickParse
    from memoryd.recall.store import Directory, Store
    from memoryd.state.inbox import Quote

HANDFUL = 5
"""As many memories and quotes, together, as a session may be given without a search."""
_TYPES = ("feedback", "user")
"""How to work and for whom; facts are for those who ask."""


class Rule(NamedTuple):
    memory: IndexedMemory
    """`has_secret`: it may have one."""
    parsed: QuickParse
    quote: Quote | None = None
    """Of an unconfirmed one, which has no file."""


def rules_of_few(
    store: Store, memory_dir: str, directory: Directory | None, quotes: Mapping[str, Quote], known: Collection[str]
) -> list[Rule]:
    """The rules that the session does not know yet, those with a file first."""
    rules = []
    for one in store.without_calls(directory.id) if directory is not None else ():
        parsed = read_memory(memory_dir, one.name)
        # Checked after reading: a file that changed since it was indexed may have got a secret.
        has_secret = one.has_secret or not is_unchanged(memory_dir, one)
        rules.append(Rule(one._replace(has_secret=has_secret), parsed))
    for name, quote in quotes.items():
        parsed = quick_parse(quote.text)
        kind = parsed.type or quote.type
        rules.append(Rule(IndexedMemory(0, name, 0, 0, 0, kind, has_secret=False), parsed, quote))
    return [rule for rule in rules if rule.memory.type in _TYPES and rule.memory.name not in known]
