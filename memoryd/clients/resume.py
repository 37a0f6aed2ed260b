"""The command that goes on with a session."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoryd.clients.base import CodingClient


def resume_command(client: CodingClient, session_id: str, cwd: str) -> str:
    """What a person types into a shell to go on with a session: clients find it only from the directory that it was in."""
    go = f"cd {shlex.quote(cwd)} && " if cwd else ""
    return go + shlex.join(client.resume_words(session_id))
