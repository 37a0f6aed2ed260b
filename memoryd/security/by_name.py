"""Secrets that are known by what they are called: `DB_PASSWORD=…`, "the password for the VPN is …". Pure.

First the places of nouns are found, then a few short patterns are tried right behind each: none looks far ahead, so that no
text takes long. What they lead to must look like a secret (values.py), the more so the less the words before promise it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.security.by_format import Span
from memoryd.security.nouns import (
    EASTERN_PASSWORDS,
    EASTERN_SECRETS,
    IDEOGRAMS,
    PAIRS,
    Noun,
    near_hints,
    noun_at,
    nouns_in,
)
from memoryd.security.values import LIKELY, RANDOM, STRONG, is_code, is_jumble, is_masked, strength

if TYPE_CHECKING:
    from collections.abc import Iterator

# -- what leads from a noun to its value ------------------------------------------------------------------------------

_SPACE = r"[^\S\n]"
_QUOTES = dict(zip("\"'`“„«‘「『", "\"'`”“»’」』", strict=True))  # noqa: RUF001
_ALL_QUOTES = "".join({*_QUOTES, *_QUOTES.values()})

_ASSIGNED = re.compile(
    rf"\\{{0,2}}[\"'`\])*_]{{0,4}}(?P<before>{_SPACE}{{0,8}})(?P<sign>:=|=>|=(?![=>~])|:(?![:/=])|：|＝|(?<=[\s*`])\|(?=\s)|>)"  # noqa: RUF001
    rf"(?:{_SPACE}{{0,4}}[A-Za-z][\w.]{{0,30}}(?:\[\w+\])?{_SPACE}{{0,4}}=(?!=))?[*_]{{0,3}}(?P<after>{_SPACE}{{0,8}})"
)
# <add key="DbPassword" value="…">, {"name": "DB_PASSWORD", "value": "…"}, setenv("API_KEY", "…")
_ELSEWHERE = re.compile(
    r"\\{0,2}[\"']?\s{0,3},?\s{0,40}[\"']?value[\"']?\s{0,3}[:=]\s{0,3}|\\{0,2}[\"'],\s{0,3}(?=\\{0,2}[\"'])"
)
_FLAG = re.compile(rf"(?:=|{_SPACE}{{1,4}})(?!-)")
_IS = r"(?:is|was|are|be|ist|war|lautet|lautete|heißt|wird|es|era|será|fue|sigue|est|était|sera|c['’]est|é|è|это|to|auf|como|as|je|jest|är|هي|هو|[—–])"  # noqa: RUF001
_STILL = (
    r"(?:still|now|currently|just|actually|always|simply|probably|set to|noch|immer noch|jetzt|aktuell|einfach|früher|wieder"
    r"|siendo|ahora|todavía|toujours|encore|maintenant)"
)
_WORD = rf"(?:{_SPACE}{{1,3}}[\w'’/@-]{{1,25}}(?:\.[\w-]{{1,20}})?)"  # noqa: RUF001
_SAID = re.compile(
    rf"(?i)(?:['’]?s)?(?:{_WORD}{{0,6}}?{_SPACE}{{1,3}}{_IS}|['’]s|{_WORD}{{1,6}}?:)"  # noqa: RUF001
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
_ARROWS = ("<-", "<--", "←")
_BACK = frozenset(("is", "as", "ist", "als", "como", "comme", *_ARROWS))
_WORDS_BACK = 5
_LOGIN = ("login", "user", "account")
_BRACKETED = re.compile(rf"{_SPACE}{{0,2}}[(\[{{]")
_LINE_BREAK = rf"{_SPACE}{{0,4}}\r?\n"
_NEXT_LINE = re.compile(
    rf"[*_`]{{0,3}}{_SPACE}{{0,2}}(?P<sign>[:=]?)[*_]{{0,3}}(?:{_LINE_BREAK}){{1,2}}{_SPACE}{{0,12}}(?:[-*>] )?"
)
_LINE_ENDS = re.compile(rf"[\"'`*]{{0,3}}[.,;]?{_SPACE}{{0,4}}(?:\r?\n|\Z)")
_SEPARATOR_LINE = re.compile(r"[ \t]{0,8}\|?(?:[ \t]{0,8}:?-{1,80}:?[ \t]{0,8}\|){1,20}[ \t:-]{0,80}\r?\n")
_ROWS, _LONGEST_ROW, _CELL_END = 20, 400, 40
# Words as in BIP 39: three to eight small letters each, 12, 15, 18, 21 or 24 of them.
_SEED_PHRASE = re.compile(
    r"(?i:(?:seed|recovery|backup|secret) (?:phrase|words)|mnemonic(?: phrase)?)(?: (?:is|are|was))?[\s:=\"'`]{1,6}"
    r"([a-z]{3,8}(?:[ ,\n]{1,3}[a-z]{3,8}){11,23})(?=\s{0,3}(?:[\"'`.;)]|\n|\Z))"
)
_SEED_WORDS = (12, 15, 18, 21, 24)

# -- values -----------------------------------------------------------------------------------------------------------

_LONGEST, _LONGEST_TO_JUDGE, _LONGEST_OF_ALL = 300, 100, 4000
_IN_QUOTES = re.compile(rf"[bBrRfFuU]?\\{{0,2}}([{''.join(_QUOTES)}])")
_EASTERN = r"\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef"
_LETTER = (
    rf"(?:[^\s\"'`“”„«»‘’「」『』<>,;&\\{_EASTERN}]|\\(?![nrt\"'`])"  # noqa: RUF001
    r"|[,&](?![\s\"'`)\]}]|$|[\w.-]{1,40}[=:;]|\#x?\w))"
)
_PLAIN = re.compile(f"{_LETTER}{{1,{_LONGEST_TO_JUDGE}}}")
_REST = re.compile(f"{_LETTER}{{0,{_LONGEST_OF_ALL}}}")
_WORD_LENGTH, _NAME_LENGTH, _TOKEN_LENGTH, _LONG = 4, 6, 8, 20
"""From how many letters on a value counts: where any is a secret; in quotes; of a token; of what has no clear name."""


class _Value(NamedTuple):
    text: str
    """Its beginning, if it is very long: enough to judge by."""
    start: int
    end: int
    quote: str


def secrets_by_name(text: str, lowered: str) -> Iterator[Span]:
    """Every value that is called a secret and looks like one, in no order; spans may overlap.

    `lowered` is the text in lower case and ASCII, with a question mark for all other letters.
    """
    for matches in nouns_in(text, lowered):
        past = 0  # a noun inside of a secret says nothing
        for match in matches:
            if match.start() >= past and (span := _behind(text, match)):
                past = span.end
                yield span
    if not text.isascii() and IDEOGRAMS.search(text):
        yield from _in_the_east(text)
    if "mnemonic" in lowered or " phrase" in lowered or "seed words" in lowered:
        for match in _SEED_PHRASE.finditer(text):
            if len(re.findall(r"[a-z]+", match[1])) in _SEED_WORDS:
                yield Span(*match.span(1), "a seed phrase")


def _behind(text: str, match: re.Match[str]) -> Span | None:
    noun = noun_at(text, match)
    if noun is None:
        return None
    if noun.word == " pin":
        return _pin(text, noun)
    if noun.word in PAIRS:
        return _pair(text, noun)
    return _assigned(text, noun) or _said(text, noun) or _next(text, noun) or _in_layout(text, noun)


def _start_of_name(text: str, start: int) -> int:
    limit = max(0, start - 60)
    while start > limit and (text[start - 1].isalnum() or text[start - 1] in "_-."):
        start -= 1
    return start


def _read(text: str, place: int) -> _Value | None:
    """The value at a place: up to the closing quote, or else to a space or what ends a sentence or an expression."""
    quote = _IN_QUOTES.match(text, place)
    if quote is not None:
        place = quote.end()
        end = text.find(_QUOTES[quote[1]], place, place + _LONGEST)
        value = text[place:end].rstrip("\\") if end > place else ""
        if value and "\n" not in value:
            return _Value(value[:_LONGEST_TO_JUDGE], place, place + len(value), quote[1])
    plain = _PLAIN.match(text, place)
    if plain is None:
        return None
    if len(plain[0]) >= _LONGEST_TO_JUDGE:
        return _Value(plain[0], place, plain.end(), "")
    value = plain[0].rstrip(".,;:?…").removesuffix("**")
    while value[-1:] in (")", "]", "}") and value.count(value[-1]) > value.count("([{"[")]}".index(value[-1])]):
        value = value[:-1].rstrip(".,;:?…")
    return _Value(value, place, place + len(value), quote[1] if quote else "") if value else None


def _span(text: str, value: _Value, kind: str) -> Span:
    """Of a value that is a secret; now all of it."""
    is_cut = not value.quote and len(value.text) >= _LONGEST_TO_JUDGE
    rest = _REST.match(text, value.end) if is_cut else None
    return Span(value.start, rest.end() if rest is not None else value.end, kind)


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
    value = _read(text, match.end()) if match is not None else None
    if value is None or is_masked(value.text) or (" " in value.text and noun.word != "passphrase"):
        return None
    if text.startswith("::", name_start - 2) or (sign == ">" and not text.startswith("</", value.end)):
        return None
    if not value.quote and is_code(value.text) and (not is_literal or _is_call(value.text) or "/" in value.text):
        return None
    much, length = strength(value.text), len(value.text)
    if not noun.is_sure:
        is_secret = much >= RANDOM and length >= _LONG and not (noun.word == "key" and value.text.islower())
    elif noun.is_password:
        is_secret = much >= LIKELY or _is_weak_password(noun, value, sign, is_literal=is_literal)
    elif value.quote or is_literal:
        is_secret = much >= STRONG or (much >= LIKELY and length >= _TOKEN_LENGTH)
    else:
        is_secret = much >= (RANDOM if is_spaced else STRONG) or (much >= LIKELY and _is_scrambled(value.text))
    return _span(text, value, noun.kind) if is_secret else None


def _is_scrambled(value: str) -> bool:
    """Whether it is long, with a digit and nothing between, and in one case or a jumble: kwknw21ftqiijbz85cwqaxl9lm."""
    is_alike = value.islower() or value.isupper() or is_jumble(value)
    return is_alike and value.isalnum() and len(value) >= _LONG and any(map(str.isdigit, value))


def _is_weak_password(noun: Noun, value: _Value, sign: str, *, is_literal: bool) -> bool:
    """Whether it is a password although it does not look like one: a word, a number, a sentence."""
    length = len(value.text)
    if is_literal:
        return length >= _WORD_LENGTH and "/" not in value.text
    if noun.word == "passphrase":
        return _is_passphrase(noun, value)
    is_word = value.text.isalpha() and value.text.islower() and bool(value.quote) and noun.word != "pass"
    return sign in (":", "=") and length >= _NAME_LENGTH and (is_word or value.text.isdigit())


def _is_passphrase(noun: Noun, value: _Value) -> bool:
    return (
        noun.word == "passphrase"
        and bool(value.quote)
        and len(value.text) >= _TOKEN_LENGTH
        and len(value.text.split()) > 2  # noqa: PLR2004 - three words
    )


def _said(text: str, noun: Noun) -> Span | None:
    """After a verb: "the password for the VPN is still …"."""
    match = _SAID.match(text, noun.end) or _SAID_IN_THE_EAST.match(text, noun.end)
    value = _read(text, match.end()) if match is not None else None
    if (
        match is None
        or value is None
        or is_masked(value.text)
        or (" " in value.text and not _is_passphrase(noun, value))
        or (not value.quote and _is_call(value.text))
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
    return _span(text, value, noun.kind) if is_secret else None


def _is_call(value: str) -> bool:
    return "(" in value or "[" in value


def _next(text: str, noun: Noun) -> Span | None:
    """Right behind its noun, as in `.netrc` or "user admin password …"."""
    words = text[max(0, noun.start - 120) : noun.start].split()
    is_login = noun.is_password and len(words) > 1 and words[-2] in _LOGIN
    match = (_FLAG if is_login else _NEXT).match(text, noun.end)
    value = _read(text, match.end()) if match is not None else None
    if value is None or is_masked(value.text) or " " in value.text or is_code(value.text):
        return None
    much = strength(value.text)
    if is_login:
        is_secret = much >= LIKELY or "machine" in words
    elif noun.is_verb:
        is_secret = much >= STRONG and not value.text.isalnum()
    elif noun.is_password:
        is_year = value.text.isalnum() and sum(map(str.isdigit, value.text)) > 1
        is_secret = (much >= STRONG or (much >= LIKELY and is_year)) and not _is_call(value.text)
    else:
        is_secret = noun.is_sure and much >= RANDOM
    return _span(text, value, noun.kind) if is_secret else None


def _in_layout(text: str, noun: Noun) -> Span | None:
    return _apart(text, noun) or _in_column(text, noun) or _before(text, noun)


def _apart(text: str, noun: Noun) -> Span | None:
    """In a bracket, or alone on one of the next lines. As nothing says that it is meant, it must look like a secret itself."""
    match = _BRACKETED.match(text, noun.end)
    is_line = match is None
    if match is None:
        match = _NEXT_LINE.match(text, noun.end)
    value = _read(text, match.end()) if match is not None else None
    if match is None or value is None or not noun.is_sure or is_masked(value.text) or " " in value.text:
        return None
    if not value.quote and (is_code(value.text) or _is_call(value.text)):
        return None
    much = strength(value.text)
    if is_line:
        is_bare = not match["sign"]  # the line after "Add password" in a log may hold a hash
        if not _LINE_ENDS.match(text, value.end) or (is_bare and (not noun.is_password or much == RANDOM)):
            return None
    is_secret = much >= STRONG or (much >= LIKELY and _is_scrambled(value.text))
    return _span(text, value, noun.kind) if is_secret else None


def _in_column(text: str, noun: Noun) -> Span | None:
    """Below its noun, in a table: the first row whose cell looks like a secret. The others are found when it is gone."""
    if text[noun.end : noun.end + _CELL_END].lstrip(" \t*`_")[:1] not in ("|", "\r", "\n"):
        return None
    line_start = text.rfind("\n", max(0, noun.start - _LONGEST_ROW), noun.start) + 1
    line_end = text.find("\n", noun.end, noun.end + _LONGEST_ROW)
    if (
        line_end < 0
        or noun.end - line_start > _LONGEST_ROW
        or "|" not in text[line_start : noun.start] + text[noun.end : noun.end + 3]
    ):
        return None
    separator = _SEPARATOR_LINE.match(text, line_end + 1)
    if separator is None or not noun.is_sure:
        return None
    column = text.count("|", line_start, noun.start) - (text[line_start:line_end].lstrip()[:1] == "|")
    start = separator.end()
    for _ in range(_ROWS):
        end = text.find("\n", start, start + _LONGEST_ROW)
        row = text[start : end if end >= 0 else start + _LONGEST_ROW]
        if "|" not in row:
            return None
        shift = len(row) - len(row.lstrip().removeprefix("|"))
        cells = row[shift:].split("|")
        if column < len(cells):
            cell = cells[column]
            place = start + shift + sum(len(before) + 1 for before in cells[:column]) + len(cell) - len(cell.lstrip())
            value = _read(text, place)
            if value and not is_masked(value.text) and " " not in value.text and not _is_call(value.text):
                much = strength(value.text)
                if much >= STRONG or (much >= LIKELY and _is_scrambled(value.text)):
                    return _span(text, value, noun.kind)
        if end < 0:
            return None
        start = end + 1
    return None


def _before(text: str, noun: Noun) -> Span | None:
    """Before its noun: "log in with … as the password"."""
    offset = max(0, noun.start - 100)
    before = text[offset : noun.start]
    words = before.split()[-_WORDS_BACK:]
    link = next((place for place in range(1, len(words)) if words[place] in _BACK), None)
    if link is None or not noun.is_sure or noun.is_verb:
        return None
    value = words[link - 1].strip(_ALL_QUOTES + "(")
    is_on_one_line = "\n" not in before[before.rindex(words[link - 1]) :] and _LINE_ENDS.match(text, noun.end)
    if words[link] in _ARROWS and not is_on_one_line:
        return None
    if is_masked(value) or is_code(value) or strength(value) < STRONG:
        return None
    start = offset + before.rindex(value)
    return Span(start, start + len(value), noun.kind)


def _pair(text: str, noun: Noun) -> Span | None:
    """After a name: "creds: admin / …"."""
    match = (_PAIR if noun.word != "login" else _LOGIN_PAIR).match(text, noun.end)
    value = _read(text, match.end()) if match is not None else None
    if value is None or is_masked(value.text) or is_code(value.text) or strength(value.text) < LIKELY:
        return None
    return _span(text, value, "a password")


def _pin(text: str, noun: Noun) -> Span | None:
    match = _SAID.match(text, noun.end) or _ASSIGNED.match(text, noun.end)
    value = _read(text, match.end()) if match is not None else None
    return _span(text, value, "a PIN") if value is not None and re.fullmatch(r"\d{4,8}", value.text) else None


def _in_the_east(text: str) -> Iterator[Span]:
    for word in EASTERN_PASSWORDS + EASTERN_SECRETS:
        if word in text:
            for place in near_hints(text, text, word):
                noun = Noun(word, place, place + len(word), word in EASTERN_PASSWORDS, is_sure=True)
                if span := _assigned(text, noun) or _said(text, noun) or _next(text, noun) or _in_layout(text, noun):
                    yield span
