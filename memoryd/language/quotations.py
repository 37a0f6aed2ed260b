"""Quotations: what in a message is marked as somebody else's words: fences, tags, comments, quotes, mails, chats. Pure.

Only marks count, never what the words say. Where a mark opens and nothing closes it, all that follows is taken for shown text:
a memory that was not made can be said again, one that somebody planted is obeyed.
"""

from __future__ import annotations

import re
from itertools import pairwise

_INLINE_FENCE = re.compile(r"(?<!`)(`{3,})(?!`)[^`\n]+\1(?!`)")
_FENCE = re.compile(r"(?:(?P<sign>`{3,}|~{3,})[^`~\n]*|^[ \t]*(?P<first>`{3,}|｀{3,}).*)$")  # noqa: RUF001
_FENCES = ("```", "~~~", "｀｀｀")  # noqa: RUF001
_COMMENT = re.compile(
    r"(?s)<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|(?<!\S)/\*(?=[\s*]).{0,2000}?\*/(?!\S)"
    r"|<<-?[\"']?(?P<end>[A-Za-z_]\w{0,40})\b[^\n]{0,200}\n(?:.{0,2000}?\n)??[ \t]*(?P=end)[ \t]*(?=\n|\Z)"
)
"""Of HTML, XML and C, and what a shell reads up to a word."""
_FEW_WORDS = 5
"""A comment of no more in the middle of a line is a word about comments: "never write `/* eslint-disable */`"."""
_CHAT_TOKENS = re.compile(r"(?ms)^[ \t]*<\|\w{1,30}\|>(?:.*<\|\w{1,30}\|>|.*)")
"""What models are given: `<|user|>`."""
_ANGLES, _ANGLES_BACK = "<＜‹〈⟨", ">＞›〉⟩"  # noqa: RUF001
_LEFT, _RIGHT = f"{_ANGLES}[", re.compile(rf"[{_ANGLES_BACK}\]]")
_NAME = r"([a-zA-Z][\w-]{0,40})"
_END = re.compile(rf"[{_ANGLES}\[]/{_NAME}")
_OPENING = re.compile(
    rf"[{_ANGLES}]{_NAME}(?:\s[^<>\n]{{0,300}})?[{_ANGLES_BACK}]|\[{_NAME}(?:[\s=:][^\[\]\n]{{0,300}})?\]"
)
# A tag that opens a block: alone in its line, or with text right behind it. `<div> is wrong here` is a sentence.
_OPENS_BLOCK = re.compile(
    rf"(?m)^[ \t]*[{_ANGLES}]{_NAME}(?:\s[^<>\n]{{0,300}})?[{_ANGLES_BACK}](?=[ \t]*$|[^\s{_ANGLES}])"
)
_QUOTED_SENTENCES = re.compile(
    r"(?<![^\s(:])(?:[\"“„«](?=\S)(?=[^\"“”„«»\n]{0,2000}[.!?]\s)[^\"“”„«»\n]{12,4000}[\"”“»]"
    r"|[“„«](?=\S)(?=[^\"“”„«»]{0,2000}[.!?]\s)[^\"“”„«»]{12,4000}[”“»])"
)
"""Several sentences in quotation marks: a mail, a chat, a text by somebody else. Marks with a direction may be lines apart."""
_HEADER = re.compile(r"[^\W\d_][\w-]{0,20}: \S")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
_RULE = re.compile(r"[ \t]*(?:([^\w\s.!?…])\1+|_{2,}|(?:[-*_=] ?){2,}(?:8<|✂)[-*_= ]*)[ \t]*")
_NEW_BLOCK = re.compile(r"[ \t]*(?:[-*+•]|\d{1,2}[.)]|#{1,6})[ \t]")
_TIME = r"[\[(]?(?:[\d./-]{5,10},? )?\d{1,2}:\d\d(?::\d\d)?(?: ?[AP]M)?[\])]?"
_PERSON = r"[\w.@-]{1,30}(?: [\w.@-]{1,30}){0,2}"
_SPOKEN = re.compile(
    rf"[ \t]*(?:<[\w.@ -]{{1,30}}>(?= )|{_TIME} +(?:- )?<?{_PERSON}>?:|[^\W\d_][\w. -]{{0,30}} {_TIME}(?::|$)|[\w.-]{{1,30}}>(?= \S))"
)
_MOST_TAGS = 200


def without_quotations(text: str) -> str:
    """The text without what is marked as somebody else's: fenced and tagged blocks, comments, quoted passages, lines behind a `>`,
    mails, chats.
    """
    lines = _outside_of_fences(_INLINE_FENCE.sub("\n", text).split("\n"))
    text = _QUOTED_SENTENCES.sub(" ", "\n".join(lines))
    text = _CHAT_TOKENS.sub("\n", _COMMENT.sub(_without_comment, text))
    if any(map(text.__contains__, _LEFT)):
        text = _without_tagged(text)
    return "\n".join(_outside_of_rules(_outside_of_quotes(_without_chat(_before_mail(text.split("\n"))))))


def _outside_of_fences(lines: list[str]) -> list[str]:
    """A fence ends at one of the same sign that is at least as long, and has nothing else in its line."""
    kept: list[str] = []
    opened, around = "", " \t\r"
    for line in lines:
        if opened:
            bare = line.strip(around)
            if bare and set(bare) == {opened[0]} and len(bare) >= len(opened):
                opened = ""
                kept.append("")
        elif any(map(line.__contains__, _FENCES)) and (fence := _FENCE.search(line)):
            opened = fence["sign"] or fence["first"]
            around = " \t\r>" if ">" in line[: fence.start()] else " \t\r"  # one in a quote ends in it
            kept.append(line[: fence.start()])
        else:
            kept.append(line)
    return kept


def _without_comment(comment: re.Match[str]) -> str:
    before = comment.string[comment.string.rfind("\n", 0, comment.start()) + 1 : comment.start()]
    return comment[0] if before.strip() and len(comment[0].split()) <= _FEW_WORDS else "\n"


def _without_tagged(text: str) -> str:
    """Without elements, each up to the last end of its name: a text that is shown may hold an end of its own."""
    for _ in range(_MOST_TAGS):
        last = {end[1]: end.start() for end in _END.finditer(text)}
        for opening in _OPENING.finditer(text) if last else ():
            end = last.get(opening[1] or opening[2], -1)
            if end >= opening.end():
                close = _RIGHT.search(text, end)
                text = f"{text[: opening.start()]}\n{text[close.end() if close else len(text) :]}"
                break
        else:
            break
    unclosed = _OPENS_BLOCK.search(text)
    return text[: unclosed.start()] if unclosed else text


def _before_mail(lines: list[str]) -> list[str]:
    """Two header lines below each other, one with an address: from there on it is a mail."""
    for place, (line, below) in enumerate(pairwise(lines)):
        if _HEADER.match(line) and _HEADER.match(below) and (_ADDRESS.search(line) or _ADDRESS.search(below)):
            return lines[:place]
    return lines


def _without_chat(lines: list[str]) -> list[str]:
    """Without lines that begin with a name in angle brackets or a time, where there are several."""
    spoken = [_SPOKEN.match(line) for line in lines]
    if len({match[0] for match in spoken if match}) < 2:  # noqa: PLR2004 - one alone is a word about a tag
        return lines
    first = next(place for place, match in enumerate(spoken) if match)
    return lines[:first]


def _outside_of_quotes(lines: list[str]) -> list[str]:
    """A line below a quoted one goes on with it, up to an empty line or what begins a block of its own."""
    kept: list[str] = []
    is_quoted = False
    for line in lines:
        if line.lstrip(" \t|").startswith((">", "＞")):  # noqa: RUF001
            is_quoted = True
        elif not is_quoted or not line.strip() or _NEW_BLOCK.match(line):
            is_quoted = False
            kept.append(line)
    return kept


def _outside_of_rules(lines: list[str]) -> list[str]:
    """What stands between two rules; behind the last one that has no other, it is the user's again."""
    rules = [place for place, line in enumerate(lines) if _RULE.fullmatch(line.rstrip("\r"))]
    kept, past = [], 0
    for first, last in zip(rules[::2], rules[1::2], strict=False):
        kept += lines[past:first]
        past = last + 1
    return kept + lines[past:]
