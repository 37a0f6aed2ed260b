"""Memories with one thing wrong, in each way in which careless rewriting goes wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

_NUMBER = re.compile(r"\d+")
_DATE = re.compile(r"\d{4}-\d\d-(\d\d)")
_WHY = re.compile(r"\*\*Why:\*\*[^\n]*\n?")
_HOW = re.compile(r"\*\*How to apply:\*\*[^\n]*\n?")
_SENTENCE = re.compile(r"(?:(?<=^)|(?<=[.;。] )|(?<=\n)|(?<=。))(?!\*\*)[^\n.;。*]{8,}[.;。]")
_NEGATION = re.compile(
    r"(?i)\b(?:not|never|no|without|nicht|nie|keine?[nrm]?|ohne|nunca|sin|jamais|pas|sans)\b ?|不|没有|ない|ません"
)
_EXCEPTION = re.compile(
    r"(?i)[,;(]? ?\b(?:except|unless|only|außer|nur|salvo|solo|sólo|sauf|seulement)\b[^,.;)\n]*\)?|[，（]?[除只仅][^，。；\n]*|だけ"  # noqa: RUF001
)
_TURNABLE = re.compile(
    r"(?i)\b(?:is|are|was|were|must|may|can|should|will|ist|sind|wird|werden|muss|darf|es|son|est|sont)\b(?! (?:not|nicht|no|pas)\b)|(?<=[\u4e00-\u9fff])[要会能用找]"
)
_WORD = re.compile(r"(?<= )[a-zà-ü]{5,}(?= )")
_PAIRS = {"before": "after", "above": "below", "more": "less", "most": "least", "must": "may", "first": "last"}
_OPPOSITES = _PAIRS | {other: word for word, other in _PAIRS.items()}
_OPPOSITE = re.compile(rf"\b(?:{'|'.join(_OPPOSITES)})\b")
_NAME = re.compile(r"(?<=[a-zà-ü,] )[A-ZÀ-Ü][a-zà-ü]{3,}|(?<=`)[\w./()-]{3,}(?=`)|\b[\w-]+\.[\w-]+\.example\b")


def seeds_of(description: str, body: str, stranger: str, chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """The kind of each seed, and the memory with it; where it can be told everywhere alike, that as well."""
    changes: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
        ("flipped number", _NUMBER, lambda value: str(int(value) + 1 if int(value) % 2 else int(value) * 2 + 1)),
        ("changed date", _DATE, lambda value: f"{value[:-2]}{int(value[-2:]) % 28 + 1:02}"),
        ("changed name", _NAME, lambda value: "Quillon" if value[:1].isupper() else f"quil{value[4:] or 'lon'}"),
        ("changed word", _WORD, lambda _: "gherkin"),
        ("opposite word", _OPPOSITE, lambda value: _OPPOSITES[value]),
    )
    for kind, pattern, change in changes:
        if match := _one_of(pattern, body, chance):
            new = change(match[0])
            yield kind, description, body[: match.start()] + new + body[match.end() :]
            whole = re.compile(rf"(?<!\w){re.escape(match[0])}(?!\w)")
            if whole.search(description):
                yield f"{kind} everywhere", whole.sub(new, description), whole.sub(new, body)
    for kind, pattern in (
        ("dropped reason", _WHY),
        ("dropped way", _HOW),
        ("dropped sentence", _SENTENCE),
        ("removed negation", _NEGATION),
        ("vanished exception", _EXCEPTION),
    ):
        match = _one_of(pattern, body, chance)
        if match and len(match[0]) < len(body.strip()):
            rest = body[: match.start()] + body[match.end() :]
            if not _is_said_twice(match[0], f"{description}\n{rest}"):
                yield kind, description, rest
    if match := _one_of(_TURNABLE, body, chance):
        is_cjk = match[0] > "\u3000"
        turned = f"不{match[0]}" if is_cjk else f"{match[0]} not"
        yield "added negation", description, body[: match.start()] + turned + body[match.end() :]
    numbers = list(_NUMBER.finditer(body))
    pairs = [(a, b) for a in numbers for b in numbers if a.start() < b.start() and a[0] != b[0]]
    if pairs:
        a, b = chance.choice(pairs)
        swapped = body[: a.start()] + b[0] + body[a.end() : b.start()] + a[0] + body[b.end() :]
        yield "swapped numbers", description, swapped
    cut = chance.randrange(len(body) // 4, max(len(body) - 4, len(body) // 4 + 1))
    yield "truncated text", description, body[:cut]
    if sentences := _SENTENCE.findall(stranger):
        lead, gap, rest = body.partition("\n\n")
        yield "invented sentence", description, f"{lead} {chance.choice(sentences).strip()}{gap}{rest}"


def concatenated(one: tuple[str, str], other: tuple[str, str]) -> tuple[str, str]:
    """Two memories as one, description and body: the facts, the reasons and the ways behind each other."""
    description = f"{one[0]}; {other[0]}"
    leads: list[str] = []
    whys: list[str] = []
    hows: list[str] = []
    for _, body in (one, other):
        whys += [why.removeprefix("**Why:**").strip() for why in _WHY.findall(body)]
        hows += [how.removeprefix("**How to apply:**").strip() for how in _HOW.findall(body)]
        leads.append(_HOW.sub("", _WHY.sub("", body)).strip())
    parts = [" ".join(leads)]
    parts += [f"**Why:** {' '.join(whys)}"] if whys else []
    parts += [f"**How to apply:** {' '.join(hows)}"] if hows else []
    return description, "\n\n".join(parts)


def _is_said_twice(piece: str, rest: str) -> bool:
    """Whether one sentence of the rest has all the words: then nothing is lost."""
    wanted = _words(re.sub(r"\*\*.*?\*\*", "", piece))
    return bool(wanted) and any(wanted <= _words(sentence) for sentence in re.split(r"(?<=[.;。]) ?|\n", rest))


def _words(text: str) -> set[str]:
    return {word[:5] for word in re.findall(r"[\u3040-\u9fff]|[^\W_]{4,}|\d+", text.lower())}


def _one_of(pattern: re.Pattern[str], text: str, chance: random.Random) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return chance.choice(found) if found else None
