"""Rows of an opencode database as lines: a message with those of its parts that count.

A line is made of rows that opencode updates in place, so it holds only what does not change once the message is complete:
what a tool has answered is left out, and so are titles, costs and diffs, which come later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from memoryd.sources.rows import NumberedLines, SessionRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.model import Found
    from memoryd.sources.database import ForeignDatabase

_NOTHING = msgspec.Raw(b"null")
_BULK_PARTS = frozenset({"reasoning", "step-start", "step-finish", "snapshot", "patch", "file", "agent", "retry"})
_TABLES = (
    *("session", "message", "part", "event", "event_sequence", "todo", "permission", "session_share"),
    *("project", "project_directory", "workspace", "account", "account_state", "control_account", "credential"),
    *("migration", "data_migration", "__drizzle_migrations"),
)
"""Those that the present versions put something into."""
_SESSIONS = (
    "SELECT rowid, id, (SELECT count(*) FROM message WHERE session_id = session.id), time_created, (SELECT time_updated"
    " FROM message WHERE session_id = session.id ORDER BY time_created DESC, id DESC LIMIT 1), (SELECT count(*) FROM part"
    " WHERE message_id = (SELECT id FROM message WHERE session_id = session.id ORDER BY time_created DESC, id DESC"
    " LIMIT 1)), directory FROM session WHERE parent_id IS NULL"
)
_MESSAGES = "SELECT id, time_created, data FROM message WHERE session_id = ?"
_IN_ORDER = "ORDER BY time_created, id LIMIT ?"
_LATER_REPLY = (
    "SELECT 1 FROM message WHERE session_id = ? AND (time_created, id) > (?, ?)"
    " AND json_extract(data, '$.role') = 'assistant' LIMIT 1"
)


class _Time(msgspec.Struct, gc=False):
    completed: Any = None


class _Path(msgspec.Struct, gc=False):
    cwd: str | None = None


class _Message(msgspec.Struct, gc=False):
    role: str = ""
    time: _Time | None = None
    finish: str | None = None
    error: msgspec.Raw = _NOTHING
    path: _Path | None = None
    summary: Any = None


class _State(msgspec.Struct, gc=False):
    status: str = ""
    input: msgspec.Raw = _NOTHING


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    synthetic: bool | None = None
    ignored: bool | None = None
    tool: str | None = None
    callID: str | None = None  # noqa: N815 - the client's name
    state: _State | None = None


class LinePart(msgspec.Struct, gc=False, omit_defaults=True):
    """A part of a message in its line."""

    type: str
    text: str | None = None
    is_added: bool = False
    """opencode or a plugin has put it beside the user's words."""
    name: str | None = None
    id: str | None = None
    status: str = ""
    input: msgspec.Raw = _NOTHING

    @property
    def said(self) -> str:
        """Words of the message's author; empty where it holds none."""
        return self.text or "" if self.type == "text" and not self.is_added else ""


class OpencodeLine(msgspec.Struct, gc=False, omit_defaults=True):
    """A message as a line."""

    session: str
    id: str
    cwd: str
    at: int
    """Milliseconds since 1970."""
    role: str
    parts: list[LinePart]
    finish: str | None = None
    error: msgspec.Raw = _NOTHING
    is_summary: bool = False
    repeats: str | None = None
    """The message that this one repeats, behind a compaction that the context was too small for."""


_decode_message = msgspec.json.Decoder(_Message).decode
_decode_part = msgspec.json.Decoder(_Part).decode
_encode = msgspec.json.Encoder().encode
UNDECODABLE = (msgspec.MsgspecError, ValueError, RecursionError)
UNKNOWN = "unknown"
"""Stands for a role or a type that could not be read."""


class _Row(NamedTuple):
    id: str
    at: int
    message: _Message

    @property
    def is_summary(self) -> bool:
        return self.message.role == "assistant" and self.message.summary is True

    @property
    def is_open(self) -> bool:
        """Whether the assistant is at work on it."""
        is_done = self.message.time is not None and self.message.time.completed is not None
        return self.message.role == "assistant" and not is_done and bytes(self.message.error) == b"null"


def sessions_in(database: ForeignDatabase) -> Iterator[SessionRow]:
    """The sessions of a database but those of sub-agents.

    Raises UnknownTablesError, behind the last, where newer versions have put something into tables of their own, as messages
    into `session_message`, which the present ones make and leave empty.
    """
    for row in database.all_rows(f"{_SESSIONS} AND rowid > ? ORDER BY rowid", (), 0):
        yield _session_row(row)
    database.refuse_other_tables(_TABLES)


def _session_row(row: tuple[Any, ...]) -> SessionRow:
    _, session_id, count, created, updated, parts, _ = row
    # Milliseconds; the parts of the last message are counted below them, since they may come later and are no update of it.
    return SessionRow(
        session_id.decode("utf-8", "replace"), count, (updated or created) * 1_000_000 + parts % 1_000_000
    )


class OpencodeSession(NumberedLines):
    def __init__(self, database: ForeignDatabase, file: Found, session_id: str) -> None:
        """Raises OSError, FileNotFoundError where there is no such session, UnknownTablesError."""
        rows, _ = database.rows(f"{_SESSIONS} AND id = ?", (session_id,))
        if not rows:
            raise FileNotFoundError(session_id)
        row = _session_row(rows[0])
        super().__init__(database, file._replace(size=row.rows, mtime_ns=row.changed_ns))
        self._id = session_id
        self._cwd: str = rows[0][6].decode("utf-8", "replace")
        self._last: _Row | None = None  # the row that was read last
        self._next = 0  # the number of the one behind it

    def rendered(self, start: int, most: int) -> list[bytes]:
        before = [self._last] if self._last and self._next == start else self._rows(start - 1, 1) if start else []
        rows = self._rows(start, most)
        lines = []
        for number, row in enumerate(rows, start):
            parts = self._parts(row.id)
            if self._is_unfinished(row, parts):
                break
            repeats = None
            if before and before[0].is_summary and row.message.role == "user":
                repeats = self._repeated_by(number, parts)
            lines.append(self._line(row, parts, repeats))
            before = [row]
        return lines

    def _rows(self, start: int, most: int) -> list[_Row]:
        found: list[_Row] = []
        is_all = False
        where: tuple[Any, ...]
        while not is_all and len(found) < most:
            left, number = most - len(found), start + len(found)
            if self._last is not None and self._next == number:  # faster than to count all rows before it again
                sql, where = (
                    f"{_MESSAGES} AND (time_created, id) > (?, ?) {_IN_ORDER}",
                    (self._last.at, self._last.id, left),
                )
            else:
                sql, where = f"{_MESSAGES} {_IN_ORDER} OFFSET ?", (left, number)
            rows, is_all = self.database.rows(sql, (self._id, *where))
            for message_id, at, data in rows:
                try:
                    message = _decode_message(data)
                except UNDECODABLE:
                    message = _Message(UNKNOWN)
                found.append(_Row(message_id.decode("utf-8", "replace"), at, message))
            if rows:
                self._last, self._next = found[-1], start + len(found)
        return found

    def _parts(self, message_id: str) -> list[LinePart]:
        sql = "SELECT id, data FROM part WHERE message_id = ? AND id > CAST(? AS TEXT) ORDER BY id"
        found = (_line_part(data) for _, data in self.database.all_rows(sql, (message_id,), ""))
        return [part for part in found if part is not None]

    def _is_unfinished(self, row: _Row, parts: list[LinePart]) -> bool:
        """Whether opencode is at work on a message; one that was left behind by a crash is followed by another reply."""
        if row.message.role == "user":
            return not parts and not self.database.rows(_LATER_REPLY, (self._id, row.at, row.id))[0]
        return row.is_open and not self.database.rows(_LATER_REPLY, (self._id, row.at, row.id))[0]

    def _repeated_by(self, number: int, parts: list[LinePart]) -> str | None:
        """The last message of the user before a compaction, if opencode has written it again behind that, with another id."""
        texts = [part.said for part in parts if part.said]
        while texts and number > 0:
            start = max(0, number - 16)
            for row in reversed(self._rows(start, number - start)):
                said = [part.said for part in self._parts(row.id) if part.said] if row.message.role == "user" else []
                if said:
                    return row.id if texts[: len(said)] == said else None
            number = start
        return None

    def _line(self, row: _Row, parts: list[LinePart], repeats: str | None) -> bytes:
        message = row.message
        cwd = message.path.cwd if message.path else None
        line = OpencodeLine(self._id, row.id, cwd or self._cwd, row.at, message.role, parts)
        line.finish, line.error, line.is_summary, line.repeats = message.finish, message.error, row.is_summary, repeats
        return _encode(line) + b"\n"


def _line_part(data: bytes) -> LinePart | None:
    """A part as it stands in a line; None where it is bulk."""
    try:
        part = _decode_part(data)
    except UNDECODABLE:
        return LinePart(UNKNOWN)
    if part.type in _BULK_PARTS:
        return None
    if part.type == "text":
        return LinePart("text", part.text, is_added=bool(part.synthetic or part.ignored))
    if part.type == "tool" and part.state is not None:
        return LinePart("tool", name=part.tool, id=part.callID, status=part.state.status, input=part.state.input)
    return LinePart(part.type)
