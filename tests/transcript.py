"""Transcripts as a client writes them, made up for the tests."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SPACE = uuid.UUID("00000000-0000-4000-8000-000000000000")


def an_id(*parts: object) -> str:
    """A UUID that is the same in every run."""
    return str(uuid.uuid5(SPACE, "/".join(map(str, parts))))


def line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class Session:
    """Writes one session; every method returns the bytes of the lines it stands for."""

    def __init__(self, name: object = "one", cwd: str = "/code/acme") -> None:
        self.id = an_id("session", name)
        self.cwd = cwd
        self._count = 0

    def entry(self, kind: str, **fields: Any) -> dict[str, Any]:
        self._count += 1
        return {
            "parentUuid": None,
            "isSidechain": False,
            "type": kind,
            "uuid": an_id(self.id, self._count),
            "timestamp": f"2026-10-18T09:{self._count // 60 % 60:02}:{self._count % 60:02}.000Z",
            "cwd": self.cwd,
            "sessionId": self.id,
            "version": "2.1.325",
            **fields,
        }

    def prompt(self, text: str | list[dict[str, Any]] = "please look at the parser", **fields: Any) -> bytes:
        return line(self.entry("user", message={"role": "user", "content": text}, **fields))

    def reply(self, text: str = "I looked.", stop_reason: str | None = "end_turn", **fields: Any) -> bytes:
        content = [{"type": "text", "text": text}]
        return line(
            self.entry(
                "assistant", message={"role": "assistant", "content": content, "stop_reason": stop_reason}, **fields
            )
        )

    def call(self, call_id: str, name: str = "Read") -> bytes:
        content = [{"type": "tool_use", "id": call_id, "name": name, "input": {"file_path": "/code/acme/a.py"}}]
        return line(
            self.entry("assistant", message={"role": "assistant", "content": content, "stop_reason": "tool_use"})
        )

    def result(self, call_id: str, text: str = "def a(): pass") -> bytes:
        content = [{"type": "tool_result", "tool_use_id": call_id, "content": text}]
        return line(self.entry("user", message={"role": "user", "content": content}, toolUseResult={"stdout": text}))

    def interrupt(self) -> bytes:
        return self.prompt([{"type": "text", "text": "[Request interrupted by user]"}])

    def bulk(self, size: int = 2000) -> bytes:
        return line(self.entry("attachment", attachment={"type": "prompt_snapshot", "systemPrompt": ["x" * size]}))

    def turn(self, text: str = "please look at the parser") -> bytes:
        return self.prompt(text) + self.reply()


def write(root: Path | str, session: Session, data: bytes, folder: str = "-code-acme") -> Path:
    """Write a session's transcript below a transcripts root and return its path."""
    from pathlib import Path  # noqa: PLC0415 - only here

    directory = Path(root) / folder
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{session.id}.jsonl"
    path.write_bytes(data)
    return path


def id_of(data: bytes) -> str:
    """The id of the first entry in these bytes."""
    found: str = json.loads(data.split(b"\n", 1)[0])["uuid"]
    return found
