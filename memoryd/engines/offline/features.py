"""Features of a sentence for the linear model. Pure; used alike by training and by use.

Words, faces, pairs and triples of words, pieces of words (other languages, inflection, typing errors), the sentences beside it, and
what the assistant said before and replied. There is no list of telling words: what tells is learnt.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from memoryd.language.date_words import month_numbers, spaced_languages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOKEN = re.compile(
    r"(?P<url>https?://\S+)|(?P<code>`[^`]*`)|(?P<channel>(?<!\w)#[a-z][\w-]+)|(?P<path>(?<!\w)[~.]?/?[\w.@-]+/[\w./*@-]*)"
    r"|(?P<ident>\b\w+(?:\(\)|\.(?:py|ts|tsx|js|go|rs|c|h|cc|cpp|java|rb|sql|yml|yaml|json|toml|md|sh|css|html|vue|kt|swift))\b|\b[a-z]+(?:_[a-z0-9]+)+\b|\b[a-z]+[A-Z]\w*\b|(?<!\w)--?[a-z][\w-]+)"
    r"|(?P<number>\b\d[\d.,:%]*\w{0,3}\b)|(?P<quoted>[\"'“„«「『][^\"'”“»」』]{2,60}[\"'”“»」』])|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)|(?P<mark>[?!:;=]|\.\.+|—|–|[\U0001f300-\U0001faff\u2600-\u27bf])|(?P<tone>(?<!\S)/[a-z]{1,2}(?![^\s.!]))"  # noqa: RUF001
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_WORD = re.compile(r"[^\W\d_]+")
_WORDS_AS_WELL = frozenset({"may", "ago"})
"""Months that are other words more often."""
_LENGTHS = (3, 6, 10, 16, 24, 40)
_PIECES = (3, 4, 5)
_LONGEST_WORD = 24
ANSWER_CHARACTERS = 600
_END_CHARACTERS = 300
_BESIDE = 12
"""Words of an answer's end and of a reply's beginning: there the assistant asks, and says what it made of the words."""
_MOST_SHARED = 4


def sentence_features(sentences: Sequence[str], number: int, answer: str, reply: str) -> list[str]:
    """The features of one sentence of a message; the assistant had said the answer before it, and said the reply to it."""
    sentence = sentences[number]
    found = text_features(sentence)
    for name, beside in (("p", sentences[number - 1 : number]), ("n", sentences[number + 1 : number + 2])):
        for tokens in map(tokens_of, beside):
            found += [f"{name}:{' '.join(tokens[:2])}", *(f"{name}w:{token}" for token in {*tokens})]
    found += [f"at:{min(number, 2)}/{min(len(sentences), 3)}", f"of:{len(sentences)}"]
    return found + _answer_features(answer, sentence) + _reply_features(reply, sentence, is_alone=len(sentences) == 1)


@lru_cache(maxsize=1024)
def _text_features(text: str) -> tuple[str, ...]:
    tokens = tokens_of(text)
    found = [f"w:{token}" for token in tokens]
    found += [f"b:{first} {second}" for first, second in pairwise(tokens)]
    found += [f"t:{a} {b} {c}" for a, b, c in zip(tokens, tokens[1:], tokens[2:], strict=False)]
    found += [f"s:{' '.join(tokens[:size])}" for size in (1, 2, 3)]
    found += [f"e:{' '.join(tokens[-size:])}" for size in (1, 2)]
    found += _pieces(text)
    found.append(f"l:{sum(len(tokens) > limit for limit in _LENGTHS)}")
    return tuple(found)


def text_features(text: str) -> list[str]:
    """The features of words by themselves, whatever stands around them."""
    return list(_text_features(text))


def pair_features(first: str, second: str, *, is_next_message: bool) -> list[str]:
    """The features of two sentences of which the second follows the first, in the same message or in the next one."""
    before, behind = tokens_of(first), tokens_of(second)
    shared = len({*before} & {*behind})
    found = text_features(second)
    found += [f"1e:{' '.join(before[-size:])}" for size in (1, 2)]
    found += [f"1s:{' '.join(before[:size])}" for size in (1, 2)]
    found += [f"1w:{token}" for token in before]
    found += [f"1b:{one} {two}" for one, two in pairwise(before)]
    found += [f"same:{min(shared, _MOST_SHARED)}", f"next:{is_next_message}"]
    found += [f"l2:{min(len(before) // 4, 4)}/{min(len(behind) // 4, 4)}"]
    return found


@lru_cache(maxsize=1024)
def tokens_of(sentence: str) -> tuple[str, ...]:
    """Words in lower case; numbers, names, addresses and their like by the name of their kind."""
    found: list[str] = []
    days = _days()
    for match in _TOKEN.finditer(sentence):
        kind = match.lastgroup or ""
        text = match[0]
        if kind == "word":
            if _UNSPACED.search(text):
                found += _unspaced_tokens(text)
                continue
            low = text.lower().replace("’", "'")  # noqa: RUF001
            if low in days:
                found.append(days[low])
            elif text[0].isupper() and len(text) > 1 and match.start() > 0:
                found.append("<ACRONYM>" if text.isupper() else "<Name>")
            found.append(low)
        elif kind == "mark":
            found.append(text[0])
        else:
            found.append(f"<{kind}>")
            if kind == "quoted" and _UNSPACED.search(text):
                found += _unspaced_tokens(text)
    return tuple(found)


@cache
def _days() -> dict[str, str]:
    """Weekdays and months, each by the name of its kind."""
    weekdays = "|".join("|".join(language.weekdays.split()) for language in spaced_languages())
    return {
        **dict.fromkeys(weekdays.split("|"), "<weekday>"),
        **dict.fromkeys(month_numbers().keys() - _WORDS_AS_WELL, "<month>"),
    }


def _unspaced_tokens(text: str) -> Iterator[str]:
    for run in _UNSPACED.findall(text):
        for size in (1, 2, 3):
            for start in range(len(run) - size + 1):
                yield run[start : start + size]


def _pieces(text: str) -> list[str]:
    """Three to five letters in a row, with the ends of the word."""
    found = []
    for match in _WORD.finditer(text.lower()):
        if _UNSPACED.search(match[0]):
            continue
        word = f"^{match[0][:_LONGEST_WORD]}$"
        found += [word[at : at + size] for size in _PIECES for at in range(len(word) - size + 1)]
    return found


def _answer_features(answer: str, sentence: str) -> list[str]:
    if not answer:
        return []
    first, end = tokens_of(answer[:_END_CHARACTERS]), tokens_of(answer[-_END_CHARACTERS:])
    found = [f"a:{_number_shared(sentence, answer[-ANSWER_CHARACTERS:])}"]
    found += ["a:asks"] if answer.rstrip().endswith("?") else []
    found += [f"as:{' '.join(first[:size])}" for size in (1, 2)]
    found += [f"ae:{' '.join(end[-size:])}" for size in (2, 3)]
    return found + [f"aw:{token}" for token in {*end[-_BESIDE:]}]


def _reply_features(reply: str, sentence: str, *, is_alone: bool) -> list[str]:
    """`is_alone`: the message says nothing else, so the reply is to this sentence."""
    if not reply:
        return []
    tokens = tokens_of(reply[:ANSWER_CHARACTERS])
    found = [f"r:{_number_shared(sentence, reply[:ANSWER_CHARACTERS])}", f"r:asks {reply.rstrip().endswith('?')}"]
    found += [f"rs:{' '.join(tokens[:size])}" for size in (1, 2, 3)]
    found += [f"rw:{token}" for token in {*tokens[:_BESIDE]}]
    found += [f"ra:{' '.join(tokens[:1])}"] if is_alone else []
    return [*found, f"rl:{sum(len(tokens) > limit for limit in _LENGTHS)}"]


def _number_shared(sentence: str, text: str) -> int:
    """How many longer words of a sentence stand in a text."""
    words = set(_WORD.findall(text.lower()))
    return min(sum(len(token) >= _MOST_SHARED and token in words for token in {*tokens_of(sentence)}), _MOST_SHARED)
