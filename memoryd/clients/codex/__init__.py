"""OpenAI Codex CLI, as memoryd sees it: sessions by day, one file of appended lines in each."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from memoryd.clients.hook_dialect import HookDialect, HookEvent
from memoryd.clients.session_files import SessionFiles

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memoryd.clients.base import Decoder
    from memoryd.clients.connections import ClientPiece, Obstacle
    from memoryd.model import Inventory
    from memoryd.paths import Paths
    from memoryd.sources.scan import SessionPlace

_COMPRESSED = ".zst"
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class CodexClient(SessionFiles, HookDialect):
    name = "codex"
    title = "Codex"
    resume_arguments = ("codex", "resume")
    call_pattern = rb'"type" ?: ?"(?:function_call|custom_tool_call|local_shell_call)"'
    compaction_mark = b'"type":"compacted"'
    moved_by = ("CODEX_HOME",)
    program = "codex"
    events = (
        HookEvent("UserPromptSubmit", "prompt"),
        HookEvent("SessionStart", "start"),
        HookEvent("PreToolUse", "call", "Bash|apply_patch"),
        HookEvent("Stop", "end"),
        HookEvent("PreCompact", "release", is_before_compaction=True),
        HookEvent("SessionEnd", "release", timeout_seconds=2),
    )

    def session_places(self, paths: Paths, projects: Sequence[str]) -> tuple[SessionPlace, ...]:  # noqa: ARG002
        from memoryd.sources.scan import SessionPlace

        home = self.settings_folder(paths)
        return (
            SessionPlace(os.path.join(home, "sessions"), ("[0-9]*", "[0-9]*", "[0-9]*")),
            SessionPlace(os.path.join(home, "archived_sessions"), ()),
        )

    def is_session(self, name: str) -> bool:
        """Files of sub-agents have such names too; their first line tells."""
        return name.startswith("rollout-") and name.endswith(".jsonl")

    def inventory(self, place: SessionPlace, only: Collection[str] | None = None) -> Inventory:
        """With the old sessions that Codex has compressed, which are told and not read: Python has nothing for that."""
        from memoryd.sources.scan import inventory

        def is_either(name: str) -> bool:
            return self.is_session(name.removesuffix(_COMPRESSED))

        listed = inventory(place, is_either, only)
        odd = dict(listed.odd)
        odd |= {file.path: "compressed" for file in listed.found if file.path.endswith(_COMPRESSED)}
        return listed._replace(found=tuple(file for file in listed.found if file.path not in odd), odd=odd)

    def session_id(self, path: str) -> str:
        found = _ID.search(os.path.basename(path))
        return found[0] if found else super().session_id(path)

    def decoder(self, path: str) -> Decoder:
        from memoryd.clients.codex.entries import decoder_of

        return decoder_of(path)

    def instruction_files_at(self, cwd: str, paths: Paths) -> list[tuple[str, str]]:
        from memoryd.clients.instruction_files import files_on_the_way

        return files_on_the_way(cwd, ("AGENTS.md",), (os.path.join(self.settings_folder(paths), "AGENTS.md"),))

    def own_memories(self, paths: Paths) -> list[str]:
        folder = os.path.join(self.settings_folder(paths), "memories")
        return [folder] if os.path.isdir(folder) else []

    # --- handing back -------------------------------------------------------------------------------------------------

    def settings_folder(self, paths: Paths) -> str:
        return paths.directory("CODEX_HOME", ".codex")

    def pieces(self, paths: Paths, python: str) -> tuple[ClientPiece, ...]:
        from memoryd.clients.codex.connection import pieces

        return pieces(self.settings_folder(paths), self.hook_entries(python), python)

    def obstacle(self, paths: Paths, python: str) -> Obstacle | None:
        from memoryd.clients.codex.connection import obstacle

        return obstacle(self.settings_folder(paths), self.hook_entries(python))
