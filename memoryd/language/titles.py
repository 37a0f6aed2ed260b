"""Titles: a sentence trimmed at a clause, so that the title of a memory is the rule or the fact itself. Pure."""

from __future__ import annotations

import re

from memoryd.language.approval import is_approval, points
from memoryd.language.lexicon import pattern
from memoryd.language.tokens import is_stop, is_without_spaces

LONGEST_TITLE = 60
LONGEST_SLUG = 40
"""A line of the index has title, file name and what the title does not say: a long name would take the place of that."""
_LEAST_SENTENCE = 12
_LEAST_CLAUSE = 40
"""A shorter clause seldom tells the rule, but a condition, or what holds no longer: words of the next one join it."""
_SENTENCE_ENDS = ".!?。！？"  # noqa: RUF001
_CLAUSE_END = re.compile(r"[,;!?—–.]+(?=\s(?!\(\d))|\s-(?=\s)|\s(?=\(\D)|[，。；、！？]")  # noqa: RUF001
_IN_BRACKETS = re.compile(r"\([^()]*\)?|（[^（）]*）?")  # noqa: RUF001
_AROUND = " \t,;:.!-–—，。；：、！"  # noqa: RUF001
_BRACKETS = re.compile(r"[(（](?!\d{4}-)[^()（）]*[)）]|…")  # noqa: RUF001 - what is no date that was resolved
_SLUG = re.compile(r"[^\w]+")
_CUT_DATE = re.compile(r"-\d{4}(?:-\d\d?)?$")
_LEAST_WORDS = 4


def title_of(text: str) -> str:
    """The first clauses of a text that fit into a title, without words that only open or soften them."""
    plain = _telling(text.partition("; ")[0])
    if len(plain) <= LONGEST_TITLE:
        return plain
    inside = [match.span() for match in _IN_BRACKETS.finditer(plain)]
    ends = [
        match.start()
        for match in _CLAUSE_END.finditer(plain[: LONGEST_TITLE + 2])
        if match.start() >= _least(plain, is_sentence=match[0][0] in _SENTENCE_ENDS)
        and match.start() <= LONGEST_TITLE
        and not any(start < match.start() < end for start, end in inside)
    ]
    if ends:
        return plain[: ends[-1]].rstrip(_AROUND)
    cut = plain[: LONGEST_TITLE - 1]
    return _without_open_end(cut.rsplit(" ", 1)[0] if " " in cut else cut, " ").rstrip(_AROUND) + "…"


def _telling(text: str) -> str:
    """The text without fillers; of a long one also without a first clause that is only content with something.

    "exactly how I want it explained, numbers first" tells of numbers; "love the table, keep those" needs its first clause.
    """
    plain = without_fillers(text)
    end = _CLAUSE_END.search(plain) if len(plain) > LONGEST_TITLE else None
    behind = plain[end.end() :].strip(_AROUND) if end else ""
    is_told = len(behind) >= _LEAST_SENTENCE and not points(behind)
    return behind[:1].upper() + behind[1:] if end and is_told and is_approval(plain[: end.start()]) else plain


def _least(text: str, *, is_sentence: bool) -> int:
    """How long a title has to be that ends with a clause or a sentence; in a script without spaces a third tells as much."""
    least = _LEAST_SENTENCE if is_sentence else _LEAST_CLAUSE
    return least // 3 if is_without_spaces(text) else least


def title_and_rest(text: str) -> tuple[str, str]:
    """The title of a text, and what it says beside that."""
    title = title_of(text)
    head, between, tail = text.partition("; ")
    rest = f"{_telling(head)[len(title.removesuffix('…')) :]}{between}{tail}".strip(_AROUND)
    return title, f"…{rest}" if title.endswith("…") else rest


def without_fillers(text: str) -> str:
    """The text without greetings, "pls" and "btw", with a capital unless it begins with a name in code."""
    words = " ".join(text.split())
    bare = pattern("titles", "filler").sub("", words)
    while (opening := pattern("titles", "opening").match(bare)) and len(bare) - opening.end() >= len("use tabs") // 2:
        bare = bare[opening.end() :]
    bare = re.sub(r"\s+(?=[,.;:!?](?!\w))", "", " ".join(bare.split())).strip(_AROUND) or words
    if re.match(r"[^\W\d_]['’\w]*[,;:]?(?:\s|$)", bare) and not re.match(r"\w*(?:_|\d|[a-z][A-Z])", bare):  # noqa: RUF001
        bare = bare[:1].upper() + bare[1:]
    return bare


def slug_of(title: str) -> str:
    """The short form of a title that names a file: words joined by hyphens."""
    slug = _SLUG.sub("-", _BRACKETS.sub("", title.lower().replace("'", ""))).strip("-_")
    if len(slug) > LONGEST_SLUG:
        cut = slug[: LONGEST_SLUG + 1]
        slug = cut.rsplit("-", 1)[0] if "-" in cut else cut[:-1]
        slug = _without_open_end(_CUT_DATE.sub("", slug), "-")
    return slug.strip("-_") or "note"


def _without_open_end(cut: str, between: str) -> str:
    """A cut text without the little words at its end that lead to what was cut off: "in the folder of the"."""
    words = cut.split(between)
    while len(words) > _LEAST_WORDS and is_stop(words[-1].lower()):
        words.pop()
    return between.join(words)
