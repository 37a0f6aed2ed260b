"""Gemini CLI, as memoryd sees it: a file of appended lines for each session, an older one as one JSON document."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.clients.hook_dialect import HookDialect, HookEvent
from memoryd.clients.session_files import SessionFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.clients.base import Decoder
    from memoryd.clients.connections import ClientPiece, Obstacle
    from memoryd.paths import Paths
    from memoryd.sources.scan import SessionPlace
    from memoryd.sources.session import OpenSession


class GeminiClient(SessionFiles, HookDialect):
    name = "gemini-cli"
    title = "Gemini CLI"
    resume_arguments = ("gemini", "--resume")
    call_pattern = rb'"toolCalls" ?: ?\[.{0,400}?(?="name")'
    compaction_mark = b'"$rewindTo"'
    deletes_early = True  # at its next start, sessions that were gone on with in another minute, and failed ones
    moved_by = ("GEMINI_CLI_HOME",)
    program = "gemini"
    # PreCompress is run before every request to the model, and tells nothing about a compaction.
    events = (
        HookEvent("BeforeAgent", "prompt"),
        HookEvent("SessionStart", "start"),
        HookEvent("BeforeTool", "call", "run_shell_command|write_file|replace"),
        HookEvent("AfterAgent", "end"),
        HookEvent("SessionEnd", "release", timeout_seconds=2),
    )
    timeout_unit = 1000

    def session_places(self, paths: Paths, projects: Sequence[str]) -> tuple[SessionPlace, ...]:  # noqa: ARG002
        from memoryd.sources.scan import SessionPlace

        return (SessionPlace(os.path.join(self.settings_folder(paths), "tmp"), ("*", "chats")),)

    def is_session(self, name: str) -> bool:
        return name.startswith("session-") and name.endswith((".jsonl", ".json"))

    def session_id(self, path: str) -> str:
        """The name of a file has only the beginning of it."""
        from memoryd.clients.gemini_cli.entries import session_id_of

        return session_id_of(path)

    def open_session(self, path: str) -> OpenSession:
        from memoryd.clients.gemini_cli.documents import open_document

        return open_document(path) if path.endswith(".json") else super().open_session(path)

    def decoder(self, path: str) -> Decoder:
        from memoryd.clients.gemini_cli.entries import decoder_of

        return decoder_of(path)

    def instruction_files_at(self, cwd: str, paths: Paths) -> list[tuple[str, str]]:
        from memoryd.clients.instruction_files import files_on_the_way

        return files_on_the_way(cwd, ("GEMINI.md",), (os.path.join(self.settings_folder(paths), "GEMINI.md"),))

    def own_memories(self, paths: Paths) -> list[str]:
        """On by default: its model is told to write there."""
        tmp = os.path.join(self.settings_folder(paths), "tmp")
        folders = sorted(os.listdir(tmp)) if os.path.isdir(tmp) else []
        return [place for folder in folders if os.path.isdir(place := os.path.join(tmp, folder, "memory"))]

    # --- handing back -------------------------------------------------------------------------------------------------

    def words_of(self, prompt: str) -> str:
        """What its hooks have said at the session's start stands before the first prompt."""
        from memoryd.clients.gemini_cli.hook_context import without_hook_context

        return super().words_of(without_hook_context(prompt))

    def hook_answer(self, event: str, text: str, notice: str = "") -> str:
        """Nothing can be said with a tool call but no."""
        return "" if event == "before-tool" else super().hook_answer(event, text, notice)

    def hook_refusal(self, event: str, reason: str) -> str:  # noqa: ARG002 - only one event can be refused
        import json

        return json.dumps({"decision": "deny", "reason": reason})

    def settings_folder(self, paths: Paths) -> str:
        return os.path.join(paths.directory("GEMINI_CLI_HOME", ""), ".gemini")

    def pieces(self, paths: Paths, python: str) -> tuple[ClientPiece, ...]:
        from memoryd.clients.connections import settings_pieces

        return settings_pieces(
            os.path.join(self.settings_folder(paths), "settings.json"), self.hook_entries(python), python
        )

    def obstacle(self, paths: Paths, python: str) -> Obstacle | None:  # noqa: ARG002
        from memoryd.clients.connections import switched_off

        return switched_off(
            self.title, os.path.join(self.settings_folder(paths), "settings.json"), "hooksConfig", "enabled", by=False
        )
