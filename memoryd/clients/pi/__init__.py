"""The coding agent pi, as memoryd sees it: a file of appended lines for each session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.clients.hook_dialect import HookEvent
from memoryd.clients.script_hooks import ScriptHooks
from memoryd.clients.session_files import SessionFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.clients.base import Decoder
    from memoryd.clients.connections import ClientPiece
    from memoryd.paths import Paths
    from memoryd.sources.scan import SessionPlace


class PiClient(SessionFiles, ScriptHooks):
    name = "pi"
    title = "pi"
    resume_arguments = ("pi", "--session")
    call_pattern = rb'"type" ?: ?"toolCall"'
    compaction_mark = b'"type":"compaction"'
    moved_by = ("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR")
    program = "pi"
    events = (
        HookEvent("before-agent-start", "prompt"),
        HookEvent("session-start", "start"),
        HookEvent("tool-call", "call"),
        HookEvent("agent-end", "end"),
        HookEvent("session-before-compact", "release", is_before_compaction=True),
    )

    def session_places(self, paths: Paths, projects: Sequence[str]) -> tuple[SessionPlace, ...]:  # noqa: ARG002
        """By default a folder for each project; in a directory that the user has named, all sessions."""
        from memoryd.clients.connections import json_in
        from memoryd.sources.scan import SessionPlace

        by_setting = paths.expand(
            str(json_in(os.path.join(self.settings_folder(paths), "settings.json")).get("sessionDir", ""))
        )
        named = paths.moved.get("PI_CODING_AGENT_SESSION_DIR") or by_setting
        default = SessionPlace(os.path.join(self.settings_folder(paths), "sessions"))
        return (default, SessionPlace(named, ())) if named else (default,)

    def session_id(self, path: str) -> str:
        """A file is named by its time and its session."""
        return super().session_id(path).rpartition("_")[2]

    def decoder(self, path: str) -> Decoder:
        from memoryd.clients.pi.entries import decoder_of

        return decoder_of(path)

    def instruction_files_at(self, cwd: str, paths: Paths) -> list[tuple[str, str]]:
        from memoryd.clients.instruction_files import files_on_the_way

        return files_on_the_way(cwd, ("AGENTS.md",), (os.path.join(self.settings_folder(paths), "AGENTS.md"),))

    # --- handing back -------------------------------------------------------------------------------------------------

    def settings_folder(self, paths: Paths) -> str:
        return paths.directory("PI_CODING_AGENT_DIR", ".pi/agent")

    def pieces(self, paths: Paths, python: str) -> tuple[ClientPiece, ...]:
        """Its extension. It knows no MCP servers."""
        from memoryd.clients.connections import ClientPiece
        from memoryd.clients.script_hooks import beside, script_text

        text = script_text(beside(__file__, "extension.ts"), python)
        return (
            ClientPiece(
                os.path.join(self.settings_folder(paths), "extensions", "memoryd.ts"), "file", "extension", text=text
            ),
        )
