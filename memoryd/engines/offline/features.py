"""Features of a sentence for the linear model. Pure; used alike by training and by use.

Words and pairs of words, pieces of words (other languages, typing errors), word classes that stand for open lists, cues
of what people do with a sentence, and where it stands: beside which sentences, behind which answer.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from memoryd.language.cues import cues_of
from memoryd.language.word_classes import word_classes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOKEN = re.compile(
    r"(?P<url>https?://\S+)|(?P<code>`[^`]*`)|(?P<channel>(?<!\w)#[a-z][\w-]+)|(?P<path>(?<!\w)[~.]?/?[\w.@-]+/[\w./*@-]*)"
    r"|(?P<ident>\b\w+(?:\(\)|\.(?:py|ts|tsx|js|go|rs|c|h|cc|cpp|java|rb|sql|yml|yaml|json|toml|md|sh|css|html|vue|kt|swift))\b|\b[a-z]+(?:_[a-z0-9]+)+\b|\b[a-z]+[A-Z]\w*\b|(?<!\w)--?[a-z][\w-]+)"
    r"|(?P<number>\b\d[\d.,:%]*\w{0,3}\b)|(?P<quoted>[\"'“„«「『][^\"'”“»」』]{2,60}[\"'”“»」』])|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)|(?P<mark>[?!:;=]|\.\.+|—|–)"  # noqa: RUF001
)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")

_SHORT = 3
_LENGTHS = (3, 6, 10, 16, 24, 40)


def features_of(sentences: Sequence[str], number: int, answer: str) -> list[str]:
    """The features of one sentence of a message; `answer` is what the assistant had said before."""
    sentence = sentences[number]
    tokens = tokens_of(sentence)
    cues = cues_of(sentence)
    found = [f"c:{cue}" for cue in cues]
    found += [f"c2:{one}+{other}" for at, one in enumerate(cues) for other in cues[at + 1 :]]
    found += [f"w:{token}" for token in tokens]
    found += [f"b:{one} {other}" for one, other in pairwise(tokens)]
    found += [f"t:{a} {b} {c}" for a, b, c in zip(tokens, tokens[1:], tokens[2:], strict=False)]
    found += [f"s:{' '.join(tokens[:size])}" for size in (1, 2, 3)]
    found += [f"e:{' '.join(tokens[-size:])}" for size in (1, 2)]
    found += _pieces(sentence)
    found.append(f"len:{sum(len(tokens) > limit for limit in _LENGTHS)}")
    if number:
        found += _neighbour("p", sentences[number - 1])
    if number + 1 < len(sentences):
        found += _neighbour("n", sentences[number + 1])
    found += _shared_with(answer, tokens)
    return found


def fact_features_of(sentences: Sequence[str]) -> list[str]:
    """The features of a whole fact, to tell its type."""
    found = []
    for number, sentence in enumerate(sentences):
        tokens = tokens_of(sentence)
        cues = cues_of(sentence)
        found += [f"k:{cue}" for cue in cues]
        found += [f"k2:{one}+{other}" for at, one in enumerate(cues) for other in cues[at + 1 :]]
        found += [f"kw:{token}" for token in tokens]
        found += [f"k3:{cue}+{token}" for token in set(tokens) if token.startswith("<") for cue in cues]
        found += [f"kb:{one} {other}" for one, other in pairwise(tokens)]
        found += [f"kx:{piece}" for piece in _pieces(sentence)]
        if number == 0:
            found += [f"ks:{' '.join(tokens[:size])}" for size in (1, 2)]
            found += [f"k1:{cue}" for cue in cues]
    return found


@lru_cache(maxsize=4096)
def tokens_of(sentence: str) -> tuple[str, ...]:
    """Words in lower case; what stands for an open list by the name of its class."""
    found: list[str] = []
    classes = word_classes()
    for match in _TOKEN.finditer(sentence):
        kind = match.lastgroup or ""
        text = match[0]
        if kind == "word":
            if _CJK.search(text):
                found += _cjk_tokens(text)
                continue
            low = text.lower().replace("’", "'")  # noqa: RUF001
            if low in classes:
                found.append(f"<{classes[low]}>")
            elif text[0].isupper() and len(text) > 1 and match.start() > 0:
                found.append("<ACRONYM>" if text.isupper() else "<Name>")
            found.append(low)
        elif kind == "mark":
            found.append(text[0])
        else:
            found.append(f"<{kind}>")
            if kind == "quoted" and _CJK.search(text):
                found += _cjk_tokens(text)
    return tuple(found)


def _cjk_tokens(text: str) -> Iterator[str]:
    for run in _CJK.findall(text):
        for size in (1, 2, 3):
            for start in range(len(run) - size + 1):
                yield run[start : start + size]


def _pieces(sentence: str) -> list[str]:
    """Beginnings and endings of words: what is left of a word under inflection and typing errors."""
    found = []
    for match in re.finditer(r"[^\W\d_]{5,}", sentence.lower()):
        word = match[0]
        if not _CJK.search(word):
            found += [f"x:{word[:4]}", f"x:{word[:5]}", f"z:{word[-4:]}"]
    return found


def _neighbour(side: str, sentence: str) -> list[str]:
    tokens = tokens_of(sentence)
    found = [f"{side}c:{cue}" for cue in cues_of(sentence)]
    found += [f"{side}s:{' '.join(tokens[:2])}"]
    return found


def _shared_with(answer: str, tokens: Sequence[str]) -> list[str]:
    if not answer:
        return []
    words = set(re.findall(r"[^\W\d_]{4,}", answer[-600:].lower()))
    shared = sum(1 for token in set(tokens) if len(token) > _SHORT and token in words)
    return [f"a:{min(shared, 4)}", *(["a:asks"] if answer.rstrip().endswith("?") else [])]
