"""Secrets that are known by their shape alone: most have a prefix from their makers, so that they can be found. Pure.

A pass for each of a hundred prefixes would be a hundred passes. All these secrets hold a run of letters and digits longer
than most words are: one pass takes the runs out, and a shape is looked for only where a run begins with its prefix.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from memoryd.security.searched_text import AS_RUNS, IN_RUNS, LONG_RUN
from memoryd.security.shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.security.searched_text import SearchedText
    from memoryd.security.shapes import Shape


_HEX = "[0-9a-f]"
_MIXED = r"(?=[A-Za-z]{0,23}\d)(?=[a-z0-9]{0,23}[A-Z])(?=[A-Z0-9]{0,23}[a-z])"


class Span(NamedTuple):
    """Where a secret stands, and what a person is told that it is."""

    start: int
    end: int
    kind: str


_START_SIZE = 3
# The `\n` of an escaped text is not the first letter of what follows; but for npm_, r8_, tskey- behind a backslash.
_ESCAPE = re.compile(rb"\\[nrt](?!pm_|tn_|vapi-|8_|k_|ubygems_|vly-|skey-)")
_OUTSIDE_OF_RUNS = bytes(place if inside else ord(" ") for place, inside in enumerate(IN_RUNS))

# Shapes that something else than a prefix gives away, each with what cannot be missing. One of the words that are searched for;
_BY_WORD = {
    b"sig=": ("an Azure key", r"(?<=sig=)[A-Za-z0-9%+/]{40,}[=%A-Z0-9]*"),
    b"hooks": (
        "a web hook",
        r"https://(?:hooks\.slack\.com/[a-z]{1,20}|[a-z.]{0,20}discord(?:app)?\.com/api/webhooks/\d{1,30})/[\w/-]{20,}",
    ),
    b"fm2_": ("a Fly token", r"fm2_[\w+/=-]{40,}"),
    b"whsec_": ("a Stripe key", r"whsec_[A-Za-z0-9+/=]{24,}"),
}
# a sign, which is found a hundred times as fast as two letters, and a piece around it;
_BY_SIGN = (
    ("a PayPal token", "$", "access_token$", r"access_token\$(?:production|sandbox)\$\w{8,}\$[0-9a-f]{32}"),
    ("an eBay token", "^", "v^1.1#", r"v\^1\.1#[\w^#+/=-]{60,}"),
    (
        "a PagerDuty token",
        "+",
        "u+",
        r"(?<![\w+])(?:pdus|u)\+(?=[\w-]{0,19}\d)(?=[\w-]{0,19}[A-Z])[\w-]{18,30}(?![\w-])",
    ),
    ("an OpenShift token", "~", "sha256~", r"sha256~[\w-]{40,}"),
    ("an API key", "+", "endr+", r"endr\+(?=[A-Za-z]{0,15}\d)[A-Za-z0-9-]{16,}"),
    ("an Azure key", "~", "Q~", r"(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{30,}"),
)
_ADYEN = re.compile(r"(?<![A-Za-z0-9])AQE(?=[A-Za-z+/]{0,40}\d)[A-Za-z0-9+/=.-]{80,}", re.ASCII)
# or a piece of the runs, which are fewer letters than the text.
_RANDOM = r"(?=[A-Za-z0-9]{0,40}[A-Z])(?=[A-Za-z0-9]{0,40}[a-z])(?=(?:[A-Za-z]{0,20}\d){3})[A-Za-z0-9]{16,}"
"""Letters of both cases and three digits: the name of a test has hardly so many."""
_OTHERS_IN_RUNS = (
    ("an Asana token", " 1", r"/1\d{15}(?:/\d{16})?:[0-9a-f]{32}"),
    ("a Google token", " 0", r"1//0[\w-]{40,}"),
    ("an Okta token", " 00", r"(?<=SSWS )00[\w-]{38,}"),
    ("a web hook", "webhook.office.com", r"webhook\.office\.com/[\w/@-]{40,}"),
    ("a web hook", "hooks.zapier.com", r"hooks\.zapier\.com/hooks/catch/\d{4,}/\w{5,}"),
    ("a Firebase key", " APA91b", r"(?<![\w-])[\w-]{11}:APA91b[\w-]{100,}"),
    ("a Vault token", " s.", rf"(?<![\w.])s\.{_MIXED}[A-Za-z0-9]{{24}}(?![\w.(])"),
    ("a New Relic key", "NRAL", r"(?<!\w)[0-9a-f]{34,36}(?:FFFF)?NRAL(?!\w)"),
    ("a MaxMind key", "_mmk", r"(?<!\w)[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    ("a bot token", " AA", r"(?<!\d)\d{8,10}:AA[\w-]{30,}"),
    ("a Terraform token", ".atlasv1.", r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{50,}"),
    ("an Azure key", "JQQJ99", r"(?<![A-Za-z0-9])[A-Za-z0-9]{40,60}JQQJ99[A-Za-z0-9]{20,}"),
    ("an Azure key", "AZDO", r"(?<![A-Za-z0-9])[A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4,}"),
    *(
        ("an API key", piece, rf"(?<![A-Za-z0-9])[a-z]{{2,12}}{piece}{_RANDOM}")
        for piece in ("_live_", "_test_", "_prod_")
    ),
    ("a Mailchimp key", "-us", r"(?<![A-Za-z0-9])" + _HEX + r"{32}-us\d\d?(?!\w)"),
)

_MAILGUN_RUN = re.compile(r" [0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}")
_MAILGUN = re.compile(r"(?<![\w-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])")

# The secret half of a pair has no prefix; beside the other half it is known by its length.
_HALVES = {
    "an AWS key": re.compile(r"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"),
    "an Alibaba key": re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{30}(?![A-Za-z0-9])"),
    "a Tencent key": re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
}
_BESIDE = 300

_EDGE = re.compile(r"---- ?-?(BEGIN|END) (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-? ?----")
_PUTTY = re.compile(r"Private-Lines: \d{1,3}")
_LONGEST_KEY = 20_000
# A line of a key, whatever a listing, a diff or a string literal puts around it; and what is no word.
_AROUND = r"(?:\\[nrt]|[\s\"'`>|+,]|\d{1,5}[→:|\t]){0,80}"
_LINE = re.compile(_AROUND + r"(?![A-Za-z]{1,15}(?![A-Za-z0-9+/=]))[A-Za-z0-9+/=]{4,}")
_KEY_HEADER = re.compile(r"(?:\s|\\[nr]){0,4}(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,200}")
_LAST_LINE = re.compile(_AROUND + r"[A-Za-z0-9+/=]{4,}" + _AROUND)
_FULL_LINE = re.compile(_AROUND + r"[A-Za-z0-9+/=]{30,}" + _AROUND)


def secrets_by_format(forms: SearchedText) -> list[Span]:
    """Every secret with a shape of its own, in no order; spans may overlap."""
    text, letters = forms.text, forms.letters
    if b"\\" in letters:
        letters = _ESCAPE.sub(b"  ", letters)
    runs = _runs(letters)
    found = list(_in_runs(text, letters, runs)) if runs else []
    if "Q" in text and "AQE" in text:
        found += [Span(*match.span(), "an Adyen key") for match in _ADYEN.finditer(text)]
    if forms.words:
        found += _by_word(text, forms.words)
    return found


def _in_runs(text: str, letters: bytes, runs: list[bytes]) -> Iterator[Span]:
    joined = " " + b" ".join(runs).decode()
    for shape, match in _tokens(text, letters, runs, joined):
        if not _is_masked(match[0][4:], shape.kind):
            yield Span(*match.span(), shape.kind)
            yield from _other_half(text, *match.span(), shape.kind)
    for kind, piece, pattern in _OTHERS_IN_RUNS:
        if piece in joined:
            yield from (Span(*match.span(), kind) for match in _compiled(pattern).finditer(text))
    if _MAILGUN_RUN.search(joined):
        yield from (Span(*match.span(), "a Mailgun key") for match in _MAILGUN.finditer(text))
    for kind, sign, piece, pattern in _BY_SIGN:
        if sign in text and piece in text:
            yield from (Span(*match.span(), kind) for match in _compiled(pattern).finditer(text))


def _by_word(text: str, words: dict[bytes, list[int]]) -> Iterator[Span]:
    for word in _BY_WORD.keys() & words.keys():
        kind, pattern = _BY_WORD[word]
        yield from (Span(*match.span(), kind) for match in _compiled(pattern).finditer(text))
    if b"private key" in words:
        yield from _private_keys(text)
    for match in _PUTTY.finditer(text) if b"private-lines" in words else ():
        yield Span(match.start(), _end_of_lines(text, match.end()), "a private key")


def _runs(letters: bytes) -> list[bytes]:
    """The runs of letters and digits that are long enough to be a secret."""
    inside = letters.translate(AS_RUNS)
    runs = []
    start = inside.find(LONG_RUN)
    while start >= 0:
        end = inside.find(b" ", start)
        if end < 0:
            end = len(letters)
        runs.append(letters[start:end])
        start = inside.find(LONG_RUN, end)
    return runs


def _tokens(text: str, letters: bytes, runs: list[bytes], joined: str) -> Iterator[tuple[Shape, re.Match[str]]]:
    starts, inside = _starts()
    found = starts.keys() & {run[:_START_SIZE] for run in runs}
    letters = b" " + letters.translate(_OUTSIDE_OF_RUNS) if found else b""
    for start in found:
        # There is one more letter in front, so that the space before a run is where the run begins in the text.
        place = letters.find(b" " + start)
        while place >= 0:
            for shape in starts[start]:
                if match := _pattern_of(shape).match(text, place):
                    yield shape, match
            place = letters.find(b" " + start, place + 1)
    for shape in {shape for head, shape in inside if head in joined}:
        for match in _pattern_of(shape).finditer(text):
            yield shape, match


@cache
def _starts() -> tuple[dict[bytes, set[Shape]], list[tuple[str, Shape]]]:
    """Shapes by the first letters of a run, and the heads that are looked for inside of runs."""
    starts: dict[bytes, set[Shape]] = {}
    inside = []
    for shape in SHAPES:
        for head in shape.heads.split(" "):
            parts = re.findall(r"\[(.+?)\]|(.)", head.replace("0-9", "0123456789").replace("a-f", "abcdef"))
            for letters in product(*(one_of or letter for one_of, letter in parts)):
                start = "".join(letters)
                if shape.where == "first":
                    starts.setdefault(start[:_START_SIZE].encode(), set()).add(shape)
                else:
                    inside.append((start, shape))
    return starts, inside


@cache
def _pattern_of(shape: Shape) -> re.Pattern[str]:
    heads = "|".join(head.replace(".", r"\.") for head in shape.heads.split(" "))
    before = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))" if shape.where == "inside" else ""
    return re.compile(f"{before}(?:{heads}){shape.tail}", re.ASCII)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _is_masked(body: str, kind: str) -> bool:
    """Whether it only shows what one looks like: `xxxx…`, or those in the documentation of AWS."""
    is_one_letter = len(set(body.strip("-_"))) <= 2  # noqa: PLR2004 - and another between
    return is_one_letter or (kind == "an AWS key" and body.endswith(("EXAMPLE", "EXAMPLEKEY")))


def _other_half(text: str, start: int, end: int, kind: str) -> Iterator[Span]:
    half = _HALVES.get(kind)
    if half is None:
        return
    for match in half.finditer(text, max(0, start - _BESIDE), end + _BESIDE):
        letters = match[0]
        if not (letters.islower() or letters.isupper()) and re.search(r"\d", letters) and not _is_masked(letters, kind):
            yield Span(match.start(), match.end(), kind)


def _private_keys(text: str) -> Iterator[Span]:
    """From BEGIN to END, whatever stands between; where one of them was cut off, the lines that look like a key."""
    begun: re.Match[str] | None = None
    past = 0
    for edge in _EDGE.finditer(text):
        if begun is not None and (edge[1] == "BEGIN" or edge.start() - begun.end() > _LONGEST_KEY):
            past = _end_of_lines(text, begun.end())
            yield Span(begun.start(), past, "a private key")
            begun = None
        if edge[1] == "BEGIN":
            begun = edge
        else:
            start = begun.start() if begun is not None else _start_of_lines(text, edge.start(), past)
            yield Span(start, edge.end(), "a private key")
            begun, past = None, edge.end()
    if begun is not None:
        yield Span(begun.start(), _end_of_lines(text, begun.end()), "a private key")


def _end_of_lines(text: str, end: int) -> int:
    while match := _LINE.match(text, end) or _KEY_HEADER.match(text, end):
        end = match.end()
    return end


def _start_of_lines(text: str, start: int, past: int) -> int:
    wanted = _LAST_LINE
    for line in reversed(text[max(past, start - _LONGEST_KEY) : start].splitlines(keepends=True)):
        if not wanted.fullmatch(line):
            break
        start -= len(line)
        wanted = _FULL_LINE
    return start
