"""Statements of a text: its sentences, and of each the words, the values and what turns its sense. Pure."""

from __future__ import annotations

import re
from bisect import bisect
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from memoryd.language.date_words import german_months, number_words
from memoryd.language.lexicon import small, words
from memoryd.language.stems import stem
from memoryd.language.subjects import is_contracted, subject_of
from memoryd.language.tokens import UNSPACED, pairs_of
from memoryd.language.written_dates import with_iso_dates

if TYPE_CHECKING:
    from collections.abc import Iterator

PART = re.compile(r"\*\*[^*\n]{1,40}:\*\*")
_MARKUP = re.compile(r"(?m)^\s*(?:#{1,6}|[-*+•]|\d{1,2}[.)])\s+|\*\*|(?<=\])\([^()\s]*\)")
_CODE = re.compile(r"`[^`\n]*`")
_TOKEN = re.compile(
    rf"(?P<cjk>[{UNSPACED}]+)|(?P<chunk>[#~@/.$<-]{{0,3}}[^\W_](?:(?![{UNSPACED}])[\w./:@#+&%=~$*,'’-])*)|(?P<mark>[:(\[\"“„«])|(?P<end>[,，、)）])"  # noqa: RUF001
)
_AMOUNT = re.compile(r"(-?\d[\d.,:]*)([^\W\d_]{1,4}|%)")
_RANGE = re.compile(r"(\d[\d.,:]*)-(\d[\d.,:]*)")
_ISO_DAY = re.compile(r"\d{4}-\d\d(?:-\d\d)?")
_LEADING_ZERO = re.compile(r"^0(?=\d:)")
_SCHEME = re.compile(r"^https?://")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_IDENTIFIER = re.compile(r"[^-]*[._/@:#=$&+*~].|--|#|[a-z]+[A-Z]")
_NUMERAL = re.compile(r"[一二三四五六七八九十百千万两兩]+(?=[个個分秒小时時天日周週星月年度次人倍名条條件台位号號点點回枚本階つ]|$)|半(?=[小时時天日年])")  # fmt: skip
_TURN_CJK = re.compile(r"ません|ない(?!で)|ないで|以外|だけ|のみ|[不没無无未别勿禁非除只仅僅]")
_BEHIND = frozenset({"ません", "ない", "以外", "だけ", "のみ"})
"""Turns that stand behind what they turn."""
_EXCEPT_CJK = frozenset({"以外", "だけ", "のみ", "除", "只", "仅", "僅"})
_SHORT = 3


class Statement(NamedTuple):
    """A sentence or clause, as it is compared."""

    text: str
    sequence: tuple[str, ...]
    """All that carries meaning, in order: words by their stems, values as they are."""
    parts: tuple[tuple[str, ...], ...]
    """The same between commas and brackets."""
    words: frozenset[str]
    values: tuple[str, ...]
    turns: tuple[tuple[str, frozenset[str]], ...]
    """`not` or `except`, and what it turns: the next words."""
    stems: frozenset[str]
    forms: frozenset[str]
    """Everything that may be found in it: stems of all words, also inside of values; all words and values in full."""
    heads: frozenset[str]
    """Words that begin it in a capital: names perhaps."""

    def around(self, value: str) -> frozenset[str]:
        """What stands beside a value: whose it is."""
        found: set[str] = set()
        for part in self.parts if value in self.values else ():
            for place, one in enumerate(part):
                if one == value:
                    found.update(part[max(0, place - 2) : place], part[place + 1 : place + 3])
        if all(one[:1].isdigit() for one in found):  # nothing but numbers up to the next comma
            for place, one in enumerate(self.sequence):
                if one == value:
                    found.update(self.sequence[max(0, place - 2) : place], self.sequence[place + 1 : place + 3])
        return frozenset(one for one in found if one != value and (one[:1].isdigit() or not _is_unit(one)))

    def beside(self, value: str) -> list[tuple[str, str]]:
        """What stands before and behind each place of a value, up to the next comma."""
        parts = [("", *part, "") for part in self.parts]
        return [(part[at - 1], part[at + 1]) for part in parts for at in range(1, len(part) - 1) if part[at] == value]

    @property
    def subject(self) -> frozenset[str]:
        """What it speaks of: no numbers, and nothing that may be a unit."""
        return frozenset(one for one in self.stems if not one[:1].isdigit() and not _is_unit(one))


@lru_cache(maxsize=4096)
def statements_of(text: str) -> tuple[Statement, ...]:
    """The sentences and clauses of a text, without marks of layout."""
    pieces = _sentence_end().split(_MARKUP.sub("", PART.sub("", with_iso_dates(text))))
    found = (" ".join(piece.split()) for piece in pieces)
    return tuple(statement_of(piece) for piece in found if plain(piece))


def is_number(word: str) -> bool:
    return word in number_words()


def is_negation(word: str) -> bool:
    """Whether a word says "not"; people leave the apostrophe of "don't" out."""
    low = word.lower().replace("\u2019", "'")
    return low in words("statements", "not") or low.startswith("kein") or is_contracted(low)


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


class _Token(NamedTuple):
    kind: str
    form: str
    is_head: bool = False


def statement_of(text: str) -> Statement:
    """A text as one statement."""
    tokens = list(_tokens(text))
    parts: list[list[str]] = [[]]
    for one in tokens:
        if one.kind == "end":
            parts.append([])
        elif one.kind in ("word", "value"):
            parts[-1].append(stem(one.form) if one.kind == "word" else one.form)
    meant = [one for one in tokens if one.kind in ("word", "value")]
    stems = {stem(one.form) for one in meant} | {stem for one in meant for stem in subject_of(one.form)}
    return Statement(
        text,
        tuple(one for part in parts for one in part),
        tuple(tuple(part) for part in parts if part),
        frozenset(stem(one.form) for one in meant if one.kind == "word"),
        tuple(one.form for one in meant if one.kind == "value"),
        tuple(_turns(tokens)),
        frozenset(stems),
        frozenset(stems | {one.form for one in tokens if one.form}),
        frozenset(one.form for one in tokens if one.is_head),
    )


def _turns(tokens: list[_Token]) -> Iterator[tuple[str, frozenset[str]]]:
    meant = [at for at, one in enumerate(tokens) if one.kind in ("word", "value")]
    for at, token in enumerate(tokens):
        if token.kind in ("not", "except"):
            place = bisect(meant, at)
            behind, before = meant[place : place + 1], meant[max(0, place - 1) : place]
            about = before if token.form in _BEHIND or not behind else behind
            yield token.kind, frozenset(stem(tokens[one].form) for one in about)


def _tokens(text: str) -> Iterator[_Token]:
    end = 0
    is_first = True
    for code in _CODE.finditer(text):
        yield from _prose(text[end : code.start()], is_first=is_first)
        is_first = False
        for one in _prose(code[0].strip("`"), is_first=False):
            if one.form:
                yield one if one.kind == "value" else _Token("value", one.form)
        end = code.end()
    yield from _prose(text[end:], is_first=is_first)


def _prose(text: str, *, is_first: bool) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        if match.lastgroup in ("mark", "end"):
            is_first = match.lastgroup == "mark"
            if match[0] not in ':"“„«':
                yield _Token("end", "")
        elif match.lastgroup == "cjk":
            yield from _run(match[0])
            is_first = False
        else:
            yield from _chunk(match[0].rstrip("./:@#+&=~$*,'’-").strip("."), is_first=is_first)  # noqa: RUF001
            is_first = False
            if match[0].endswith(","):
                yield _Token("end", "")


def _chunk(chunk: str, *, is_first: bool) -> Iterator[_Token]:
    low = _THOUSANDS.sub("", chunk.lower().replace("’", "'"))  # noqa: RUF001
    if low.endswith("n't"):
        yield _Token("not", low)
    elif any(letter.isdigit() for letter in low):
        yield from _number(_SCHEME.sub("", low))
    elif "." in low and low in small("abbreviations"):
        return
    elif _IDENTIFIER.match(chunk):
        yield _Token("value", _SCHEME.sub("", low))
    elif "-" in chunk:
        for at, piece in enumerate(one for one in re.split("[-<]+", chunk) if one):
            for one in _word(piece, is_first=is_first and at == 0):  # "read-only" turns nothing
                yield _Token("word", one.form) if one.kind in ("not", "except") else one
    else:
        yield from _word(chunk.removesuffix("'s").removesuffix("’s"), is_first=is_first)  # noqa: RUF001


def _number(low: str) -> Iterator[_Token]:
    if _ISO_DAY.fullmatch(low):
        yield _Token("value", low)
    elif pair := _RANGE.fullmatch(low):
        yield from (_Token("value", _digits(one)) for one in pair.groups())
    elif amount := _AMOUNT.fullmatch(low):
        yield _Token("value", _digits(amount[1]))
        yield _Token("word", amount[2])
    else:
        yield _Token("value", _digits(low))


def _word(word: str, *, is_first: bool) -> Iterator[_Token]:
    low = word.lower()
    if low in words("statements", "not") or low.startswith("kein"):
        yield _Token("not", low)
    elif low in words("statements", "except"):
        yield _Token("except", low)
    elif number := number_words().get(low):
        yield _Token("value", number)
    elif (
        low in words("statements", "small")
        or low in small("subjects")
        or (len(low) <= _SHORT and low in small("names"))
        or not low
    ):
        yield _Token("small", low)
    elif word[:1].isupper() and (not is_first or (len(word) > 1 and word.isupper())):
        yield _Token("value", low)
    else:
        yield _Token("word", low, is_head=word[:1].isupper())


def _run(run: str) -> Iterator[_Token]:
    """Letters of a script without spaces: pairs of them, between numbers and what turns the sense."""
    end = 0
    for match in re.finditer(f"{_NUMERAL.pattern}|{_TURN_CJK.pattern}", run):
        yield from _pairs(run[end : match.start()])
        end = match.end()
        if _NUMERAL.match(run, match.start()):
            yield _Token("value", _numeral(match[0]))
        else:
            yield _Token("except" if match[0] in _EXCEPT_CJK else "not", match[0])
    yield from _pairs(run[end:])


def _pairs(run: str) -> Iterator[_Token]:
    yield from (_Token("word", pair) for pair in pairs_of(run) if pair)


def _is_unit(form: str) -> bool:
    return len(form) < _SHORT and form.isascii()


def _digits(number: str) -> str:
    """`05:40` is `5:40`."""
    return _LEADING_ZERO.sub("", number.strip(".,:"))


def _numeral(run: str) -> str:
    if run == "半":
        return "0.5"
    value = section = digit = 0
    for letter in run:
        if letter in "十百千万":
            section += (digit or 1) * {"十": 10, "百": 100, "千": 1000, "万": 10000}[letter]
            digit = 0
        else:
            digit = 2 if letter in "两兩" else "一二三四五六七八九".index(letter) + 1
    return str(value + section + digit)


@cache
def _sentence_end() -> re.Pattern[str]:
    return re.compile(
        rf"(?<=[.!?。！？;；])(?!(?:(?<=\b[A-Za-z]{{2}}\.)|(?<=\b[A-Za-z]{{3}}\.))\s+\d)(?!(?<=\d\.)\s+(?:{german_months()}))\s+"  # noqa: RUF001
        r"|\n+|(?<=[。！？；])"  # noqa: RUF001
    )
