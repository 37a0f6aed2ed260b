"""The six tools of the agent: what they are called with, checked, and what they answer.

Nothing that a model sends makes `run` raise, hang, or reach beyond the directory: a call ends in a result, and every result is
without secrets and of bounded length. Which memories a job may write is not decided here but by its judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from memoryd.engines.model import bash_tool
from memoryd.engines.model.sandbox import (
    WINDOW_LINES,
    NotAllowedError,
    Pattern,
    Sandbox,
    ToolError,
    shown,
)
from memoryd.engines.model.shown_text import ShownText
from memoryd.memory.limits import MEMORY_BYTES
from memoryd.review.context import Writing
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from types import TracebackType

RESULT_BYTES = 65_536
_RESULTS = "results"
_FILE_BYTES = 1 << 20
_MOST_LINES = 2_000
_LINE_CHARACTERS = 2_000
_MOST_NAMES = 1_000
_MOST_MATCHES = 1_000
_USUAL_MATCHES = 250
_WINDOW_MATCHES = 30
"""Of what is shown in windows only."""
_PATTERN_CHARACTERS = 1_000
_QUOTE_CHARACTERS = 16_384
_MOST_REFUSALS = 100
_REFUSAL_CHARACTERS = 300

_IMAGE = re.compile(r"(?i)\.(?:png|jpe?g|gif|webp|bmp|ico|heic)$")
_NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_TYPES: dict[str, type] = {"string": str, "integer": int, "boolean": bool}


class ToolResult(NamedTuple):
    text: str
    is_error: bool = False
    changed: bool = False
    is_noop: bool = False
    """An Edit or Write that would change nothing."""


Judge = Callable[[Writing], str | None]
"""The job's permission: None, or the sentence why not."""


def _schema(name: str, description: str, required: dict[str, str], optional: dict[str, str]) -> dict[str, Any]:
    """A tool as the API wants it. A parameter is its type and what it means: "integer: how many lines"."""
    properties = {}
    for parameter, line in (required | optional).items():
        kind, meaning = line.split(": ", 1)
        properties[parameter] = {"type": kind, "description": meaning}
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return {"name": name, "description": description, "input_schema": schema}


_QUOTE = (
    "string: the exact words of the user that this rests on, copied from what they said; empty if none are asked for"
)

# One list in one order: it is part of what endpoints cache. What a job may not use is refused at the call.
SCHEMAS: tuple[dict[str, Any], ...] = (
    _schema(
        "Read",
        "Read a file of the memory directory. Lines are numbered; at most 2000 are shown, long ones cut. Secrets appear as "
        "[redacted: ...].",
        {"file_path": "string: path relative to the memory directory, such as deploy.md"},
        {
            "offset": "integer: first line to show, counted from 1",
            "limit": "integer: how many lines to show, at most 2000",
        },
    ),
    _schema(
        "Grep",
        "Search the lines of files with a POSIX extended regular expression, as grep -E does ([0-9] instead of \\d). "
        "Answers file:line:text.",
        {"pattern": "string: the expression to look for"},
        {
            "path": "string: file or directory to search, relative to the memory directory; the memories if left out",
            "glob": "string: search only files whose name matches, such as *.md",
            "ignore_case": "boolean: let capital and small letters be the same",
            "max_results": "integer: how many lines to answer, 250 if left out, at most 1000",
        },
    ),
    _schema(
        "Glob",
        "List files by name. * and ? match inside of a name, [..] one of several characters, ** any number of directories.",
        {"pattern": "string: the names to look for, such as *.md or results/**"},
        {"path": "string: directory to start from, relative to the memory directory"},
    ),
    _schema(
        "Bash",
        "Run one read-only command in the memory directory: ls, find, grep, cat, stat, wc, head or tail. There is no shell: "
        "no pipes, redirection, variables or second command; many options are refused.",
        {"command": "string: the command, such as grep -rn deploy ."},
        {},
    ),
    _schema(
        "Edit",
        "Replace a passage of a memory. The passage must stand in it exactly once, unless replace_all is true.",
        {
            "file_path": "string: name of the memory, such as deploy.md",
            "old_string": "string: the passage, copied exactly and without line numbers",
            "new_string": "string: what to put in its place",
            "quote": _QUOTE,
        },
        {"replace_all": "boolean: replace every occurrence"},
    ),
    _schema(
        "Write",
        "Make a memory or replace all of it. Empty content removes it. MEMORY.md is rebuilt by code and cannot be written.",
        {
            "file_path": "string: name of the memory: letters, digits, _ . - and then .md; global/ before it where it is about the user, whatever the project",
            "content": "string: the whole file, at most 64 KB",
            "quote": _QUOTE,
        },
        {
            "kept_in": "string: when you remove a memory: the one that says all of it now, if there is one",
            "from_index": "string: whole lines of MEMORY.md that move into this memory, copied exactly",
        },
    ),
)
_NAMES: tuple[str, ...] = tuple(schema["name"] for schema in SCHEMAS)
TOOLS = frozenset(_NAMES)


class ToolBox:
    """The tools over one directory, for one run of a job. Close it, or use it in a `with`."""

    def __init__(
        self,
        root: str,
        judge: Judge,
        *,
        mounts: Mapping[str, str] | None = None,
        windowed: Collection[str] = (),
        writable: Collection[str] = (),
        permits: frozenset[str] = TOOLS,
        seconds: float = bash_tool.SECONDS,
    ) -> None:
        self.refusals: list[str] = []
        self._view = Sandbox(root, mounts or {}, windowed, writable)
        self._judge = judge
        self._permits = permits
        self._seconds = seconds
        self.shown = {folder: ShownText(folder) for folder in mounts or {}}
        self._tools: dict[str, Callable[..., ToolResult]] = {
            "Read": self._read,
            "Grep": self._grep,
            "Glob": self._glob,
            "Bash": self._bash,
            "Edit": self._edit,
            "Write": self._write,
        }

    def close(self) -> None:
        self._view.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def run(self, name: str, given: Any) -> ToolResult:
        """Answer a call. `given` is JSON as the model sent it."""
        try:
            values = _checked(name, given)
            if name not in self._permits:
                raise NotAllowedError("this job does not permit it")  # noqa: TRY301 - all refusals are handled alike
            result = self._tools[name](**values)
            if not result.is_error:
                for text in self.shown.values():
                    text.note(values, result.text)
        except NotAllowedError as error:
            line = redact(" ".join(f"{name} refused: {error}".split()))
            if len(self.refusals) < _MOST_REFUSALS:
                self.refusals.append(line[:_REFUSAL_CHARACTERS])
            result = ToolResult(f"{line}.", is_error=True)
        except ToolError as error:
            result = ToolResult(f"{name} failed: {error}.", is_error=True)
        except OSError as error:
            result = ToolResult(f"{name} failed: {error.strerror}.", is_error=True)
        return result._replace(text=_bounded(redact(result.text)))

    def keep(self, number: int, text: str) -> str:
        """Put a result where Read and Grep find it whole; return its path. Nothing but memories is ever committed."""
        self.lay_out(_RESULTS, f"{number}.txt", text)
        return f"{_RESULTS}/{number}.txt"

    def lay_out(self, folder: str, name: str, text: str) -> None:
        """Put a file into a folder of its own, for the model to read."""
        self._view.keep(folder, name, text.encode("utf-8", "replace"))

    def _read(self, file_path: str, offset: int = 1, limit: int = _MOST_LINES) -> ToolResult:
        view = self._view.unguarded() if limit <= WINDOW_LINES else self._view
        text, is_cut = view.text(file_path, _FILE_BYTES)
        if not text and _IMAGE.search(file_path):  # no text: nobody can look at it here
            return ToolResult("[image]")
        lines = text.removesuffix("\n").split("\n") if text else []
        end = offset - 1 + min(limit, _MOST_LINES)
        numbered = [f"{number:>6}\t{_short(line)}" for number, line in enumerate(lines[offset - 1 : end], offset)]
        if not numbered:
            return ToolResult(f"[the file has {len(lines)} lines]")
        if is_cut:
            numbered.append(f"[only the first {len(text) >> 10} KB can be read; Grep may look further]")
        elif end < len(lines):
            numbered.append(f"[the file has {len(lines)} lines; go on with offset {end + 1}]")
        return ToolResult("\n".join(numbered))

    def _grep(
        self,
        pattern: str,
        path: str = ".",
        glob: str | None = None,
        *,
        ignore_case: bool = False,
        max_results: int = _USUAL_MATCHES,
    ) -> ToolResult:
        if "\0" in pattern or len(pattern) > _PATTERN_CHARACTERS:
            raise ToolError(f"a pattern has at most {_PATTERN_CHARACTERS} characters and no NUL")
        files = self._view.candidates(glob, path) if glob and "/" in glob else self._view.walk(path)
        names = [entry.name for entry in files if not entry.is_directory]
        if glob is not None:
            wanted = Pattern(glob)
            names = [name for name in names if wanted.matches(name if "/" in glob else name.rpartition("/")[2])]
        arguments = ["-E", "-n", *(["-i"] if ignore_case else []), "-e", pattern]
        output = bash_tool.search(self._view.unguarded(), arguments, names, self._seconds)
        lines = output.text.split("\n")
        most = min(max_results, _WINDOW_MATCHES if any(map(self._view.is_windowed, names)) else _MOST_MATCHES)
        more = [f"[{len(lines) - most} more lines; narrow the search]"] if len(lines) > most else []
        return ToolResult("\n".join((*map(_short, lines[:most]), *more)), is_error=output.is_error)

    def _glob(self, pattern: str, path: str = ".") -> ToolResult:
        wanted = Pattern(pattern)
        with self._view.open(path) as opened:
            if not opened.is_directory:
                raise ToolError(f"{shown(path)} is a file; give a directory")
            start = "" if opened.name == "." else f"{opened.name}/"
        files = [entry.name for entry in self._view.candidates(pattern, path) if not entry.is_directory]
        names = [name for name in files if wanted.matches(name.removeprefix(start))]
        more = [f"[{len(names) - _MOST_NAMES} more names]"] if len(names) > _MOST_NAMES else []
        return ToolResult("\n".join((*names[:_MOST_NAMES], *more)) or "no files match")

    def _bash(self, command: str) -> ToolResult:
        output = bash_tool.run(self._view, command, self._seconds)
        return ToolResult(output.text or "[nothing was printed]", is_error=output.is_error)

    def _edit(
        self, file_path: str, old_string: str, new_string: str, quote: str, *, replace_all: bool = False
    ) -> ToolResult:
        name = self._view.memory_name(file_path)
        before = self._view.memory(name)
        if before is None:
            raise ToolError(f"there is no {shown(name)}; Write makes a new memory")
        try:
            text = before.decode("utf-8")
        except UnicodeDecodeError as error:
            raise NotAllowedError(f"{shown(name)} is no text in UTF-8 and left alone") from error
        if redact(text) != text:
            # Tried word by word, old_string would tell what the secret is; and with other words around it, no one sees that it is one.
            raise NotAllowedError(f"{shown(name)} holds a secret, so only the user edits it")
        if old_string == new_string:
            return ToolResult("old_string and new_string are the same: nothing to change.", is_error=True, is_noop=True)
        count = text.count(old_string) if old_string else 0
        if not count:
            raise ToolError(f"old_string is not in {shown(name)}; Read it and copy the passage exactly")
        if count > 1 and not replace_all:
            raise ToolError(
                f"old_string stands {count} times in {shown(name)}; give more of its surroundings or replace_all"
            )
        # Before the text is made: a letter that stands a thousand times, replaced by a megabyte, is a gigabyte.
        if len(text) + count * (len(new_string) - len(old_string)) > max(MEMORY_BYTES, len(before)):
            raise ToolError(f"{shown(name)} would be larger than {MEMORY_BYTES >> 10} KB")
        after = text.replace(old_string, new_string)
        if not after.strip():
            raise ToolError("nothing would be left; Write with empty content removes a memory")
        _check_text("new_string", new_string)
        return self._put(Writing(name, before, after.encode(), quote), "Edit", len(before))

    def _write(self, file_path: str, content: str, quote: str, kept_in: str = "", from_index: str = "") -> ToolResult:
        name = self._view.memory_name(file_path)
        before = self._view.memory(name)
        _check_text("content", content)
        target = self._view.memory_name(kept_in) if kept_in else ""
        writing = Writing(name, before, content.encode() or None, quote, target, from_index, is_whole=True)
        return self._put(writing, "Write" if content else "Removal")

    def _put(self, writing: Writing, done: str, most_bytes: int = 0) -> ToolResult:
        """Stage what was prepared, if it is anything and the job's judge agrees."""
        name, before, after, quote, *_ = writing
        if before == after:
            text = f"{shown(name)} says exactly that already." if after else f"There is no {shown(name)} to remove."
            return ToolResult(text, is_noop=True)
        if after is not None and len(after) > max(MEMORY_BYTES, most_bytes):
            raise ToolError(f"{shown(name)} would be larger than {MEMORY_BYTES >> 10} KB")
        if after is not None and redact(after.decode()) != after.decode():
            raise NotAllowedError(f"{shown(name)} would hold a secret")
        if len(quote) > _QUOTE_CHARACTERS:
            raise ToolError(f"a quote has at most {_QUOTE_CHARACTERS} characters")
        if why_not := self._judge(writing):
            raise NotAllowedError(why_not.rstrip("."))
        self._view.write(name, after)
        return ToolResult(f"{done} of {name} staged.", changed=True)


def _checked(tool: str, given: Any) -> dict[str, Any]:
    """The parameters of a call, if they are what its schema says. Raises ToolError that says what is expected."""
    schema = next((each["input_schema"] for each in SCHEMAS if each["name"] == tool), None)
    if schema is None:
        raise ToolError(f"there is no such tool; there are {', '.join(_NAMES)}")
    properties, required = schema["properties"], schema["required"]
    expected = ", ".join(
        f"{name}{'' if name in required else '?'}: {each['type']}" for name, each in properties.items()
    )
    if not isinstance(given, dict):
        raise ToolError(f"the input is no object; expected {expected}")
    if missing := [name for name in required if name not in given]:
        raise ToolError(f"{', '.join(missing)} is missing; expected {expected}")
    for name, value in given.items():
        if name not in properties:
            raise ToolError(f"{shown(str(name))} is no parameter; expected {expected}")
        # A bool is an int to Python, and to no model.
        if type(value) is not _TYPES[properties[name]["type"]]:
            raise ToolError(f"{name} is no {properties[name]['type']}; expected {expected}")
        if isinstance(value, str) and _SURROGATE.search(value):
            raise ToolError(f"{name} is no valid Unicode")
        if type(value) is int and value < 1:
            raise ToolError(f"{name} is counted from 1")
    return given


def _check_text(parameter: str, text: str) -> None:
    if "\r" in text:
        raise ToolError(f"{parameter} has other line ends than \\n")
    if _NO_TEXT.search(text):
        raise ToolError(f"{parameter} holds control characters")


def _short(line: str) -> str:
    return line if len(line) <= _LINE_CHARACTERS else f"{line[:_LINE_CHARACTERS]}… [line cut]"


def _bounded(text: str) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= RESULT_BYTES:
        return text
    note = "\n[cut: the result is longer]"
    return data[: RESULT_BYTES - len(note)].decode("utf-8", "ignore") + note
