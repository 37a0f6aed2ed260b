"""Databases as opencode and goose write them, made up for the tests; the tables have the columns that these clients give them."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

CWD = "/code/acme"
START = 1_790_000_000

_OPENCODE = """
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL,
    title text NOT NULL, version text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL REFERENCES message(id) ON DELETE CASCADE,
    session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
"""
_GOOSE = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', session_type TEXT NOT NULL DEFAULT 'user',
    working_dir TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
    timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);
CREATE INDEX idx_messages_session ON messages(session_id);
"""


class Recorder:
    """In the place of a connection: keeps what would be executed, as lines."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def execute(self, sql: str, values: tuple[Any, ...] = ()) -> None:
        self._lines.append(json.dumps([sql, values]).encode() + b"\n")

    def take(self) -> bytes:
        """What was recorded since the last time."""
        lines, self._lines = self._lines, []
        return b"".join(lines)


class ClientDatabase:
    """A database with its writer, which has it open until `close`; without a home, nothing but a record of what to write."""

    tables = ""
    file = ""

    def __init__(self, home: Path | None) -> None:
        self.count = 0
        self.writer: Any = Recorder()
        if home is not None:
            self.path = home / self.file
            self.path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not self.path.exists()
            self.writer = sqlite3.connect(self.path, isolation_level=None)
            if is_new:
                self.writer.execute("PRAGMA journal_mode = WAL")
                self.writer.executescript(self.tables)

    def next(self) -> int:
        self.count += 1
        return self.count

    def close(self) -> None:
        self.writer.close()

    def session_path(self, session_id: str) -> str:
        return f"{self.path}#{session_id}"


class OpencodeDatabase(ClientDatabase):
    tables = _OPENCODE
    file = ".local/share/opencode/opencode.db"

    def session(self, session_id: str = "ses_one", parent: str | None = None, directory: str = CWD) -> str:
        at = (START + self.next()) * 1000
        row = (session_id, "p", parent, "slug", directory, "title", "1.18.33", at, at)
        self.writer.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        return session_id

    def message(self, session_id: str, role: str, at: int | None = None, **data: Any) -> str:
        number = self.next()
        message_id, at = f"msg_{number:06}", at or (START + number) * 1000
        row = (message_id, session_id, at, at, json.dumps({"role": role, "time": {"created": at}, **data}))
        self.writer.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
        return message_id

    def change(self, message_id: str, **data: Any) -> None:
        sql = "UPDATE message SET data = json_patch(data, ?), time_updated = time_updated + 1 WHERE id = ?"
        self.writer.execute(sql, (json.dumps(data), message_id))

    def part(self, message_id: str, session_id: str, **data: Any) -> str:
        number = self.next()
        at = (START + number) * 1000
        row = (f"prt_{number:06}", message_id, session_id, at, at, json.dumps(data))
        columns = "(id, message_id, session_id, time_created, time_updated, data)"
        self.writer.execute("INSERT INTO part " + columns + " VALUES (?, ?, ?, ?, ?, ?)", row)  # noqa: S608
        return row[0]

    def prompt(self, text: str, session_id: str = "ses_one", **marks: Any) -> str:
        message_id = self.message(session_id, "user", agent="build")
        self.part(message_id, session_id, type="text", text=text, **marks)
        return message_id

    def begin_reply(self, session_id: str = "ses_one", **data: Any) -> str:
        usual = {"mode": "build", "agent": "build", "path": {"cwd": CWD, "root": CWD}}
        message_id = self.message(session_id, "assistant", **{**usual, **data})
        self.part(message_id, session_id, type="step-start", snapshot="x")
        return message_id

    def end_reply(self, message_id: str, finish: str = "stop") -> None:
        self.change(message_id, finish=finish, time={"completed": 1})

    def reply(self, text: str, session_id: str = "ses_one", **data: Any) -> str:
        message_id = self.begin_reply(session_id, **data)
        self.part(message_id, session_id, type="text", text=text)
        self.end_reply(message_id)
        return message_id

    def call(self, path: str, session_id: str = "ses_one", status: str = "completed") -> str:
        message_id = self.begin_reply(session_id)
        state = {"status": status, "input": {"filePath": path, "content": "x"}, "output": "use tabs", "title": "x"}
        self.part(message_id, session_id, type="tool", tool="write", callID=f"call_{self.count}", state=state)
        self.end_reply(message_id, "tool-calls")
        return message_id

    def fork(self, session_id: str, new_id: str) -> str:
        """A copy as `--fork` makes it: new ids, old times."""
        self.session(new_id)
        rows = self.writer.execute("SELECT id, time_created, data FROM message WHERE session_id = ?", (session_id,))
        for old, at, data in rows.fetchall():
            message = json.loads(data)
            copy = self.message(
                new_id, message.pop("role"), at, **{**message, "time": {"created": at, "completed": at}}
            )
            parts = self.writer.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", (old,)).fetchall()
            for (part,) in parts:
                self.part(copy, new_id, **json.loads(part))
        return new_id

    def compact(self, session_id: str = "ses_one", repeated: str = "") -> None:
        """With `repeated`, the context was too small even for the last prompt, which is written again behind the summary."""
        asked = self.message(session_id, "user", agent="build")
        self.part(asked, session_id, type="compaction", auto=True, overflow=bool(repeated))
        self.reply("A summary: use spaces.", session_id, mode="compaction", agent="compaction", summary=True)
        if repeated:
            self.prompt(repeated, session_id)
        else:
            self.prompt("Continue if you have next steps.", session_id, synthetic=True)


class GooseDatabase(ClientDatabase):
    tables = _GOOSE
    file = ".local/share/goose/sessions/sessions.db"

    def session(self, session_id: str = "20261018_1", kind: str = "user", directory: str = CWD) -> str:
        sql = "INSERT INTO sessions (id, session_type, working_dir) VALUES (?, ?, ?)"
        self.writer.execute(sql, (session_id, kind, directory))
        return session_id

    def row(self, role: str, content: Any, session_id: str = "20261018_1", **marks: Any) -> str:
        number = self.next()
        metadata = json.dumps({"userVisible": True, "agentVisible": True, **marks})
        row = (f"msg_{number:06}", session_id, role, json.dumps(content), START + number, metadata)
        self.writer.execute(
            "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            row,
        )
        return row[0]

    def prompt(self, text: str, session_id: str = "20261018_1", **marks: Any) -> str:
        message_id = self.row("user", [{"type": "text", "text": text}], session_id, **marks)
        context = f"<turn-context>\n<working-directory>{CWD}</working-directory>\nuse spaces\n</turn-context>"
        self.row("user", [{"type": "text", "text": context}], session_id, userVisible=False, turnContext=True)
        return message_id

    def reply(self, text: str, session_id: str = "20261018_1", **marks: Any) -> str:
        return self.row("assistant", [{"type": "text", "text": text}], session_id, **marks)

    def call(self, path: str, session_id: str = "20261018_1", *, fails: bool = False) -> None:
        call = {"status": "success", "value": {"name": "write", "arguments": {"path": path, "content": "x"}}}
        content = [{"type": "text", "text": "I will."}, {"type": "toolRequest", "id": "c1", "toolCall": call}]
        self.row("assistant", content, session_id)
        value = {"content": [{"type": "text", "text": "use tabs"}], "isError": fails}
        result = {"type": "toolResponse", "id": "c1", "toolResult": {"status": "success", "value": value}}
        self.row("user", [result], session_id)

    def compact(self, session_id: str = "20261018_1") -> None:
        """All rows get other numbers and marks, as if inserted again; a summary in the user's name; the last prompt again."""
        self.writer.execute(
            "UPDATE messages SET id = id + (SELECT max(id) FROM messages),"
            " metadata_json = json_set(metadata_json, '$.agentVisible', json('false')) WHERE session_id = ?",
            (session_id,),
        )
        self.row("user", [{"type": "text", "text": "A summary: use spaces."}], session_id, userVisible=False)
        self.reply("Your context was compacted.", session_id, userVisible=False)
        self.writer.execute(
            "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)"
            " SELECT 'again_' || message_id, session_id, role, content_json, created_timestamp,"
            " json_set(metadata_json, '$.userVisible', json('false')) FROM messages WHERE session_id = ? AND role = 'user'"
            " AND json_extract(metadata_json, '$.userVisible') ORDER BY id DESC LIMIT 1",
            (session_id,),
        )
