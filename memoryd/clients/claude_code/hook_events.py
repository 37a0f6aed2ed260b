"""Hook events of Claude Code, and the user's words in a prompt that a hook of it is given."""

from __future__ import annotations

import re

from memoryd.clients.hook_dialect import HookDialect, HookEvent

CALL_MATCHER = "Bash|Edit|Write|MultiEdit|NotebookEdit"
"""The tools before which the client runs a hook: no process is started for the others."""
_COMMAND = re.compile(r"/[\w:-]+(?:\s|\Z)")
"""A prompt that begins so is one of the client's commands; with another slash behind it, a path."""


class ClaudeCodeHooks(HookDialect):
    events = (
        HookEvent("UserPromptSubmit", "prompt"),
        HookEvent("SessionStart", "start"),
        HookEvent("Stop", "end"),
        HookEvent("PreCompact", "release", is_before_compaction=True),
        HookEvent("SessionEnd", "release", timeout_seconds=2),
        HookEvent("PreToolUse", "call", CALL_MATCHER),
    )

    def words_of(self, prompt: str) -> str:
        """Empty for a command of the client."""
        from memoryd.clients.claude_code.injected_text import words_in_string

        words = words_in_string(prompt)
        return "" if _COMMAND.match(words) else words
