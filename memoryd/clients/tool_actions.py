"""Tool calls by what they do: which files they read or change, the command they run, the plan they keep.

Told by the shape of a call's input and not by the names of one client's tools: clients name theirs differently, and nearly
all give a path, a command or a list of steps under the same few keys.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any, Literal

from memoryd.clients.written_paths import written_by
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from typing import SupportsBytes

    from memoryd.model import ToolCall

_PATH_KEYS = ("file_path", "notebook_path", "absolute_path", "filePath", "path", "target_file", "filename")
_PASSAGE_KEYS = (
    *("new_string", "new_str", "newString", "newText", "new_source", "content", "contents", "file_text", "edits"),
    *("replacement", "diff", "patch", "insert_text"),
)
_REPLACED_KEYS = ("old_string", "old_str", "oldString", "oldText")
_COMMAND_KEYS = ("command", "cmd", "script")
_PLAN_KEYS = ("todos", "plan", "items")
_STEP_KEYS = ("content", "step", "text", "title", "description", "subject")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
_READING = re.compile(r"read|view|cat|open|fetch", re.IGNORECASE)
_DONE = ("completed", "done", "cancelled", "deleted")
_MOST_ANSWER_BYTES = 1 << 20
_MOST_PASSAGE_CHARACTERS = 20_000
"""Of a list of edits."""


class PlanStep(NamedTuple):
    text: str
    status: str = ""
    """As the client calls it: pending, in_progress, completed."""
    id: str = ""

    @property
    def is_done(self) -> bool:
        return self.status.lower() in _DONE


class ToolAction(NamedTuple):
    """One call, as far as its input tells."""

    kind: Literal["read", "change", "run", "plan", "skill", "other"]
    files: tuple[str, ...] = ()
    """Those that are read or changed, as the call spells them."""
    command: str = ""
    passage: str = ""
    """The text that a change puts in place."""
    replaced: str = ""
    """The text that stood there before, where the call has it."""
    plan: tuple[PlanStep, ...] | None = None
    """The whole plan as it is from now on; None where the call is about one step, or none."""
    step: PlanStep | None = None
    """A step that is added, or, with an id that is known, changed."""
    skill: str = ""


def action_of(call: ToolCall) -> ToolAction:
    """Never raises: an input that cannot be understood is of kind `other`."""
    return action_in(call.name, _given(call.given))


def action_in(name: str, given: Any) -> ToolAction:
    """The same, of a tool and an input that was read before."""
    if isinstance(given, str):  # a tool with a free text as input: of those only patches tell which files they change
        return _patch(given)
    if not isinstance(given, dict):
        return ToolAction("other")
    if name.lower() == "skill":
        return ToolAction("skill", skill=_first_text(given, ("skill", "command", "name")))
    path = _first_text(given, _PATH_KEYS)
    if plan := _plan(given, path):
        return plan
    if path:
        if any(key in given for key in _PASSAGE_KEYS):  # an empty one takes text away
            passage, replaced = _passage_of(given), _text_of(given, _REPLACED_KEYS)
            return ToolAction("change", (path,), passage=passage, replaced=replaced)
        return ToolAction("read" if _READING.search(f"{name} {given.get('command', '')}") else "other", (path,))
    command = next((given[key] for key in _COMMAND_KEYS if given.get(key)), "")
    if isinstance(command, list):  # as for exec: the program and its arguments, mostly a shell and a script
        words = [str(word) for word in command]
        command = words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else shlex.join(words)  # noqa: PLR2004
    if isinstance(command, str) and command:
        return ToolAction("run", tuple(_patched_files(command) or written_by(command)), command)
    return _patch(_first_text(given, ("input", "patch", "patchText", "diff")))


def answer_text(content: SupportsBytes) -> str:
    """What a tool answered, as text; empty where it is none, or more than anybody reads."""
    data = bytes(content)
    if len(data) > _MOST_ANSWER_BYTES:
        return ""
    value = _given(data)
    if isinstance(value, str):
        return value
    blocks = value if isinstance(value, list) else [value]
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _passage_of(given: dict[str, Any]) -> str:
    """The text that a change puts in place; of several edits the text of each."""
    passage = next((given[key] for key in _PASSAGE_KEYS if given.get(key)), "")
    if isinstance(passage, str):
        return passage
    return _text_of({"edits": passage}, _PASSAGE_KEYS) or json.dumps(passage)[:_MOST_PASSAGE_CHARACTERS]


def _text_of(given: dict[str, Any], keys: tuple[str, ...]) -> str:
    """The text under one of the keys; of a list of edits, that of all of them."""
    edits = given.get("edits")
    parts = edits if isinstance(edits, list) else [given]
    return "\n".join(_first_text(part, keys) for part in parts if isinstance(part, dict))[:_MOST_PASSAGE_CHARACTERS]


def _plan(given: dict[str, Any], path: str) -> ToolAction | None:
    for key in _PLAN_KEYS:
        value = given.get(key)
        if isinstance(value, list) and not path:
            steps = [
                PlanStep(_first_text(item, _STEP_KEYS), _first_text(item, ("status",)), _first_text(item, ("id",)))
                for item in value
                if isinstance(item, dict)
            ]
            return ToolAction("plan", plan=tuple(step for step in steps if step.text))
        if key == "plan" and isinstance(value, str) and value and not path:
            return ToolAction("plan", passage=value)
    if task := _first_text(given, ("taskId", "task_id")):
        status = _first_text(given, ("status",))
        return ToolAction("plan", step=PlanStep(_first_text(given, ("subject",)), status, task)) if status else None
    if isinstance(given.get("subject"), str) and given["subject"] and "description" in given:
        return ToolAction("plan", step=PlanStep(given["subject"], "pending"))
    return None


def _patch(text: str) -> ToolAction:
    files = _patched_files(text)
    return ToolAction("change", tuple(files), passage=text) if files else ToolAction("other")


def _patched_files(text: str) -> list[str]:
    return [(match[1] or match[2]).strip() for match in _PATCHED.finditer(text)]


def _given(value: SupportsBytes) -> Any:
    try:
        return json.loads(bytes(value))
    except (ValueError, RecursionError):
        return None


def _first_text(given: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((value for key in keys if isinstance(value := given.get(key), str) and value), "")
