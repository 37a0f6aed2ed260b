"""Quotations: what in a message is marked as somebody else's words: fences, tags, comments, quotes, mails, chats. Pure.

Only marks count, never what the words say. Where a mark opens and nothing closes it, all that follows is taken for shown text:
a memory that was not made can be said again, one that somebody planted is obeyed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from functools import cached_property
from itertools import pairwise

from memoryd.language.angles import ANGLES, ANGLES_BACK

_INLINE_FENCE = re.compile(r"(?<!`)(`{3,})(?!`)[^`\n]+\1(?!`)")
_FENCE = re.compile(r"(?:(?P<sign>`{3,}|~{3,})[^`~\n]*|^[ \t]*(?P<first>`{3,}|｀{3,}).*)$")  # noqa: RUF001
_FENCES = ("```", "~~~", "｀｀｀")  # noqa: RUF001
_COMMENT = re.compile(
    r"<!--|<!\[CDATA\[|(?<!\S)/\*(?=[\s*])|<<-?[\"']?(?P<word>[A-Za-z_]\w{0,40})\b(?=(?P<line>[^\n]{0,200}\n))"
)
"""Opens one of HTML, XML and C, and what a shell reads up to a word."""
_COMMENT_SIGNS = ("<!", "/*", "<<")
_ENDS_OF_MARKUP = {"<!--": "-->", "<![CDATA[": "]]>"}
_END_OF_C = re.compile(r"\*/(?!\S)")
_LONE_WORD = re.compile(r"(?m)^[ \t]*([A-Za-z_]\w{0,40})[ \t]*$")
_LONGEST_COMMENT = 2000
"""An end that is farther away is another's; markup that does not end goes on to the end of the text."""
_FEW_WORDS = 5
"""A comment of no more in the middle of a line is a word about comments: "never write `/* eslint-disable */`"."""
_CHAT_TOKENS = re.compile(r"(?ms)^[ \t]*<\|\w{1,30}\|>(?:.*<\|\w{1,30}\|>|.*)")
"""What models are given: `<|user|>`."""
_LEFT, _RIGHT = f"{ANGLES}[", re.compile(rf"[{ANGLES_BACK}\]]")
_NAME = r"([a-zA-Z][\w-]{0,40})"
_END = re.compile(rf"(?m)[{ANGLES}]/{_NAME}|^[ \t]*\[/{_NAME}|\[/([A-Z]+)\](?=[ \t]*$)")
_OPENING = re.compile(
    rf"(?m)[{ANGLES}]{_NAME}(?:\s[^<>\n]{{0,300}})?[{ANGLES_BACK}]|^[ \t]*\[{_NAME}(?:[\s=:][^\[\]\n]{{0,300}})?\]"
)
"""A square one begins its line, and so does its end: `app/[lang]/page.tsx` is a path. One in capitals may end a line: `[/INST]`."""
# A tag that opens a block: alone in its line, or with text right behind it. `<div> is wrong here` is a sentence.
_OPENS_BLOCK = re.compile(
    rf"(?m)^[ \t]*[{ANGLES}]{_NAME}(?:\s[^<>\n]{{0,300}})?[{ANGLES_BACK}](?=[ \t]*$|[^\s{ANGLES}])"
)
_QUOTED_SENTENCES = re.compile(
    r"(?<![^\s(:])(?:[\"“„«](?=\S)(?=[^\"“”„«»\n]{0,2000}[.!?]\s)[^\"“”„«»\n]{12,4000}[\"”“»]"
    r"|[“„«](?=\S)(?=[^\"“”„«»]{0,2000}[.!?]\s)[^\"“”„«»]{12,4000}[”“»])"
)
"""Several sentences in quotation marks: a mail, a chat, a text by somebody else. Marks with a direction may be lines apart."""
_HEADER = re.compile(r"[^\W\d_][\w-]{0,20}: \S")
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+\.[\w.-]+")
_RULE = re.compile(
    r"[ \t]*(?:([-*_=~#+:%\"'—–─━═])\1{2,}|(\$)\2+|([-*_=])(?: ?[-*_=])+ ?(?:8<|✂)[-*_= ]*)[ \t]*"  # noqa: RUF001
)
"""No brackets, braces, stops or emoji: these stand alone in code and chats. `$$` are around a formula."""
_NEW_BLOCK = re.compile(r"[ \t]*(?:[-*+•]|\d{1,2}[.)]|#{1,6})[ \t]")
_CLOCK = r"\d{1,2}:\d\d(?::\d\d)?(?: ?[AP]M)?"
_DATE = r"[\d./-]{5,10},? "
_IN_BRACKETS = rf"(?:\[(?:{_DATE})?{_CLOCK}\]|\((?:{_DATE})?{_CLOCK}\))"
_PERSON = r"[\w.@-]{1,30}(?: [\w.@-]{1,30}){0,2}"
_SPOKEN = re.compile(
    rf"[ \t]*(?:<[\w.@ -]{{1,30}}>(?= )|(?:{_IN_BRACKETS}|{_DATE}{_CLOCK}) +(?:- )?<?(?P<dated>{_PERSON})>?:"
    rf"|{_CLOCK} +(?:<[\w.@-]{{1,30}}>|(?P<timed>[^\W\d_][\w.-]{{0,29}})):"
    rf"|(?=[^\W\d_])(?P<above>{_PERSON}) +(?:{_IN_BRACKETS}(?::|$)|(?:{_DATE})?{_CLOCK}$)"
    rf"|(?P<prompt>[^\W\d_][\w.-]{{0,29}}(?<!-)>)(?= \S))"
)
"""A time and a label in small letters are an entry of a calendar, if no date and no bracket makes them a line of a chat."""
_FEWEST_PROMPTS = 3
"""`dana> hello`: fewer lines may be a list."""
_MOST_TAGS = 200


def without_quotations(text: str) -> str:
    """The text without what is marked as somebody else's: fenced and tagged blocks, comments, quoted passages, lines behind a `>`,
    mails, chats.
    """
    lines = _outside_of_fences(_INLINE_FENCE.sub("\n", text).split("\n"))
    text = _QUOTED_SENTENCES.sub(" ", "\n".join(lines))
    text = _CHAT_TOKENS.sub("\n", _without_comments(text))
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


def _without_comments(text: str) -> str:
    if not any(map(text.__contains__, _COMMENT_SIGNS)):
        return text
    ends = _EndsOfComments(text)
    kept, past = [], 0
    for opening in _COMMENT.finditer(text):
        if opening.start() < past:
            continue
        end = ends.behind(opening)
        if end < 0 or (_is_in_line(opening) and len(text[opening.start() : end].split()) <= _FEW_WORDS):
            continue
        kept.append(text[past : opening.start()])
        past = end
    return "\n".join([*kept, text[past:]])


def _is_in_line(opening: re.Match[str]) -> bool:
    """Whether there is text before it in its line."""
    start = opening.start()
    while start and opening.string[start - 1] in " \t":
        start -= 1
    return start > 0 and opening.string[start - 1] != "\n"


class _EndsOfComments:
    """Each kind of end is searched once in a text, however many comments seem to open."""

    def __init__(self, text: str) -> None:
        self._text = text

    def behind(self, opening: re.Match[str]) -> int:
        """Where the comment is over; -1: nothing ends it, so it is none."""
        if (sign := _ENDS_OF_MARKUP.get(opening[0])) is not None:
            end = self._text.find(sign, opening.end())
            return end + len(sign) if end >= 0 else len(self._text)
        if opening["word"] is None:
            return _next_end(self._of_c, opening.end())
        return _next_end(self._of_words[opening["word"]], opening.end("line"))

    @cached_property
    def _of_c(self) -> list[tuple[int, int]]:
        return [end.span() for end in _END_OF_C.finditer(self._text)]

    @cached_property
    def _of_words(self) -> dict[str, list[tuple[int, int]]]:
        found = defaultdict(list)
        for line in _LONE_WORD.finditer(self._text):
            found[line[1]].append(line.span())
        return found


def _next_end(ends: list[tuple[int, int]], start: int) -> int:
    place = bisect_left(ends, (start, 0))
    return ends[place][1] if place < len(ends) and ends[place][0] - start <= _LONGEST_COMMENT else -1


def _without_tagged(text: str) -> str:
    """Without elements, each up to the last end of its name: a text that is shown may hold an end of its own."""
    for _ in range(_MOST_TAGS):
        last = {(end[1], end[2] or end[3]): end.start() for end in _END.finditer(text)}
        for opening in _OPENING.finditer(text) if last else ():
            end = last.get((opening[1], opening[2]), -1)
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
        if _HEADER.match(line) and _HEADER.match(below) and (_has_address(line) or _has_address(below)):
            return lines[:place]
    return lines


def _has_address(line: str) -> bool:
    return "@" in line and _ADDRESS.search(line) is not None


def _without_chat(lines: list[str]) -> list[str]:
    """Without lines that begin with a name in angle brackets or a time, where there are several."""
    spoken = [_spoken(line) for line in lines]
    if sum(bool(match and match["prompt"]) for match in spoken) < _FEWEST_PROMPTS:
        spoken = [match if match and not match["prompt"] else None for match in spoken]
    if len({match[0] for match in spoken if match}) < 2:  # noqa: PLR2004 - one alone is a word about a tag
        return lines
    first = next(place for place, match in enumerate(spoken) if match)
    return lines[:first]


def _spoken(line: str) -> re.Match[str] | None:
    """What a line of a chat begins with. A name of several words has none in small letters."""
    match = _SPOKEN.match(line)
    if match is None or (match["timed"] or "")[:1].islower():
        return None
    names = (match["dated"] or match["above"] or "").split()
    return match if len(names) < 2 or not any(name[0].islower() for name in names) else None  # noqa: PLR2004 - several


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
    """What stands between two rules of one sign; behind the last one that has no other, it is the user's again."""
    rules = [(place, found[found.lastindex or 0]) for place, line in enumerate(lines) if (found := _rule(line))]
    ends: dict[int, int] = {}
    last: dict[str, int] = {}
    for place, sign in reversed(rules):
        if sign in last:
            ends[place] = last[sign]
        last[sign] = place
    kept, past = [], 0
    for place, _ in rules:
        if place >= past and place in ends:
            kept += lines[past:place]
            past = ends[place] + 1
    return kept + lines[past:]


def _rule(line: str) -> re.Match[str] | None:
    return _RULE.fullmatch(line.rstrip("\r"))
