"""GitHub Copilot CLI, as memoryd sees it: a folder for each session, with a file of appended events."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.clients.hook_dialect import HookDialect, HookEvent, HookFields
from memoryd.clients.session_files import SessionFiles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from memoryd.clients.base import Decoder
    from memoryd.clients.connections import ClientPiece, Obstacle
    from memoryd.paths import Paths
    from memoryd.sources.scan import SessionPlace


class CopilotClient(SessionFiles, HookDialect):
    name = "copilot-cli"
    title = "Copilot CLI"
    resume_arguments = ("copilot", "--resume")
    call_pattern = rb'"type" ?: ?"tool.execution_start"'
    compaction_mark = b'"session.compaction_complete"'
    moved_by = ("COPILOT_HOME",)
    program = "copilot"
    events = (
        HookEvent("userPromptSubmitted", "prompt"),
        HookEvent("sessionStart", "start"),
        HookEvent("preToolUse", "call"),
        HookEvent("agentStop", "end"),
        HookEvent("sessionEnd", "release", timeout_seconds=2),
    )
    shows_notices = False
    fields = HookFields("sessionId", "transcriptPath", "toolName", "toolArgs", "toolCallId")

    def session_places(self, paths: Paths, projects: Sequence[str]) -> tuple[SessionPlace, ...]:  # noqa: ARG002
        from memoryd.sources.scan import SessionPlace

        return (SessionPlace(os.path.join(self.settings_folder(paths), "session-state")),)

    def is_session(self, name: str) -> bool:
        return name == "events.jsonl"

    def session_id(self, path: str) -> str:
        return os.path.basename(os.path.dirname(path))

    def decoder(self, path: str) -> Decoder:
        from memoryd.clients.copilot_cli.entries import decoder_of

        return decoder_of(path)

    def instruction_files_at(self, cwd: str, paths: Paths) -> list[tuple[str, str]]:  # noqa: ARG002 - all lie on the way
        from memoryd.clients.instruction_files import files_on_the_way

        return files_on_the_way(cwd, ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"), ())

    # --- handing back -------------------------------------------------------------------------------------------------

    def hook_answer(self, event: str, text: str, notice: str = "") -> str:  # noqa: ARG002
        """At the top level: what it gets elsewhere it passes over. Nothing can be said with a tool call but no."""
        import json

        return json.dumps({"additionalContext": text}) if text and event != "pre-tool-use" else ""

    def hook_refusal(self, event: str, reason: str) -> str:  # noqa: ARG002 - only one event can be refused
        import json

        return json.dumps({"permissionDecision": "deny", "permissionDecisionReason": reason})

    def hook_group(self, event: HookEvent, python: str) -> dict[str, Any]:
        """An entry without a group around it."""
        return {"type": "command", "bash": self.hook_command(event, python), "timeoutSec": event.timeout_seconds}

    def settings_folder(self, paths: Paths) -> str:
        return paths.directory("COPILOT_HOME", ".copilot")

    def pieces(self, paths: Paths, python: str) -> tuple[ClientPiece, ...]:
        from memoryd.clients.connections import ClientPiece
        from memoryd.clients.hook_dialect import server_entry
        from memoryd.clients.json_entries import SERVER, SettingsEntry

        server = {**server_entry(python, type="local"), "tools": ["*"]}
        return (
            ClientPiece(
                os.path.join(self.settings_folder(paths), "settings.json"), "json", "hooks", self.hook_entries(python)
            ),
            ClientPiece(
                os.path.join(self.settings_folder(paths), "mcp-config.json"),
                "json",
                "MCP server",
                (SettingsEntry(("mcpServers", SERVER), server),),
            ),
        )

    def obstacle(self, paths: Paths, python: str) -> Obstacle | None:  # noqa: ARG002
        from memoryd.clients.connections import switched_off

        return switched_off(
            self.title, os.path.join(self.settings_folder(paths), "settings.json"), "disableAllHooks", by=True
        )
