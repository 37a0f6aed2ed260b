"""Hook events of Claude Code: the JSON that it gives to a hook, and the JSON that it wants to be answered."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Literal

from memoryd.clients.base import HookCall, HookInputError

CALL_MATCHER = "Bash|Edit|Write|MultiEdit|NotebookEdit"
"""The tools before which the client runs a hook: no process is started for the others."""
_MOST_ID_CHARACTERS = 200
_COMMAND = re.compile(r"/[\w:-]+(?:\s|\Z)")
"""A prompt that begins so is one of the client's commands; with another slash behind it, a path."""
_COMPACTED = "compact"
_RESUMED = "resume"
_EMPTY = ("startup", "clear", _COMPACTED)
"""How a session can begin with nothing; after the others it has the whole conversation still."""


def read_hook_call(event: str, given: Any) -> HookCall:
    """Raises HookInputError."""
    if not isinstance(given, dict):
        raise HookInputError("input that is no JSON object")

    def text(name: str) -> str:
        value = given.get(name)
        return value if isinstance(value, str) else ""

    session_id, cwd, source = text("session_id"), text("cwd"), text("source")
    if not session_id or len(session_id) > _MOST_ID_CHARACTERS or not os.path.isabs(cwd):
        raise HookInputError("input without a session or its directory")
    if event == "user-prompt-submit":
        return HookCall("prompt", session_id, cwd, text("transcript_path"), _words(text("prompt")))
    if event == "session-start":
        is_compacted = source == _COMPACTED
        return HookCall(
            "start",
            session_id,
            cwd,
            text("transcript_path"),
            is_compacted=is_compacted,
            is_empty=source in _EMPTY,
            is_resumed=source == _RESUMED,
        )
    if event == "pre-tool-use":
        from memoryd.clients.tool_actions import action_in  # noqa: PLC0415 - only this event needs it

        action = action_in(text("tool_name"), given.get("tool_input"))
        return HookCall("call", session_id, cwd, text("transcript_path"), action=action, call_id=text("tool_use_id"))
    kind: Literal["end", "release"] = "end" if event == "stop" else "release"
    return HookCall(kind, session_id, cwd, text("transcript_path"), is_before_compaction=event == "pre-compact")


def hook_answer(event: str, text: str, notice: str = "") -> str:
    answer: dict[str, Any] = {"systemMessage": notice} if notice else {}
    if text:
        answer["hookSpecificOutput"] = {"hookEventName": _event_name(event), "additionalContext": text}
    return json.dumps(answer)


def hook_refusal(event: str, reason: str) -> str:
    decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": {"hookEventName": _event_name(event), **decision}})


def _event_name(event: str) -> str:
    return "".join(word.capitalize() for word in event.split("-"))


def _words(prompt: str) -> str:
    """The user's words; empty for a command of the client."""
    from memoryd.clients.claude_code.injected_text import words_in_string  # noqa: PLC0415 - only this event needs it

    words = words_in_string(prompt)
    return "" if _COMMAND.match(words) else words
