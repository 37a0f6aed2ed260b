"""Words that the user may have pasted: a text without marks of its own is told by what stands above it. Pure."""

from __future__ import annotations

import re

from memoryd.language.quotations import without_quotations
from memoryd.language.sentences import sentences_of
from memoryd.language.statements import plain

_SPEAKER = re.compile(r"\s*[A-Z][\w.-]{0,30}(?: [A-Z][\w.-]{0,30})?(?=: \S)")
"""Who says a line of a chat; two of them below each other may also be headings of the user's own."""
_LABEL = r"[^\W\d_][\w-]{0,20}: "
_HEADER = rf"{_LABEL}\S[^\n]*"
_SENTENCE = rf"{_LABEL}(?:[^\s.!?]+[ \t]+){{2,}}[^\n]*[.!?]"
"""Three words and more: in the head of a mail hardly two lines below each other are that."""
_ABOVE_A_TEXT = re.compile(
    rf"[:\uff1a?\uff1f]\s*\Z|(?:\A|\s)<[a-zA-Z][\w-]{{0,40}}>\s*\Z|(?:\A|\n)(?!{_SENTENCE}\n{_SENTENCE}\s*\Z){_HEADER}\n{_HEADER}\s*\Z"
)
"""The end of a paragraph below which a text begins: a colon, a question, a tag that nothing closes, two headers of a mail."""
_PROMPT = re.compile(r"\s*[\w.-]+@[\w.-]+[^\s$#%]{0,80}[$#%] .*")
_HEADING = re.compile(r"\s*\[([^\]\n]+)\]\s*")
_MANY_WORDS = 3
_END_OF_QUOTE = 24


def is_pasted(quote: str, message: str) -> bool:
    """Whether words stand in no sentence that was typed: below what announces a text, in a chat, among output, in a document."""
    if "\n" not in message.strip():
        return False
    own = sentences_of(message)
    if plain(quote) not in plain(" ".join(own)):
        return True
    blocks = re.split(r"\n\s*\n", without_quotations(message))
    end = plain(quote)[-_END_OF_QUOTE:]  # a quote may go over several paragraphs
    at = next((place for place, block in enumerate(blocks) if end in plain(block)), 0)
    if at and _ABOVE_A_TEXT.search(blocks[at - 1]):
        return True
    lines = [line for line in blocks[at].splitlines() if line.strip()]
    if lines[1:] and lines[0].rstrip().endswith(("?", "\uff1f")) and end not in plain(lines[0]):
        return True
    above = next((number for number, line in enumerate(lines) if end in plain(line)), len(lines))
    if any(map(_announces, lines[:above])):
        return True
    if len({label[0] for line in lines if (label := _SPEAKER.match(line))}) > 1:
        return True
    return any(plain(line) not in plain(" ".join(own)) for line in lines)


def _announces(line: str) -> bool:
    """The prompt of a shell, or a heading in brackets that says more than "[Backend]": what a client would put above a text."""
    if heading := _HEADING.fullmatch(line):
        number = sum(any(map(str.isalpha, word)) for word in heading[1].split())
        return number >= _MANY_WORDS or ":" in heading[1] or (number > 1 and heading[1].isupper())
    return _PROMPT.fullmatch(line) is not None
