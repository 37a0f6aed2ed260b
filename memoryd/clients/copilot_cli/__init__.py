"""GitHub Copilot CLI, as memoryd sees it: a folder for each session, with a file of appended events."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.clients.session_files import SessionFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.clients.base import Decoder, RecentActivity
    from memoryd.paths import Paths
    from memoryd.sources.scan import SessionPlace


class CopilotClient(SessionFiles):
    name = "copilot-cli"
    title = "Copilot CLI"

    def session_places(self, paths: Paths, projects: Sequence[str]) -> tuple[SessionPlace, ...]:  # noqa: ARG002
        from memoryd.sources.scan import SessionPlace

        return (SessionPlace(os.path.join(_home(paths), "session-state")),)

    def is_session(self, name: str) -> bool:
        return name == "events.jsonl"

    def session_id(self, path: str) -> str:
        return os.path.basename(os.path.dirname(path))

    def decoder(self, path: str) -> Decoder:
        from memoryd.clients.copilot_cli.entries import decoder_of

        return decoder_of(path)

    def resume_words(self, session_id: str) -> tuple[str, ...]:
        return ("copilot", "--resume", session_id)

    def recent_activity(self, data: bytes, directory: str) -> RecentActivity:
        import re

        from memoryd.clients.recent_activity import recent_activity

        return recent_activity(
            data, directory, re.compile(rb'"type" ?: ?"tool.execution_start"'), b'"session.compaction_complete"'
        )

    def instruction_files_at(self, cwd: str, paths: Paths) -> list[tuple[str, str]]:  # noqa: ARG002 - all lie on the way
        from memoryd.clients.instruction_files import files_on_the_way

        return files_on_the_way(cwd, ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"), ())

    def own_memories(self, paths: Paths) -> list[str]:  # noqa: ARG002
        """Its memory is kept by a service, not on this machine."""
        return []


def _home(paths: Paths) -> str:
    return paths.directory("COPILOT_HOME", ".copilot")
