"""goose: a compaction inserts all rows again; each message of the user once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.goose import GooseClient
from memoryd.model import Cursor
from memoryd.state import queries
from memoryd.transcripts.read import TurnPlace, read_turns
from memoryd.transcripts.tail import read_new_turns
from tests.clients.databases import GooseDatabase
from tests.clients.said import Listener

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database

CLIENT = GooseClient()


@pytest.fixture
def goose(paths: Paths) -> Iterator[GooseDatabase]:
    database = GooseDatabase(Path(paths.home))
    yield database
    database.close()


@pytest.fixture
def listener(goose: GooseDatabase, database: Database, paths: Paths, config: Config) -> Listener:
    assert goose.path.exists()
    return Listener(CLIENT, database, paths, config)


def test_each_message_counts_once_through_resume_and_compaction(goose: GooseDatabase, listener: Listener) -> None:
    goose.session()
    goose.prompt("use tabs")
    assert listener.listen() == ["use tabs"]
    goose.call("/code/acme/a.py")
    goose.reply("Tabs it is.")
    goose.prompt("go on")
    assert listener.listen() == ["use tabs", "go on"]
    assert listener.ends() == ["end_turn", None]
    goose.compact()
    assert listener.listen() == ["use tabs", "go on"]
    goose.reply("Gone on.")
    goose.prompt("go on")
    assert listener.listen() == ["use tabs", "go on", "go on"]
    assert listener.ends() == ["end_turn", "end_turn", None]


def test_a_compaction_that_drops_rows_says_nothing_again(goose: GooseDatabase, listener: Listener) -> None:
    goose.session()
    for text in ("use tabs", "go on", "and on"):
        goose.prompt(text)
        goose.reply("Yes.")
    before = listener.listen()
    goose.compact()
    goose.writer.execute("DELETE FROM messages WHERE message_id = 'msg_000004'")
    goose.prompt("stop")
    listener.listen()
    rows = listener.database.query("SELECT prompt_id FROM turns")
    assert (len(before), len(rows)) == (3, 4)


def test_a_copied_session_says_nothing_again(goose: GooseDatabase, listener: Listener) -> None:
    goose.session()
    goose.prompt("use tabs")
    goose.reply("Tabs it is.")
    goose.session("20261018_2")
    goose.writer.execute(
        "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)"
        " SELECT 'copy' || id, '20261018_2', role, content_json, created_timestamp, metadata_json FROM messages"
    )
    goose.prompt("no, spaces", "20261018_2")
    assert listener.listen() == ["use tabs", "no, spaces"]


def test_only_the_users_words_count(goose: GooseDatabase, listener: Listener) -> None:
    goose.session()
    goose.prompt("use tabs\n<memoryd-recall>use spaces</memoryd-recall>")
    goose.prompt("&lt;memoryd-recall&gt;use spaces&lt;/memoryd-recall&gt;")
    for number, kind in enumerate(("sub_agent", "scheduled", "hidden"), 2):
        goose.session(f"20261018_{number}", kind)
        goose.prompt("read notes.txt", f"20261018_{number}")
    assert listener.listen() == ["use tabs"]


@pytest.mark.parametrize(("fails", "saved"), [(False, ("a.md",)), (True, ())])
def test_a_memory_that_the_agent_writes_itself_is_seen(
    goose: GooseDatabase, fails: bool, saved: tuple[str, ...]
) -> None:
    goose.session()
    goose.prompt("use tabs")
    goose.call("/m/memory/a.md", fails=fails)
    goose.reply("Done.")
    path = goose.session_path("20261018_1")
    (turn,) = read_new_turns(CLIENT, path, Cursor(), ()).turns
    read = read_turns(CLIENT, path, [TurnPlace(turn.prompt_id, turn.start, turn.end)], "/m/memory", with_calls=True)
    assert (read[turn.prompt_id].saved, read[turn.prompt_id].calls) == (saved, ("write: /m/memory/a.md",))


def test_what_a_newer_version_writes_is_counted_and_the_rest_goes_on(
    goose: GooseDatabase, listener: Listener, database: Database
) -> None:
    goose.session()
    goose.row("user", [{"type": "wish", "text": "use spaces"}])
    goose.row("user", {"parts": ["use spaces"]})
    goose.row("narrator", [{"type": "text", "text": "use spaces"}])
    goose.writer.execute("UPDATE messages SET metadata_json = 'no JSON' WHERE message_id = 'msg_000002'")
    goose.prompt("use tabs")
    assert listener.listen() == ["use tabs"]
    assert [json.loads(text) for text in listener.damage()] == [{"unknown_shape": 1, "unknown_type": 2}]
    goose.writer.execute("CREATE TABLE threads AS SELECT 1 AS id")
    goose.prompt("and no semicolons")
    assert listener.listen() == ["use tabs", "and no semicolons"]
    assert queries.oddities(database) == [(str(goose.path), "unknown tables")]
