"""Sessions in files, one in each: what most clients have in common."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memoryd.model import Inventory, ToolCall
    from memoryd.paths import Paths
    from memoryd.sources.scan import SessionPlace
    from memoryd.sources.session import OpenSession


class SessionFiles:
    """The part of the contract that is the same for all clients with a file of appended lines for each session."""

    deletes_early = False
    counts_rows = False
    moved_by: tuple[str, ...] = ()

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

    def summarize_call(self, call: ToolCall) -> str:
        from memoryd.clients.tool_calls import summarize_call

        return summarize_call(call)

    def written_below(self, call: ToolCall, directory: str) -> list[str]:
        from memoryd.clients.tool_calls import written_below

        return written_below(call, directory)

    def own_cwd(self, path: str, named: Sequence[str], paths: Paths) -> str:  # noqa: ARG002 - a client may need them
        return named[0]
