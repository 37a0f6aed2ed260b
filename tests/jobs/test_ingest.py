"""The sweep: first sight, growth, moves, copies, bad input; each message of the user once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clients.registry import ALL
from memoryd.config import ProjectSettings
from memoryd.jobs import ingest as module
from memoryd.jobs.ingest import Ingester
from memoryd.jobs.session_place import ReadPlace
from memoryd.state import queries, waiting
from tests.transcript import Session, id_of, line, write

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database

NOW = 2_000_000_000.0


def delivered(database: Database) -> dict[str, str]:
    """Prompt id -> history, open, waiting or an outcome."""
    return {
        row["prompt_id"]: row["outcome"]
        or ("history" if row["is_history"] else "open" if row["end_reason"] is None else "waiting")
        for row in database.query("SELECT * FROM turns")
    }


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.fixture
def ingester(database: Database, paths: Paths, config: Config) -> Ingester:
    """One that has looked at an empty root: what it sees now is new."""
    os.makedirs(paths.transcripts_root)
    ingester = Ingester(ALL, database, paths, config)
    ingester.ingest(NOW)
    return ingester


# --- first sight ------------------------------------------------------------------------------------------------------


def test_what_is_there_at_the_first_look_is_history(database: Database, paths: Paths, config: Config) -> None:
    session = Session()
    old, new = session.turn(), session.turn()
    path = write(paths.transcripts_root, session, old)
    ingester = Ingester(ALL, database, paths, config)
    assert ingester.ingest(NOW).new_history == 1
    append(path, new)
    ingester.ingest(NOW + 5)
    assert delivered(database) == {id_of(old): "history", id_of(new): "waiting"}


def test_a_line_that_was_half_written_at_the_first_look_is_new(
    database: Database, paths: Paths, config: Config
) -> None:
    session = Session()
    old, half = session.turn(), session.prompt()
    path = write(paths.transcripts_root, session, old + half[:30])
    ingester = Ingester(ALL, database, paths, config)
    ingester.ingest(NOW)
    append(path, half[30:] + session.reply())
    ingester.ingest(NOW + 5)
    assert delivered(database) == {id_of(old): "history", id_of(half): "waiting"}


def test_a_transcript_that_appears_while_looking_is_new_from_its_first_byte(
    database: Database, paths: Paths, ingester: Ingester
) -> None:
    session = Session()
    turn = session.turn()
    path = write(paths.transcripts_root, session, turn)
    os.utime(path, (1, 1))
    assert ingester.ingest(NOW + 5).new_live == 1
    assert delivered(database) == {id_of(turn): "waiting"}


def test_sessions_of_a_night_without_a_daemon_are_new(database: Database, paths: Paths, config: Config) -> None:
    """And an older file that was moved in meanwhile is history."""
    os.makedirs(paths.transcripts_root)
    Ingester(ALL, database, paths, config).ingest(NOW)
    night, restored = Session("night"), Session("restored")
    said, old = night.turn(), restored.turn()
    os.utime(write(paths.transcripts_root, night, said), (NOW + 100, NOW + 100))
    os.utime(write(paths.transcripts_root, restored, old), (NOW - 100, NOW - 100))
    Ingester(ALL, database, paths, config).ingest(NOW + 1000)
    assert delivered(database) == {id_of(said): "waiting", id_of(old): "history"}


def test_a_root_that_appears_with_old_transcripts_brings_history(
    database: Database, paths: Paths, config: Config
) -> None:
    """A disk that was mounted late must not look like a thousand new sessions."""
    ingester = Ingester(ALL, database, paths, config)
    assert ingester.ingest(NOW).root_missing
    old, new = Session("old"), Session("new")
    old_turn, new_turn = old.turn(), new.turn()
    os.utime(write(paths.transcripts_root, old, old_turn), (NOW - 100, NOW - 100))
    os.utime(write(paths.transcripts_root, new, new_turn), (NOW + 3, NOW + 3))
    ingester.ingest(NOW + 5)
    assert delivered(database) == {id_of(old_turn): "history", id_of(new_turn): "waiting"}


def test_a_root_that_goes_away_takes_nothing_with_it(database: Database, paths: Paths, ingester: Ingester) -> None:
    session = Session()
    turn = session.turn()
    path = write(paths.transcripts_root, session, turn)
    ingester.ingest(NOW + 5)
    os.rename(paths.transcripts_root, paths.transcripts_root + ".away")
    assert ingester.ingest(NOW + 10).root_missing
    assert queries.totals(database).missing == 0
    os.rename(paths.transcripts_root + ".away", paths.transcripts_root)
    append(path, more := session.turn())
    ingester.ingest(NOW + 15)
    assert delivered(database) == {id_of(turn): "waiting", id_of(more): "waiting"}


# --- moves and copies -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("new_inode", [False, True])
def test_a_moved_transcript_keeps_its_place(
    database: Database, paths: Paths, ingester: Ingester, new_inode: bool
) -> None:
    session = Session()
    turn, more = session.turn(), session.turn()
    path = write(paths.transcripts_root, session, turn)
    ingester.ingest(NOW + 5)
    if new_inode:
        moved = write(paths.transcripts_root, session, turn + more, folder="-other")
        path.unlink()
    else:
        moved = path.parent.parent / "-other" / path.name
        moved.parent.mkdir()
        path.rename(moved)
        append(moved, more)
    ingester.ingest(NOW + 10)
    assert [row["path"] for row in database.query("SELECT path FROM transcripts")] == [str(moved)]
    assert delivered(database) == {id_of(turn): "waiting", id_of(more): "waiting"}


def test_a_copy_beside_its_original_counts_nothing_twice(database: Database, paths: Paths, ingester: Ingester) -> None:
    session = Session()
    turn, more, other = session.turn(), session.turn(), session.turn()
    path = write(paths.transcripts_root, session, turn)
    ingester.ingest(NOW + 5)
    copy = write(paths.transcripts_root, session, turn + more, folder="-copy")
    append(path, more + other)
    for seconds in (10, 15):
        ingester.ingest(NOW + seconds)
    assert list(delivered(database)) == [id_of(turn), id_of(more), id_of(other)]
    assert copy.exists()


def test_a_fork_and_a_fork_of_it_count_nothing_twice(database: Database, paths: Paths, ingester: Ingester) -> None:
    """Forks give every message a new id and name the one they copied, in whatever order they are read."""
    origin, fork, fork_of_fork = Session("origin"), Session("fork"), Session("fork of fork")
    first = origin.prompt("first")
    copy = fork.prompt("first", forkedFrom={"sessionId": origin.id, "messageUuid": id_of(first)})
    copy_of_copy = fork_of_fork.prompt("first", forkedFrom={"sessionId": fork.id, "messageUuid": id_of(copy)})
    own = fork_of_fork.turn("only here")
    write(paths.transcripts_root, fork_of_fork, copy_of_copy + own)
    ingester.ingest(NOW + 5)
    write(paths.transcripts_root, fork, copy)
    ingester.ingest(NOW + 10)
    write(paths.transcripts_root, origin, first)
    ingester.ingest(NOW + 15)
    assert list(delivered(database)) == [id_of(copy_of_copy), id_of(own)]


def test_a_fork_of_history_is_history(database: Database, paths: Paths, config: Config) -> None:
    """Also if the fork appears before the history behind it was read."""
    origin, fork = Session("origin"), Session("fork")
    first = origin.turn("first")
    write(paths.transcripts_root, origin, first)
    ingester = Ingester(ALL, database, paths, config)
    ingester.ingest(NOW)
    copy = fork.prompt("first", forkedFrom={"sessionId": origin.id, "messageUuid": id_of(first)}) + fork.reply()
    own = fork.turn("only here")
    write(paths.transcripts_root, fork, copy + own)
    ingester.ingest(NOW + 5)
    assert delivered(database) == {id_of(first): "history", id_of(own): "waiting"}


def test_history_of_a_folder_is_read_before_what_is_new_in_it(
    database: Database, paths: Paths, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a backlog: the copy and its original are both unread, the original is read first."""
    monkeypatch.setattr(module, "READ_BYTES", 0)
    origin, fork = Session("origin"), Session("fork")
    first = origin.turn("first")
    write(paths.transcripts_root, origin, first)
    ingester = Ingester(ALL, database, paths, config)
    assert ingester.ingest(NOW).backlog == 1
    path = write(paths.transcripts_root, fork, first.replace(origin.id.encode(), fork.id.encode()))
    os.utime(path, (1, 1))
    assert ingester.ingest(NOW + 5).backlog == 2
    monkeypatch.setattr(module, "READ_BYTES", 1 << 20)
    assert ingester.ingest(NOW + 10).backlog == 0
    assert delivered(database) == {id_of(first): "history"}


def test_a_resumed_session_in_a_new_file_counts_nothing_twice(
    database: Database, paths: Paths, ingester: Ingester
) -> None:
    before, after = Session("before"), Session("after")
    turn, more = before.turn(), after.turn()
    write(paths.transcripts_root, before, turn)
    ingester.ingest(NOW + 5)
    write(paths.transcripts_root, after, turn.replace(before.id.encode(), after.id.encode()) + more)
    ingester.ingest(NOW + 10)
    assert list(delivered(database)) == [id_of(turn), id_of(more)]


def test_a_waiting_turn_follows_its_words_into_a_copy_when_the_original_is_gone(
    database: Database, paths: Paths, ingester: Ingester
) -> None:
    before, after = Session("before"), Session("after")
    turn = before.turn()
    path = write(paths.transcripts_root, before, turn)
    ingester.ingest(NOW + 5)
    path.unlink()
    ingester.ingest(NOW + 10)
    copy = write(paths.transcripts_root, after, turn)
    ingester.ingest(NOW + 15)
    assert delivered(database) == {id_of(turn): "waiting"}
    assert [session.path for session in waiting.waiting_sessions(database)] == [str(copy)]


def test_two_writers_in_one_file(database: Database, paths: Paths, ingester: Ingester) -> None:
    session = Session("one")
    first, second = session.prompt("first"), session.prompt("second")
    data = (
        first
        + session.call("a")
        + second
        + session.call("b")
        + session.result("a")
        + session.result("b")
        + session.reply()
    )
    write(paths.transcripts_root, session, data)
    ingester.ingest(NOW + 5)
    assert delivered(database) == {id_of(first): "waiting", id_of(second): "waiting"}


# --- rewritten files --------------------------------------------------------------------------------------------------


def test_a_message_that_was_taken_back_before_it_was_read_vanishes(
    database: Database, paths: Paths, ingester: Ingester
) -> None:
    session = Session()
    keep, back = session.turn(), session.turn()
    path = write(paths.transcripts_root, session, keep + back)
    ingester.ingest(NOW + 5)
    path.write_bytes(keep)
    ingester.ingest(NOW + 10)
    assert delivered(database) == {id_of(keep): "waiting", id_of(back): "skipped(vanished)"}
    append(path, back)
    ingester.ingest(NOW + 15)
    assert delivered(database) == {id_of(keep): "waiting", id_of(back): "waiting"}


def test_turns_point_to_their_lines_after_a_rewrite(database: Database, paths: Paths, ingester: Ingester) -> None:
    session = Session()
    first, gone, last = session.turn(), session.turn("gone" * 50), session.turn()
    path = write(paths.transcripts_root, session, first + gone + last)
    ingester.ingest(NOW + 5)
    path.write_bytes(first + last)
    ingester.ingest(NOW + 10)
    data = path.read_bytes()
    for row in database.query("SELECT * FROM turns WHERE outcome IS NULL"):
        assert id_of(data[row["start"] : row["end"]]) == row["prompt_id"]


def test_a_replaced_file_under_the_same_name_is_read_whole(
    database: Database, paths: Paths, ingester: Ingester
) -> None:
    session = Session()
    turns = [session.turn() for _ in range(3)]
    path = write(paths.transcripts_root, session, turns[0] + turns[1])
    ingester.ingest(NOW + 5)
    replacement = path.with_suffix(".tmp")
    replacement.write_bytes(turns[2])
    replacement.rename(path)
    ingester.ingest(NOW + 10)
    assert delivered(database)[id_of(turns[2])] == "waiting"


# --- time -------------------------------------------------------------------------------------------------------------


def test_silence_ends_a_turn_without_a_stop_mark(database: Database, paths: Paths, ingester: Ingester) -> None:
    session = Session()
    turn = session.prompt() + session.reply(stop_reason=None)
    path = write(paths.transcripts_root, session, turn)
    os.utime(path, (NOW + 4, NOW + 4))
    for seconds, state in ((5, "open"), (23, "open"), (24, "waiting")):
        ingester.ingest(NOW + seconds)
        assert delivered(database) == {id_of(turn): state}, seconds


def test_a_prompt_without_an_answer_is_given_up_after_ten_minutes(
    database: Database, paths: Paths, ingester: Ingester
) -> None:
    session = Session()
    turn = session.prompt() + session.call("t")
    os.utime(write(paths.transcripts_root, session, turn), (NOW, NOW))
    for seconds, state in ((599, "open"), (600, "waiting")):
        ingester.ingest(NOW + seconds)
        assert delivered(database) == {id_of(turn): state}, seconds


def test_a_clock_that_is_set_back_does_not_keep_turns_open(
    database: Database, paths: Paths, ingester: Ingester
) -> None:
    session = Session()
    turn = session.prompt() + session.reply(stop_reason=None)
    os.utime(write(paths.transcripts_root, session, turn), (NOW, NOW))
    ingester.ingest(NOW + 5)
    yesterday = NOW - 86_400
    ingester.ingest(yesterday)
    ingester.ingest(yesterday + 20)
    assert delivered(database) == {id_of(turn): "waiting"}


def test_a_file_from_the_future_does_not_keep_its_turn_open(
    database: Database, paths: Paths, ingester: Ingester
) -> None:
    session = Session()
    turn = session.prompt() + session.reply(stop_reason=None)
    os.utime(write(paths.transcripts_root, session, turn), (NOW + 1e6, NOW + 1e6))
    ingester.ingest(NOW + 5)
    ingester.ingest(NOW + 25)
    assert delivered(database) == {id_of(turn): "waiting"}


# --- bad input --------------------------------------------------------------------------------------------------------


def test_bad_files_do_not_stop_the_rest(database: Database, paths: Paths, ingester: Ingester) -> None:
    good = Session("good")
    turn = good.turn()
    path = write(paths.transcripts_root, good, turn)
    (path.parent / "d.jsonl").mkdir()
    os.mkfifo(path.parent / "f.jsonl")
    (path.parent / "loop.jsonl").symlink_to("loop.jsonl")
    (path.parent / "empty.jsonl").write_bytes(b"")
    (path.parent / "noise.jsonl").write_bytes(os.urandom(5000) + b"\n")
    ingester.ingest(NOW + 5)
    assert delivered(database) == {id_of(turn): "waiting"}
    assert [(os.path.basename(name), kind) for name, kind in queries.oddities(database)] == [
        ("d.jsonl", "directory"),
        ("f.jsonl", "fifo"),
        ("loop.jsonl", "symlink"),
    ]
    assert [os.path.basename(damage.path) for damage in queries.damaged(database)] == ["noise.jsonl"]


def test_a_transcript_deleted_between_scan_and_read_is_passed_over(
    database: Database, paths: Paths, ingester: Ingester, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, kept = Session("lost"), Session("kept")
    write(paths.transcripts_root, lost, lost.turn(), folder="-a")
    turn = kept.turn()
    write(paths.transcripts_root, kept, turn, folder="-b")
    read_one = ReadPlace.read

    def deleting(self: ReadPlace, file: Any, *rest: Any) -> Any:
        if lost.id in file.found.path:
            os.remove(file.found.path)
        return read_one(self, file, *rest)

    monkeypatch.setattr(ReadPlace, "read", deleting)
    ingester.ingest(NOW + 5)
    ingester.ingest(NOW + 10)
    assert delivered(database) == {id_of(turn): "waiting"}
    assert queries.totals(database).missing == 1


_AS_NOBODY = """
import os, shlex, urllib.parse
from memoryd.clients.registry import ALL
from memoryd.clients import connections
from memoryd.clients.claude_code import entries, folders, memory_dir  # later they could not be read
from memoryd.config import Config
from memoryd.jobs.ingest import Ingester
from memoryd.paths import paths_from
from memoryd.state import queries
from memoryd.state.database import open_database
os.setgid(65534); os.setuid(65534)
database = open_database(paths_from(os.environ))
print(Ingester(ALL, database, paths_from(os.environ), Config()).ingest(2e9).transcripts)
print(queries.unreadable(database))
print(sorted(queries.oddities(database)))
print(queries.totals(database).history_turns)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="root drops its rights to be refused")
def test_an_unreadable_transcript_is_named_and_read_once_it_can_be(open_place: Path) -> None:
    home = open_place / "home"
    session, secret = Session("open"), Session("closed")
    root = home / ".claude" / "projects"
    write(root, session, session.turn())
    closed = write(root, secret, secret.turn())
    closed.chmod(0)
    (root / "-locked").mkdir(mode=0)
    for place in (home, *home.rglob("*")):
        os.chown(place, 65534, 65534)

    def look() -> list[str]:
        environment = {**os.environ, "HOME": str(home)}
        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    assert look() == [
        "2",
        str([(str(closed), "permission denied"), (str(root / "-locked"), "it cannot be listed")]),
        "[]",
        "1",
    ]
    closed.chmod(0o600)
    (root / "-locked").chmod(0o700)
    assert look() == ["2", "[]", "[]", "2"]


@pytest.mark.parametrize("cwd", ["/tmp/a\0b", "C:\\work", "relative", "/tmp/\udcff"])
def test_a_working_directory_that_makes_no_sense_stops_nothing(
    database: Database, paths: Paths, ingester: Ingester, cwd: str
) -> None:
    odd, good = Session("odd", cwd=cwd.replace("\udcff", "x")), Session("good")
    turn = good.turn()
    write(paths.transcripts_root, odd, odd.turn())
    write(paths.transcripts_root, good, turn)
    ingester.ingest(NOW + 5)
    assert id_of(turn) in delivered(database)


def test_a_working_directory_that_leads_to_a_name_that_is_not_utf8_stops_nothing(
    database: Database, paths: Paths, ingester: Ingester, tmp_path: Path
) -> None:
    target = os.path.join(os.fsencode(tmp_path), b"\xff")
    os.mkdir(target)
    os.symlink(target, os.path.join(os.fsencode(tmp_path), b"link"))
    session = Session(cwd=str(tmp_path / "link"))
    turn = session.turn()
    write(paths.transcripts_root, session, turn)
    ingester.ingest(NOW + 5)
    assert delivered(database) == {id_of(turn): "waiting"}


def test_odd_names_and_times_stop_nothing(database: Database, paths: Paths, ingester: Ingester) -> None:
    session = Session()
    turn = session.turn()
    path = write(paths.transcripts_root, session, turn)
    os.utime(path, (10_413_792_000, 10_413_792_000))  # the year 2300
    os.mkfifo(os.path.join(os.fsencode(path.parent), b"\xff.jsonl"))
    ingester.ingest(NOW + 5)
    assert delivered(database) == {id_of(turn): "waiting"}
    assert [kind for _, kind in queries.oddities(database)] == ["fifo"]


def test_a_root_that_is_a_loop_is_a_problem_and_no_crash(database: Database, paths: Paths, config: Config) -> None:
    os.makedirs(paths.claude_dir)
    os.symlink("projects", paths.transcripts_root)
    Ingester(ALL, database, paths, config).ingest(NOW)
    assert queries.unreadable(database) == [(paths.transcripts_root, "it cannot be listed")]


def test_a_new_prompt_in_a_rewritten_file_is_new_wherever_it_stands(
    database: Database, paths: Paths, config: Config
) -> None:
    session = Session()
    old = [session.turn() for _ in range(50)]
    path = write(paths.transcripts_root, session, b"".join(old))
    ingester = Ingester(ALL, database, paths, config)
    ingester.ingest(NOW)
    new = session.turn("something new")
    path.write_bytes(old[0] + old[1] + new)
    ingester.ingest(NOW + 5)
    assert delivered(database)[id_of(new)] == "waiting"


def test_unreadable_files_are_not_written_down_again_and_again(
    database: Database, paths: Paths, ingester: Ingester, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session()
    write(paths.transcripts_root, session, session.turn())

    def refused(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("memoryd.jobs.session_place.read_new_turns", refused)
    ingester.ingest(NOW + 5)
    changes = database.query("SELECT total_changes()")[0][0]
    ingester.ingest(NOW + 10)
    assert database.query("SELECT total_changes()")[0][0] == changes


def test_a_transcript_that_comes_back_goes_on_where_it_was(
    database: Database, paths: Paths, ingester: Ingester
) -> None:
    session = Session()
    turn, more = session.turn(), session.turn()
    path = write(paths.transcripts_root, session, turn)
    ingester.ingest(NOW + 5)
    path.unlink()
    ingester.ingest(NOW + 10)
    assert queries.totals(database).missing == 1
    path.write_bytes(turn + more)
    ingester.ingest(NOW + 15)
    assert queries.totals(database).missing == 0
    assert delivered(database) == {id_of(turn): "waiting", id_of(more): "waiting"}


# --- projects ---------------------------------------------------------------------------------------------------------


def test_a_session_belongs_to_the_directory_its_folder_is_named_after(
    database: Database, paths: Paths, ingester: Ingester
) -> None:
    """Agents change directory; the session's project stays."""
    session = Session(cwd="/srv/elsewhere")
    data = session.prompt()
    session.cwd = "/code/acme"
    write(paths.transcripts_root, session, data + session.reply(), folder="-code-acme")
    ingester.ingest(NOW + 5)
    assert [project.root for project in queries.projects(database)] == ["/code/acme"]


def test_a_project_whose_directory_is_gone_is_remembered(
    database: Database, paths: Paths, ingester: Ingester, tmp_path: Path
) -> None:
    """A worktree beside its repository, deleted; a later session of it still belongs to the repository."""
    repository, worktree = (tmp_path / "repo").resolve(), (tmp_path / "tree").resolve()
    for arguments in (
        ["init", "-q", str(repository)],
        ["-C", str(repository), "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments], check=True)
    subprocess.run(
        ["git", "-C", str(repository), "worktree", "add", "-q", str(worktree)], check=True, capture_output=True
    )
    first, second = Session(1, cwd=str(worktree)), Session(2, cwd=str(worktree))
    write(paths.transcripts_root, first, first.turn())
    ingester.ingest(NOW + 5)
    subprocess.run(["rm", "-r", str(worktree)], check=True)
    write(paths.transcripts_root, second, second.turn())
    ingester.ingest(NOW + 10)
    assert [(project.root, project.sessions) for project in queries.projects(database)] == [(str(repository), 2)]


def test_two_projects_with_one_slug_do_not_share_a_memory(database: Database, paths: Paths, ingester: Ingester) -> None:
    first, second = Session(1, cwd="/code/a.b"), Session(2, cwd="/code/a-b")
    write(paths.transcripts_root, first, first.turn(), folder="-code-a-b")
    ingester.ingest(NOW + 5)
    write(paths.transcripts_root, second, second.turn(), folder="-code-a-b")
    ingester.ingest(NOW + 10)
    assert {project.root: project.collides_with for project in queries.projects(database)} == {
        "/code/a.b": None,
        "/code/a-b": "/code/a.b",
    }
    assert {session.cwd: session.collides_with for session in waiting.waiting_sessions(database)} == {
        "/code/a.b": None,
        "/code/a-b": "/code/a.b",
    }


def test_a_configured_memory_directory_resolves_a_collision(
    database: Database, paths: Paths, config: Config, ingester: Ingester
) -> None:
    first, second = Session(1, cwd="/code/a.b"), Session(2, cwd="/code/a-b")
    write(paths.transcripts_root, first, first.turn(), folder="-code-a-b")
    write(paths.transcripts_root, second, second.turn(), folder="-code-a-b")
    ingester.ingest(NOW + 5)
    own = config._replace(projects=ProjectSettings(memory_dirs={"/code/a-b": "/memories/a-b"}))
    Ingester(ALL, database, paths, own).ingest(NOW + 10)
    assert [project.collides_with for project in queries.projects(database)] == [None, None]


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_an_idle_sweep_opens_no_transcript_and_writes_nothing(
    database: Database, paths: Paths, ingester: Ingester
) -> None:
    for number in range(20):
        session = Session(number)
        write(paths.transcripts_root, session, session.turn(), folder=f"-p{number % 3}")
    ingester.ingest(NOW + 5)
    ingester.ingest(NOW + 6)  # it has looked into the project, which it knows now
    opened: list[str] = []
    watching = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event == "open" and str(arguments[0]).startswith(paths.transcripts_root):
            opened.append(arguments[0])

    sys.addaudithook(watch)
    version = database.query("PRAGMA data_version")[0][0]
    changes = database.query("SELECT total_changes()")[0][0]
    ingester.ingest(NOW + 10)
    watching = False
    assert opened == []
    assert database.query("SELECT total_changes()")[0][0] == changes
    assert database.query("PRAGMA data_version")[0][0] == version


def test_a_long_transcript_is_read_in_pieces(
    database: Database, paths: Paths, ingester: Ingester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_BYTES", 2000)
    monkeypatch.setattr(module, "READ_BYTES", 8000)
    session = Session()
    turns = [session.turn() for _ in range(100)]
    write(paths.transcripts_root, session, b"".join(turns))
    sweeps = 1
    while ingester.ingest(NOW + sweeps).backlog:
        sweeps += 1
    assert sweeps > 3
    assert list(delivered(database)) == [id_of(turn) for turn in turns]


def test_nothing_a_user_said_is_in_the_database(database: Database, paths: Paths, ingester: Ingester) -> None:
    session = Session()
    write(paths.transcripts_root, session, session.turn("the password is xyzzy-plugh-42"))
    ingester.ingest(NOW + 5)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for name in os.listdir(paths.state_dir):
        with open(os.path.join(paths.state_dir, name), "rb") as file:
            assert b"xyzzy-plugh" not in file.read()


def test_damage_is_counted_once_however_often_the_file_grows(
    database: Database, paths: Paths, ingester: Ingester
) -> None:
    session = Session()
    path = write(paths.transcripts_root, session, b"not json\n" + session.turn())
    for seconds in (5, 10, 15):
        ingester.ingest(NOW + seconds)
        append(path, session.turn())
    assert [damage.lines for damage in queries.damaged(database)] == [{"unreadable": 1}]


def test_metadata_lines_without_ids_are_fine(database: Database, paths: Paths, ingester: Ingester) -> None:
    session = Session()
    data = (
        line({"type": "summary", "summary": "x", "leafUuid": "y"}) + session.turn() + line({"type": "tag", "tag": "z"})
    )
    write(paths.transcripts_root, session, data)
    ingester.ingest(time.time())
    assert len(delivered(database)) == 1
    assert json.loads(database.query("SELECT damage FROM transcripts")[0][0]) == {}
