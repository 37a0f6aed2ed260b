"""Topic file: frontmatter and body, edited by spans of text so that everything else keeps its bytes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import yaml

from memoryd.memory import keys as search_keys
from memoryd.memory.limits import FRONTMATTER_BYTES
from memoryd.memory_types import MEMORY_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.memory_types import MemoryType


_OPENING = re.compile(r"\ufeff?---[ \t]*(\r\n|\n)")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+-]*")
# Words, numbers, dates and times that some reader would not take for text.
_NOT_PLAIN = re.compile(r"(?i)(?:true|false|yes|no|on|off|y|n|null|[\d_.:-]+(?:e[+-]?\d+)?|0[xob]\w+|.*:)")
# What JSON leaves as it is inside quotes and YAML does not: its own line ends, and characters that it refuses.
_TO_ESCAPE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_MOST_NESTED = 32
_BLOCK_HEADER = re.compile(r"[^\s#]*([ \t]+#[^\r\n]*)")


class DocumentError(Exception):
    """The frontmatter cannot be edited without harm to something else in it."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed topic file. A file with broken frontmatter parses too: it has a problem, and all of it is body."""

    text: str
    values: dict[str, Any]
    """The frontmatter: scalars as they are written, mappings as dicts, sequences as lists."""
    body_start: int
    problem: str | None = None

    @property
    def body(self) -> str:
        return self.text[self.body_start :]

    @property
    def name(self) -> str:
        return _scalar(self.values.get("name"))

    @property
    def description(self) -> str:
        return _scalar(self.values.get("description"))

    @property
    def type(self) -> MemoryType | None:
        """From the top level or from `metadata`: clients differ."""
        for place in (self.values, self.metadata):
            if (value := _scalar(place.get("type"))) in MEMORY_TYPES:
                return value
        return None

    @property
    def metadata(self) -> dict[str, Any]:
        value = self.values.get("metadata")
        return value if isinstance(value, dict) else {}

    @property
    def is_pinned(self) -> bool:
        """Whether nobody but the user changes it: they said so, or made it binding."""
        return _scalar(self.metadata.get("pinned")).lower() in ("true", "yes", "on") or bool(self.enforce)

    @property
    def enforce(self) -> str:
        """What is refused because of it, as `memoryd enforce` writes it; empty: nothing."""
        return _scalar(self.metadata.get("enforce"))

    @property
    def origin_session_id(self) -> str:
        return _scalar(self.metadata.get("originSessionId") or self.values.get("originSessionId"))

    @property
    def keys(self) -> tuple[str, ...]:
        """Words that a later prompt may use for it: for searching, and no part of its text."""
        return search_keys.keys_in(self.metadata.get("keys")) or search_keys.keys_in(self.values.get("keys"))

    def render(self) -> bytes:
        return self.text.encode("utf-8", "surrogateescape")

    def with_body(self, body: str) -> Document:
        """The same frontmatter over another body, in the line ends that the file has."""
        head = self.text[: self.body_start]
        if head and not head.endswith("\n"):
            head += self._newline
        body = body.replace("\r\n", "\n").replace("\n", self._newline)
        return parse((head + body).encode("utf-8", "surrogateescape"))

    def with_value(self, path: tuple[str, ...], value: str) -> Document:
        """The same file with one scalar of the frontmatter set; `path` has one or two keys.

        Raises DocumentError where there is no frontmatter, or where the edit would change anything else.
        """
        if self.problem or not self.body_start:
            raise DocumentError(self.problem or "there is no frontmatter")
        start, length = _block(self.text) or (0, 0)
        block = self.text[start : start + length]
        edited = _edited(block, path, _quoted(value), self._newline)
        result = parse((self.text[:start] + edited + self.text[start + length :]).encode("utf-8", "surrogateescape"))
        if result.problem or result.values != _with(self.values, path, value) or result.body != self.body:
            raise DocumentError(f"`{'.'.join(path)}` cannot be set in this frontmatter")
        return result

    def without_value(self, path: tuple[str, str]) -> Document:
        """The same file without a scalar that stands on a line of its own inside a mapping. Raises DocumentError.

        A mapping that has nothing else in it goes too: `with_value` made it.
        """
        start, length = _block(self.text) or (0, 0)
        block = self.text[start : start + length]
        inside = {key: value for key, value in self.metadata.items() if key != path[1]}
        wanted = {**self.values, path[0]: inside}
        line = rf"^[ \t]+{re.escape(path[1])}:[^\n]*\n"
        if not inside:
            line = rf"^{re.escape(path[0])}:[ \t]*\r?\n{line[1:]}"
            wanted.pop(path[0], None)
        edited = re.sub(line, "", block, flags=re.MULTILINE)
        result = parse((self.text[:start] + edited + self.text[start + length :]).encode("utf-8", "surrogateescape"))
        if result.problem or result.values != wanted or result.body != self.body:
            raise DocumentError(f"`{'.'.join(path)}` cannot be taken out of this frontmatter")
        return result

    def with_keys(self, keys: Iterable[str]) -> Document:
        """Document with these keys; unchanged where there are none, or where they cannot be set: they are optional."""
        value = search_keys.joined(keys)
        if not value or search_keys.keys_in(value) == self.keys:
            return self
        try:
            return self.with_value(("metadata", "keys"), value)
        except DocumentError:
            return self

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text[: self.body_start or None] else "\n"


@lru_cache(maxsize=256)
def parse(data: bytes) -> Document:
    """Parse a topic file. Never raises: broken frontmatter becomes a problem of the document, and its bytes are kept.

    Cached: a job parses a file to read it, and again to judge, write and index it.
    """
    text = data.decode("utf-8", "surrogateescape")
    problem = None if text.isascii() or _is_utf8(data) else "it is not UTF-8"
    if not _OPENING.match(text):
        return Document(text, {}, 0, problem)
    block = _block(text)
    if block is None:
        return Document(text, {}, 0, "its frontmatter has no end")
    start, length = block
    closing = _CLOSING.match(text, start + length)
    body_start = closing.end() if closing else len(text)
    try:
        values = _plain(_compose(text[start : start + length]))
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:  # the last two: absurd numbers in it
        return Document(text, {}, 0, f"its frontmatter is not valid: {_in_a_line(error)}")
    if not isinstance(values, dict):
        return Document(text, {}, 0, "its frontmatter is no list of keys")
    return Document(text, values, body_start, problem)


def body_of(data: bytes) -> str:
    """Text after the frontmatter, without parsing that: fast enough to compare thousands of files."""
    text = data.decode("utf-8", "surrogateescape")
    block = _block(text)
    closing = _CLOSING.match(text, sum(block)) if block else None
    return text[closing.end() :] if closing else text


def new_document(
    *,
    name: str,
    description: str,
    kind: MemoryType,
    body: str,
    session_id: str,
    evidence: str,
    modified: str,
    keys: Iterable[str] = (),
) -> Document:
    """A topic file as memoryd writes it; `type` stands in both places that clients look at."""
    searched = search_keys.joined(keys)
    lines = [
        "---",
        f"name: {_quoted(name)}",
        f"description: {_in_quotes(description)}",
        f"type: {kind}",
        "metadata:",
        f"  type: {kind}",
        *([f"  originSessionId: {_quoted(session_id)}"] if session_id else []),
        *([f"  evidence: {_quoted(evidence)}"] if evidence else []),
        *([f"  keys: {_quoted(searched)}"] if searched else []),
        f"  modified: {modified}",
        "---",
        body.strip("\n"),
        "",
    ]
    return parse("\n".join(lines).encode("utf-8", "replace"))


# --- parsing ----------------------------------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """YAML loader that refuses anchors and aliases, which can expand to gigabytes, and deep nesting, which takes seconds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "anchor", None) is not None:
            raise yaml.YAMLError("anchors and aliases are not allowed")
        return super().compose_node(parent, index)

    def fetch_flow_collection_start(self, token_class: Any) -> None:
        if self.flow_level >= _MOST_NESTED:
            raise yaml.YAMLError("it is nested too deep")
        super().fetch_flow_collection_start(token_class)


def _compose(block: str) -> Any:
    loader = _Loader(block)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


def _block(text: str) -> tuple[int, int] | None:
    """Where the frontmatter begins and how long it is; None if it does not end."""
    opening = _OPENING.match(text)
    if opening is None:
        return None
    closing = _CLOSING.search(text, opening.end(), opening.end() + FRONTMATTER_BYTES)
    if closing is None or not _CLOSING.match(text, closing.start()):  # `\Z` also matches where the search was to stop
        return None
    return opening.end(), closing.start() - opening.end()


def _plain(node: Any) -> Any:
    if node is None:
        return {}
    if isinstance(node, yaml.MappingNode):
        return {_scalar(_plain(key)): _plain(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(value) for value in node.value]
    # An escape may be half a character: JSON writes an emoji as two of them.
    return node.value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _in_a_line(error: Exception) -> str:
    problem = " ".join(str(getattr(error, "problem", None) or error).split())
    mark = getattr(error, "problem_mark", None)
    return f"{problem} (line {mark.line + 2})" if mark else problem


# --- editing ----------------------------------------------------------------------------------------------------------


def _quoted(value: str) -> str:
    """Plain where that can mean nothing else, otherwise in double quotes."""
    return value if _PLAIN.fullmatch(value) and not _NOT_PLAIN.fullmatch(value) else _in_quotes(value)


def _in_quotes(value: str) -> str:
    """A JSON string is a YAML string, but for a few characters."""
    return _TO_ESCAPE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def _edited(block: str, path: tuple[str, ...], value: str, newline: str) -> str:
    node = _compose(block)
    if node is None:
        node = yaml.MappingNode("tag:yaml.org,2002:map", [])
    key, *rest = path
    found = _child(node, key)
    if found is None:
        lines = "".join(f"{'  ' * depth}{part}:{newline}" for depth, part in enumerate(path[:-1]))
        return _appended(block, f"{lines}{'  ' * (len(path) - 1)}{path[-1]}: {value}", newline)
    if rest:
        return _edited_inside(block, found, rest[0], value, newline)
    return _replaced(block, found, value)


def _edited_inside(block: str, parent: Any, key: str, value: str, newline: str) -> str:
    if not isinstance(parent, yaml.MappingNode) or not parent.value:
        raise DocumentError("`metadata` is no list of keys")
    found = _child(parent, key)
    if found is not None:
        return _replaced(block, found, value)
    last_key, last = parent.value[-1]
    if parent.flow_style:
        at = last.end_mark.index
        return f"{block[:at]}, {key}: {value}{block[at:]}"
    at = block.find("\n", _end(block, last)) + 1 or len(block)
    before = block[:at] if block[:at].endswith("\n") else block[:at] + newline
    return f"{before}{' ' * last_key.start_mark.column}{key}: {value}{newline}{block[at:]}"


def _replaced(block: str, node: Any, value: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise DocumentError("the value is no scalar")
    start, end = node.start_mark.index, node.end_mark.index
    if node.style in ("|", ">"):
        comment = _BLOCK_HEADER.match(block, start)
        return f"{block[:start]}{value}{comment[1] if comment else ''}{block[_end(block, node) :]}"
    space = "" if start == 0 or block[start - 1].isspace() else " "
    return f"{block[:start]}{space}{value}{block[end:]}"


def _appended(block: str, lines: str, newline: str) -> str:
    return f"{block}{'' if not block or block.endswith(chr(10)) else newline}{lines}{newline}"


def _end(block: str, node: Any) -> int:
    """The last character of a node: a block's end mark stands on the line behind it."""
    end: int = node.end_mark.index
    while end > node.start_mark.index and block[end - 1].isspace():
        end -= 1
    return end


def _child(node: Any, key: str) -> Any:
    found = [value for name, value in node.value if isinstance(name, yaml.ScalarNode) and name.value == key]
    if len(found) > 1:
        raise DocumentError(f"`{key}` is there twice")
    return found[0] if found else None


def _with(values: dict[str, Any], path: tuple[str, ...], value: str) -> dict[str, Any]:
    key, *rest = path
    if not rest:
        return {**values, key: value}
    inner = values.get(key)
    return {**values, key: _with(inner if isinstance(inner, dict) else {}, tuple(rest), value)}
