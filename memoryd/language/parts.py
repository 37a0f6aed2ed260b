"""Parts of a memory's text: the fact, why, how to apply it, and the statements in each. Pure."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from memoryd.language.date_words import german_months
from memoryd.language.tokens import UNSPACED, is_without_spaces, words_of

_LABEL = re.compile(r"(?im)^[ \t]*\*\*(?P<label>why|how to apply)[ \t]*:?\*\*[ \t]*:?[ \t]*")
_FEWEST_WORDS = 3
_PROSE = re.compile(r"[^\n]*\Z")
WAS, LATER = "was", "later"
"""Marks of what was said of a fact before, and of what was said of it later, each with its day: " (was, on 2026-10-19: …)"."""
_STAMP = re.compile(rf" \((?P<mark>{WAS}|{LATER}|Before), on \d{{4}}-\d\d-\d\d: ")
"""With its day, since a person may write "(was: Bob)". `Before` was the first one's name in an older memoryd."""
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s")


class Parts(NamedTuple):
    """Each as it was written, without its label and without blanks around it."""

    fact: str
    why: str = ""
    how: str = ""


def parts_of(body: str) -> Parts:
    """A label counts at the beginning of a line; a part that is told twice is one."""
    if "**" not in body:  # most memories, and each new fact is compared with all of them
        return Parts(body.strip())
    found: dict[str, list[str]] = {"fact": [], "why": [], "how to apply": []}
    label, at = "fact", 0
    for match in _LABEL.finditer(body):
        found[label].append(body[at : match.start()].strip())
        label, at = match["label"].lower(), match.end()
    found[label].append(body[at:].strip())
    return Parts(*("\n\n".join(filter(None, texts)) for texts in found.values()))


def is_stamped(text: str) -> bool:
    """Whether a text has something that was said of its fact before or later."""
    return _STAMP.search(text) is not None


def without_stamps(text: str) -> str:
    """The text without the days on which its parts were said: none of them is a day that it speaks of."""
    return _STAMP.sub(" (", text)


def split_before(fact: str) -> tuple[str, str]:
    """What holds, and what was said before it, without its mark."""
    stamp = next((match for match in _STAMP.finditer(fact) if match["mark"] != LATER), None)
    if stamp is None:
        return fact, ""
    depth, end = 1, stamp.end()
    while depth and end < len(fact):
        depth += (fact[end] == "(") - (fact[end] == ")")
        end += 1
    return fact[: stamp.start()] + fact[end:], fact[stamp.end() : end - (not depth)]


def body_of(parts: Parts) -> str:
    """The text of a memory again, in the usual order."""
    paragraphs = [parts.fact]
    if parts.why:
        paragraphs.append(f"**Why:** {parts.why}")
    if parts.how:
        paragraphs.append(f"**How to apply:** {parts.how}")
    return "\n\n".join(filter(None, paragraphs)) + "\n"


def passages_of(text: str) -> list[str]:
    """The sentences and lines of a part, as they stand there."""
    ends = [0, *(match.end() for match in _passage_end().finditer(text)), len(text)]
    return [statement for start, end in pairwise(ends) if (statement := text[start:end].strip())]


@cache
def _passage_end() -> re.Pattern[str]:
    return re.compile(
        rf"(?:(?<!\b(?![{UNSPACED}])\w)|(?<=°\w))[.!?]+[\"')\]”’»`]*(?=\s+(?!(?:{german_months()}|Quartal))[^\sa-z])|[。！？]+[」』”）)]*|\n+"  # noqa: RUF001
    )


def united(text: str, other: str) -> str:
    """Both texts behind one another. Of the second only what the first does not say in the same words already."""
    said = {words_of(one) for one in passages_of(text)}
    new = [one for one in passages_of(other) if words_of(one) not in said or _is_scrap(one)]
    if not text or not new or words_of(text) == words_of(other):
        return text or other
    if len(new) == len(passages_of(other)) and not (_is_prose(text) and _is_prose(other)):
        return f"{text}\n\n{other}"
    if not _is_prose(text) or not _is_prose(other):
        return f"{text}\n\n" + "\n".join(new)
    whole = _ended(text)
    for statement in new:
        whole += statement if whole.endswith(("。", "！", "？")) else f" {statement}"  # noqa: RUF001
    return whole


def _is_scrap(statement: str) -> bool:
    """So few words may be the end of an abbreviation: nobody can tell what they say."""
    return len(statement.split()) < _FEWEST_WORDS and not is_without_spaces(statement)


def _is_prose(text: str) -> bool:
    """One paragraph in one line: what follows may stand in the same line."""
    return bool(_PROSE.match(text)) and not _BULLET.match(text)


def _ended(text: str) -> str:
    """With a mark behind the last sentence, so that the next one does not run into it."""
    if re.search(r"[\w)\]`]$", text):
        return text + ("。" if is_without_spaces(text) else ".")
    return text
