"""aider, as memoryd sees it: it keeps all chats of a project in one Markdown file in that project."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.clients.base import RecentActivity
from memoryd.clients.session_files import SessionFiles

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memoryd.clients.base import Decoder
    from memoryd.model import Inventory
    from memoryd.paths import Paths
    from memoryd.sources.scan import SessionPlace
    from memoryd.sources.session import OpenSession

_HISTORY = ".aider.chat.history.md"
INPUTS_NAME = ".aider.input.history"


class AiderClient(SessionFiles):
    name = "aider"
    title = "aider"

    # --- its sessions -------------------------------------------------------------------------------------------------

    def session_places(self, paths: Paths, projects: Sequence[str]) -> tuple[SessionPlace, ...]:  # noqa: ARG002
        """The directories themselves: what lies below them is watched by nobody."""
        from memoryd.sources.scan import SessionPlace

        return tuple(SessionPlace(root, ()) for root in projects)

    def is_session(self, name: str) -> bool:
        return name == _HISTORY

    def inventory(self, place: SessionPlace, only: Collection[str] | None = None) -> Inventory:
        """A project is not listed to find one file: there are many projects, and most of them have none.

        A history that can have come with the repository, or whose record of what was typed can have, is left out: others
        would speak as the user.
        """
        from memoryd.clients.shipped import may_be_tracked
        from memoryd.model import Inventory

        history = os.path.join(place.root, _HISTORY)
        if not os.path.lexists(history):
            return Inventory(place.root, (), missing=not os.path.isdir(place.root))
        found = super().inventory(place, only)
        if found.found and may_be_tracked(place.root, (_HISTORY, INPUTS_NAME)):
            return Inventory(place.root, (), {**found.odd, history: "may be shipped"})
        return found

    def session_id(self, path: str) -> str:
        import hashlib

        folder = os.path.dirname(path).encode("utf-8", "surrogateescape")
        return f"aider-{hashlib.blake2b(folder, digest_size=8).hexdigest()}"

    def open_session(self, path: str) -> OpenSession:
        from memoryd.clients.aider.history import ChatHistory

        return ChatHistory(path)

    def decoder(self, path: str) -> Decoder:
        from memoryd.clients.aider.entries import decoder_of

        return decoder_of(self.session_id(path), os.path.dirname(path))

    def resume_words(self, session_id: str) -> tuple[str, ...]:  # noqa: ARG002 - it knows no sessions, only the history
        return ("aider", "--restore-chat-history")

    def recent_activity(self, data: bytes, directory: str) -> RecentActivity:  # noqa: ARG002 - it has no tools
        return RecentActivity()

    # --- its instructions and its own memory --------------------------------------------------------------------------

    def instruction_files_at(self, cwd: str, paths: Paths) -> list[tuple[str, str]]:  # noqa: ARG002
        """None by itself: it reads what it is told to."""
        return []
