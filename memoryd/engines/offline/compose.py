"""A fact in the user's sentences to the text of a memory: what holds, why, how to apply it; a title and a description.

The user's own words are kept. Taken off are words that only open a sentence; dates become absolute; and what users say
of themselves is told of "the user", since somebody else will read it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from memoryd.engines.offline.facts import tells_how
from memoryd.engines.offline.person import about_the_user
from memoryd.engines.offline.wishes import wish_in
from memoryd.language.approval import context_of, is_approval
from memoryd.language.cues import cues_of
from memoryd.language.date_words import month_names, weekday_names
from memoryd.language.dates import day_of, with_absolute_dates
from memoryd.language.evidence import evidence_of
from memoryd.language.lexicon import pattern, small, words
from memoryd.language.statements import with_not
from memoryd.language.subjects import subject_of
from memoryd.language.tokens import is_without_spaces
from memoryd.language.word_classes import word_classes
from memoryd.model import Revision

if TYPE_CHECKING:
    from memoryd.engines.offline.facts import StatedFact
    from memoryd.model import UserMessage

DESCRIPTION_LENGTH = 160
_NAME_WORDS = 4
_LONGEST_NAME = 60
_NOT_IN_A_NAME = frozenset({"weekday", "month", "when"})
_NEGATED = 20
"""So near behind it in the same clause, a word is what a negation is about."""
_NEGATED_FIRST = 5.0
_LONGEST_NAME_WITHOUT_SPACES = 14


def revision_of(said: UserMessage, told: StatedFact) -> Revision:
    """The new memory that a fact makes."""
    facts, whys, hows = _parts(said, told)
    fact = ("" if is_without_spaces(facts[0]) else " ").join(facts)
    context = context_of(fact, said.answer) if is_approval(told.sentences[0]) else ""
    paragraphs = [f"{fact} (Said of this: “{context}”)" if context else fact]
    if whys:
        paragraphs.append(f"**Why:** {' '.join(whys)}")
    if hows:
        paragraphs.append(f"**How to apply:** {' '.join(hows)}")
    evidence = evidence_of(said, " ".join(told.sentences))
    return Revision(
        "learnt",
        f"you said: {evidence.quote}",
        type=told.type,
        name=name_of(fact),
        description=description_of(fact, " ".join(whys)),
        body="\n\n".join(paragraphs) + "\n",
        evidence=(evidence,),
    )


def _parts(said: UserMessage, told: StatedFact) -> tuple[list[str], list[str], list[str]]:
    """The sentences of a fact by what they are for."""
    facts: list[str] = []
    whys: list[str] = []
    hows: list[str] = []
    for number, sentence in enumerate(told.sentences):
        text = without_opening(sentence)
        if number and tells_how(text):
            hows.append(text)
        elif told.type == "feedback" and any(map(_says_something, facts)) and _gives_the_reason(sentence):
            whys.append(text)
        elif (
            (match := pattern("compose", "because").search(text))
            and not _since_when().search(text)
            and _says_something(text[: match.start()])
        ):
            facts.append(text[: match.start()])
            whys.append(match["why"] or match["else"] or match["why_zh"] or match["else_zh"])
        else:
            facts.append(text)
    day = day_of(said.said_at) if said.said_at is not None else None
    is_first = True
    told_parts = []
    for part in (facts, whys, hows):
        texts = []
        for text in part:
            dated = with_absolute_dates(text, day) if day is not None else text
            person, has_named = about_the_user(dated, is_first=is_first)
            is_first = is_first and not has_named
            texts.append(as_sentence(person))
        told_parts.append(texts)
    return told_parts[0], told_parts[1], told_parts[2]


_REASON_CUES = frozenset({"past", "reason", "we_got"})


def _gives_the_reason(sentence: str) -> bool:
    """Whether a sentence behind a rule tells why: what happened, what would happen; and is no rule itself."""
    cues = set(cues_of(sentence))
    return bool(cues & _REASON_CUES) and not cues & {"order", "standing"}


def _says_something(text: str) -> bool:
    """Whether what stands before a reason is a fact without it."""
    return len(subject_of(text)) > (1 if pattern("compose", "pointing").search(text) else 0)


@cache
def _since_when() -> re.Pattern[str]:
    """A "since" that tells a time, not a reason."""
    days = f"yesterday|last|{month_names()}|{weekday_names()}|\\d|then|the start"
    return re.compile(rf"\bsince\s+(?:\w+\s+)?(?:{days})", re.IGNORECASE)


def without_opening(sentence: str) -> str:
    """The sentence without words that only open it, and without those that make it a wish."""
    text = wish_in(sentence) or sentence
    opening = pattern("compose", "opening").match(text)
    if opening and len(text) - opening.end() >= len("use tabs"):
        text = text[opening.end() :]
    return text.strip()


def as_sentence(text: str) -> str:
    """With a capital, unless it begins with a name in code, and with an end."""
    text = text.strip(" ,;:-–—，、")  # noqa: RUF001
    if is_without_spaces(text) and re.search(r"[\w」』）]$", text):  # noqa: RUF001
        return text + "。"
    if re.match(r"[^\W\d_]['’\w]*[,;:]?(?:\s|$)", text) and not re.match(r"\w*(?:_|\d|[a-z][A-Z])", text):  # noqa: RUF001
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "…", "。", "！", "？", "?", '"', "」", "”")) else text + "."  # noqa: RUF001


def description_of(fact: str, why: str) -> str:
    """One line that tells a reader whether the memory is for them."""
    text = fact.rstrip(".。")
    if why and len(text) + len(why) + 2 <= DESCRIPTION_LENGTH:
        is_plain = re.match(r"[A-Z][a-z]|A ", why)
        text = f"{text}; {why[:1].lower() + why[1:] if is_plain else why}".rstrip(".。")
    if len(text) <= DESCRIPTION_LENGTH:
        return text
    cut = text[: DESCRIPTION_LENGTH - 1]
    return cut[: cut.rfind(" ")].rstrip(" ,;:-") + "…" if " " in cut[80:] else cut + "…"


_WORD = re.compile(r"[^\W_]+(?:[.+#'’-][^\W_]+)*\+*")  # noqa: RUF001


def name_of(fact: str) -> str:
    """A few words that stand for the fact, in their order. What negates stays: a title must not say the opposite."""
    if is_without_spaces(fact):
        return _name_without_spaces(fact)
    plain = with_not(fact)
    plain = re.sub(r"https?://(?:www\.)?([\w-]+)\S*", r"\1", re.sub(r"\([^()]*\)|“[^”]*”", " ", plain))
    weights: dict[str, float] = {}
    negation: tuple[str, int] | None = None
    for match in _WORD.finditer(plain):
        word = re.sub(r"['’]s?$|['’]", "", match[0].lower().rstrip("."))  # noqa: RUF001
        if word in words("compose", "negations"):
            negation = (word, match.end())
        elif (
            word not in small("names") | small("abbreviations")
            and word_classes().get(word) not in _NOT_IN_A_NAME
            and len(word) > 1
            and not word[0].isdigit()
        ):
            is_name = (match[0][0].isupper() and match.start() > 0) or not match[0].isalpha()
            weight = (3.0 if is_name else 1.0) + min(len(word), 9) / 9 - len(weights) / 20
            if negation and re.fullmatch(rf"[^,;:.!?]{{0,{_NEGATED}}}", plain[negation[1] : match.start()]):
                word, weight = f"{negation[0]}-{word}", weight + _NEGATED_FIRST
            negation = None
            weights.setdefault(word, weight)
    best = sorted(weights, key=lambda word: -weights[word])[:_NAME_WORDS]
    name = re.sub(r"[^\w]+", "-", "-".join(word for word in weights if word in best)).strip("-_")
    return name[:_LONGEST_NAME].strip("-") or "note"


def _name_without_spaces(fact: str) -> str:
    """The first words up to a mark, in a script that has no spaces between them."""
    plain = re.sub(r"（[^（）]*）", "", fact)  # noqa: RUF001 - a date that was made absolute
    first = re.split(r"[，。、：；！？,.:;!?「」（）()]", plain)  # noqa: RUF001
    words = next((re.sub(r"[^\w]+", "-", part).strip("-_") for part in first if len(part) > 1), "")
    return words[:_LONGEST_NAME_WITHOUT_SPACES].strip("-") or "note"
