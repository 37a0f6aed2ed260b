"""Folders beside the memories that a dreaming agent can look at: daily logs, instructions, repository, past sessions."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.clients.registry import client_named
from memoryd.engines.model import dream_brief
from memoryd.security.redact import redact
from memoryd.sources.session import NotATranscriptError
from memoryd.transcripts.digest import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.engines.base import DreamSession
    from memoryd.engines.model.tools import ToolBox
    from memoryd.model import UserMessage

_MOST_SESSIONS = 40
_DIGEST_CHARACTERS = 8 << 20
"""Of all sessions together: they are searched, a few megabytes in a second."""
_PLACE_CHARACTERS = 80


class DreamFolders:
    """Real folders are mounted and never copied; sessions and instruction files are written out as plain text."""

    def __init__(
        self, memory_dir: str, project_root: str, instructions: Sequence[str], sessions: Sequence[DreamSession]
    ) -> None:
        self.sessions: list[dream_brief.Listed] = []
        self.said: list[UserMessage] = []
        """What the user said in the sessions."""
        self._instructions = instructions
        self._digests: dict[str, str] = {}
        room = _DIGEST_CHARACTERS
        for session in sorted(sessions, key=lambda session: -session.at)[:_MOST_SESSIONS]:
            if room <= 0:
                break
            room -= self._add_session(session, project_root)
        places = {dream_brief.LOGS: os.path.join(memory_dir, "logs"), dream_brief.REPOSITORY: project_root}
        self.mounts: Mapping[str, str] = {
            name: path for name, path in places.items() if os.path.isdir(path) and not os.path.islink(path)
        }
        written = {dream_brief.INSTRUCTIONS: instructions, dream_brief.TRANSCRIPTS: self._digests}
        self.names = [*self.mounts, *(name for name, texts in written.items() if texts)]

    def write_into(self, box: ToolBox) -> None:
        for number, text in enumerate(self._instructions, 1):
            box.lay_out(dream_brief.INSTRUCTIONS, f"{number}.md", text)
        for name, text in self._digests.items():
            box.lay_out(dream_brief.TRANSCRIPTS, name, text)

    def _add_session(self, session: DreamSession, project_root: str) -> int:
        """Take in a session; returns how long it is. One that is gone or wants to be left out is none."""
        with suppress(OSError, NotATranscriptError):
            digest = digest_of(client_named(session.client), session.path)
            name = re.sub(r"[^A-Za-z0-9-]", "_", session.session_id)[:64] + ".txt"
            if digest is not None and digest.text and name not in self._digests:
                self._digests[name] = digest.text
                self.said += digest.said
                inside = os.path.relpath(digest.cwd or project_root or ".", project_root or ".")
                is_elsewhere = inside == "." or inside.startswith("..")
                place = "" if is_elsewhere else re.sub(r"[^\w./-]", "_", redact(inside))[:_PLACE_CHARACTERS]
                self.sessions.append(dream_brief.Listed(name, session.at, session.size, place))
                return len(digest.text)
        return 0
