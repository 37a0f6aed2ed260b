"""Index content: paragraphs that somebody wrote into the index become memories of their own.

The index is one line for each memory; headings and a few free words of a person stay. Whole sentences that tell facts
do not belong there: a client reads the index at every start, and cuts it where it is too long.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.offline.classifier import type_of
from memoryd.engines.offline.dream.draft import Draft
from memoryd.engines.offline.dream.naming import name_in_words
from memoryd.engines.offline.wording import DESCRIPTION_LENGTH, description_of
from memoryd.language.lexicon import pattern, words
from memoryd.language.parts import passages_of, united
from memoryd.language.titles import slug_of, title_of
from memoryd.language.tokens import is_without_spaces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.memory_types import MemoryType

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<words>\S[^\n]*)")
_ENTRY = re.compile(r"\s*[-*+][ \t]+\[.*\]\(.+\)")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])[ \t]+")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_NO_WORDS = re.compile(r"\s*(?:<!--|-->|\||>|-{3,}|\*{3,}|_{3,}|<)")
_LINK = re.compile(r"\]\([^)\s]+\.md[)#]")
_ENDED = re.compile(r"[.!?。！？]\W*$")  # noqa: RUF001
_FEW_WORDS = 5
_MANY_WORDS = 12
_SO_MANY_WORDS = 25
_CHARACTERS_A_WORD = 1.5
"""In scripts without spaces."""
_LONGEST_TITLE = 60


class _Block(NamedTuple):
    """Lines of the index that stand together, with the blank lines behind them."""

    start: int
    text: str
    heading: str = ""
    """The words of a heading; then it is nothing else."""
    is_content: bool = False

    @property
    def words(self) -> str:
        return self.text.strip()


def move(drafts: list[Draft], index: str) -> Iterator[str]:
    """Change the drafts in place; yields a line for each change.

    What stands below one heading and above the next one is one memory. The heading goes with it, unless there is
    something else below it; a first heading of the first rank is the title of the index, and stays.
    """
    blocks = _blocks_of(index)
    heading: _Block | None = None
    section: list[_Block] = []
    sections: list[tuple[_Block | None, list[_Block]]] = []
    title = next((block for block in blocks if block.heading), None)
    for block in blocks:
        if block.heading:
            sections.append((heading, section))
            heading, section = (None if block is title and block.text.lstrip().startswith("# ") else block), []
        else:
            section.append(block)
    sections.append((heading, section))
    for above, below in sections:
        content = [block for block in below if block.is_content]
        moved = [above, *content] if above and content and len(content) == len(below) else content
        # Whoever takes them out looks for the first place where such a passage stands: it has to be this one.
        if not content or any(index.find(block.text) != block.start for block in moved):
            continue
        draft = _draft_of(above.heading if above else "", content, [block.text for block in moved])
        drafts.append(draft)
        yield draft.change("moved", f"Moving out {name_in_words(draft)}")


def _blocks_of(index: str) -> list[_Block]:
    """The index line by line; lines of text that stand together are one block."""
    blocks: list[_Block] = []
    at = 0
    is_code = is_apart = False
    for line in index.splitlines(keepends=True):
        start, at = at, at + len(line)
        if not line.strip():
            is_apart = True
            if blocks:
                blocks[-1] = blocks[-1]._replace(text=blocks[-1].text + line)
            continue
        is_fence = bool(_FENCE.match(line))
        heading = None if is_code or is_fence else _HEADING.match(line)
        is_text = not (is_code or is_fence or heading or _is_entry(line) or _NO_WORDS.match(line))
        is_code = is_code != is_fence
        last = blocks[-1] if blocks and not is_apart else None
        is_apart = False
        if last and is_text and last.is_content:
            blocks[-1] = last._replace(text=last.text + line)
        elif last and is_text and line[0].isspace() and not last.heading:
            blocks[-1] = last._replace(text=last.text + line)  # the next line of an entry
        else:
            blocks.append(_Block(start, line, heading["words"].rstrip(" \t\r#") if heading else "", is_text))
    return [block._replace(is_content=block.is_content and _tells_facts(block.words)) for block in blocks]


def _is_entry(line: str) -> bool:
    return bool(_ENTRY.match(line) or _LINK.search(line))


def _tells_facts(text: str) -> bool:
    """Whether words in the index are memory content, and not a title or a note about the index itself."""
    words = len(re.findall(r"\w", text)) / _CHARACTERS_A_WORD if is_without_spaces(text) else len(text.split())
    if pattern("index_content", "about_the_index").search(text) or (
        words < _SO_MANY_WORDS and pattern("index_content", "maybe_about_the_index").search(text)
    ):
        return False
    is_telling = bool(_BULLET.match(text)) or bool(pattern("index_content", "telling").search(text))
    return words >= _MANY_WORDS or (words >= _FEW_WORDS and is_telling)


def _draft_of(heading: str, content: Sequence[_Block], passages: Sequence[str]) -> Draft:
    body = "\n\n".join(block.words for block in content)
    sentences = [_BULLET.sub("", one, count=1) if _BULLET.match(one) else one for one in passages_of(body)]
    name = re.sub(r"[^\w]+", "-", heading.lower()).strip("-_")
    is_title = bool(name) and name not in words("index_content", "no_title") and len(name) <= _LONGEST_TITLE
    if heading and not is_title:
        body = f"{heading}\n\n{body}"  # its words are in no other place
    fact = sentences[0]
    for sentence in sentences[1:]:
        longer = united(fact, sentence) if _ENDED.search(fact) else f"{fact}; {sentence}"
        if len(longer) > DESCRIPTION_LENGTH:
            break
        fact = longer
    return Draft(
        (),
        _type_of(sentences),
        description_of(fact, ""),
        body + "\n",
        0.0,
        title=name if is_title else slug_of(title_of(sentences[0])),
        from_index=tuple(passages),
    )


def _type_of(sentences: Sequence[str]) -> MemoryType:
    return "user" if pattern("index_content", "person").match(" ".join(sentences)) else type_of(" ".join(sentences))
