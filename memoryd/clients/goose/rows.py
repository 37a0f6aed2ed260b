"""Rows of a goose database as lines: a message each, whatever number its row has.

A compaction deletes all rows of a session and inserts them again, with other numbers and other marks: a line holds what stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from memoryd.clock import parse_iso
from memoryd.sources.rows import NumberedLines, SessionRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.model import Found
    from memoryd.sources.database import ForeignDatabase

_NOTHING = msgspec.Raw(b"null")
_TABLES = (
    *("sessions", "messages", "schema_version", "usage_ledger"),
    *("provider_inventory_entries", "provider_inventory_models"),
)
"""Those that the present versions have."""
_SESSIONS = (
    "SELECT rowid, id, (SELECT count(*) FROM messages WHERE session_id = sessions.id),"
    " (SELECT max(id) FROM messages WHERE session_id = sessions.id), updated_at, working_dir"
    # Not those of a schedule, of sub-agents, or that goose hides.
    " FROM sessions WHERE session_type IN ('user', 'terminal', 'acp', 'gateway')"
)
_MESSAGES = (
    "SELECT id, message_id, role, content_json, created_timestamp, metadata_json FROM messages WHERE session_id = ?"
)
UNDECODABLE = (msgspec.MsgspecError, ValueError, RecursionError)
UNKNOWN = "unknown"
"""Stands for a content or a role that could not be read."""


class _Metadata(msgspec.Struct, gc=False):
    userVisible: bool | None = None  # noqa: N815 - the client's names
    turnContext: bool | None = None  # noqa: N815


class _CallValue(msgspec.Struct, gc=False):
    name: str = ""
    arguments: msgspec.Raw = _NOTHING


class _Call(msgspec.Struct, gc=False):
    status: str = ""
    value: _CallValue | None = None


class _ResultValue(msgspec.Struct, gc=False):
    isError: bool | None = None  # noqa: N815 - the client's name


class _Result(msgspec.Struct, gc=False):
    status: str = ""
    value: _ResultValue | None = None


class _Content(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    id: str | None = None
    toolCall: _Call | None = None  # noqa: N815 - the client's names
    toolResult: _Result | None = None  # noqa: N815


class LineContent(msgspec.Struct, gc=False, omit_defaults=True):
    """A piece of a message in its line."""

    type: str
    text: str | None = None
    name: str | None = None
    id: str | None = None
    has_failed: bool = False
    input: msgspec.Raw = _NOTHING


class GooseLine(msgspec.Struct, gc=False, omit_defaults=True):
    """A message as a line."""

    session: str
    id: str
    cwd: str
    at: int
    """Seconds since 1970."""
    role: str
    content: list[LineContent]
    is_hidden: bool = False
    """goose wrote it for the model: time and directory, a summary, a prompt once more behind it."""


_decode_content = msgspec.json.Decoder(list[_Content]).decode
_decode_metadata = msgspec.json.Decoder(_Metadata).decode
_encode = msgspec.json.Encoder().encode


def sessions_in(database: ForeignDatabase) -> Iterator[SessionRow]:
    """The sessions of a database that are conversations with the user.

    Raises UnknownTablesError, behind the last, where newer versions have put something into tables of their own.
    """
    for row in database.all_rows(f"{_SESSIONS} AND rowid > ? ORDER BY rowid", (), 0):
        yield _session_row(row)
    database.refuse_other_tables(_TABLES)


def _session_row(row: tuple[Any, ...]) -> SessionRow:
    _, session_id, count, last, updated, _ = row
    # Seconds; the number of the last row is counted below them: rows that are inserted again have other numbers.
    seconds = parse_iso(_text(updated)) or 0.0
    return SessionRow(_text(session_id), count, int(seconds) * 1_000_000_000 + (last or 0) % 1_000_000_000)


class GooseSession(NumberedLines):
    def __init__(self, database: ForeignDatabase, file: Found, session_id: str) -> None:
        """Raises OSError, FileNotFoundError where there is no such session, UnknownTablesError."""
        rows, _ = database.rows(f"{_SESSIONS} AND id = ?", (session_id,))
        if not rows:
            raise FileNotFoundError(session_id)
        row = _session_row(rows[0])
        super().__init__(database, file._replace(size=row.rows, mtime_ns=row.changed_ns))
        self._id = session_id
        self._cwd = _text(rows[0][5])
        self._last = 0  # the id of the row that was read last
        self._next = 0  # the number of the one behind it

    def rendered(self, start: int, most: int) -> list[bytes]:
        found: list[bytes] = []
        is_all = False
        while not is_all and len(found) < most:
            left, number = most - len(found), start + len(found)
            if self._next == number:  # faster than to count all rows before it again
                sql, where = f"{_MESSAGES} AND id > ? ORDER BY id LIMIT ?", (self._last, left)
            else:
                sql, where = f"{_MESSAGES} ORDER BY id LIMIT ? OFFSET ?", (left, number)
            rows, is_all = self.database.rows(sql, (self._id, *where))
            found += map(self._line, rows)
            if rows:
                self._last, self._next = rows[-1][0], start + len(found)
        return found

    def _line(self, row: tuple[Any, ...]) -> bytes:
        _, message_id, role, data, at, metadata = row
        try:
            content = list(map(_line_content, _decode_content(data)))
        except UNDECODABLE:
            content = [LineContent(UNKNOWN)]
        try:
            marks = _decode_metadata(metadata or b"{}")
        except UNDECODABLE:
            marks = _Metadata(userVisible=False)  # in doubt words are not the user's
            content = [LineContent(UNKNOWN)]
        line = GooseLine(self._id, _text(message_id or b""), self._cwd, at, _text(role), content)
        line.is_hidden = marks.userVisible is False or bool(marks.turnContext)
        return _encode(line) + b"\n"


def _line_content(content: _Content) -> LineContent:
    if content.type == "text":
        return LineContent("text", content.text)
    if content.type == "toolRequest" and content.toolCall is not None:
        value = content.toolCall.value or _CallValue()
        return LineContent(content.type, name=value.name, id=content.id, input=value.arguments)
    if content.type == "toolResponse" and content.toolResult is not None:
        result = content.toolResult
        has_failed = result.status == "error" or bool(result.value and result.value.isError)
        return LineContent(content.type, id=content.id, has_failed=has_failed)
    return LineContent(content.type)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
