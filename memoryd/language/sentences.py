"""A message of the user to the sentences in it that are the user's own words. Pure."""

from __future__ import annotations

import re
from functools import cache

from memoryd.language.date_words import german_months
from memoryd.language.lexicon import pattern, small, words
from memoryd.language.quotations import without_quotations

LONGEST_SENTENCE = 700
"""A longer one is a paste or a specification. People who dictate do without full stops, though."""

LONGEST_MESSAGE = 20_000
"""What comes behind is a paste, not words to an assistant."""

LONG_MESSAGE = 2_000
_LONG_MESSAGE_LINES = 25
"""A longer message is a document or a paste, with words of the user around it."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Lines that nobody types as words: quotations, shells, tables, code, diffs, traces, logs.
_NOT_PROSE = re.compile(
    r"\s*(?:>|\$ |#{1,6} (?![a-z].*\.\s*$)|#!|\*\*(?!\*)|[-*+] \*\*|\d{1,2}[.)] \*\*|[A-D]\) |[✅❌⚠✓✗➜→│├└•]|<--|-->|\||@@|[+-]{3} |\{|\}|</?[a-zA-Z](?![\w-]*> [a-z])|at \S+\(|File \"|Traceback|Caused by|npm ERR|[\w.]+(?:Error|Exception)\b:?"
    r"|(?:error|warning|fatal|panic|note)(?:\[\w+\])?: |\[?\d{4}-\d\d-\d\d[T ]\d\d:|\d\d:\d\d:\d\d\b|\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL)\b"
    r"|[\w.-]+(?:\[\d+\])?:\s+\[|\[(?![xX]\])[\w./-]+\] )|(?: {4}|\t)\S"
)
_CODE_LINE = re.compile(
    r"[;{}]\s*$|^\s*(?:import|from \S+ import|def|class|function|const|let|var|return|if \(|for \(|#include|export)\b.*[=(){};:]|\w\(\S*\)\s*$|^\s*\"?[\w.-]+\"?\s*[=:]\s*\S+\s*,?$|\s->\s|=>"
)
_MANY_LINES = 4
_MANY_WORDS = 12
_ENDED = re.compile(r"[.!?…。！？:][\"')\]]*\s*$")  # noqa: RUF001
_BULLET = re.compile(r"\s*(?:[-*+•·]|\d{1,2}[.)])\s+")
_BREAK = re.compile(
    r"[.!?…]+[\"')\]”’»]*(?P<space>\s+)|(?<=[。！？])[」』”）)]*(?![.!?。！？」』”）)\s])|\n"  # noqa: RUF001
)
_LAST_WORD = re.compile(r"[\w.]*$")


@cache
def _begins_anew() -> re.Pattern[str]:
    """What begins a sentence behind a number and a full stop."""
    begins = pattern("sentences", "begins").pattern
    return re.compile(rf"(?!(?:{german_months()}|Quartal|Klasse|Stock|Platz))[\"'(\[]?[A-Z][a-z']|{begins}")


def sentences_of(text: str) -> list[str]:
    """The sentences of a message in order; code, quotations, logs and what looks pasted are left out."""
    text = _CONTROL.sub(" ", text[:LONGEST_MESSAGE])
    text = without_quotations(text)
    found = []
    for block in _own_blocks(text):
        lines = block.splitlines()
        for line in () if _is_pasted(lines) else lines:
            if _NOT_PROSE.match(line) or _is_code(line):
                continue
            bullet = _BULLET.match(line)
            for sentence in _split(line[bullet.end() :] if bullet else line):
                words = " ".join(sentence.split())
                if words and len(words) <= LONGEST_SENTENCE and not _is_noise(words):
                    found.append(words)
            if line.rstrip().endswith(":"):
                break  # what stands below is for a file, or somebody else's words
    return found


def _is_noise(sentence: str) -> bool:
    """Whether a sentence is hardly one: the same few words over and over."""
    words = sentence.split()
    return len(words) > _MANY_WORDS and len(set(words)) < len(words) / 3


def _own_blocks(text: str) -> list[str]:
    """The paragraphs of a message. Of a long one only the first and the last: between them stands what was pasted."""
    blocks = [block for block in re.split(r"\n[ \t]*\n", text) if block.strip()]
    if len(text) <= LONG_MESSAGE and text.count("\n") <= _LONG_MESSAGE_LINES:
        return blocks
    return [block for block in (*blocks[:1], *blocks[1:][-1:]) if len(block) <= LONGEST_SENTENCE]


def _is_pasted(lines: list[str]) -> bool:
    """Whether lines that stand together were hardly typed by hand: many of them, and most are no sentences.

    People end their lines, or make bullets of them; screens and documents break them anywhere.
    """
    lines = [line for line in lines if line.strip()]
    if len(lines) < _MANY_LINES:
        return False
    ended = sum(bool(_ENDED.search(line)) or bool(_BULLET.match(line)) for line in lines)
    strange = sum(bool(_NOT_PROSE.match(line)) or _is_code(line) for line in lines)
    return ended < len(lines) / 2 or strange > len(lines) / 4


def _split(line: str) -> list[str]:
    pieces = []
    start = 0
    for match in _BREAK.finditer(line):
        if match["space"] and not _ends_a_sentence(line, match):
            continue
        pieces.append(line[start : match.end()])
        start = match.end()
    return [*pieces, line[start:]]


def _ends_a_sentence(line: str, match: re.Match[str]) -> bool:
    """Whether a mark with a space behind it ends a sentence. `e.g. this`, `Dr. Who` and, in German, `am 3. Mai` do not."""
    if not match[0].startswith(".") or match[0].startswith(".."):
        return True
    before = _LAST_WORD.search(line, max(0, match.start() - 20), match.start())
    word = before[0].lower() if before else ""
    if word in small("abbreviations") or (len(word) == 1 and word.isalpha() and word not in "iu"):
        return False
    if word.isdigit() and len(word) <= 2:  # noqa: PLR2004 - a day or an ordinal
        return bool(_begins_anew().match(line, match.end()))
    return True


def _is_code(line: str) -> bool:
    return bool(_CODE_LINE.search(line)) and line.count(" ") < 8  # noqa: PLR2004 - people do write an arrow in a sentence


def is_in_quotes(sentence: str) -> bool:
    """Whether the sentence as a whole is somebody else's words."""
    return len(sentence) > 1 and sentence[0] in "\"'“‘«„「" and sentence.rstrip(".,!。")[-1:] in "\"'”’»“」"  # noqa: RUF001


_REDACTED = "[redacted:"
_CLAUSE = re.compile(r"\s*[,;，；]\s*|\s+(?:and|but|und|aber|y|pero|et|mais)\s+|\s+[-–—]\s+")  # noqa: RUF001


def without_secrets(sentence: str) -> str:
    """The sentence without the clauses in which something was redacted: only the fact beside a secret is one."""
    if _REDACTED not in sentence:
        return sentence
    return ", ".join(clause for clause in _CLAUSE.split(sentence) if _REDACTED not in clause)


def joining_words() -> frozenset[str]:
    """Words that join two clauses."""
    return words("sentences", "joining")
