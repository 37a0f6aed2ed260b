"""Secrets that are known by what they are called: `DB_PASSWORD=…`, "the password for the VPN is …". Pure.

First the places of nouns are found, then a few short patterns are tried right behind each: none looks far ahead, so that no
text takes long. What they lead to must look like a secret (values.py), the more so the less the words before promise it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.security.by_format import Span
from memoryd.security.by_layout import apart, before_noun, heads_column, in_column
from memoryd.security.nouns import (
    EASTERN_PASSWORDS,
    EASTERN_SECRETS,
    IDEOGRAMS,
    PAIRS,
    Noun,
    near_hints,
    noun_at,
    nouns_in,
    places,
)
from memoryd.security.value_at import read_value, span_of
from memoryd.security.values import LIKELY, RANDOM, STRONG, is_call, is_code, is_masked, is_scrambled, strength

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.security.searched_text import SearchedText
    from memoryd.security.value_at import Value

# -- what leads from a noun to its value ------------------------------------------------------------------------------

_SPACE = r"[^\S\n]"

_ASSIGNED = re.compile(
    rf"(?:{_SPACE}?\([^()\n]{{1,24}}\)(?={_SPACE}?[:=]))?\\{{0,2}}[\"'`\])*_]{{0,4}}(?P<before>{_SPACE}{{0,8}})(?P<sign>:=|\?=|=>|=(?![=>~])|:(?![:/=])|：|＝|(?<=[\s*`])\|(?=\s)|>)"  # noqa: RUF001
    rf"(?:{_SPACE}{{0,4}}[A-Za-z][\w.]{{0,30}}(?:\[\w+\])?{_SPACE}{{0,4}}=(?!=))?[*_]{{0,3}}(?P<after>{_SPACE}{{0,8}})"
)
# <add key="DbPassword" value="…">, {"name": "DB_PASSWORD", "value": "…"}, <meta name="csrf-token" content="…">,
# setenv("API_KEY", "…"), variable "db_password" { default = "…" }
_ELSEWHERE = re.compile(
    r"\\{0,2}[\"']?\s{0,3},?\s{0,40}[\"']?(?:value|content)[\"']?\s{0,3}[:=]\s{0,3}|[\"']\s{0,3}\{[^{}]{0,200}?\sdefault\s{1,20}=\s{0,3}|\\{0,2}[\"'],\s{0,3}(?=\\{0,2}[\"'])"
)
_FLAG = re.compile(rf"(?:=|{_SPACE}{{1,4}})(?!-)")
_IS = r"(?:is|was|are|be|ist|war|lautet|lautete|heißt|wird|es|era|será|fue|sigue|est|était|sera|c['’]est|é|è|это|to|auf|como|as|je|jest|är|هي|هو|[—–])"  # noqa: RUF001
_STILL = (
    r"(?:still|now|currently|just|actually|always|simply|probably|set to|noch|immer noch|jetzt|aktuell|einfach|früher|wieder"
    r"|siendo|ahora|todavía|toujours|encore|maintenant)"
)
_WORD = rf"(?:{_SPACE}{{1,3}}[\w'’/@-]{{1,25}}(?:\.[\w-]{{1,20}})?)"  # noqa: RUF001
_SAID = re.compile(
    rf"(?i)(?:['’]?s)?(?:{_WORD}{{0,6}}?{_SPACE}{{1,3}}{_IS}|['’]s|{_WORD}{{1,6}}?(?:{_SPACE}\([^()\n]{{1,24}}\))?{_SPACE}?:)"  # noqa: RUF001
    rf"(?:{_SPACE}{{1,3}}{_STILL}){{0,3}}:?{_SPACE}{{1,3}}(?=\S{{0,80}}[^\sA-Za-z.,;:]|(?:[A-Za-z]+-){{3}}|[A-Za-z]{{20}})"
)
_SAID_IN_THE_EAST = re.compile(
    rf"{_SPACE}{{0,2}}[^\x00-\x7f，。；！？、\s“”「」（）]{{1,12}}{_SPACE}{{0,2}}[:=]?{_SPACE}{{0,2}}"  # noqa: RUF001
    rf"|(?<=[^\x00-\x7f]){_SPACE}{{0,2}}[:=]{_SPACE}{{0,2}}"
)
_NEXT = re.compile(rf"{_SPACE}{{1,3}}(?=\S{{0,80}}[\d!@#$%^&*])")
_PAIR = re.compile(
    rf"(?i)(?:{_SPACE}{{0,3}}(?:[:=]|are|is|sind|{_SPACE})){{1,4}}[*_`\"']{{0,3}}[\w.@\\-]{{1,40}}{_SPACE}{{0,2}}[/:]{_SPACE}{{0,2}}"
)
_LOGIN_PAIR = re.compile(rf"{_SPACE}{{0,2}}[:=]{_SPACE}{{0,2}}[\w.@-]{{1,40}}{_SPACE}{{1,2}}/{_SPACE}{{1,2}}")
_LOGIN = ("login", "user", "account")
_NETRC = re.compile(
    r"(?:(?:(?:\A|\n)[^\S\n]*machine\s+\S+|\bmachine\s+\S*\w[.:]\w\S*)(?:[^\S\n]+#[^\n]{0,200}?)?(?:\s+(?:login|user|account|port)\s+\S+){1,3}"
    r"|\bmachine\s+\S+(?:\s+(?:login|user|account|port)\s+\S+){2,3})\s+\Z"
)
"""What stands before the password in `.netrc`: a machine and its host, perhaps a comment, then what else it has. Amid a sentence, a
host has a dot, or two things stand behind it: "on this machine the login page …".
"""
_LONGEST_NETRC = 300
# Words as in BIP 39: three to eight small letters each, 12, 15, 18, 21 or 24 of them.
_SEED_PHRASE = re.compile(
    r"(?i:(?:seed|recovery|backup|secret) (?:phrase|words)|mnemonic(?: phrase)?)(?: (?:is|are|was))?[\s:=\"'`]{1,6}"
    r"([a-z]{3,8}(?:[ ,\n]{1,3}[a-z]{3,8}){11,23})(?=\s{0,3}(?:[\"'`.;)]|\n|\Z))"
)
_OF_SEED_PHRASES = frozenset((b"mnemonic", b" phrase", b"seed words"))
_SEED_WORDS = (12, 15, 18, 21, 24)
_WORD_LENGTH, _NAME_LENGTH, _TOKEN_LENGTH, _LONG = 4, 6, 8, 20
"""From how many letters on a value counts: where any is a secret; in quotes; of a token; of what has no clear name."""
_IS_REDACTED = re.compile(r"[\"'`]{0,2}\s{0,3}[:=]?\s{0,3}[\"'`]{0,2}\[redacted: ")
_NAME, _LONGEST_NAME = re.compile(r"[\w.-]*"), 60
_LOOKS_BACK, _LOOKS_AHEAD = _LONGEST_NETRC + 10, 1000
"""So much of the text around a noun decides what is found there, but for table columns."""


def secrets_by_name(forms: SearchedText) -> list[Span]:
    """Every value that is called a secret and looks like one, in no order; spans may overlap."""
    return list(_named(forms)) if forms.words or forms.others else []


def _named(forms: SearchedText) -> Iterator[Span]:
    text = forms.text
    for matches in nouns_in(forms):
        past = 0  # a noun inside of a secret says nothing
        nearby = _Nearby(text)
        for match in matches:
            if match.start() < past:
                continue
            span, noun = nearby.at(match)
            if span is not None:
                past = span.end
                yield span
            elif noun is not None:
                yield from in_column(text, noun)
    if forms.others and IDEOGRAMS.search(forms.others):
        yield from _in_the_east(text)
    if not _OF_SEED_PHRASES.isdisjoint(forms.words):
        for match in _SEED_PHRASE.finditer(text):
            if len(re.findall(r"[a-z]+", match[1])) in _SEED_WORDS:
                yield Span(*match.span(1), "a seed phrase")


class _Nearby:
    """The secret near a noun, or else the noun if it heads a column of a table. Where the same text stands around a place as around
    the one before, the same is found there: a text that says one thing again and again takes no time.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._around, self._before = "", 0
        self._found: tuple[Span | None, Noun | None] = None, None

    def at(self, match: re.Match[bytes] | re.Match[str]) -> tuple[Span | None, Noun | None]:
        place = match.start()
        if self._around and self._text.startswith(self._around, place - _LOOKS_BACK):
            span, noun = self._found
            ahead = place - self._before
            return span and Span(span.start + ahead, span.end + ahead, span.kind), noun and noun.moved(ahead)
        noun = noun_at(self._text, match)
        span = _near(self._text, noun) if noun is not None else None
        if noun is not None and not heads_column(self._text, noun):
            noun = None
        self._found, self._before, self._around = (span, noun), place, ""
        if place >= _LOOKS_BACK and (span is None or span.end < place + _LOOKS_AHEAD):
            self._around = self._text[place - _LOOKS_BACK : place + _LOOKS_AHEAD]
        return span, noun


def _near(text: str, noun: Noun) -> Span | None:
    if noun.word == " pin":
        return _pin(text, noun)
    if noun.word in PAIRS:
        return _pair(text, noun)
    if _IS_REDACTED.match(text, noun.end):
        return before_noun(text, noun)
    return (
        _assigned(text, noun) or _said(text, noun) or _next(text, noun) or apart(text, noun) or before_noun(text, noun)
    )


def _start_of_name(text: str, start: int) -> int:
    before = _NAME.match(text[max(0, start - _LONGEST_NAME) : start][::-1])
    return start - before.end() if before is not None else start


def _assigned(text: str, noun: Noun) -> Span | None:
    """After a sign: `password=…`, `"apiKey": "…"`, `--token …`, `<password>…`."""
    name_start = _start_of_name(text, noun.start)
    match = _ASSIGNED.match(text, noun.end)
    sign, is_spaced, is_literal = "", False, False
    if match is not None:
        sign, is_spaced = match["sign"], bool(match["before"])
        # FOO_PASSWORD=…, ;password=…, &password=…: the values of variables and parameters are no expressions.
        is_free = text[name_start : noun.end].isupper() or text[name_start - 1 : name_start] in (";", "?", "&")
        is_literal = sign == "=" and not is_spaced and not match["after"] and is_free
    else:
        is_flag = text.startswith("-", name_start)
        match = _ELSEWHERE.match(text, noun.end) or (_FLAG.match(text, noun.end) if is_flag else None)
    value = read_value(text, match.end()) if match is not None else None
    if value is None or is_masked(value.text) or (" " in value.text and noun.word != "passphrase"):
        return None
    if text.startswith("::", name_start - 2) or (sign == ">" and not text.startswith("</", value.end)):
        return None
    if not value.quote and is_code(value.text) and (not is_literal or is_call(value.text) or "/" in value.text):
        return None
    much, length = strength(value.text), len(value.text)
    if not noun.is_sure:
        is_secret = much >= RANDOM and length >= _LONG and not (noun.word == "key" and value.text.islower())
    elif noun.is_password:
        is_secret = much >= LIKELY or _is_weak_password(noun, value, sign, is_literal=is_literal)
    elif value.quote or is_literal:
        is_secret = much >= STRONG or (much >= LIKELY and length >= _TOKEN_LENGTH)
    else:
        is_secret = much >= (RANDOM if is_spaced else STRONG) or (much >= LIKELY and is_scrambled(value.text))
    return span_of(text, value, noun.kind) if is_secret else None


def _is_weak_password(noun: Noun, value: Value, sign: str, *, is_literal: bool) -> bool:
    """Whether it is a password although it does not look like one: a word, a number, a sentence."""
    length = len(value.text)
    if is_literal:
        return length >= _WORD_LENGTH and "/" not in value.text
    if noun.word == "passphrase":
        return _is_passphrase(noun, value)
    is_word = value.text.isalpha() and value.text.islower() and bool(value.quote) and noun.word != "pass"
    return sign in (":", "=") and length >= _NAME_LENGTH and (is_word or value.text.isdigit())


def _is_passphrase(noun: Noun, value: Value) -> bool:
    return (
        noun.word == "passphrase"
        and bool(value.quote)
        and len(value.text) >= _TOKEN_LENGTH
        and len(value.text.split()) > 2  # noqa: PLR2004 - three words
    )


def _said(text: str, noun: Noun) -> Span | None:
    """After a verb: "the password for the VPN is still …"."""
    match = _SAID.match(text, noun.end) or _SAID_IN_THE_EAST.match(text, noun.end)
    value = read_value(text, match.end()) if match is not None else None
    if (
        match is None
        or value is None
        or is_masked(value.text)
        or (" " in value.text and not _is_passphrase(noun, value))
        or (not value.quote and is_call(value.text))
    ):
        return None
    much = strength(value.text)
    if not noun.is_sure:
        is_secret = much >= RANDOM and len(value.text) >= _LONG and not value.text.islower()
    elif not noun.is_password or noun.word == "clave":
        is_variable = "_" in (name := text[_start_of_name(text, noun.start) : noun.end]) and name.isupper()
        is_secret = much >= STRONG or (is_variable and much >= LIKELY and len(value.text) >= _TOKEN_LENGTH)
    elif noun.is_verb:
        is_given_to = match[0].rstrip().endswith((" to", " as"))
        is_secret = much >= (STRONG if is_given_to else LIKELY) and not is_code(value.text)
    else:
        is_phrase = value.text.count("-") > 2  # noqa: PLR2004 - correct-horse-battery-staple
        is_secret = much >= LIKELY or is_phrase or (bool(value.quote) and len(value.text) >= _NAME_LENGTH)
    return span_of(text, value, noun.kind) if is_secret else None


def _next(text: str, noun: Noun) -> Span | None:
    """Right behind its noun, as in `.netrc` or "user admin password …"."""
    words = text[max(0, noun.start - 120) : noun.start].split()
    is_netrc = noun.is_password and bool(_NETRC.search(text[max(0, noun.start - _LONGEST_NETRC) : noun.start]))
    is_login = is_netrc or (noun.is_password and len(words) > 1 and words[-2] in _LOGIN)
    match = (_FLAG if is_login else _NEXT).match(text, noun.end)
    value = read_value(text, match.end()) if match is not None else None
    if value is None or is_masked(value.text) or " " in value.text or is_code(value.text):
        return None
    much = strength(value.text)
    if is_login:
        is_secret = much >= LIKELY or is_netrc
    elif noun.is_verb:
        is_secret = much >= STRONG and not value.text.isalnum()
    elif noun.is_password:
        is_year = value.text.isalnum() and sum(map(str.isdigit, value.text)) > 1
        is_secret = (much >= STRONG or (much >= LIKELY and is_year)) and not is_call(value.text)
    else:
        is_secret = noun.is_sure and much >= RANDOM
    return span_of(text, value, noun.kind) if is_secret else None


def _pair(text: str, noun: Noun) -> Span | None:
    """After a name: "creds: admin / …"."""
    match = (_PAIR if noun.word != "login" else _LOGIN_PAIR).match(text, noun.end)
    value = read_value(text, match.end()) if match is not None else None
    if value is None or is_masked(value.text) or is_code(value.text) or strength(value.text) < LIKELY:
        return None
    return span_of(text, value, "a password")


def _pin(text: str, noun: Noun) -> Span | None:
    match = _SAID.match(text, noun.end) or _ASSIGNED.match(text, noun.end)
    value = read_value(text, match.end()) if match is not None else None
    return span_of(text, value, "a PIN") if value is not None and re.fullmatch(r"\d{4,8}", value.text) else None


def _in_the_east(text: str) -> Iterator[Span]:
    for word in EASTERN_PASSWORDS + EASTERN_SECRETS:
        if word in text:
            for place in near_hints(text, places(text, word)):
                noun = Noun(word, place, place + len(word), word in EASTERN_PASSWORDS, is_sure=True)
                if span := _near(text, noun):
                    yield span
                elif heads_column(text, noun):
                    yield from in_column(text, noun)
