"""A user who has named a key in the config, for a server on the loopback."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tests.transcript import write

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from tests.messages_server import MessagesServer
    from tests.transcript import Session


def hire(paths: Paths, server: MessagesServer, *, key: str = "test-key", more: str = "") -> Path:
    """Write the config and the key; returns the file with the key."""
    key_file = Path(paths.config_file).parent / "key"
    key_file.parent.mkdir(parents=True, exist_ok=True)
    key_file.write_text(f"{key}\n")
    key_file.chmod(0o600)
    Path(paths.config_file).write_text(f'[anthropic]\napi_key_file = "{key_file}"\nbase_url = "{server.url}"\n{more}')
    return key_file


def say(paths: Paths, session: Session, *texts: str) -> None:
    """Append turns to a session's transcript, as a client does."""
    path = Path(paths.transcripts_root, "-code-acme", f"{session.id}.jsonl")
    before = path.read_bytes() if path.exists() else b""
    write(paths.transcripts_root, session, before + b"".join(map(session.turn, texts)))


def memories(paths: Paths) -> dict[str, str]:
    """The memories by name, without the index and without the moment they were written."""
    place = Path(paths.transcripts_root, "-code-acme", "memory")
    found = {}
    for name in sorted(os.listdir(place)) if place.exists() else []:
        lines = (place / name).read_text().splitlines()
        found[name] = "\n".join(line for line in lines if "modified:" not in line)
    return found
