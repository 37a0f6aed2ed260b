"""Recent activity of a session, from the end of its transcript: a hook has milliseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.sources.session import NotATranscriptError

if TYPE_CHECKING:
    from memoryd.clients.base import CodingClient, RecentActivity

_TAIL_BYTES = 4 << 20


def recent_activity_of(client: CodingClient, path: str, directory: str) -> RecentActivity:
    return client.recent_activity(tail_of(client, path), directory)


def tail_of(client: CodingClient, path: str) -> bytes:
    """The last megabytes of a session; empty where none can be read: it may be written only later."""
    try:
        with client.open_session(path) as session:
            return session.bytes_before(session.end, _TAIL_BYTES)
    except (OSError, ValueError, NotATranscriptError):
        return b""
