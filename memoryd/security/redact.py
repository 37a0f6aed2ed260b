"""Secrets in a text: found, named by their kind, and taken out. The value is shown to nobody.

`redact` is the first step of everything that memoryd reads: before a model, a file or a log line sees a text, what is secret
in it has become `[redacted: github token]`. `find_secret` tells people why a text is refused. Both are the same search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.security.by_format import Span, secrets_by_format
from memoryd.security.by_name import secrets_by_name
from memoryd.security.by_position import secrets_by_position
from memoryd.security.joined_copy import joined_copies
from memoryd.security.searched_text import searched
from memoryd.security.values import LIKELY, STRONG, is_jumble, strength

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.security.joined_copy import JoinedCopy
    from memoryd.security.searched_text import SearchedText

_SHORTEST = 6
_ROUNDS = 4
_SHORTEST_PIECE = 8
_BY_NAME = 2
"""The rank of what was found by its name: the last of the searches."""
_ASSIGNING = ("=", ":", '"', "'")
_SLACK_CHARACTERS = 16_384
"""Longer than any secret: so much is redacted beyond a cut, and not shown."""
CUT = " […]"


def find_secret(text: str) -> str | None:
    """The kind of the first secret in a text, as in "a GitHub token"; None where there is none."""
    spans = _spans(text)
    return spans[0].kind if spans else None


def redact(text: str) -> str:
    """The text with a marker in place of each secret. The same object where there is none; redacting twice is redacting once."""
    # Where a secret is gone, its neighbour may stand alone for the first time and be seen as one: look again.
    for _ in range(_ROUNDS):
        spans = _spans(text)
        if not spans:
            break
        parts = []
        past = 0
        for start, end, kind in spans:
            parts += [text[past:start], _marker(kind)]
            past = end
        text = "".join((*parts, text[past:]))
    return text


def redacted_excerpt(text: str, most: int) -> str:
    """Text up to a length, redacted before it is cut: half a secret is not recognised."""
    if len(text) > most + _SLACK_CHARACTERS:
        return redact(_without_torn(text[most + _SLACK_CHARACTERS - 1 :: -1])[::-1])[:most] + CUT
    text = redact(text)
    return text if len(text) <= most else f"{text[:most]}{CUT}"


def redacted_end(text: str, most: int) -> str:
    """The end of a text, redacted before it is cut."""
    text = text.rstrip()
    if len(text) > most + _SLACK_CHARACTERS:
        text = _without_torn(text[-most - _SLACK_CHARACTERS :])
    return redact(text)[-most:]


def both_ends(text: str, most: int) -> str:
    """Begin and end of a long text, not redacted yet, without what a cut has torn: half a secret is not recognised."""
    if len(text) <= 2 * most:
        return text
    return f"{_without_torn(text[most - 1 :: -1])[::-1]}\n{_without_torn(text[-most:])}"


def _without_torn(text: str) -> str:
    """A text without the line, or the word of a long line, that its beginning was torn from.

    Half a secret is not recognised, and comes into what is shown where all behind it is redacted.
    """
    line, word = (text.find(mark, 0, _SLACK_CHARACTERS) for mark in "\n ")
    return text[(line if line >= 0 else word) + 1 :]


def _marker(kind: str) -> str:
    return f"[redacted: {kind.split(' ', 1)[1].lower()}]"


def _spans(text: str) -> list[Span]:
    """The secrets in order. Of those that overlap one is made: a shape says more of its kind than the words around it."""
    if len(text) < _SHORTEST:
        return []
    forms = searched(text)
    if forms.is_plain:
        return []
    found = _search(forms)
    for copy in joined_copies(forms):
        found += list(_only_joined(text, copy, found))
    if not found:
        return []
    joined: list[tuple[Span, int]] = []
    for span, rank in sorted(found):
        if joined and span.start < joined[-1][0].end:
            last, last_rank = joined[-1]
            kind = last.kind if last_rank <= rank else span.kind
            joined[-1] = Span(last.start, max(last.end, span.end), kind), min(rank, last_rank)
        else:
            joined.append((span, rank))
    return [span for span, _ in joined]


def _search(forms: SearchedText) -> list[tuple[Span, int]]:
    """What the searches find, each with its rank."""
    spans = secrets_by_format(forms), secrets_by_position(forms), secrets_by_name(forms)
    return [(span, rank) for rank, found in enumerate(spans) for span in found]


def _only_joined(text: str, copy: JoinedCopy, known: list[tuple[Span, int]]) -> Iterator[tuple[Span, int]]:
    """Secrets that can be seen in the copy alone. The end of a line that holds a whole secret of its own is no wrap, unless what
    follows looks like the rest of one.
    """
    ends = {span.end for span, _ in known}
    for span, rank in _search(searched(copy.text)):
        start, end = copy.place(span.start), copy.place(span.end - 1) + 1
        if end - start == span.end - span.start and not copy.has_invisible:
            continue
        wraps = copy.wraps_between(start, end)
        if wraps and (rank or wraps[0][0] in ends) and not _is_one_value(text, start, end, wraps, rank=rank):
            continue
        yield Span(start, end, span.kind), rank


def _is_one_value(text: str, start: int, end: int, wraps: list[tuple[int, int]], rank: int) -> bool:
    """Whether the lines are pieces of one value, which no shape tells: each looks like a piece of something random."""
    pieces = [
        text[at:stop].strip("\r\\")
        for at, stop in zip((start, *(at for _, at in wraps)), (*(at for at, _ in wraps), end), strict=True)
    ]
    is_assigned = rank == _BY_NAME and text[start - 1 : start] in _ASSIGNING
    is_random = not rank or strength(pieces[0]) >= (LIKELY if is_assigned else STRONG)
    if rank and strength(pieces[0]) < LIKELY and not is_assigned:
        return False
    is_alone = text[end : end + 1] in ("", "\r", "\n")
    return all(
        strength(piece) >= LIKELY or is_jumble(piece) or (is_random and is_alone and len(piece) >= _SHORTEST_PIECE)
        for piece in pieces[1:]
    )
