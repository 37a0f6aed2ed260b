"""Connections to clients that have no plugin for memoryd: what is put into their files, and whether it is there.

A client says which pieces it wants (`memoryd/clients/base.py:ConnectedClient`): entries in JSON settings, a table in TOML, or a
file of its own. `setup` notes each before it is put in; `memoryd/setup/take_back.py` takes them out again by these notes.
"""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from memoryd.clients import json_comments, json_entries, toml_tables
from memoryd.clients.edited_file import edit, sentences, target_of
from memoryd.clients.hook_dialect import server_entry
from memoryd.clients.json_entries import Before, SettingsEntry, UnusableError
from memoryd.clients.replaced_file import read, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.clients.settings import SettingsChange, State

_AGAIN = "memoryd setup"


class ClientPiece(NamedTuple):
    """What memoryd wants to be in one file of a client."""

    file: str
    kind: Literal["json", "toml", "file"]
    what: str
    """In a sentence about the file."""
    entries: tuple[SettingsEntry, ...] = ()
    text: str = ""
    """A table with its header, or all of a file, whose first line says that memoryd made it."""
    table: str = ""
    """The name of the table."""
    trusts: str = ""
    """A file with hooks, of which the client notes in this one that they are trusted."""


class Obstacle(NamedTuple):
    """Why a client does not use what was put into its files."""

    sentence: str
    fix: str


class PieceNote(NamedTuple):
    """A piece that was put in, as the record of setup has it."""

    client: str
    file: str
    kind: str
    before: str | None
    """The outline of the JSON that was there; of TOML, whether its last line was ended. None: there was no file."""
    table: str = ""
    trusts: str = ""


def settings_pieces(file: str, hooks: Sequence[SettingsEntry], python: str) -> tuple[ClientPiece]:
    """Hooks and MCP server in one file of settings."""
    entry = SettingsEntry(("mcpServers", json_entries.SERVER), server_entry(python))
    return (ClientPiece(file, "json", "hooks and MCP server", (*hooks, entry)),)


def state_of(pieces: Sequence[ClientPiece]) -> State:
    """Whether all pieces are there as they are wanted. What cannot be read is not."""
    found = {_state(piece) for piece in pieces}
    return found.pop() if len(found) == 1 else "outdated"


def note_of(client: str, piece: ClientPiece, *, follow: bool) -> PieceNote:
    """What has to be known to take the piece out again, asked before it is put in. Raises ClientError."""
    path = target_of(piece.file, follow=follow, fix=f"{_AGAIN} --follow")
    before = None
    with sentences(path):
        text = text_of(read(path).data)
        if text is not None and piece.kind == "json":
            bare = json_comments.without_comments(text)
            before = json_entries.outline_of(json_entries.without_entries(bare))
        elif text is not None and piece.kind == "toml":
            rest = toml_tables.without_tables(text, piece.table.__eq__)
            before = toml_tables.ENDED if rest.endswith("\n") or not rest else toml_tables.NOT_ENDED
    return PieceNote(client, path, piece.kind, before, piece.table, piece.trusts)


def put_in(piece: ClientPiece, note: PieceNote) -> SettingsChange:
    """Put a piece into the file of its note, or bring it up to date. Raises ClientError, BusyError."""

    def with_wanted(text: str) -> str:
        wanted = _wanted(text, piece)
        return json_entries.with_entries(text, wanted, Before(note.before)) if wanted else text

    def change(text: str | None) -> str | None:
        if piece.kind == "json":
            return json_comments.edited(text or "", with_wanted)
        if piece.kind == "toml":
            return text if _has_table(text or "", piece) else toml_tables.with_table(_without(text, piece), piece.text)
        if text is not None and not _is_own_file(text, piece):
            raise UnusableError("was not made by memoryd")
        return piece.text

    return edit(note.file, change, again=_AGAIN)


def switched_off(title: str, file: str, *keys: str, by: object) -> Obstacle | None:
    """The obstacle that a setting is, if it has the value by which a client runs no hooks."""
    value: Any = json_in(file)
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    if value is not by:
        return None
    sentence = f"{title} runs no hooks: {'.'.join(keys)} is {json.dumps(by)} in {file}"
    return Obstacle(sentence, f"${{EDITOR:-vi}} {shlex.quote(file)}")


def json_in(file: str) -> dict[str, Any]:
    """The settings in a file; empty where they cannot be read."""
    try:
        value = json.loads(json_comments.without_comments(_text_in(file)))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def toml_in(file: str) -> dict[str, Any]:
    """The same of TOML."""
    try:
        return toml_tables.parsed(_text_in(file))
    except UnusableError:
        return {}


def hook_places(file: str) -> list[tuple[str, int, int]]:
    """The hooks of memoryd in a file, as `json_entries.hook_places` tells them."""
    try:
        return json_entries.hook_places(json_comments.without_comments(_text_in(file)))
    except UnusableError:
        return []


def _text_in(file: str) -> str:
    try:
        return text_of(read(os.path.realpath(file)).data) or ""
    except (UnusableError, OSError):
        return ""


def _state(piece: ClientPiece) -> State:
    text = _text_in(piece.file)
    if piece.kind == "file":
        return "installed" if text == piece.text else "outdated" if _is_own_file(text, piece) else "missing"
    try:
        if piece.kind == "toml":
            is_own = json_entries.is_own(_table(text, piece))
            return "installed" if _has_table(text, piece) else "outdated" if is_own else "missing"
        text = json_comments.without_comments(text)
        there = {entry.way: entry.value for entry in json_entries.entries_in(text)}
        is_there = there == {entry.way: entry.value for entry in _wanted(text, piece)}
    except UnusableError:
        return "missing"
    return "installed" if is_there else "outdated" if there else "missing"


def _is_own_file(text: str, piece: ClientPiece) -> bool:
    return text.partition("\n")[0] == piece.text.partition("\n")[0]


def _wanted(text: str, piece: ClientPiece) -> list[SettingsEntry]:
    """A server of our name that somebody else made stays: two would answer for each other."""
    has_foreign = json_entries.has_foreign_server(text)
    return [entry for entry in piece.entries if entry.way[0] == json_entries.HOOKS or not has_foreign]


def _has_table(text: str, piece: ClientPiece) -> bool:
    """Whether the table is there as it is wanted, perhaps with more in it; or somebody else's of its name."""
    found, wanted = _table(text, piece), _table(piece.text, piece)
    if found is None or not json_entries.is_own(found):
        return found is not None
    return all(found.get(key) == value for key, value in (wanted or {}).items())


def _table(text: str, piece: ClientPiece) -> dict[str, Any] | None:
    value = toml_tables.table_at(text, piece.table)
    return value if isinstance(value, dict) else None


def _without(text: str | None, piece: ClientPiece) -> str:
    return toml_tables.without_tables(text or "", piece.table.__eq__)
