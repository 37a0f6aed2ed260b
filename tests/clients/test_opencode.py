"""opencode: rows that are updated, copied, deleted and inserted while memoryd reads; each message of the user once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.opencode import OpencodeClient
from memoryd.jobs.notes import update
from memoryd.jobs.notes_due import due
from memoryd.model import Cursor
from memoryd.sources import database as database_module
from memoryd.state import queries
from memoryd.transcripts.read import TurnPlace, read_turns
from memoryd.transcripts.tail import read_new_turns
from tests.clients.databases import OpencodeDatabase
from tests.clients.said import Listener

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database

CLIENT = OpencodeClient()


@pytest.fixture
def opencode(paths: Paths) -> Iterator[OpencodeDatabase]:
    database = OpencodeDatabase(Path(paths.home))
    yield database
    database.close()


@pytest.fixture
def listener(opencode: OpencodeDatabase, database: Database, paths: Paths, config: Config) -> Listener:
    assert opencode.path.exists()
    return Listener(CLIENT, database, paths, config)


def test_a_message_counts_once_it_is_complete(opencode: OpencodeDatabase, listener: Listener) -> None:
    opencode.session()
    message = opencode.message("ses_one", "user", agent="build")
    assert listener.listen() == []  # its text comes later
    opencode.part(message, "ses_one", type="text", text="use tabs")
    assert listener.listen() == ["use tabs"]
    reply = opencode.begin_reply()
    part = opencode.part(reply, "ses_one", type="text", text="Ta")
    assert listener.listen() == ["use tabs"]
    assert listener.ends() == [None]
    opencode.writer.execute(
        'UPDATE part SET data = json_patch(data, \'{"text": "Tabs it is."}\') WHERE id = ?', (part,)
    )
    opencode.end_reply(reply)
    assert listener.listen() == ["use tabs"]
    assert listener.ends() == ["end_turn"]


def test_a_message_keeps_the_parts_behind_the_first_batch_of_rows(
    opencode: OpencodeDatabase, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "READ_SECONDS", 0.0)
    opencode.session()
    message = opencode.message("ses_one", "user", agent="build")
    for text in ("use tabs", "and no semicolons", "ever"):
        opencode.part(message, "ses_one", type="text", text=text)
    (said,) = listener.listen()
    assert said.split() == ["use", "tabs", "and", "no", "semicolons", "ever"]


def test_what_comes_later_to_a_message_makes_nothing_be_read_again(opencode: OpencodeDatabase) -> None:
    opencode.session()
    prompt = opencode.prompt("use tabs")
    path = opencode.session_path("ses_one")
    first = read_new_turns(CLIENT, path, Cursor(), ())
    opencode.change(prompt, summary={"diffs": [], "title": "Tabs"})
    opencode.reply("Tabs it is.")
    again = read_new_turns(CLIENT, path, first.cursor, first.turns)
    assert (again.rewritten, again.cursor.offset) == (False, 2)


def test_a_prompt_that_waits_behind_a_reply_is_read_after_it(opencode: OpencodeDatabase, listener: Listener) -> None:
    opencode.session()
    opencode.prompt("use tabs")
    reply = opencode.begin_reply()
    opencode.prompt("and no semicolons")
    assert listener.listen() == ["use tabs"]
    opencode.end_reply(reply)
    opencode.reply("Yes.")
    assert listener.listen() == ["use tabs", "and no semicolons"]


def test_a_reply_that_a_crash_has_left_hides_nothing(opencode: OpencodeDatabase, listener: Listener) -> None:
    opencode.session()
    opencode.prompt("use tabs")
    opencode.begin_reply()
    opencode.prompt("are you there?")
    opencode.reply("Yes.")
    assert listener.listen() == ["use tabs", "are you there?"]


def test_a_fork_says_nothing_again(opencode: OpencodeDatabase, listener: Listener) -> None:
    opencode.session()
    opencode.prompt("use tabs")
    opencode.reply("Tabs it is.")
    opencode.prompt("use tabs")  # said again on purpose: that is another message
    opencode.reply("As I said.")
    assert listener.listen() == ["use tabs", "use tabs"]
    opencode.fork("ses_one", "ses_two")
    opencode.prompt("no, spaces", "ses_two")
    opencode.reply("Spaces.", "ses_two")
    assert listener.listen() == ["use tabs", "use tabs", "no, spaces"]


def test_a_compaction_says_nothing_again(opencode: OpencodeDatabase, listener: Listener) -> None:
    opencode.session()
    opencode.prompt("use tabs")
    opencode.reply("Tabs it is.")
    opencode.compact()
    opencode.reply("Going on.")
    opencode.prompt("read this long file")
    assert listener.listen() == ["use tabs", "read this long file"]
    opencode.compact(repeated="read this long file")
    opencode.reply("Read.")
    assert listener.listen() == ["use tabs", "read this long file"]
    opencode.prompt("read this long file")  # typed again
    assert listener.listen() == ["use tabs", "read this long file", "read this long file"]


def test_messages_that_were_taken_back_stay_said(opencode: OpencodeDatabase, listener: Listener) -> None:
    opencode.session()
    opencode.prompt("use tabs")
    opencode.reply("Tabs it is.")
    second = opencode.prompt("and rename it")
    opencode.reply("Renamed.")
    listener.listen()
    opencode.writer.execute("DELETE FROM message WHERE id >= ?", (second,))  # `/undo`, and then another prompt
    opencode.prompt("leave the name")
    opencode.reply("Left.")
    listener.listen()
    rows = listener.database.query("SELECT prompt_id FROM turns")
    assert len(rows) == 3
    opencode.writer.execute("DELETE FROM session")
    opencode.writer.execute("DELETE FROM message")
    listener.ingester.ingest(listener.now + 1)
    assert len(listener.database.query("SELECT prompt_id FROM turns")) == 3
    assert listener.database.query("SELECT missing_at FROM transcripts")[0][0] is not None


def test_only_the_users_words_count(opencode: OpencodeDatabase, listener: Listener) -> None:
    opencode.session()
    message = opencode.prompt("use tabs")
    opencode.part(message, "ses_one", type="text", synthetic=True, text="<memoryd-recall>use spaces</memoryd-recall>")
    opencode.part(message, "ses_one", type="file", mime="text/plain", filename="a.py", url="file:///a.py")
    opencode.part(message, "ses_one", type="text", text="Ignore me", ignored=True)
    opencode.reply("Tabs it is.")
    opencode.prompt("Glued.\n<memoryd-recall>use spaces</memoryd-recall>")
    opencode.prompt("&lt;memoryd-recall&gt;use spaces&lt;/memoryd-recall&gt;")
    opencode.session("ses_child", parent="ses_one")
    opencode.prompt("read notes.txt", "ses_child")
    assert listener.listen() == ["use tabs", "Glued."]


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ('"use tabs"', "use tabs"),
        (r'"say \"yes\" to tabs"', 'say "yes" to tabs'),
        ('"tabs"', '"tabs"'),
        ('"use" and "tabs"', '"use" and "tabs"'),
    ],
)
def test_quotation_marks_of_the_shell_are_taken_off(
    opencode: OpencodeDatabase, listener: Listener, stored: str, said: str
) -> None:
    opencode.session()
    opencode.prompt(stored)
    assert listener.listen() == [said]


def test_an_error_ends_a_turn(opencode: OpencodeDatabase, listener: Listener) -> None:
    opencode.session()
    opencode.prompt("use tabs")
    opencode.begin_reply(error={"name": "MessageAbortedError", "data": {}})
    assert listener.listen() == ["use tabs"]
    assert listener.ends() == ["interrupted"]


@pytest.mark.parametrize(("status", "saved"), [("completed", ("a.md",)), ("error", ())])
def test_a_memory_that_the_agent_writes_itself_is_seen(
    opencode: OpencodeDatabase, status: str, saved: tuple[str, ...]
) -> None:
    opencode.session()
    opencode.prompt("use tabs")
    opencode.call("/m/memory/a.md", status=status)
    opencode.reply("Done.")
    path = opencode.session_path("ses_one")
    (turn,) = read_new_turns(CLIENT, path, Cursor(), ()).turns
    assert (turn.end_reason, turn.pending_calls) == ("end_turn", ())
    read = read_turns(CLIENT, path, [TurnPlace(turn.prompt_id, turn.start, turn.end)], "/m/memory", with_calls=True)
    assert (read[turn.prompt_id].saved, read[turn.prompt_id].calls) == (saved, ("write: /m/memory/a.md",))


def test_what_a_newer_version_writes_is_counted_and_the_rest_goes_on(
    opencode: OpencodeDatabase, listener: Listener, database: Database
) -> None:
    opencode.session()
    message = opencode.prompt("use tabs")
    opencode.part(message, "ses_one", type="wish", text="use spaces")
    opencode.part(message, "ses_one", type="text", text={"parts": ["use spaces"]})
    opencode.writer.execute("INSERT INTO message VALUES ('msg_x', 'ses_one', 1790000099000, 0, 'no JSON')")
    opencode.reply("Tabs it is.")
    opencode.writer.execute("ALTER TABLE part ADD COLUMN hue text")
    assert listener.listen() == ["use tabs"]
    assert [json.loads(text) for text in listener.damage()] == [{"unknown_shape": 2, "unknown_type": 1}]
    opencode.writer.execute("CREATE TABLE message_v2 (id text)")
    opencode.prompt("and no semicolons")
    assert listener.listen() == ["use tabs", "and no semicolons"]
    assert queries.oddities(database) == []  # nothing is in it yet
    opencode.writer.execute("INSERT INTO message_v2 VALUES ('m')")
    opencode.prompt("and short lines")
    assert listener.listen() == ["use tabs", "and no semicolons", "and short lines"]
    assert queries.oddities(database) == [(str(opencode.path), "unknown tables")]
    opencode.writer.execute("ALTER TABLE session RENAME COLUMN directory TO place")
    listener.ingester.ingest(listener.now + 1)
    assert queries.oddities(database) == [(str(opencode.path), "unknown tables")]
    assert (
        database.query("SELECT missing_at FROM transcripts")[0][0] is None
    )  # it is there, and waits for a newer memoryd


def test_lines_of_other_shapes_are_counted() -> None:
    decode = CLIENT.decoder("")
    damage: Counter[str] = Counter()
    assert [decode(line, damage) for line in (b"", b"{}\n", b"[1]\n")] == [(), (), ()]
    assert damage == {"unreadable": 2}


def test_a_long_session_is_due_for_notes_though_it_has_few_rows(
    opencode: OpencodeDatabase, listener: Listener, paths: Paths, config: Config
) -> None:
    opencode.session()
    opencode.prompt("use tabs " * 6_000)
    opencode.reply("Tabs it is.")
    listener.listen()
    (active_at,) = listener.database.query("SELECT max(active_at) FROM transcripts")[0]
    places = due(listener.database, paths, config, active_at)
    assert [place.session_id for place in places] == ["ses_one"]
    notes = update(listener.database, paths, config, places[0], active_at)
    assert notes is not None
    assert notes.file
