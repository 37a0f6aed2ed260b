"""Text into search terms: words by their stems, pieces of words, pairs of characters where there are no spaces. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache
from typing import NamedTuple

MOST_CHARACTERS = 20_000
"""Of one text; what stands behind is not searched."""
_GRAM = 4
_SHORT = 3
"""So short a word is not stemmed."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")

# Words that tell nothing of what a prompt is about, in the languages that the offline engine knows.
_STOP = frozenset(
    """
    a about after all also am an and any are as at be because been before being but by can could did do does doing done
    don down each else even every few for from get gets getting give go goes going got had has have having he her here
    hers him his how i if in into is isn it its just keep know let ll lot make makes many may me might more most much
    must my need needs no not now of off ok okay on once one only onto or other our out over own per please pls put re
    really s same see seem she should so some still such sure t take than thank thanks that the their them then there
    these they thing things this those through to too try two under until up us use used using ve very want wants was
    way we well were what when where whether which while who whom whose why will with without won would yes yet you your
    aber als am an auch auf aus bei bin bis bitte da dann das dass dem den der des die dies doch du ein eine einem einen
    einer er es für gibt hab habe haben hat hier ich ihr im in ist ja jetzt kann kannst kein keine können man mein mich
    mir mit mal muss nach nicht noch nur ob oder ohne schon sein sich sie sind so soll über um und uns unter vom von vor
    warum was weil wenn wer werden wie wieder wir wird wo zu zum zur
    au aux avec ce ces cette comme dans de des donc du elle en est et être fait faire faut il ils je la le les leur lui
    ma mais me mes moi mon ne nos notre nous on ont ou où par pas peut peux plus pour pourquoi qu que quel quelle qui sa
    sans se ses si son sont sur ta te tes toi ton tout très tu un une va veux vos votre vous y
    al algo como con cual cuando de del donde el ella en entre era es esa ese eso esta este esto está hacer hay la las
    le lo los más me mi muy no nos o para pero por porque puede puedes qué que quien se ser si sin sobre son su sus
    también te tengo tiene todo tu un una uno y ya yo
    """.split()  # noqa: SIM905 - to be read by people
)
_PLURALS = (("ies", "y"), ("sses", "ss"), ("es", "e"), ("s", ""))
_FORMS = (("ing", ""), ("edly", ""), ("ied", "y"), ("ed", ""), ("ckly", "ck"), ("ally", "al"), ("tly", "t"))
_STEM_LENGTH = 3
_HIRAGANA = ("\u3040", "\u309f")


class Terms(NamedTuple):
    """What can be searched for in a text, and how often each stands in it."""

    words: Counter[str]
    grams: Counter[str]


def terms_of(text: str) -> Terms:
    words: Counter[str] = Counter()
    grams: Counter[str] = Counter()
    for word in split(text):
        if is_unspaced(word):
            words.update(filter(None, pairs_of(word)))
            continue
        if word in _STOP:
            continue
        words[stem(word)] += 1
        padded = f" {word} "
        grams.update(padded[at : at + _GRAM] for at in range(max(1, len(padded) - _GRAM + 1)))
    return Terms(words, grams)


def split(text: str) -> list[str]:
    """The words of a text in lower case, humps of identifiers apart; runs of a script without spaces as one."""
    text = _HUMP.sub(" ", unicodedata.normalize("NFKC", text[:MOST_CHARACTERS])).lower()
    found = []
    for word in _WORD.findall(text):
        if word.isascii():
            found.append(word)
            continue
        end = 0
        for run in _unspaced().finditer(word):
            if run.start() > end:
                found.append(word[end : run.start()])
            found.append(run[0])
            end = run.end()
        if end < len(word):
            found.append(word[end:])
    return found


def is_stop(word: str) -> bool:
    return word in _STOP


def is_unspaced(word: str) -> bool:
    """Whether a word of `split` is a run of a script without spaces."""
    return not word.isascii() and bool(_unspaced().match(word))


@cache
def _unspaced() -> re.Pattern[str]:
    """Scripts that are written without spaces: kana, ideographs, Thai. To compile it takes longer than most prompts do."""
    return re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")


def stem(word: str) -> str:
    """A word without its English endings, roughly: two that are the same word should end up the same.

    Other languages get by with the pieces of their words.
    """
    if len(word) <= _SHORT or not word.isascii() or not word.isalpha():
        return word
    word = _without(word, _FORMS) if not word.endswith("s") else _without(_without(word, _PLURALS), _FORMS)
    return word[:-1] if word.endswith("e") and len(word) > _STEM_LENGTH else word


def _without(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    """A word without the first of these endings that it has, if what is left can still be a word."""
    for ending, instead in endings:
        if word.endswith(ending) and not word.endswith("ss"):
            left = word[: len(word) - len(ending)] + instead
            if len(left) < _STEM_LENGTH or not any(vowel in left for vowel in "aeiouy"):
                return word
            if not instead and len(left) > _STEM_LENGTH and left[-1] == left[-2] and left[-1] not in "lsz":
                return left[:-1]
            return left
    return word


def pairs_of(run: str) -> list[str]:
    """The pairs of neighbours in a run without spaces, of a single character itself; empty ones for what tells nothing.

    In Japanese that is what is written in hiragana alone: endings, particles, politeness.
    """
    pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    return ["" if all(_HIRAGANA[0] <= letter <= _HIRAGANA[1] for letter in pair) else pair for pair in pairs]


def token_count(text: str) -> int:
    """How many words a prompt has; in a script without spaces two characters count as one."""
    return sum(max(1, len(word) // 2) if is_unspaced(word) else 1 for word in split(text))
