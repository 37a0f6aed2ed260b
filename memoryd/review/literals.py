"""Literals: numbers, days, addresses, paths, flags and code that a text names letter by letter. Pure.

Nobody means these in other words, so code can tell whether anything that was said holds them.
"""

from __future__ import annotations

import re
from functools import cached_property

from memoryd.language.lexicon import small
from memoryd.language.statements import statement_of, statements_of
from memoryd.language.written_dates import with_iso_dates

_CODE = re.compile(r"`([^`\n]+)`")
_RUN = re.compile(r"[^\s\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff20]+")
"""What stands between spaces, and between letters of scripts that have none."""
_AROUND = "\"'“”„‘’«»()[]<>*…"  # noqa: RUF001
_BEHIND = _AROUND + ".,;:!?"
_SCHEME = re.compile(r"^https?://")
_EXACT = re.compile(
    r"://|^www\.|[@#$]\w|[=|{}\\]|&&|\w_\w|^--?[A-Za-z]|^[~.]?/\w|/.*/|(?<=\w)\.(?=[^\W\d])|(?<=[^\W\d])\.(?=\w)"
)
"""Addresses, names of channels, flags, paths, names of files and of code: all of it was said, or none."""
_ABBREVIATION = re.compile(r"(?:[^\W\d]\.)+[^\W\d]?|(?:[^\W\d]{1,2}/)+[^\W\d]{1,2}")
"""`z.B.`, `N/A`, `CI/CD`: whether a short form was meant is no question of letters, so it is no literal."""
_NUMERONYM = re.compile(r"([^\W\d_])(\d{1,2})([^\W\d_])")
"""`k8s`: a word by its first letter, the number of those left out, and its last one."""
_JOINED = re.compile(r"[-/+:]")
DAY = re.compile(r"(?<!\d)\d{4}-\d\d(?:-\d\d)?(?!\d)")
_DOTTED_DAY = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_DAY_IN_CJK = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})日")
_MONTH_IN_CJK = re.compile(r"(\d{4}) ?年 ?(\d{1,2}) ?月(?! ?\d)")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NUMERALS = re.compile(r"[一二三四五六七八九十百千万两兩]{2,}")
"""A number in words of a script without spaces, wherever it stands; one such letter alone is mostly part of a word."""
_THOUSANDS = re.compile(r"(?<=\d)[.,](?=\d{3}(?!\d))")
_LETTERS = re.compile(r"[^\W\d_]+")
_UNIT = 3
"""So many letters beside a number may be its unit, or part of a name that has the number."""


def unfounded_literal(text: str, sources: str, *, with_words: bool = True) -> str:
    """The first literal of a text that its sources do not hold; empty where they hold all.

    Numbers in words count only `with_words`: in what is merely searched by, "four-eyes principle" is a figure of speech.
    Days have to stand in the sources as they are written in the text: who calls this resolves what was said.
    """
    known, text = _Known(_with_iso_days(sources)), _with_iso_days(text)
    code: str
    for code in _CODE.findall(text):
        if not known.holds(code):
            return f"`{code}`"
    text = _CODE.sub(" ", text)
    for run in _RUN.findall(text):
        token: str = run.lstrip(_AROUND).rstrip(_BEHIND)
        if token and not _ABBREVIATION.fullmatch(token) and not known.has(token):
            return token
    # Numbers in words: those in digits have been looked at, and are told better as they stand.
    in_words = _whole_numbers(text) - _numbers_in(text) if with_words else frozenset()
    return min(in_words - known.numbers, default="") if in_words else ""


def joined_numbers(text: str) -> str:
    """The numbers of a text without the marks in them, as a title joined by hyphens has them: `0300` for 03:00."""
    return " ".join(re.sub(r"\D", "", number) for number in _NUMBER.findall(text))


class _Known:
    """What the sources say, as it is looked up."""

    def __init__(self, sources: str) -> None:
        self._sources = sources
        self._text = _plain(sources)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Those in digits, and those in words."""
        return _numbers_in(self._sources) | _whole_numbers(self._sources) | self._numerals

    @cached_property
    def _numerals(self) -> frozenset[str]:
        return frozenset(
            value for written in _NUMERALS.findall(self._sources) for value in statement_of(written).values
        )

    @cached_property
    def _days(self) -> set[str]:
        return _days_in(self._sources)

    @cached_property
    def _words(self) -> frozenset[str]:
        return small("names").union(small("subjects"), _LETTERS.findall(self._text))

    def has(self, token: str) -> bool:
        """Whether a token is no literal, or stands there; of a number and its unit, the number is enough."""
        if days := _days_in(token):
            return all(any(known.startswith(day) for known in self._days) for day in days)
        if _EXACT.search(token):
            return self.holds(token)
        if not any(letter.isdigit() or letter == "/" for letter in token):
            return True
        if self.holds(token) or all(map(self._has_part, filter(None, _JOINED.split(_clock(token))))):
            return True
        if match := _NUMERONYM.fullmatch(token.casefold()):
            first, length, last = match[1], int(match[2]), match[3]
            return any(
                len(word) == length + 2 and word.startswith(first) and word.endswith(last) for word in self._words
            )
        # A name whose number was said in another script: the letters beside it are a translation, which nobody can look up.
        numbers = set(_NUMBER.findall(token))
        return bool(numbers) and numbers <= self._numerals

    def holds(self, piece: str) -> bool:
        """Whether a piece stands there, and not inside of another word or number."""
        wanted = _SCHEME.sub("", _plain(piece)).rstrip("/")
        return bool(wanted) and re.search(rf"(?<![^\W_]){re.escape(wanted)}(?![^\W_])", self._text) is not None

    def _has_part(self, part: str) -> bool:
        numbers, letters = _NUMBER.findall(part), _LETTERS.findall(part.casefold())
        if any(_forms(number).isdisjoint(self.numbers) for number in numbers):
            return False
        return all((numbers and len(word) <= _UNIT) or self._has_word(word) for word in letters)

    def _has_word(self, word: str) -> bool:
        """Whether a word was said, or one that begins like it: `min` for `minutes`."""
        return word in self._words or any(
            min(len(word), len(known)) >= _UNIT and (word.startswith(known) or known.startswith(word))
            for known in self._words
        )


def _with_iso_days(text: str) -> str:
    """The text with written dates, and months of a year in a script without spaces, as `2027-01-15` and `2027-01`."""
    return _MONTH_IN_CJK.sub(lambda match: f" {match[1]}-{int(match[2]):02} ", with_iso_dates(text))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _clock(token: str) -> str:
    """A time of day as one number, for what joins its halves joins other things as well."""
    return re.sub(r"(?<=\d):(?=\d)", ".", token)


def _days_in(text: str) -> set[str]:
    written = [*_DAY_IN_CJK.findall(text), *(found[::-1] for found in _DOTTED_DAY.findall(text))]
    return {*DAY.findall(text), *(f"{year}-{int(month):02}-{int(day):02}" for year, month, day in written)}


def _numbers_in(text: str) -> frozenset[str]:
    """The numbers of a text in all their forms; of a day only its year: nobody said 19 who was heard on the 19th."""
    plain = DAY.sub(lambda match: match[0][:4], text)
    return frozenset(form for number in _NUMBER.findall(plain) for form in _forms(number))


def _whole_numbers(text: str) -> frozenset[str]:
    return frozenset(value for statement in statements_of(text) for value in statement.values if value.isdecimal())


def _forms(number: str) -> set[str]:
    """A number in the ways it is written: `2,000` and `2000`, `8,5` and `8.5`, `09:00` and `9`."""
    plain = number.replace(":", ".").replace(",", ".")
    found = {plain, _THOUSANDS.sub("", number).replace(":", ".")}
    found |= {form.lstrip("0") or "0" for form in found}
    return found | {form.removesuffix(".00") for form in found}
