"""Sessions of the clients that do not append lines, made up for the tests: rows of databases, and one file for all chats."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING

from memoryd.clients.aider import AiderClient
from tests.clients.databases import GooseDatabase, OpencodeDatabase
from tests.clients.homes import RECALL, SCRIBES, Scribe

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.databases import ClientDatabase


class RowScribe(Scribe):
    """Its lines are the statements that write rows, each a transaction of its own."""

    def __init__(self, rows: ClientDatabase, name: object = "one") -> None:
        super().__init__(name)
        self.file = rows.file
        self._rows = rows
        self._torn = b""

    def write(self, home: Path, data: bytes) -> Path:
        *lines, self._torn = (self._torn + data).split(b"\n")
        with closing(type(self._rows)(home)) as database:
            for line in lines:
                database.writer.execute(*json.loads(line))
            return database.path

    def delete(self, home: Path) -> None:
        with closing(sqlite3.connect(self.path(home))) as writer, writer:
            for (table,) in writer.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                writer.execute(f"DELETE FROM {table}")  # noqa: S608 - a name that the database has

    def rewrite(self, home: Path, data: bytes) -> None:
        self.delete(home)
        self.write(home, data)

    def taken(self) -> bytes:
        return self._rows.writer.take()  # type: ignore[no-any-return]


class Opencode(RowScribe):
    client = "opencode"

    def __init__(self, name: object = "one") -> None:
        self.rows = OpencodeDatabase(None)
        super().__init__(self.rows, name)

    def head(self) -> bytes:
        self.rows.session(self.id)
        return self.taken()

    def prompt(self, text: str) -> bytes:
        self.rows.prompt(text, self.id)
        return self.taken()

    def call(self, path: str) -> bytes:
        self.reply_id = self.rows.begin_reply(self.id)
        state = {"status": "running", "input": {"filePath": path, "content": "x"}}
        self.rows.part(self.reply_id, self.id, type="tool", tool="write", callID=f"c{self.rows.count}", state=state)
        return self.taken()

    def result(self, status: str = "completed") -> bytes:
        state = json.dumps({"state": {"status": status, "output": "use tabs"}})
        sql = "UPDATE part SET data = json_patch(data, ?) WHERE message_id = ? AND data LIKE '%\"tool\"%'"
        self.rows.writer.execute(sql, (state, self.reply_id))
        self.rows.end_reply(self.reply_id, "tool-calls")
        return self.taken()

    def failure(self) -> bytes:
        return self.result("error")

    def reply(self, text: str) -> bytes:
        message_id = self.rows.begin_reply(self.id)
        part = self.rows.part(message_id, self.id, type="text", text="")
        for end in (len(text) // 2, len(text)):  # as it is streamed
            data = json.dumps({"type": "text", "text": text[:end]})
            self.rows.writer.execute("UPDATE part SET data = ? WHERE id = ?", (data, part))
        self.rows.end_reply(message_id)
        return self.taken()

    def interrupt(self) -> bytes:
        self.rows.begin_reply(self.id, error={"name": "MessageAbortedError"})
        return self.taken()

    def compact(self, history: list[bytes]) -> bytes:  # noqa: ARG002
        self.rows.compact(self.id)
        return self.taken()

    def bulk(self) -> bytes:
        self.rows.writer.execute("UPDATE session SET title = 'use tabs', time_updated = time_updated + 1")
        return self.taken()

    def unknown_shape(self) -> bytes:
        message_id = self.rows.message(self.id, "user")
        self.rows.part(message_id, self.id, type="text", text={"parts": ["use tabs"]})
        return self.taken()

    def unknown_type(self) -> bytes:
        message_id = self.rows.message(self.id, "user")
        self.rows.part(message_id, self.id, type="wish", text="use tabs")
        return self.taken()

    def with_recall(self, text: str) -> bytes:
        message_id = self.rows.prompt(text, self.id)
        self.rows.part(message_id, self.id, type="text", text=RECALL, synthetic=True)
        return self.taken()


class Goose(RowScribe):
    client = "goose"

    def __init__(self, name: object = "one") -> None:
        self.rows = GooseDatabase(None)
        super().__init__(self.rows, name)

    def head(self) -> bytes:
        self.rows.session(self.id)
        return self.taken()

    def prompt(self, text: str) -> bytes:
        self.rows.prompt(text, self.id)
        return self.taken()

    def call(self, path: str) -> bytes:
        self.rows.call(path, self.id)
        return self.taken()

    def result(self) -> bytes:
        return b""  # goose writes a call when it is done

    def failure(self) -> bytes:
        self.rows.call("/code/acme/b.py", self.id, fails=True)
        return self.taken()

    def reply(self, text: str) -> bytes:
        self.rows.reply(text, self.id)
        return self.taken()

    def compact(self, history: list[bytes]) -> bytes:  # noqa: ARG002
        self.rows.compact(self.id)
        return self.taken()

    def bulk(self) -> bytes:
        self.rows.writer.execute("UPDATE sessions SET name = 'use tabs'")
        return self.taken()

    def unknown_shape(self) -> bytes:
        self.rows.row("user", {"parts": ["use tabs"]}, self.id)
        return self.taken()

    def unknown_type(self) -> bytes:
        self.rows.row("user", [{"type": "wish", "text": "use tabs"}], self.id)
        return self.taken()

    def with_recall(self, text: str) -> bytes:
        self.rows.prompt(f"{text}\n{RECALL}", self.id)
        return self.taken()


def make_repository(root: Path, *tracked: str) -> None:
    """Make a git repository that tracks these names, which need not be there."""
    root.mkdir(parents=True, exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    lines = "".join(f"100644 {'1' * 40}\t{name}\n" for name in ("README.md", *tracked))
    for arguments in (["init", "--quiet"], ["update-index", "--index-info"]):
        subprocess.run(["git", *arguments], cwd=root, input=lines, text=True, check=True, env=environment)


class Aider(Scribe):
    client = "aider"
    file = "acme/.aider.chat.history.md"
    says_end = False

    def __init__(self, name: object = "one") -> None:
        super().__init__(name)
        self._typed = ""

    def write(self, home: Path, data: bytes) -> Path:
        root = self.path(home).parent
        if not (root / ".git").exists():
            make_repository(root)
        self._write_typed(root)
        return super().write(home, data)

    def rewrite(self, home: Path, data: bytes) -> None:
        self._write_typed(self.path(home).parent)
        super().rewrite(home, data)

    def _write_typed(self, root: Path) -> None:
        with (root / ".aider.input.history").open("a") as file:
            file.write(self._typed)
        self._typed = ""

    def session_id(self, home: Path) -> str:
        return AiderClient().session_id(str(self.path(home)))

    def project(self, home: Path) -> str:
        return str(home / "acme")

    def head(self) -> bytes:
        self.count += 1
        started = f"\n# aider chat started at 2026-10-18 09:{self.count:02}:00\n\n"
        return (started + "> aider --message use tabs  \n> Aider v0.86.2  \n").encode()

    def prompt(self, text: str) -> bytes:
        lines = "  \n#### ".join(text.split("\n"))
        self._typed += "\n# 2026-10-18 23:00:00.000000\n" + "".join(f"+{line}\n" for line in text.split("\n"))
        return f"\n#### {lines}  \n".encode()

    def call(self, path: str) -> bytes:  # noqa: ARG002 - it has no tools
        return b""

    def result(self) -> bytes:
        return b""

    def reply(self, text: str) -> bytes:
        return f"\n{text}\n\n> Tokens: 2.4k sent, 40 received.  \n".encode()

    def resume(self, history: list[bytes]) -> bytes:  # noqa: ARG002
        return self.head() + b"> Restored previous conversation history.  \n"

    def bulk(self) -> bytes:
        return b"> Added use-tabs.py to the chat.  \n"

    def with_recall(self, text: str) -> bytes:
        return self.prompt(f"{text}\n{RECALL}")


EVERY_SCRIBE: tuple[type[Scribe], ...] = (*SCRIBES, Opencode, Goose, Aider)
