"""Text of a mounted folder that the tools have shown to the agent: what it says of code may rest on its lines. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PLACES = ("file_path", "path", "glob", "command")
_NUMBERED = re.compile(r" *(\d+)\t(.*)")
"""A line as Read shows it."""
_FOUND = re.compile(r"([^:]+):(\d+):(.*)")
"""A line as Grep shows it."""
_LEAST_QUOTE = 4


class ShownLine(NamedTuple):
    path: str
    """Relative to the folder."""
    number: int


class ShownText:
    """Results of one run that are about one folder, in the order of their calls."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._is_about = re.compile(rf"(?:^|[\s/]){re.escape(folder)}(?:/|\s|$)")
        self._results: list[tuple[str, str]] = []  # the file of a Read, and the text

    def note(self, given: Mapping[str, Any], text: str) -> None:
        """Take in the result of a call, if its parameters name the folder."""
        if any(self._is_about.search(str(given.get(key, "")).removeprefix("./")) for key in _PLACES):
            self._results.append((str(given.get("file_path", "")), text))

    def text(self) -> str:
        return "\n".join(text for _, text in self._results)

    def line_with(self, quote: str) -> ShownLine | None:
        """The line that holds these words, of those that were shown with their number; the last, if several do."""
        wanted = " ".join(quote.split())
        if len(wanted) < _LEAST_QUOTE:
            return None
        lines = (line for path, text in reversed(self._results) for line in self._lines(path, text))
        return next((line for line, text in lines if wanted in " ".join(text.split())), None)

    def _lines(self, path: str, text: str) -> Iterator[tuple[ShownLine, str]]:
        for line in text.split("\n"):
            if path and (match := _NUMBERED.match(line)):
                yield self._line(path, match[1]), match[2]
            elif not path and (match := _FOUND.match(line)):
                yield self._line(match[1], match[2]), match[3]

    def _line(self, path: str, number: str) -> ShownLine:
        return ShownLine(path.removeprefix("./").removeprefix(f"{self._folder}/"), int(number))
