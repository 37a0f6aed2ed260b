"""goose, as memoryd sees it: its sessions are rows of a live SQLite database."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from memoryd.clients.session_database import SessionDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.clients.base import Decoder
    from memoryd.model import Found
    from memoryd.paths import Paths
    from memoryd.sources.database import ForeignDatabase
    from memoryd.sources.rows import SessionRow
    from memoryd.sources.scan import SessionPlace
    from memoryd.sources.session import OpenSession


class GooseClient(SessionDatabase):
    name = "goose"
    title = "goose"
    resume_arguments = ("goose", "session", "--resume", "--session-id")
    call_pattern = rb'"type":"toolRequest"'
    compaction_mark = b'"type":"conversationCompacted"'  # of rows that are only written again nothing tells
    moved_by = ("GOOSE_PATH_ROOT",)

    # --- its sessions -------------------------------------------------------------------------------------------------

    def session_places(self, paths: Paths, projects: Sequence[str]) -> tuple[SessionPlace, ...]:  # noqa: ARG002
        from memoryd.sources.scan import SessionPlace

        moved = paths.moved.get("GOOSE_PATH_ROOT")
        data = os.path.join(paths.directory("XDG_DATA_HOME", ".local/share"), "goose")
        roots = [os.path.join(moved, "data") if moved else data]
        if sys.platform == "darwin":
            roots.append(os.path.join(paths.home, "Library/Application Support/Block/goose"))
        return tuple(SessionPlace(os.path.join(root, "sessions"), ()) for root in roots)

    def is_database(self, name: str) -> bool:
        return name == "sessions.db"

    def sessions_in(self, database: ForeignDatabase) -> Iterator[SessionRow]:
        from memoryd.clients.goose.rows import sessions_in

        return sessions_in(database)

    def session_of(self, database: ForeignDatabase, file: Found, session_id: str) -> OpenSession:
        from memoryd.clients.goose.rows import GooseSession

        return GooseSession(database, file, session_id)

    def decoder(self, path: str) -> Decoder:  # noqa: ARG002 - every line says whose it is
        from memoryd.clients.goose.entries import entries_of

        return entries_of

    # --- its instructions and its own memory --------------------------------------------------------------------------

    def instruction_files_at(self, cwd: str, paths: Paths) -> list[tuple[str, str]]:
        from memoryd.clients.instruction_files import files_on_the_way

        config = os.path.join(paths.directory("XDG_CONFIG_HOME", ".config"), "goose")
        own = (os.path.join(config, ".goosehints"), os.path.join(config, "AGENTS.md"))
        return files_on_the_way(cwd, (".goosehints", "AGENTS.md"), own)

    def own_memories(self, paths: Paths) -> list[str]:
        """Those of its optional memory extension."""
        folder = os.path.join(paths.directory("XDG_CONFIG_HOME", ".config"), "goose", "memory")
        return [folder] if os.path.isdir(folder) else []
