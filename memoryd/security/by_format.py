"""Secrets that are known by their shape alone: most have a prefix from their makers, so that they can be found. Pure.

A pass for each of a hundred prefixes would be a hundred passes. All these secrets hold a run of letters and digits longer
than most words are: one pass takes the runs out, and a shape is looked for only where a run begins with its prefix.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Span(NamedTuple):
    """Where a secret stands, and what a person is told that it is."""

    start: int
    end: int
    kind: str


class _Shape(NamedTuple):
    kind: str
    heads: str
    """What it begins with, several between spaces, and each perhaps with classes: `gh[pousr]_`."""
    tail: str
    """What follows. It takes all that can belong to the secret: nothing of it may stay behind the marker."""
    where: Literal["first", "inside", "anywhere"] = "first"
    """Of a run: its beginning; where no letter or digit stands before, but for the `\\n` of an escaped text; or wherever."""


_HEX = "[0-9a-f]"
_SHAPES = (
    _Shape("an API key", "sk-ant- sk-proj-", r"[\w-]{20,}", where="anywhere"),
    _Shape(
        "an API key",
        "sk-svcacct- sk-admin- sk-or- sk-lf- sk-None- lsv2_ xkeysib- nvapi- pplx- xai- tvly- bedrock-api-key-",
        r"(?=[\w-]{0,40}\d)[\w=-]{28,}",
    ),
    _Shape("an API key", "sk-", r"(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{20,}"),
    _Shape("an API key", "gsk_ r8_ jina_ csk- fw_ phx_ key- ABSK", r"(?=[A-Za-z]{0,60}\d)[A-Za-z0-9+/=]{24,}"),
    _Shape("a GitHub token", "gh[pousr]_", r"[A-Za-z0-9]{30,}\w*", where="anywhere"),
    _Shape("a GitHub token", "github_pat_", r"\w{40,}", where="anywhere"),
    _Shape("a GitLab token", "glpat-", r"[\w-]{20,}(?:\.\w+)*", where="anywhere"),
    _Shape(
        "a GitLab token",
        "glrt- gldt- glptt- glrtr- glcbt- glsoat- glimt- glft- glagent- gloas- glffct- glwt-",
        r"[\w-]{20,}(?:\.\w+)*",
    ),
    _Shape("a GitLab token", "GR1348941", r"[\w-]{20,}"),
    _Shape("an AWS key", "AKIA ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])", where="inside"),
    _Shape("an AWS key", "ABIA ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _Shape("an AWS session token", "IQoJb3JpZ2lu F[wQ]oGZXIvYXdz", r"[A-Za-z0-9+/=]{60,}"),
    _Shape("an Alibaba key", "LTAI", r"[A-Za-z0-9]{12,28}(?![A-Za-z0-9])", where="inside"),
    _Shape("a Tencent key", "AKID", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _Shape("a Google key", "AIza", r"[\w-]{35,}", where="anywhere"),
    _Shape("a Google key", "GOCSPX-", r"[\w-]{20,}"),
    _Shape("a Google token", "ya29.", r"[\w.-]{30,}\w"),
    _Shape("a Slack token", "xox[bp]-", r"(?=[\w-]{0,12}\d)[A-Za-z0-9-]{12,}", where="anywhere"),
    _Shape("a Slack token", "xox[aeors]- xapp- xoxe.xox[bp]-", r"(?=[\w-]{0,12}\d)[A-Za-z0-9-]{12,}"),
    # The first part is a number in base64.
    _Shape("a Discord token", "[MNO][DTjz][AEIMQUYcgk]", r"[\w-]{20,26}\.[\w-]{5,8}\.[\w-]{25,}"),
    _Shape("a Stripe key", "[rs]k_live_ [rs]k_test_", r"[A-Za-z0-9]{16,}"),
    _Shape("a Stripe key", "[rs]k_prod_ whsec_", r"[A-Za-z0-9+/=]{24,}"),
    _Shape("a Twilio key", f"SK{_HEX}", _HEX + r"{31}(?![A-Za-z0-9])"),
    _Shape("a SendGrid key", "SG.", r"[\w-]{16,}\.[\w-]{16,}"),
    _Shape("a registry token", "npm_", r"(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{36,}", where="anywhere"),
    _Shape("a registry token", "pypi-Ag dckr_pat_ dckr_oat_", r"[\w-]{20,}"),
    _Shape("a registry token", "hf_ cio oy2 CLOJARS_", r"[A-Za-z0-9]{32,}(?!\w)"),
    _Shape("a registry token", "rubygems_", _HEX + "{40,}"),
    _Shape("a Vault token", "hv[sbr].", r"[\w-]{20,}"),
    _Shape("a Databricks token", "dapi", _HEX + r"{32}(?:-\d)?"),
    _Shape("a DigitalOcean token", "do[opr]_v1_", _HEX + "{40,}"),
    _Shape("a Sentry token", "sntry[su]_", r"[\w+/=.-]{40,}"),
    _Shape("a Linear token", "lin_api_ lin_oauth_ lin_wh_", r"[A-Za-z0-9]{32,}"),
    _Shape("a Notion token", "ntn_ secret_", r"[A-Za-z0-9]{40,}(?!\w)"),
    _Shape("a Figma token", "fig[doupr]_", r"[\w-]{30,}"),
    _Shape("an Atlassian token", "AT[AC]TT3 ATBB", r"[\w=-]{28,}"),
    _Shape("a Grafana token", "glsa_ glc_", r"[A-Za-z0-9]{30,}[\w+/=]*"),
    _Shape("a Supabase key", "sbp_ sb_secret_", r"[\w-]{20,}"),
    _Shape("a Shopify token", "shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32,}"),
    _Shape("a New Relic key", "NRAK-", r"[A-Z0-9]{20,}"),
    _Shape("a Postman key", "PMAK-", _HEX + "{24}-" + _HEX + "{30,}"),
    _Shape("a PlanetScale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.-]{30,}"),
    _Shape("a Doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim.", r"[\w.-]{40,}"),
    _Shape("a Pulumi token", "pul-", _HEX + "{40}"),
    _Shape("a Square token", "sq0atp- sq0csp- sq0idp-", r"[\w-]{22,}"),
    _Shape("a Tailscale key", "tskey-", r"[a-z]{2,10}-[\w-]{20,}"),
    _Shape("a Fly token", "fm[12]_ fo1_", r"[\w+/=-]{40,}"),
    _Shape("a JFrog token", "AKCp", r"[A-Za-z0-9]{60,}"),
    _Shape("a Mapbox token", "sk.eyJ", r"[\w-]{20,}\.[\w-]{20,}"),
    _Shape("a private key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}"),
    # Signed: three parts, of which two are JSON; encrypted: five.
    _Shape(
        "a web token",
        "eyJ",
        r"[\w-]{10,}\.(?:eyJ[\w-]{10,}(?:\.[\w-]+){0,3}|[\w-]*(?:\.[\w-]{10,}){3})",
        where="inside",
    ),
)
_RUN = re.compile(rb" ([^ ]{16,})")
_START_SIZES = (3, 4)
# The `\n` of an escaped text is not the first letter of what follows; but for npm_, r8_, tskey- behind a backslash.
_ESCAPE = re.compile(rb"\\[nrt](?!pm_|tn_|vapi-|8_|k_|ubygems_|vly-|skey-)")
_OUTSIDE_OF_RUNS = bytes(
    place if chr(place).isascii() and (chr(place).isalnum() or chr(place) in "_.-") else ord(" ")
    for place in range(256)
)

# Shapes that something else than a prefix gives away, each with the piece without which it cannot be there: of a text,
_OTHERS = (
    ("an Azure key", "Q~", r"(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{30,}"),
    ("an Azure key", "sig=", r"(?<=sig=)[A-Za-z0-9%+/]{40,}[=%A-Z0-9]*"),
    (
        "a web hook",
        "hooks",
        r"https://(?:hooks\.slack\.com/[a-z]{1,20}|[a-z.]{0,20}discord(?:app)?\.com/api/webhooks/\d{1,30})/[\w/-]{20,}",
    ),
)
# or of its runs, which are fewer.
_RANDOM = r"(?=[A-Za-z0-9]{0,40}[A-Z])(?=[A-Za-z0-9]{0,40}[a-z])(?=(?:[A-Za-z]{0,20}\d){3})[A-Za-z0-9]{16,}"
"""Letters of both cases and three digits: the name of a test has hardly so many."""
_OTHERS_IN_RUNS = (
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

# The secret half of a pair has no prefix; beside the other half it is known by its length.
_HALVES = {
    "an AWS key": re.compile(r"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"),
    "an Alibaba key": re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{30}(?![A-Za-z0-9])"),
    "a Tencent key": re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
}
_BESIDE = 300

_EDGE = re.compile(r"-----(BEGIN|END) (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_LONGEST_KEY = 20_000
# A line of a key, whatever a listing, a diff or a string literal puts around it; and what is no word.
_AROUND = r"(?:\\[nrt]|[\s\"'`>|+,]|\d{1,5}[→:|\t]){0,80}"
_LINE = re.compile(_AROUND + r"(?![A-Za-z]{1,15}(?![A-Za-z0-9+/=]))[A-Za-z0-9+/=]{4,}")
_KEY_HEADER = re.compile(r"(?:\s|\\[nr]){0,4}(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,200}")
_LAST_LINE = re.compile(_AROUND + r"[A-Za-z0-9+/=]{4,}" + _AROUND)
_FULL_LINE = re.compile(_AROUND + r"[A-Za-z0-9+/=]{30,}" + _AROUND)


def secrets_by_format(text: str, letters: bytes) -> Iterator[Span]:
    """Every secret with a shape of its own, in no order; spans may overlap. `letters` is the text in ASCII."""
    if b"\\" in letters:
        letters = _ESCAPE.sub(b"  ", letters)
    letters = b" " + letters.translate(_OUTSIDE_OF_RUNS)
    runs = _RUN.findall(letters)
    if runs:
        joined = " " + b" ".join(runs).decode()
        for shape, match in _tokens(text, letters, runs, joined):
            if not _is_masked(match[0][4:], shape.kind):
                yield Span(*match.span(), shape.kind)
                yield from _other_half(text, *match.span(), shape.kind)
        for kind, piece, pattern in _OTHERS_IN_RUNS:
            if piece in joined:
                yield from (Span(*match.span(), kind) for match in _compiled(pattern).finditer(text))
    for kind, piece, pattern in _OTHERS:
        if piece in text:
            yield from (Span(*match.span(), kind) for match in _compiled(pattern).finditer(text))
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)


def _tokens(text: str, letters: bytes, runs: list[bytes], joined: str) -> Iterator[tuple[_Shape, re.Match[str]]]:
    starts, inside = _starts()
    for start in starts.keys() & {run[:size] for run in runs for size in _START_SIZES}:
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
def _starts() -> tuple[dict[bytes, set[_Shape]], list[tuple[str, _Shape]]]:
    """Shapes by the first three or four letters of a run, and the heads that are looked for inside of runs."""
    starts: dict[bytes, set[_Shape]] = {}
    inside = []
    for shape in _SHAPES:
        for head in shape.heads.split(" "):
            parts = re.findall(r"\[(.+?)\]|(.)", head.replace("0-9", "0123456789").replace("a-f", "abcdef"))
            for letters in product(*(one_of or letter for one_of, letter in parts)):
                start = "".join(letters)
                if shape.where == "first":
                    starts.setdefault(start[: max(_START_SIZES)].encode(), set()).add(shape)
                else:
                    inside.append((start, shape))
    return starts, inside


@cache
def _pattern_of(shape: _Shape) -> re.Pattern[str]:
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
