"""Passwords that are known by the place they stand in: URLs, flags of commands, HTTP headers. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from memoryd.security.by_format import Span
from memoryd.security.values import LIKELY, RANDOM, STRONG, is_code, is_masked, strength

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.security.searched_text import SearchedText

# A port is no password: host:8080/@vite. The first way allows a slash in a password, the second what begins a query.
_IN_URL = re.compile(
    r"://[^\s/?#@:\"'`<>\[]{0,128}:(?![:/]|\d{1,5}/)([^\s\"'`<>?#]{1,256}|[^\s\"'`<>/]{1,256})@(?=[\w\[.%$-])"
)
# What stands before it where that is no place on the web: name and password of a database are one credential.
_SCHEME = re.compile(r"(?<![\w+.-])(?!https?\Z)[A-Za-z][\w+.-]{1,24}\Z")
_LONGEST_SCHEME = 26
_NAME_IN_URL = re.compile(r"://([\w.~-]{16,256})(?::[^\s/?#@:\"'`<>\[]{0,128})?@(?=[\w\[.-])")
"""A token where the name would stand, alone or with a password that says nothing."""

_FLAG = re.compile(r" -(?:[upaU]|-user|-proxy-user)")
# What cannot be missing, a command, the flag behind which its password stands, and how far behind the beginning of the command
# that may be.
_COMMANDS = (
    (
        b"curl",
        re.compile(r"curl\b"),
        re.compile(r" (?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"']{1,80}:([^\s\"']{3,200})"),
        210,
    ),
    (b"mysql", re.compile(r"mysql\w{0,8}\s"), re.compile(r" -p[\"']?((?!\d+:)[^\s\"'=]{3,200})"), 210),
    (b"sshpass", re.compile(r"sshpass\s"), re.compile(r" -p\s{0,4}[\"']?([^\s\"']{3,200})"), 11),
    (b"redis-cli", re.compile(r"redis-cli\b"), re.compile(r" -a\s{1,4}[\"']?([^\s\"']{3,200})"), 210),
    (b"login", re.compile(r"login\s(?<=\slogin\s)"), re.compile(r" -p\s{1,4}[\"']?([^\s\"'-][^\s\"']{3,200})"), 210),
    (b" -U", re.compile(r"\s"), re.compile(r" -U\s{0,4}[\"']?[\w.@\\-]{1,80}%([^\s\"']{3,200})"), 1),  # smbclient
)

_QUOTE = r"\\{0,2}[\"'`]?"
_CREDENTIALS = rf"\s{{1,3}}(?:-\w\s{{1,3}})?{_QUOTE}([A-Za-z0-9._~+/=-]{{8,4000}})"
_BEARER = re.compile(rf"(?i)\bbearer{_CREDENTIALS}")
_AUTHORIZATION = re.compile(
    rf"(?i)authorization{_QUOTE}[\])]?\s{{0,4}}[:=,]\s{{0,4}}[bfru]?{_QUOTE}(?P<scheme>basic|token|api-?key|key){_CREDENTIALS}"
)
_AUTH_PAIR = re.compile(r"auth\s{0,2}=\s{0,2}\(\s{0,2}[\"'][^\s\"']{1,80}[\"'],\s{0,2}[\"']([^\s\"']{5,200})[\"']")
_PIPED = re.compile(
    rf"(?:echo|printf)\s(?:-\w\s|{_QUOTE}%s{_QUOTE}\s)?{_QUOTE}([^\s\"'`|]{{5,200}}){_QUOTE}\s?\|[^|\n]{{0,80}}"
    r"(?:\ssudo\s(?:-\w\s)?-S|passw(?:or)?d)"
)
"""What is piped into a program that asks for a password."""
_DOCKER_AUTH = re.compile(rf"\"auth{_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE}([A-Za-z0-9+/=]{{8,400}})")
_SHORTEST_BEARER = 16
_COOKIES = re.compile(
    rf"(?i)cookie(?:\.\w{{1,20}}|s)?{_QUOTE}\]?\s{{0,4}}[:=,]\s{{0,4}}{_QUOTE}|\s(?:-b|--cookie)[ =]{_QUOTE}"
)
_COOKIE = re.compile(r"[\w.$-]{1,60}=([^;\s\"'`,\\]{1,4000})(?:;\s{0,3})?")
_SHORTEST_COOKIE, _MOST_COOKIES = 12, 50


def secrets_by_position(forms: SearchedText) -> list[Span]:
    """Every password in such a place, in no order; spans may overlap."""
    text, letters, words = forms.text, forms.letters, forms.words
    found: list[Span] = []
    if b"://" in letters and b"@" in letters:
        found += _in_urls(text)
    has_flags = b" -" in letters
    if has_flags and _FLAG.search(text):
        found += _behind_flags(text, letters)
    if b"bearer" in words:
        matches = [match for match in _BEARER.finditer(text) if len(match[1]) >= _SHORTEST_BEARER]
        found += [Span(*match.span(1), "a bearer token") for match in matches if _is_credible(match[1])]
    if b"cookie" in words or (has_flags and b" -b " in letters):
        found += _cookies(text)
    if b"auth" in words:
        found += _in_headers(text, forms.lowered)
        found += _likely(_AUTH_PAIR, text)
    if has_flags and b"|" in letters and (b"echo " in letters or b"printf " in letters):
        found += _likely(_PIPED, text)
    return found


def _likely(place: re.Pattern[str], text: str) -> Iterator[Span]:
    for match in place.finditer(text):
        if _is_credible(match[1]):
            yield Span(*match.span(1), "a password")


def _in_urls(text: str) -> Iterator[Span]:
    for match in _IN_URL.finditer(text):
        if not is_masked(match[1]):
            scheme = _SCHEME.search(text, max(match.start() - _LONGEST_SCHEME, 0), match.start())
            yield Span(scheme.start() if scheme else match.start(1), match.end(1), "a password in a URL")
    for match in _NAME_IN_URL.finditer(text):
        if strength(match[1]) >= RANDOM:
            yield Span(*match.span(1), "a password in a URL")


def _behind_flags(text: str, letters: bytes) -> Iterator[Span]:
    for word, command, flag, most in _COMMANDS:
        for match in flag.finditer(text) if word in letters else ():
            if _is_behind(text, match.start(), command, most) and not is_masked(match[1]):
                yield Span(*match.span(1), "a password")


def _in_headers(text: str, lowered: bytes) -> Iterator[Span]:
    if b"authorization" in lowered:
        for match in _AUTHORIZATION.finditer(text):
            if match["scheme"].lower() == "basic" and _is_basic(match[2]):
                yield Span(*match.span(2), "a password in a header")
            elif match["scheme"].lower() != "basic" and _is_credible(match[2]):
                yield Span(*match.span(2), "a token")
    if '"auth' in text:
        for match in _DOCKER_AUTH.finditer(text):
            if _is_basic(match[1]):
                yield Span(*match.span(1), "a password")


def _is_behind(text: str, place: int, command: re.Pattern[str], most: int) -> bool:
    """Whether a command begins before a place, on the same line."""
    begin = max(0, place - most)
    return command.search(text, max(begin, text.rfind("\n", begin, place)), place + 1) is not None


def _cookies(text: str) -> Iterator[Span]:
    """Values that look random: `theme=dark` is no secret."""
    for header in _COOKIES.finditer(text):
        place = header.end()
        for _ in range(_MOST_COOKIES):
            match = _COOKIE.match(text, place)
            if match is None:
                break
            if (
                len(match[1]) >= _SHORTEST_COOKIE
                and strength(match[1][:100]) >= STRONG
                and not is_masked(match[1][:100])
            ):
                yield Span(*match.span(1), "a cookie")
            place = match.end()


def _is_credible(value: str) -> bool:
    return strength(value[:100]) >= LIKELY and not is_masked(value[:100]) and not is_code(value[:100])


def _is_basic(value: str) -> bool:
    """Whether it is a name, a colon and a password in base64."""
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
