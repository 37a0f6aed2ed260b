"""Hook events of clients: what most of them give to a hook and want to be answered. Each client differs in a few names.

A client's folder has its events, and what is not as it is here.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal

from memoryd.clients.base import HookCall, HookInputError
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from memoryd.clients.json_entries import SettingsEntry

_MOST_ID_CHARACTERS = 200
_COMPACTED = "compact"
_RESUMED = "resume"
_EMPTY = ("startup", "new", "clear", _COMPACTED)
"""How a session can begin with nothing; after the others it has the whole conversation still."""


class HookEvent(NamedTuple):
    name: str
    """As the client spells it."""
    kind: Literal["prompt", "start", "call", "end", "release"]
    matcher: str = ""
    """The tools that it is run for; empty: it is not about tools."""
    is_before_compaction: bool = False
    timeout_seconds: int = 5

    @property
    def argument(self) -> str:
        """As `memoryd hook` is told."""
        return event_named(self.name)


class HookFields(NamedTuple):
    """What a client calls the members of the JSON that it gives to a hook."""

    session: str = "session_id"
    transcript: str = "transcript_path"
    tool: str = "tool_name"
    tool_input: str = "tool_input"
    call: str = "tool_use_id"


def event_named(given: str) -> str:
    """An event by our name for it: `UserPromptSubmit`, as clients spell it, is `user-prompt-submit`."""
    words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in given.replace("_", "-"))
    return words.lstrip("-")


def command_of(python: str) -> tuple[str, ...]:
    """The program and its first arguments. -P: it is started in the user's project, which is not to be imported from.

    Python itself, not the script beside it: a client that does not know `args` then runs a program that ends with 1, not
    with the usage error 2, which would erase the user's prompt.
    """
    return (python, "-P", "-m", "memoryd")


class HookDialect:
    """The part of the contract that is about hooks, as in Claude Code, from which most clients have taken it."""

    name: str
    events: tuple[HookEvent, ...]
    fields = HookFields()
    shows_notices = True
    timeout_unit = 1
    """How many of the client's units of time are a second."""

    @property
    def hook_events(self) -> tuple[str, ...]:
        return tuple(event.argument for event in self.events)

    def read_hook_call(self, event: str, given: Any) -> HookCall:
        """Raises HookInputError."""
        if not isinstance(given, dict):
            raise HookInputError("input that is no JSON object")

        def text(name: str) -> str:
            value = given.get(name)
            return value if isinstance(value, str) else ""

        found, fields, source = self._event(event), self.fields, text("source")
        session_id, cwd = text(fields.session), text("cwd")
        if not session_id or len(session_id) > _MOST_ID_CHARACTERS or not os.path.isabs(cwd):
            raise HookInputError("input without a session or its directory")
        call = HookCall(found.kind, session_id, cwd, text(fields.transcript))
        if found.kind == "prompt":
            return call._replace(prompt=self.words_of(text("prompt")))
        if found.kind == "start":
            return call._replace(
                is_compacted=source == _COMPACTED, is_empty=source in _EMPTY, is_resumed=source == _RESUMED
            )
        if found.kind == "call":
            from memoryd.clients.tool_actions import action_in

            action = action_in(text(fields.tool), given.get(fields.tool_input))
            return call._replace(action=action, call_id=text(fields.call))
        return call._replace(is_before_compaction=found.is_before_compaction)

    def hook_answer(self, event: str, text: str, notice: str = "") -> str:
        answer: dict[str, Any] = {"systemMessage": notice} if notice else {}
        if text:
            answer["hookSpecificOutput"] = {"hookEventName": self._event(event).name, "additionalContext": text}
        return json.dumps(answer)

    def hook_refusal(self, event: str, reason: str) -> str:
        decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
        return json.dumps({"hookSpecificOutput": {"hookEventName": self._event(event).name, **decision}})

    def words_of(self, prompt: str) -> str:
        """The user's words in a prompt that a hook is given."""
        from memoryd.clients.own_recall import without_recall

        return without_recall(prompt)

    # --- in its settings ----------------------------------------------------------------------------------------------

    def hook_command(self, event: HookEvent, python: str) -> str:
        import shlex

        return shlex.join((*command_of(python), "hook", event.argument, "--client", self.name))

    def hook_group(self, event: HookEvent, python: str) -> dict[str, Any]:
        """What stands in the client's list for an event."""
        entry = {
            "type": "command",
            "command": self.hook_command(event, python),
            "timeout": event.timeout_seconds * self.timeout_unit,
        }
        return {**({"matcher": event.matcher} if event.matcher else {}), "hooks": [entry]}

    def hook_entries(self, python: str) -> tuple[SettingsEntry, ...]:
        from memoryd.clients.json_entries import HOOKS, SettingsEntry

        return tuple(SettingsEntry((HOOKS, event.name), self.hook_group(event, python)) for event in self.events)

    def _event(self, argument: str) -> HookEvent:
        return next(event for event in self.events if event.argument == argument)


def server_entry(python: str, **more: Any) -> dict[str, Any]:
    """Memoryd's MCP server, as most clients have it in their settings."""
    program, *arguments = command_of(python)
    return {**more, "command": program, "args": [*arguments, "mcp", "--stdio"]}
