"""What a model would be sent of labelled sessions: every request is kept, and searched for the secrets they hold."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.messages_server import MessagesServer, Reply, text

if TYPE_CHECKING:
    from pathlib import Path


def look(tools: Path, sessions: Path, home: Path) -> bool:
    """Let memoryd work with a model that finds nothing; print what it was sent. False where a secret was."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}
    with MessagesServer(lambda _: Reply(text("nothing"))) as server:
        config = home / ".config" / "memoryd" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f'[anthropic]\napi_key_variable = "KEY"\nbase_url = "{server.url}"\n', encoding="utf-8")
        for step in (
            [str(tools / "render.py"), str(sessions), str(home)],
            ["-m", "memoryd", "backfill", "--yes"],
        ):
            subprocess.run(
                [sys.executable, *step], env=environment | {"KEY": "test-key"}, check=True, capture_output=True
            )
        sent = ["\n".join(_strings(request.body)) for request in server.requests]
    labelled = json.loads(sessions.read_text(encoding="utf-8"))
    secrets = [
        pattern
        for session in labelled
        for forbidden in session["forbidden"]
        if forbidden["reason"] == "secret"
        for pattern in forbidden["any_of"]
    ]
    found = [pattern for pattern in secrets if any(re.search(pattern, text, re.IGNORECASE) for text in sent)]
    print(
        f"  requests to a model: {len(sent)} for {len(labelled)} sessions, {sum(map(len, sent)) // len(sent):,} characters"
        f" each; {len(found)} of {len(secrets)} patterns of secrets in them{': ' + ', '.join(found) if found else ''}"
    )
    return not found


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return [value] if isinstance(value, str) else []
