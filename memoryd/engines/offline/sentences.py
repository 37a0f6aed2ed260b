"""A message of the user to the sentences in it that are the user's own words. Pure."""

from __future__ import annotations

import re

LONGEST_SENTENCE = 400
"""A longer one is a paste or a specification, not a wish."""

LONGEST_MESSAGE = 20_000
"""What comes behind is a paste, not words to an assistant."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<([a-zA-Z][\w-]{0,40})\b[^<>]{0,300}>[^<]{0,5000}</\1>")
_NOT_PROSE = re.compile(
    r"\s*(?:>|\$ |\|| {4}|\t|#!|@@|[+-]{3} |at \S+\(|File \"|Traceback|\d{4}-\d\d-\d\d[T ]\d\d:|\[?(?:ERROR|WARN|INFO|DEBUG)\b)"
)
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s+")
# An end of a sentence: a mark, then space and something that begins one. `e.g. this` and `v1.2` do not end.
_BREAK = re.compile(
    r"(?<=[.!?…])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9`])|[;\n]\s*"
)


def sentences_of(text: str) -> list[str]:
    """The sentences of a message in order; code, quotations, logs and pasted elements are left out."""
    text = _CONTROL.sub(" ", text[:LONGEST_MESSAGE])
    text = _FENCE.sub("\n", text)
    if "</" in text:
        text = _TAGGED.sub("\n", text)
    found = []
    is_dictated = False  # what stands below a line that ends in a colon is for a file, or somebody else's words
    for line in text.splitlines():
        if not line.strip():
            is_dictated = False
        if is_dictated or _NOT_PROSE.match(line):
            continue
        is_dictated = line.rstrip().endswith(":")
        bullet = _BULLET.match(line)
        for sentence in _BREAK.split(line[bullet.end() :] if bullet else line):
            words = " ".join(sentence.split())
            if words and len(words) <= LONGEST_SENTENCE:
                found.append(words)
    return found


def is_in_quotes(sentence: str) -> bool:
    """Whether the sentence as a whole is somebody else's words."""
    return len(sentence) > 1 and sentence[0] in "\"'“‘«" and sentence.rstrip(".,!")[-1:] in "\"'”’»"  # noqa: RUF001
