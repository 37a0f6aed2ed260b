"""The log's files, written and read back; what a line may hold; what a person sees of it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.errors import StateError
from memoryd.formatting import quoted, unquoted
from memoryd.log.reader import LEVELS, OLD_FILES, LogEntry, Tail, entry_of, fault_of, files_of, line_in_words, reason_of
from memoryd.log.writer import FILE_BYTES, is_journal, is_supervised, open_log

if TYPE_CHECKING:
    from memoryd.log.writer import Log
    from memoryd.paths import Paths

WORD = "xyzzy"


@pytest.fixture
def state(paths: Paths) -> Path:
    os.makedirs(paths.state_dir)
    return Path(paths.state_dir)


def logged(paths: Paths) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(paths.log_file).read_text().splitlines()]


def lines_of(paths: Paths) -> list[bytes]:
    tail = Tail(paths)
    try:
        return list(tail.read())
    finally:
        tail.close()


def numbers(lines: list[bytes]) -> list[int]:
    return [json.loads(line)["number"] for line in lines]


def write(log: Log, *numbered: int) -> None:
    for number in numbered:
        log.info("line", number=number, filling="x" * 60)


# --- the file ---------------------------------------------------------------------------------------------------------


def test_a_line_is_a_json_object_with_time_level_and_event_first(paths: Paths, state: Path) -> None:
    open_log(paths, "info").warning("disk", free=3, root=str(state))
    ((at, level, event, *facts),) = (line.items() for line in logged(paths))
    assert (at[0], at[1][-1], level, event) == ("at", "Z", ("level", "warning"), ("event", "disk"))
    assert dict(facts) == {"free": 3, "root": str(state)}
    assert stat.S_IMODE(os.stat(paths.log_file).st_mode) == 0o600


def test_the_level_follows_the_settings(paths: Paths, state: Path) -> None:
    assert state.is_dir()
    log = open_log(paths, "warning")
    log.info("not yet")
    log.set_level("debug")
    log.debug("now")
    log.set_level("error")
    log.warning("no more")
    assert [line["event"] for line in logged(paths)] == ["now"]


@pytest.mark.parametrize("end", ["deleted", "moved", "replaced"])
def test_a_file_that_somebody_takes_away_is_made_anew(paths: Paths, state: Path, end: str) -> None:
    log = open_log(paths, "info")
    write(log, 1)
    if end == "deleted":
        os.remove(paths.log_file)
    else:
        os.rename(paths.log_file, state / "elsewhere")
    if end == "replaced":
        Path(paths.log_file).touch(0o600)
    write(log, 2)
    assert [line["number"] for line in logged(paths)] == [2]


def test_files_are_rotated_and_the_oldest_goes(paths: Paths, state: Path) -> None:
    log = open_log(paths, "info", file_bytes=1000)
    write(log, *range(100))
    assert sorted(os.listdir(state)) == ["memoryd.log", "memoryd.log.1", "memoryd.log.2", "memoryd.log.3"]
    assert all(os.path.getsize(path) <= 1000 for path in files_of(paths))
    found = numbers(lines_of(paths))
    assert found == list(range(found[0], 100))
    assert len(found) > 20


def test_all_files_together_stay_small() -> None:
    assert FILE_BYTES * (1 + OLD_FILES) <= 20 << 20


def test_a_line_that_was_torn_does_not_spoil_the_next(paths: Paths, state: Path) -> None:
    (state / "memoryd.log").write_text('{"at": "2026-10-1')
    write(open_log(paths, "info"), 1)
    torn, whole = lines_of(paths)
    assert (entry_of(torn), numbers([whole])) == (None, [1])


def test_a_failing_write_is_said_once_and_stops_nothing(
    paths: Paths, state: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = open_log(paths, "info")
    shutil.rmtree(state)
    write(log, 1, 2, 3)
    assert capfd.readouterr().err == f"memoryd: cannot write {paths.log_file}: No such file or directory\n"
    state.mkdir()
    write(log, 4)
    assert [line["number"] for line in logged(paths)] == [4]
    shutil.rmtree(state)
    write(log, 5, 6)
    assert capfd.readouterr().err.count("cannot write") == 1


def test_a_file_that_cannot_be_written_is_told_at_the_start(paths: Paths, state: Path) -> None:
    (state / "memoryd.log").mkdir()
    with pytest.raises(StateError, match="cannot be written: Is a directory"):
        open_log(paths, "info")


# --- the journal ------------------------------------------------------------------------------------------------------


def test_the_journal_is_known_by_what_the_descriptor_is(tmp_path: Path) -> None:
    with (tmp_path / "journal").open("w") as file:
        status = os.fstat(file.fileno())
        stream = {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
        assert is_journal(file.fileno(), stream)
        assert not is_journal(file.fileno(), {})
        # A shell that a service started has the variable, and a terminal of its own.
        assert not is_journal(file.fileno(), {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino + 1}"})
    assert not is_journal(987, stream)


def test_a_supervisor_is_known_by_what_it_sets() -> None:
    assert is_supervised({"NOTIFY_SOCKET": "/run/x"})
    assert is_supervised({"MEMORYD_SUPERVISOR": "launchd"})
    assert not is_supervised({"INVOCATION_ID": "of the terminal's own service"})


def test_the_journal_gets_words_and_a_priority(paths: Paths, state: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert state.is_dir()
    log = open_log(paths, "debug", journal=True)
    for level in LEVELS:
        getattr(log, level)("look", root=f"{paths.home}/code", reason="two\nlines")
    assert capfd.readouterr().err.splitlines() == [
        f"<{number}>look: two\\nlines  root=~/code" for number in (7, 6, 4, 3, 2)
    ]
    assert len(logged(paths)) == len(LEVELS)


def test_without_a_journal_nothing_but_the_file_is_written(
    paths: Paths, state: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert state.is_dir()
    write(open_log(paths, "info"), 1)
    assert capfd.readouterr() == ("", "")


# --- what a line never holds ------------------------------------------------------------------------------------------


class Odd:
    def __str__(self) -> str:
        return f'an object that says "{WORD}"'


def failing(error: BaseException) -> BaseException:
    """An error with a traceback, as it is caught."""
    try:
        try:
            raise KeyError(WORD)  # noqa: TRY301 - an error in the handling of another
        except KeyError:
            raise error  # noqa: B904 - so it has a context
    except BaseException as caught:  # noqa: BLE001 - whatever it is
        return caught


@pytest.mark.parametrize(
    "value",
    [
        f'The endpoint refuses the request: "{WORD} and more".',
        f'It broke off: "{WORD} was cut',
        [f'in a list: "{WORD}"'],
        Odd(),
        failing(ValueError(f"invalid literal: {WORD}")),
        failing(OSError(2, "No such file or directory", f"/memory/{WORD}.md")),
        failing(StateError(f'The file "{WORD}.md" is gone.')),
        failing(UnicodeDecodeError("utf-8", WORD.encode(), 0, 1, "bad")),
        failing(ExceptionGroup(WORD, [ValueError(WORD)])),
    ],
    ids=lambda text: type(text).__name__,
)
def test_what_others_said_is_not_logged(
    paths: Paths, state: Path, capfd: pytest.CaptureFixture[str], value: object
) -> None:
    assert state.is_dir()
    log = open_log(paths, "info", journal=True)
    log.warning("trouble", reason=value)
    if isinstance(value, BaseException):
        log.error("fault", exc_info=value)
        log.error("fault", exc_info=(type(value), value, value.__traceback__))
    assert logged(paths)[0]["reason"]
    assert WORD not in Path(paths.log_file).read_text()
    assert WORD not in capfd.readouterr().err


def test_an_error_that_is_being_handled_is_logged_by_kind_and_place(paths: Paths, state: Path) -> None:
    assert state.is_dir()
    log = open_log(paths, "info")
    try:
        int(WORD)
    except ValueError:
        log.exception("fault")
    (line,) = logged(paths)
    assert line["error"].startswith("ValueError in test_log.py:")
    assert line["error"].endswith(" test_an_error_that_is_being_handled_is_logged_by_kind_and_place")


def test_secrets_are_redacted_and_long_texts_cut(paths: Paths, state: Path) -> None:
    assert state.is_dir()
    token = "ghp_" + "a1B2c3D4e5" * 4
    open_log(paths, "info").info("config", reason=f"the key {token} is no file. " + "x" * 9000)
    (line,) = logged(paths)
    assert token not in line["reason"]
    assert len(line["reason"]) == 500


def test_an_error_is_told_to_its_user_in_quotes_and_to_the_log_without_them() -> None:
    error = OSError(28, "No space left on device", "/memory/a.md")
    assert reason_of(error) == 'No space left on device: "/memory/a.md"'
    assert unquoted(reason_of(error)) == 'No space left on device: "..."'
    assert reason_of(KeyError("a")) == "KeyError: \"'a'\""
    assert fault_of(error) == "No space left on device"
    assert fault_of(failing(RuntimeError("b"))).startswith("RuntimeError after KeyError in test_log.py:")


@given(before=st.text().filter(lambda text: '"' not in text), said=st.text(min_size=1), cut=st.integers(0, 9))
def test_a_quotation_never_passes_whatever_it_holds(before: str, said: str, cut: int) -> None:
    """Also where the end of the sentence was cut off."""
    sentence = f"{before}{quoted(said)}"
    assert unquoted(sentence) == f'{before}"..."'
    assert unquoted(sentence[: len(sentence) - min(cut, len(said))]) == f'{before}"..."'


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_reader_follows_through_rotation_emptying_and_deletion(paths: Paths, state: Path) -> None:
    tail = Tail(paths)
    assert (list(tail.read()), tail.has_begun) == ([], False)
    log = open_log(paths, "info", file_bytes=500)
    write(log, 1)
    assert (numbers(list(tail.read())), tail.has_begun) == ([1], True)
    write(log, *range(2, 9))  # more than one file
    assert numbers(list(tail.read())) == list(range(2, 9))
    os.truncate(paths.log_file, 0)
    assert list(tail.read()) == []
    write(log, 9)
    assert numbers(list(tail.read())) == [9]
    write(log, 10)
    os.remove(paths.log_file)
    assert numbers(list(tail.read())) == [10]
    write(log, 11)
    assert numbers(list(tail.read())) == [11]
    for path in files_of(paths)[1:]:
        assert not os.path.exists(path) or os.path.getsize(path)
    with (state / "memoryd.log").open("ab") as file:
        file.write(b'{"number": 1')
        file.flush()
        assert list(tail.read()) == []
        file.write(b"2}\n")
    assert numbers(list(tail.read())) == [12]
    tail.close()


@given(steps=st.lists(st.one_of(st.integers(1, 6), st.just("read"), st.just("reader")), max_size=30))
def test_every_line_is_read_once_and_in_order(tmp_path_factory: pytest.TempPathFactory, steps: list[int | str]) -> None:
    """However writing, rotating and reading fall together, as long as a reader is not three files behind."""
    from memoryd.paths import paths_from  # noqa: PLC0415 - for one home an example

    paths = paths_from({"HOME": str(tmp_path_factory.mktemp("home"))})
    os.makedirs(paths.state_dir)
    log = open_log(paths, "info", file_bytes=400)  # two lines or three
    tail, read, written = Tail(paths), list[int](), 0
    for step in steps:
        if step == "read":
            read += numbers(list(tail.read()))
            assert read == list(range(written))
        elif step == "reader":
            found = numbers(lines_of(paths))
            assert found == list(range(written - len(found), written))
        else:
            for _ in range(int(step)):
                write(log, written)
                written += 1
            read += numbers(list(tail.read()))
    assert read == list(range(written))
    tail.close()
    log.close()


def test_a_log_that_is_no_file_is_refused(paths: Paths, state: Path) -> None:
    os.mkfifo(state / "memoryd.log")
    with pytest.raises(StateError, match="is no file"):
        lines_of(paths)
    os.remove(state / "memoryd.log")
    os.symlink("/etc/passwd", state / "memoryd.log")
    with pytest.raises(StateError, match="cannot be read"):
        lines_of(paths)


def test_a_line_without_an_end_is_no_reason_to_read_for_ever(paths: Paths, state: Path) -> None:
    (state / "memoryd.log").write_bytes(b"x" * (3 << 20) + b"\n")
    assert max(map(len, lines_of(paths))) < 2 << 20


# --- as a person reads it ---------------------------------------------------------------------------------------------

JOB = {
    "job": 41,
    "kind": "extract",
    "project": "/code/acme",
    "session": "e8cdbb4d-0000-4000-8000-000000000000",
    "memory_dir": "/m",
    "engine": "claude-haiku-5-5",
    "outcome": "succeeded",
    "saved": 2,
    "removed": 0,
    "refused": "2 Write",
    "turns": 3,
    "input_tokens": 100,
    "cache_read_tokens": 1900,
    "cache_created_tokens": 0,
    "output_tokens": 1234,
    "hit_rate": 0.95,
    "usd": 0.0123,
    "seconds": 8.4,
    "ended_at": "2026-10-16T07:40:18Z",
}


def test_a_job_is_told_in_words() -> None:
    assert line_in_words(LogEntry(1792136420.0, "info", "job", dict(JOB)), "/home/me") == (
        "job 41: extract in acme, session e8cdbb4d: succeeded, 2 saved",
        'claude-haiku-5-5, 3 turns, 2,000 tokens in (95% cached), 1,234 out, 0.0123 USD, 8.4 s, refused="2 Write"',
    )


def test_a_job_that_was_logged_later_says_when_it_ended() -> None:
    facts = {
        "job": 1,
        "kind": "dream",
        "project": "/",
        "outcome": "failed",
        "detail": "it took too long",
        "seconds": 1.5,
    }
    late = LogEntry(1792139999.0, "warning", "job", {**facts, "ended_at": "2026-10-16T07:40:18Z"})
    words, rest = line_in_words(late, "/home/me")
    assert words == "job 1: dream in /: failed: it took too long"
    assert rest.startswith("1.5 s, ended 2026-10-1")


@given(
    st.binary()
    | st.recursive(st.none() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=4).map(
        lambda value: json.dumps(value).encode()
    )
)
def test_any_bytes_are_a_line_or_none(line: bytes) -> None:
    entry = entry_of(line)
    assert entry is None or isinstance(entry, LogEntry)


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text())


@given(
    facts=st.dictionaries(st.text() | st.sampled_from(sorted(JOB)), VALUES),
    event=st.text() | st.just("job"),
    at=st.datetimes().map(lambda at: at.isoformat() + "Z") | st.text(),
)
def test_whatever_stands_in_a_line_is_shown_without_harm(facts: dict[str, Any], event: str, at: str) -> None:
    line = {**facts, "at": at, "level": "info", "event": event}
    entry = entry_of(json.dumps(line).encode())
    if entry is not None:
        words, rest = line_in_words(entry, "/home/me")
        assert words.isprintable()
        assert rest.isprintable()


def test_a_journal_that_is_gone_stops_nothing(paths: Paths, state: Path) -> None:
    """In a process of its own, whose stderr has no reader any more."""
    assert state.is_dir()
    program = "from memoryd import paths; from memoryd.log import writer; import os, sys; os.read(0, 1)\n"
    program += "written = writer.open_log(paths.paths_from(dict(os.environ)), 'info', journal=True)\n"
    program += "written.info('one'); written.info('two'); sys.stderr = None"
    process = subprocess.Popen(
        [sys.executable, "-c", program], env={"HOME": paths.home}, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    process.stderr.close()
    process.communicate(b"!", timeout=60)
    assert process.returncode == 0
    assert [line["event"] for line in logged(paths)] == ["one", "two"]
