"""aider's chat history as lines: one Markdown file in a project, for all chats, becomes blocks at their bytes.

A line of the file by itself says little: a prompt of several lines is one message, and a chat is known by the line that began
it. So blocks are made of lines of one kind, and read from the beginning of their chat on. There are no ids: a message is
known by the start of its chat, its words, and how often they were said in it before.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

import msgspec

from memoryd.clients.aider.inputs import read_inputs
from memoryd.sources.lines import Line, blocks_of, whole_lines
from memoryd.sources.scan import found_of
from memoryd.sources.session import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.clients.aider.inputs import Inputs

_CHAT = b"# aider chat started at "
_PROMPT = b"#### "
_PROMPT_END = b"  \n"
"""aider ends each line of a prompt with two spaces; a heading in an answer has none."""
_NOTICE = b"> "
_SPECIAL = (b"#", b">", b" ", b"\t", b"\r", b"\n", b"")
"""How a line begins that may be more than a piece of an answer."""
_LOOK_BACK_BYTES = 64 << 10


class Block(msgspec.Struct, gc=False, omit_defaults=True):
    """A block as a line: the beginning of a chat, a prompt, an answer, or notices of aider."""

    kind: str
    chat: str = ""
    """When its chat was started, as it stands in the file."""
    text: str = ""
    number: int = 0
    """How many prompts of the chat had the same words before."""
    at: float | None = None
    is_typed: bool = True
    """A prompt: aider's record of what was typed has it."""


_encode = msgspec.json.Encoder().encode


class ChatHistory:
    """An open history; offsets are bytes of the file."""

    def __init__(self, path: str) -> None:
        """Raises OSError and NotATranscriptError."""
        self._descriptor = open_regular(path)
        self.found = found_of(path, os.fstat(self._descriptor))
        self._folder = os.path.dirname(path)
        self._inputs: Inputs | None = None

    @property
    def end(self) -> int:
        return self.found.size

    def lines(self, start: int) -> Iterator[Line]:
        """The blocks from a byte on. The last one waits: only what follows tells that it is whole."""
        for line in self._chats(self._chat_before(start)):
            if line.start >= start:
                yield line

    def blocks(self) -> Iterator[bytes]:
        return blocks_of(self.lines(0))

    def head(self, most_bytes: int) -> bytes:
        return os.pread(self._descriptor, most_bytes, 0)

    def bytes_before(self, offset: int, most_bytes: int) -> bytes:
        """The end of the blocks up to there, of the same chat; nothing where no block ends there."""
        data = b""
        at = 0
        for line in self._chats(self._chat_before(max(0, offset - 1))):
            if line.end > offset:
                break
            data = (data + (line.data or b""))[-most_bytes:]
            at = line.end
        # The last block of the file waits, but what has been read before it still stands.
        return data if offset in (at, self.found.size) else b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def _chat_before(self, offset: int) -> int:
        """Where the chat begins in which a byte stands; 0 where none does."""
        end = min(offset + len(_CHAT), self.found.size)
        while end > 0:
            start = max(0, end - _LOOK_BACK_BYTES)
            data = b"\n" * (start == 0) + os.pread(self._descriptor, end - start, start)
            at = data.rfind(b"\n" + _CHAT)
            if at >= 0:
                return start + at + 1 - (start == 0)
            end = start + len(_CHAT) if start else 0
        return 0

    def _chats(self, start: int) -> Iterator[Line]:
        """The blocks from the beginning of a chat on, but the last."""
        chat = ""
        counts: dict[str, int] = {}
        for kind, begin, end, data in _runs(whole_lines(self._descriptor, start)):
            block = Block(kind, chat)
            if kind == "chat":
                block.chat = chat = data[len(_CHAT) :].decode("utf-8", "replace").strip()
                counts = {}
            elif kind == "prompt":
                text = "\n".join(line[5:].rstrip() for line in data.decode("utf-8", "replace").splitlines())
                block.text, block.number = text, counts.get(text, 0)
                counts[text] = block.number + 1
                block.is_typed, block.at = self._typed(text, chat, block.number)
            elif kind == "answer":
                block.text = data.decode("utf-8", "replace").strip()
            yield Line(begin, end, _encode(block) + b"\n")

    def _typed(self, text: str, chat: str, number: int) -> tuple[bool, float | None]:
        if self._inputs is None:
            self._inputs = read_inputs(self._folder)
        return self._inputs.look_up(text, chat, number)


def _runs(lines: Iterator[Line]) -> Iterator[tuple[str, int, int, bytes]]:
    """Lines of one kind that stand together: kind, first byte, byte behind, content. The last run waits for what follows it.

    Blank lines belong to the run before them, and end a prompt: what follows in the same shape is another one.
    """
    kind, begin, end = "", 0, 0
    content: list[bytes] = []
    is_closed = False
    for line in lines:
        data = line.data or b""
        if kind == "answer" and data[:1] not in _SPECIAL:
            content.append(data)
            end, is_closed = line.end, False
            continue
        is_blank = not data.strip()
        this = kind or "blank" if is_blank else _kind(data, kind, is_after_blank=is_closed or not kind)
        is_next = not is_blank and (this == "chat" or (this == "prompt" and is_closed))
        if kind and (this != kind or is_next):
            yield kind, begin, end, b"".join(content)
            kind = ""
        if not kind:
            kind, begin, content = this, line.start, []
        if not is_blank or kind == "answer":
            content.append(data)
        end = line.end
        is_closed = is_blank


def _kind(line: bytes, before: str, *, is_after_blank: bool) -> str:
    if line.startswith(_CHAT):
        return "chat"
    if line.startswith(_PROMPT) and line.endswith(_PROMPT_END) and (is_after_blank or before == "prompt"):
        return "prompt"
    if line.startswith(_NOTICE) and line.endswith(_PROMPT_END):
        return "notice"
    return "answer"
