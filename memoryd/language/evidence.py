"""The words of the user that a memory rests on: looked up where they were said, never taken from anybody else's mouth."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from memoryd.language.quotations import without_quotations
from memoryd.language.tokens import runs_in
from memoryd.model import Evidence, UserMessage

if TYPE_CHECKING:
    from collections.abc import Iterable

REPOSITORY = "repository"
"""Stands for a session where evidence is a line of the repository, with its place for a message: `src/a.py:12@<commit>`."""
_LEAST_WORDS = 2
_LEAST_LETTERS = 8
_SENTENCE_END = re.compile(r"[.!?…]+[\"')\]”’»]*\s+|[。！？]|\n")  # noqa: RUF001
_SPELLED_ALIKE = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u00a0", "''\"\"-- ")


def evidence_of(said: UserMessage, quote: str) -> Evidence:
    """The quoted words as evidence; their hash is over the words alone, whatever stands between them."""
    words = " ".join(quote.split())
    digest = hashlib.blake2b(words.casefold().encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return Evidence(said.session_id, said.message_id, words, digest, said.said_at)


def is_of_repository(evidence: Evidence) -> bool:
    return evidence.session_id == REPOSITORY


def repository_evidence(path: str, line: int, commit: str, quote: str) -> Evidence:
    """A line of the repository as evidence for a statement about code. Nobody said it, so it has no time."""
    place = f"{path}:{line}@{commit}" if commit else f"{path}:{line}"
    return evidence_of(UserMessage(REPOSITORY, place, None, quote), quote)


def quote_from(first: str, last: str, text: str) -> str:
    """What stands in a text from one sentence to another, with everything between them; empty where it does not."""
    own, places = _plain(text)
    start = own.find(_plain(first)[0])
    end = own.find(_plain(last)[0], max(start, 0))
    return "" if start < 0 or end < 0 else text[places[start] : places[end + len(_plain(last)[0]) - 1] + 1]


def find_quote(quote: str, messages: Iterable[UserMessage]) -> Evidence | None:
    """The newest of the user's messages that holds these words, as evidence, in its own spelling; None where none does.

    White space, case and the form of quotation marks and dashes may differ. What the user marked as somebody else's words
    does not count. A word alone proves nothing, unless it is all that was said: anything could be hung on it.
    """
    wanted = _plain(quote)[0].strip("\"'* ")
    for said in reversed(list(messages)):
        own = without_quotations(said.text)
        text, places = _plain(own)
        start = _place(wanted, text)
        if start < 0:
            continue
        if not _is_telling(wanted) and wanted != text:
            continue
        return evidence_of(said, own[places[start] : places[start + len(wanted) - 1] + 1])
    return None


def sentences_around(evidence: Evidence, said: UserMessage) -> str:
    """The whole sentences of its message in which quoted words stand.

    A quote may begin behind a "don't" and end before a question mark.
    """
    own = without_quotations(said.text)
    text, places = _plain(own)
    wanted = _plain(evidence.quote)[0]
    start = _place(wanted, text)
    if start < 0:
        return evidence.quote
    first, last = places[start], places[start + len(wanted) - 1]
    ends = list(_SENTENCE_END.finditer(own))
    begin = max((match.end() for match in ends if match.end() <= first), default=0)
    end = next((match.end() for match in ends if match.start() >= last), len(own))
    return own[begin:end].strip()


def _place(wanted: str, text: str) -> int:
    """Where these words begin in a text; -1 where they do not, or only inside of other words."""
    if not wanted:
        return -1
    head = r"(?<![a-z0-9])" if re.match(r"[a-z0-9]", wanted) else ""
    tail = r"(?![a-z0-9])" if re.search(r"[a-z0-9]\Z", wanted) else ""
    found = re.search(head + re.escape(wanted) + tail, text)
    return found.start() if found else -1


def overlap(one: str, other: str) -> bool:
    """Whether two quotes of one message are about the same words: one holds the other, or begins where that one ends."""
    plain, other_plain = _plain(one)[0], _plain(other)[0]
    if plain in other_plain or other_plain in plain:
        return True
    return any(
        first.endswith(second[:size]) and _is_telling(second[:size])
        for first, second in ((plain, other_plain), (other_plain, plain))
        for size in range(1, min(len(first), len(second)))
    )


def _is_telling(plain: str) -> bool:
    words = max(len(plain.split()), sum(map(len, runs_in(plain))) // 2)
    return words >= _LEAST_WORDS and len(plain) >= (_LEAST_LETTERS if plain.isascii() else _LEAST_WORDS)


def _plain(text: str) -> tuple[str, list[int]]:
    """The text as it is compared, and where in the text each of its characters comes from."""
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text.translate(_SPELLED_ALIKE)):
        if letter.isspace():
            if letters and letters[-1] != " ":
                letters.append(" ")
                places.append(place)
            continue
        for one in letter.casefold():  # one letter may become two
            letters.append(one)
            places.append(place)
    if letters and letters[-1] == " ":
        letters.pop()
    return "".join(letters), places
