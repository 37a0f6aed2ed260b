"""What is put into the files of clients is there, is brought up to date, and is taken out to the byte."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients import toml_tables
from memoryd.clients.connections import ClientPiece, note_of, put_in, state_of
from memoryd.clients.json_comments import edited, without_comments
from memoryd.clients.json_entries import (
    Before,
    SettingsEntry,
    UnusableError,
    entries_in,
    outline_of,
    with_entries,
    without_entries,
)
from memoryd.clients.registry import CONNECTED
from memoryd.errors import ClientError
from memoryd.setup.record import SetupRecord, as_dict
from memoryd.setup.take_back import _without_piece, take_back
from tests.clients.settings_texts import settings_texts

if TYPE_CHECKING:
    from memoryd.clients.base import ConnectedClient
    from memoryd.clients.connections import PieceNote
    from memoryd.paths import Paths

PYTHON = "/opt/my venv/bin/python"
each_client = pytest.mark.parametrize("client", CONNECTED, ids=lambda client: client.name)
SERVER = SettingsEntry(("mcpServers", "memoryd"), {"command": PYTHON, "args": ["-P", "-m", "memoryd", "mcp"]})
HOOK = SettingsEntry(
    ("hooks", "Stop"), {"hooks": [{"type": "command", "command": "/p -P -m memoryd hook stop --client x"}]}
)
TABLE = '[mcp_servers.memoryd]\ncommand = "/p"\nargs = ["-P", "-m", "memoryd", "mcp", "--stdio"]\n'
TOML = ClientPiece("", "toml", "server", text=TABLE, table="mcp_servers.memoryd")
TEXTS = {
    "json": (
        None,
        "",
        "{}",
        "{ }\r\n",
        '{\r\n\t"a": 1,\r\n\t"hooks": { }\r\n}',
        '{"mcpServers":{"x":{}},"hooks":{"Stop":[]}}',
        '{\n  // mine, "quoted"\n  "url": "http://x", /* one\n  two */\n  "a": 1 // last\n}\n',
    ),
    "toml": (None, "", "a = 1", "# mine\r\na = 1\r\n", "a = 1\n\n[mcp_servers.x]\ncommand = 'y' # x\n\n\n"),
    "file": (None,),
}


def connect(client: ConnectedClient, paths: Paths, python: str = PYTHON) -> list[PieceNote]:
    pieces = client.pieces(paths, python)
    notes = [note_of(client.name, piece, follow=False) for piece in pieces]
    for piece, note in zip(pieces, notes, strict=True):
        put_in(piece, note)
    return notes


def take_out(notes: list[PieceNote]) -> list[str]:
    return take_back(as_dict(SetupRecord("", pieces=tuple(notes)))).told


@each_client
@pytest.mark.parametrize("number", range(7))
def test_a_clients_files_are_as_before_when_memoryd_is_taken_out(
    client: ConnectedClient, paths: Paths, number: int
) -> None:
    os.makedirs(os.path.join(paths.home, ".config/opencode/node_modules/@opencode-ai/plugin"))
    before = {}
    for piece in client.pieces(paths, PYTHON):
        texts = TEXTS[piece.kind]
        text = before[piece.file] = texts[number % len(texts)]
        os.makedirs(os.path.dirname(piece.file), exist_ok=True)
        if text is not None:
            Path(piece.file).write_bytes(text.encode())
            os.chmod(piece.file, 0o640)
    assert state_of(client.pieces(paths, PYTHON)) == "missing"
    notes = connect(client, paths)
    assert state_of(client.pieces(paths, PYTHON)) == "installed"
    assert state_of(client.pieces(paths, "/new/python")) == "outdated"
    now = {file: Path(file).read_bytes() for file in before}
    connect(client, paths)
    assert {file: Path(file).read_bytes() for file in before} == now
    for piece, note in zip(client.pieces(paths, "/new/python"), notes, strict=True):
        put_in(piece, note)
    assert state_of(client.pieces(paths, "/new/python")) == "installed"
    take_out(notes)
    after = {file: Path(file).read_bytes().decode() if os.path.exists(file) else None for file in before}
    assert after == before
    assert all(os.stat(file).st_mode & 0o777 == 0o640 for file, text in after.items() if text is not None)
    assert take_out(notes) == []


@given(settings_texts(), st.booleans())
def test_entries_go_to_the_byte_by_the_outline_alone(text: str, is_rewritten: bool) -> None:
    outline = outline_of(text)
    full = with_entries(text, [HOOK, SERVER])
    assert with_entries(full, [SERVER, HOOK]) == full
    if is_rewritten:
        value = json.loads(full.removeprefix("\ufeff"))
        removed = without_entries(json.dumps(value, indent=3), Before(outline))
        expected = json.loads(text.removeprefix("\ufeff") or "{}") if text.strip("\ufeff \t\r\n") else {}
        assert (json.loads(removed) if removed and removed.strip("\ufeff \t\r\n") else {}) == expected
    else:
        assert without_entries(full, Before(outline)) == text


@given(settings_texts(), st.sampled_from(["// é\n", '/* "x": {\n */', "/**/"]), st.integers(0, 400))
def test_no_comment_is_lost_wherever_it_stands(text: str, comment: str, at: int) -> None:
    """A comment at any place: memoryd is put in and out to the byte, or the file is refused; it never loses a letter."""
    full = text[:at] + comment + text[at:]
    bare = without_comments(full)
    assert len(bare) == len(full)
    try:
        outline = outline_of(bare)
        connected = edited(full, lambda bare: with_entries(bare, [HOOK, SERVER], Before(outline)))
    except UnusableError:
        return
    assert connected is not None
    assert comment in connected or comment not in full
    assert entries_in(without_comments(connected))
    assert edited(connected, lambda bare: without_entries(bare, Before(outline))) == full


def test_an_inline_table_is_told_with_the_line_to_add() -> None:
    text = 'mcp_servers = { x = { command = "y" } }\n'
    with pytest.raises(UnusableError) as refused:
        toml_tables.with_table(text, TABLE)
    line = str(refused.value).split("`")[3]
    by_hand = text.replace(" }\n", f", {line} }}\n")
    assert toml_tables.table_at(by_hand, TOML.table) == toml_tables.table_at(TABLE, TOML.table)
    note = {"kind": "toml", "before": "ended", "table": TOML.table, "trusts": ""}
    with pytest.raises(UnusableError, match="by hand"):
        _without_piece(by_hand, note)
    with pytest.raises(UnusableError, match="has another"):
        toml_tables.with_table("mcp_servers.memoryd = 1\n", TABLE)


def test_an_outline_holds_no_value_of_the_settings() -> None:
    text = '{"env": {"KEY": "secret"}, "mcpServers": {"x": {"token": "secret"}}, "hooks": {"A": ["secret"], "B": [ ]}}'
    assert "secret" not in str(outline_of(text))


@given(
    st.lists(
        st.sampled_from(
            [
                "a = 1",
                "# [x]",
                "",
                "[t]",
                "[t.u]",
                "[[l]]",
                "k = [1,\n[2],\n]",
                "s = '''\n[mcp]\n'''",
                "[mcp_servers.y]",
            ]
        ),
        unique=True,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
)
def test_a_table_goes_to_the_byte_and_what_the_client_added_stays(
    lines: list[str], newline: str, ends: bool, is_added: bool
) -> None:
    text = newline.join(line.replace("\n", newline) for line in lines) + (newline if ends and lines else "")
    toml_tables.parsed(text)
    ended = toml_tables.ENDED if text.endswith("\n") or not text else toml_tables.NOT_ENDED
    added = f"{newline}[projects.'/x']{newline}trust_level = 'trusted'{newline}" if is_added else ""
    full = toml_tables.with_table(text, TABLE) + added
    removed = toml_tables.without_tables(full, TOML.table.__eq__, "ended" if is_added else ended)
    line_end = newline if is_added and ended == toml_tables.NOT_ENDED else ""
    assert removed == text + line_end + added


@each_client
def test_a_server_of_somebody_else_stays_and_gets_no_second_one(client: ConnectedClient, paths: Paths) -> None:
    for piece in client.pieces(paths, PYTHON):
        theirs = '{"command": "mine"}'
        own = f'{{"mcpServers": {{"memoryd": {theirs}}}, "mcp": {{"memoryd": {theirs}}}}}'
        if piece.kind == "file":
            continue
        os.makedirs(os.path.dirname(piece.file), exist_ok=True)
        Path(piece.file).write_text('[mcp_servers.memoryd]\ncommand = "mine"\n' if piece.kind == "toml" else own)
    notes = connect(client, paths)
    assert state_of(client.pieces(paths, PYTHON)) == "installed"
    take_out(notes)
    for piece in client.pieces(paths, PYTHON):
        text = "mine" if piece.kind == "file" else Path(piece.file).read_text()
        assert "mine" in text
        assert "-m" not in text


@each_client
@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": 7, "mcp": 7}'])
def test_a_file_that_cannot_be_understood_stays_with_a_sentence(
    client: ConnectedClient, paths: Paths, text: str
) -> None:
    piece = client.pieces(paths, PYTHON)[0]
    os.makedirs(os.path.dirname(piece.file), exist_ok=True)
    Path(piece.file).write_text(text)
    with pytest.raises(ClientError) as caught:
        connect(client, paths)
    assert piece.file in caught.value.sentence
    assert caught.value.fix
    assert Path(piece.file).read_text() == text


def test_a_link_is_changed_only_where_the_user_says_so(paths: Paths, tmp_path: Path) -> None:
    client = CONNECTED[1]
    (piece,) = client.pieces(paths, PYTHON)
    (tmp_path / "dotfiles.json").write_text("{}")
    os.makedirs(os.path.dirname(piece.file))
    os.symlink(tmp_path / "dotfiles.json", piece.file)
    with pytest.raises(ClientError, match="is a link"):
        note_of(client.name, piece, follow=False)
    note = note_of(client.name, piece, follow=True)
    put_in(piece, note)
    assert os.path.islink(piece.file)
    assert state_of([piece]) == "installed"
    take_out([note])
    assert (tmp_path / "dotfiles.json").read_text() == "{}"
