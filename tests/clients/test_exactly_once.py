"""Every message of the user once, from sessions of every other client, whatever happens to their files."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.registry import ALL, client_named
from memoryd.config import Config
from memoryd.diagnosis.checks.other_clients import judge_other_clients, read_other_clients
from memoryd.diagnosis.facts import World
from memoryd.jobs.ingest import Ingester
from memoryd.projects import Project
from memoryd.state import projects, sessions
from memoryd.state.database import open_database, open_for_reading
from memoryd.transcripts.read import TurnPlace, read_turns
from tests.clients.homes import CWD, Codex, GeminiCli, Pi
from tests.clients.other_homes import EVERY_SCRIBE, Aider
from tests.transcript import line

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.clients.homes import Scribe

NOW = 2_000_000_000.0

each_scribe = pytest.mark.parametrize("scribe_of", EVERY_SCRIBE, ids=[scribe.client for scribe in EVERY_SCRIBE])


@pytest.fixture
def home(paths: Paths) -> Path:
    return Path(paths.home)


def know_project(database: Database, paths: Paths) -> None:
    with database.transaction():
        root = f"{paths.home}/acme"
        projects.project_id_of(database, Project(root, "acme", f"{root}-memory"), NOW)


@pytest.fixture
def ingester(database: Database, paths: Paths, config: Config) -> Ingester:
    """It has looked once, so that what comes is new, and knows the project in which aider is used."""
    know_project(database, paths)
    ingester = Ingester(ALL, database, paths, config)
    ingester.ingest(NOW)
    return ingester


def said(database: Database) -> list[str]:
    """The words of every turn that is known, read where the database says that they stand."""
    rows = database.query(
        "SELECT client, path, prompt_id, start, end FROM turns JOIN transcripts ON transcripts.id = transcript_id"
        " WHERE missing_at IS NULL ORDER BY turns.id"
    )
    found = []
    for client, path, prompt_id, start, end in rows:
        read = read_turns(client_named(client), path, [TurnPlace(prompt_id, start, end)], "/memory")
        found += [turn.said.text for turn in read.values()]
    return found


def turn(scribe: Scribe, text: str) -> list[bytes]:
    return [scribe.prompt(text), scribe.call("/code/acme/a.py"), scribe.result(), scribe.reply(f"done: {text}")]


def end_reasons(database: Database) -> list[str | None]:
    return [row[0] for row in database.query("SELECT end_reason FROM turns ORDER BY id")]


@each_scribe
def test_appended_in_pieces_that_end_anywhere(
    scribe_of: type[Scribe], ingester: Ingester, database: Database, home: Path
) -> None:
    scribe = scribe_of()
    texts = [f"message {number}" for number in range(6)]
    data = b"".join([scribe.head(), scribe.bulk(), *(part for text in texts for part in turn(scribe, text))])
    scribe.write(home, b"")
    chance = random.Random(scribe.client)
    end = 0
    for step in range(1, 40):
        begin, end = end, min(len(data), end + chance.randrange(1, len(data) // 12))
        scribe.write(home, data[begin:end])
        ingester.ingest(NOW + step)
    assert end == len(data)
    assert said(database) == texts
    (damage,) = database.query("SELECT damage FROM transcripts")[0]
    assert damage == "{}"


@each_scribe
def test_a_turn_ends_as_the_client_tells_or_by_silence(
    scribe_of: type[Scribe], ingester: Ingester, database: Database, home: Path, config: Config
) -> None:
    scribe = scribe_of()
    path = scribe.write(home, scribe.head() + b"".join(turn(scribe, "first")))
    os.utime(path, (NOW, NOW))
    ingester.ingest(NOW + 1)
    assert end_reasons(database) == ["end_turn" if scribe.says_end else None]
    path = scribe.write(home, b"".join(turn(scribe, "second")))
    os.utime(path, (NOW + 2, NOW + 2))
    ingester.ingest(NOW + 3)
    ingester.ingest(NOW + 3 + config.turns.quiet_seconds)
    assert end_reasons(database) == (["end_turn"] * 2 if scribe.says_end else ["next_prompt", "quiet"])


@each_scribe
def test_resumed_and_compacted(scribe_of: type[Scribe], ingester: Ingester, database: Database, home: Path) -> None:
    scribe = scribe_of()
    first = turn(scribe, "first")
    scribe.write(home, scribe.head() + b"".join(first))
    ingester.ingest(NOW + 1)
    scribe.write(home, scribe.resume(first))
    second = turn(scribe, "second")
    scribe.write(home, b"".join(second))
    ingester.ingest(NOW + 2)
    scribe.write(home, scribe.compact([*first, *second]) + b"".join(turn(scribe, "third")))
    ingester.ingest(NOW + 3)
    assert said(database) == ["first", "second", "third"]
    rows = database.query(
        "SELECT path, prompt_id, start, end FROM turns JOIN transcripts ON transcripts.id = transcript_id"
    )
    read = [read_turns(client_named(scribe.client), path, [TurnPlace(*place)], "/m") for path, *place in rows]
    assert [turn.said.reply for found in read for turn in found.values()] == [
        "done: first",
        "done: second",
        "done: third",
    ]


@each_scribe
def test_a_file_written_anew_as_a_whole(
    scribe_of: type[Scribe], ingester: Ingester, database: Database, home: Path
) -> None:
    scribe = scribe_of()
    parts = [scribe.head(), *turn(scribe, "first")]
    scribe.write(home, b"".join(parts))
    ingester.ingest(NOW + 1)
    parts[1:1] = [scribe.bulk()]
    scribe.rewrite(home, b"".join([*parts, *turn(scribe, "second")]))
    ingester.ingest(NOW + 2)
    ingester.ingest(NOW + 3)
    assert said(database) == ["first", "second"]


@each_scribe
def test_a_session_that_is_deleted_takes_nothing_back(
    scribe_of: type[Scribe], ingester: Ingester, database: Database, home: Path
) -> None:
    scribe = scribe_of()
    data = scribe.head() + b"".join(turn(scribe, "first"))
    scribe.write(home, data)
    ingester.ingest(NOW + 1)
    scribe.delete(home)
    ingester.ingest(NOW + 2)
    assert database.query("SELECT count(*) FROM turns")[0][0] == 1
    scribe.write(home, data)
    ingester.ingest(NOW + 3)
    assert said(database) == ["first"]


@each_scribe
def test_recall_that_comes_back_is_not_the_users(
    scribe_of: type[Scribe], ingester: Ingester, database: Database, home: Path
) -> None:
    scribe = scribe_of()
    scribe.write(home, scribe.head() + scribe.with_recall("use tabs") + scribe.reply("ok"))
    ingester.ingest(NOW + 1)
    assert said(database) == ["use tabs"]


@each_scribe
def test_a_newer_client_is_counted_and_the_rest_goes_on(
    scribe_of: type[Scribe], ingester: Ingester, database: Database, home: Path, paths: Paths
) -> None:
    """It is updated while the daemon runs."""
    scribe = scribe_of()
    if isinstance(scribe, Aider):
        return  # Markdown has no types: what is neither a prompt nor a notice is an answer
    scribe.write(home, b"".join((scribe.head(), *turn(scribe, "first"))))
    ingester.ingest(NOW + 1)
    scribe.write(home, b"".join((scribe.unknown_type(), scribe.unknown_shape(), *turn(scribe, "second"))))
    ingester.ingest(NOW + 2)
    assert said(database) == ["first", "second"]
    checks = judge_other_clients(read_other_clients(World(paths, Config(), NOW + 2)))
    told = [check.text for check in checks if check.name == "unknown_lines"]
    assert [text.partition(" of a kind")[0] for text in told] == [f"{client_named(scribe.client).title}: 2 lines"]
    assert json.loads(database.query("SELECT damage FROM transcripts")[0][0]) == {"unknown_shape": 1, "unknown_type": 1}


@each_scribe
def test_the_project_is_the_one_of_the_working_directory(
    scribe_of: type[Scribe], ingester: Ingester, database: Database, home: Path
) -> None:
    scribe = scribe_of()
    scribe.write(home, scribe.head() + b"".join(turn(scribe, "first")))
    ingester.ingest(NOW + 1)
    rows = database.query("SELECT projects.root, session_id FROM transcripts JOIN projects ON projects.id = project_id")
    assert [tuple(row) for row in rows] == [(scribe.project(home), scribe.session_id(home))]


def test_a_fork_with_the_history_in_it(ingester: Ingester, database: Database, home: Path) -> None:
    """Pi copies entries with their ids and times."""
    scribe, fork = Pi(), Pi("fork")
    history = [*turn(scribe, "first"), *turn(scribe, "second")]
    path = scribe.write(home, b"".join([scribe.head(), *history]))
    ingester.ingest(NOW + 1)
    fork.count = 50
    fork.write(home, b"".join([fork.head(parentSession=str(path)), *history, *turn(fork, "third")]))
    ingester.ingest(NOW + 2)
    assert said(database) == ["first", "second", "third"]


def older_codex(scribe: Codex, text: str) -> bytes:
    return scribe.event("user_message", message=text) + scribe.event("agent_message", message="ok")


@pytest.mark.parametrize("is_archived", [False, True])
def test_a_fork_that_writes_the_history_again_without_ids(
    ingester: Ingester, database: Database, home: Path, is_archived: bool
) -> None:
    """Older Codex copies messages with new times; what is said again in the fork is new."""
    scribe, fork = Codex(), Codex("fork")
    head = scribe.head(history_mode="legacy")
    path = scribe.write(home, head + older_codex(scribe, "first") + older_codex(scribe, "go on"))
    if is_archived:
        (home / ".codex/archived_sessions").mkdir()
        path.rename(home / ".codex/archived_sessions" / path.name)
    ingester.ingest(NOW + 1)
    fork.count = 100
    copied = older_codex(fork, "first") + older_codex(fork, "go on")
    head = fork.head(history_mode="legacy", forked_from_id=scribe.id)
    fork.write(home, head + copied + older_codex(fork, "go on") + older_codex(fork, "third"))
    ingester.ingest(NOW + 2)
    assert said(database) == ["first", "go on", "go on", "third"]


def test_a_sub_agents_task_is_nobodys_words(ingester: Ingester, database: Database, home: Path) -> None:
    scribe = Codex("sub-agent")
    scribe.write(home, scribe.head(thread_source="subagent") + b"".join(turn(scribe, "look at a.py")))
    ingester.ingest(NOW + 1)
    assert said(database) == []


def test_an_archived_codex_session_is_the_same_one(ingester: Ingester, database: Database, home: Path) -> None:
    scribe = Codex()
    path = scribe.write(home, scribe.head() + b"".join(turn(scribe, "first")))
    ingester.ingest(NOW + 1)
    (home / ".codex/archived_sessions").mkdir()
    path.rename(home / ".codex/archived_sessions" / path.name)
    ingester.ingest(NOW + 2)
    assert said(database) == ["first"]
    assert database.query("SELECT count(*) FROM transcripts")[0][0] == 1


def test_an_older_gemini_document_is_written_anew_with_every_message(
    ingester: Ingester, database: Database, home: Path
) -> None:
    scribe = GeminiCli()
    path = scribe.path(home).with_suffix(".json")
    path.parent.mkdir(parents=True)
    (path.parent.parent / ".project_root").write_text(CWD)
    messages: list[dict[str, object]] = []
    for step, text in enumerate(["first", "second", "third"], 1):
        written = [json.loads(one) for part in turn(scribe, text) for one in part.splitlines()]
        messages += [message for message in written if "type" in message]
        document = {"sessionId": scribe.id, "lastUpdated": f"{step}", "messages": messages}
        path.write_text(json.dumps(document, indent=2)[: None if step != 2 else 300])
        os.utime(path, (NOW + step, NOW + step))
        ingester.ingest(NOW + step)
        if step == 2:
            assert [row[0] for row in database.query("SELECT error FROM transcripts")] == ["no whole JSON"]
    assert said(database) == ["first", "second", "third"]
    assert [row[0] for row in database.query("SELECT DISTINCT is_history FROM turns")] == [0]
    # A newer version goes on with it line by line.
    scribe.write(home, line({"sessionId": scribe.id, "kind": "main"}) + b"".join(map(line, messages)))
    path.unlink()
    ingester.ingest(NOW + 9)
    assert said(database) == ["first", "second", "third"]


def test_the_stub_beside_a_resumed_gemini_session_says_nothing(
    ingester: Ingester, database: Database, home: Path
) -> None:
    scribe = GeminiCli()
    path = scribe.write(home, scribe.head() + b"".join(turn(scribe, "first")))
    path.with_name(path.name.replace("09-00", "09-01")).write_bytes(scribe.head())
    ingester.ingest(NOW + 1)
    assert said(database) == ["first"]


_INGEST = """
import os, sys
from memoryd.clients.registry import ALL
from memoryd.config import Config
from memoryd.jobs.ingest import Ingester
from memoryd.paths import paths_from
from memoryd.state.database import open_database
database = open_database(paths_from(os.environ))
ingester = Ingester(ALL, database, paths_from(os.environ), Config())
print("ready", flush=True)
for now in range(10_000):
    ingester.ingest(2e9 + now)
    if not sys.argv[1:]:
        break
"""


def test_every_message_once_after_kills(paths: Paths, home: Path, environment: dict[str, str]) -> None:
    """A process that reads all clients is killed again and again while they write."""
    with closing(open_database(paths)) as database:
        know_project(database, paths)
    chance = random.Random(7)
    scribes = [scribe_of() for scribe_of in EVERY_SCRIBE]
    for scribe in scribes:
        scribe.write(home, scribe.head())
    expected = []
    for number in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", _INGEST, "for ever"], env={**os.environ, **environment}, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
            for scribe in scribes:
                data = b"".join(turn(scribe, f"{scribe.client} {number}"))
                cut = chance.randrange(len(data))
                scribe.write(home, data[:cut])
                scribe.write(home, data[cut:])
                expected.append(f"{scribe.client} {number}")
            process.kill()
    subprocess.run([sys.executable, "-c", _INGEST], env={**os.environ, **environment}, check=True, capture_output=True)
    known = open_for_reading(paths)
    assert known
    assert sorted(said(known)) == sorted(expected)
    assert sessions.has_files(known)
    known.close()
