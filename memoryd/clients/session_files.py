"""Sessions in files, one in each: what most clients have in common."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memoryd.clients.base import RecentActivity
    from memoryd.model import Inventory, ToolCall
    from memoryd.paths import Paths
    from memoryd.sources.scan import SessionPlace
    from memoryd.sources.session import OpenSession


class SessionFiles:
    """The part of the contract that is the same for all clients with a file of appended lines for each session."""

    deletes_early = False
    counts_rows = False
    moved_by: tuple[str, ...] = ()
    resume_arguments: tuple[str, ...] = ()
    """The command that goes on with a session, before the id of the session."""
    call_pattern = b""
    """Finds a call of a tool in a line, with its name behind it."""
    compaction_mark = b""
    """Stands in the line that a compaction writes."""

    def is_session(self, name: str) -> bool:
        return name.endswith(".jsonl")

    def inventory(self, place: SessionPlace, only: Collection[str] | None = None) -> Inventory:
        from memoryd.sources.scan import inventory

        return inventory(place, self.is_session, only)

    def session_id(self, path: str) -> str:
        return os.path.splitext(os.path.basename(path))[0]

    def open_session(self, path: str) -> OpenSession:
        from memoryd.sources.session import SessionFile

        return SessionFile(path)

    def resume_words(self, session_id: str) -> tuple[str, ...]:
        return (*self.resume_arguments, session_id)

    def recent_activity(self, data: bytes, directory: str) -> RecentActivity:
        import re

        from memoryd.clients.recent_activity import recent_activity

        return recent_activity(data, directory, re.compile(self.call_pattern), self.compaction_mark)

    def own_memories(self, paths: Paths) -> list[str]:  # noqa: ARG002 - most clients have none
        return []

    def summarize_call(self, call: ToolCall) -> str:
        from memoryd.clients.tool_calls import summarize_call

        return summarize_call(call)

    def written_below(self, call: ToolCall, directory: str) -> list[str]:
        from memoryd.clients.tool_calls import written_below

        return written_below(call, directory)

    def own_cwd(self, path: str, named: Sequence[str], paths: Paths) -> str:  # noqa: ARG002 - a client may need them
        return named[0]
