"""Qwen Code, as memoryd sees it: a file of appended lines for each session."""

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


class QwenCodeClient(SessionFiles, HookDialect):
    name = "qwen-code"
    title = "Qwen Code"
    resume_arguments = ("qwen", "--resume")
    call_pattern = rb'"functionCall" ?:'
    compaction_mark = b'"chat_compression"'
    moved_by = ("QWEN_HOME", "QWEN_RUNTIME_DIR")
    program = "qwen"
    events = (
        HookEvent("UserPromptSubmit", "prompt"),
        HookEvent("SessionStart", "start"),
        HookEvent("PreToolUse", "call", "run_shell_command|write_file|edit"),
        HookEvent("Stop", "end"),
        HookEvent("PreCompact", "release", is_before_compaction=True),
        HookEvent("SessionEnd", "release", timeout_seconds=2),
    )
    timeout_unit = 1000

    def session_places(self, paths: Paths, projects: Sequence[str]) -> tuple[SessionPlace, ...]:  # noqa: ARG002
        """Beside the settings, and in the directory that the user has named for what it writes."""
        from memoryd.clients.connections import json_in
        from memoryd.sources.scan import SessionPlace

        advanced = json_in(os.path.join(self.settings_folder(paths), "settings.json")).get("advanced")
        by_setting = advanced.get("runtimeOutputDir") if isinstance(advanced, dict) else None
        named = paths.moved.get("QWEN_RUNTIME_DIR") or paths.expand(str(by_setting or ""))
        roots = dict.fromkeys((self.settings_folder(paths), named or self.settings_folder(paths)))
        return tuple(SessionPlace(os.path.join(root, "projects"), ("*", "chats")) for root in roots)

    def decoder(self, path: str) -> Decoder:
        from memoryd.clients.qwen_code.entries import decoder_of

        return decoder_of(path)

    def instruction_files_at(self, cwd: str, paths: Paths) -> list[tuple[str, str]]:
        from memoryd.clients.instruction_files import files_on_the_way

        return files_on_the_way(cwd, ("QWEN.md", "AGENTS.md"), (os.path.join(self.settings_folder(paths), "QWEN.md"),))

    def own_memories(self, paths: Paths) -> list[str]:
        """On by default: an agent of its own writes there after a turn."""
        projects = os.path.join(self.settings_folder(paths), "projects")
        folders = sorted(os.listdir(projects)) if os.path.isdir(projects) else []
        places = [os.path.join(projects, folder, "memory") for folder in folders]
        return [
            place for place in (os.path.join(self.settings_folder(paths), "memories"), *places) if os.path.isdir(place)
        ]

    # --- handing back -------------------------------------------------------------------------------------------------

    def settings_folder(self, paths: Paths) -> str:
        return paths.directory("QWEN_HOME", ".qwen")

    def pieces(self, paths: Paths, python: str) -> tuple[ClientPiece, ...]:
        from memoryd.clients.connections import settings_pieces

        return settings_pieces(
            os.path.join(self.settings_folder(paths), "settings.json"), self.hook_entries(python), python
        )

    def obstacle(self, paths: Paths, python: str) -> Obstacle | None:  # noqa: ARG002
        from memoryd.clients.connections import switched_off

        return switched_off(
            self.title, os.path.join(self.settings_folder(paths), "settings.json"), "disableAllHooks", by=True
        )
