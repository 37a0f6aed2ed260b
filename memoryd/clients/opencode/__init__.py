"""opencode, as memoryd sees it: its sessions are rows of a live SQLite database."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.clients.hook_dialect import HookEvent
from memoryd.clients.script_hooks import ScriptHooks
from memoryd.clients.session_database import SessionDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.clients.base import Decoder
    from memoryd.clients.connections import ClientPiece
    from memoryd.model import Found
    from memoryd.paths import Paths
    from memoryd.sources.database import ForeignDatabase
    from memoryd.sources.rows import SessionRow
    from memoryd.sources.scan import SessionPlace
    from memoryd.sources.session import OpenSession


class OpencodeClient(SessionDatabase, ScriptHooks):
    name = "opencode"
    title = "opencode"
    resume_arguments = ("opencode", "--session")
    call_pattern = rb'"type":"tool"'
    compaction_mark = b'"is_summary":true'
    moved_by = ("OPENCODE_DB",)
    program = "opencode"
    events = (
        HookEvent("chat-message", "prompt"),
        HookEvent("session-created", "start"),
        HookEvent("tool-execute-before", "call"),
        HookEvent("session-idle", "end"),
    )

    # --- its sessions -------------------------------------------------------------------------------------------------

    def session_places(self, paths: Paths, projects: Sequence[str]) -> tuple[SessionPlace, ...]:  # noqa: ARG002
        from memoryd.sources.scan import SessionPlace

        root = os.path.join(paths.directory("XDG_DATA_HOME", ".local/share"), "opencode")
        moved = paths.moved.get("OPENCODE_DB")
        roots = dict.fromkeys((root, os.path.dirname(moved) if moved else root))
        return tuple(SessionPlace(root, ()) for root in roots)

    def is_database(self, name: str) -> bool:
        """`opencode.db`, or `opencode-dev.db` of another channel than the released one."""
        return name.startswith("opencode") and name.endswith(".db")

    def sessions_in(self, database: ForeignDatabase) -> Iterator[SessionRow]:
        from memoryd.clients.opencode.rows import sessions_in

        return sessions_in(database)

    def session_of(self, database: ForeignDatabase, file: Found, session_id: str) -> OpenSession:
        from memoryd.clients.opencode.rows import OpencodeSession

        return OpencodeSession(database, file, session_id)

    def decoder(self, path: str) -> Decoder:  # noqa: ARG002 - every line says whose it is
        from memoryd.clients.opencode.entries import entries_of

        return entries_of

    # --- its instructions and its own memory --------------------------------------------------------------------------

    def instruction_files_at(self, cwd: str, paths: Paths) -> list[tuple[str, str]]:
        """CLAUDE.md and the user's own are read only where there is no AGENTS.md."""
        from memoryd.clients.instruction_files import files_on_the_way

        config = self.settings_folder(paths)
        found = files_on_the_way(cwd, ("AGENTS.md",), (os.path.join(config, "AGENTS.md"),))
        return found or files_on_the_way(cwd, ("CLAUDE.md",), (os.path.join(paths.claude_dir, "CLAUDE.md"),))

    # --- handing back -------------------------------------------------------------------------------------------------

    def words_of(self, prompt: str) -> str:
        """`opencode run` puts marks around what was typed."""
        words = super().words_of(prompt)
        return words[1:-1] if len(words) > 1 and words[0] == words[-1] == '"' else words

    def settings_folder(self, paths: Paths) -> str:
        return os.path.join(paths.directory("XDG_CONFIG_HOME", ".config"), "opencode")

    def pieces(self, paths: Paths, python: str) -> tuple[ClientPiece, ...]:
        """The MCP server; the plugin only where its package is: without it, each start fetches that, and waits for it."""
        from memoryd.clients.connections import ClientPiece
        from memoryd.clients.hook_dialect import command_of
        from memoryd.clients.json_entries import SERVER, SettingsEntry
        from memoryd.clients.script_hooks import beside, script_text

        folder = self.settings_folder(paths)
        server = {"type": "local", "command": [*command_of(python), "mcp", "--stdio"], "enabled": True}
        entry = SettingsEntry(("mcp", SERVER), server)
        settings = ClientPiece(os.path.join(folder, "opencode.json"), "json", "MCP server", (entry,))
        if not os.path.isdir(os.path.join(folder, "node_modules", "@opencode-ai", "plugin")):
            return (settings,)
        text = script_text(beside(__file__, "plugin.js"), python)
        return (settings, ClientPiece(os.path.join(folder, "plugin", "memoryd.js"), "file", "plugin", text=text))
