"""The coding agent pi, as memoryd sees it: a file of appended lines for each session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.clients.session_files import SessionFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.clients.base import Decoder, RecentActivity
    from memoryd.paths import Paths
    from memoryd.sources.scan import SessionPlace


class PiClient(SessionFiles):
    name = "pi"
    title = "pi"

    def session_places(self, paths: Paths, projects: Sequence[str]) -> tuple[SessionPlace, ...]:  # noqa: ARG002
        from memoryd.sources.scan import SessionPlace

        return (SessionPlace(os.path.join(_home(paths), "sessions")),)

    def session_id(self, path: str) -> str:
        """A file is named by its time and its session."""
        return super().session_id(path).rpartition("_")[2]

    def decoder(self, path: str) -> Decoder:
        from memoryd.clients.pi.entries import decoder_of

        return decoder_of(path)

    def resume_words(self, session_id: str) -> tuple[str, ...]:
        return ("pi", "--session", session_id)

    def recent_activity(self, data: bytes, directory: str) -> RecentActivity:
        import re

        from memoryd.clients.recent_activity import recent_activity

        return recent_activity(data, directory, re.compile(rb'"type" ?: ?"toolCall"'), b'"type":"compaction"')

    def instruction_files_at(self, cwd: str, paths: Paths) -> list[tuple[str, str]]:
        from memoryd.clients.instruction_files import files_on_the_way

        return files_on_the_way(cwd, ("AGENTS.md",), (os.path.join(_home(paths), "AGENTS.md"),))

    def own_memories(self, paths: Paths) -> list[str]:  # noqa: ARG002
        """It has none."""
        return []


def _home(paths: Paths) -> str:
    return paths.directory("PI_CODING_AGENT_DIR", ".pi/agent")
