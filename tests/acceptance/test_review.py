"""`memoryd review` as a user types it: on a terminal, through a pipe, by numbers, for programs."""

from __future__ import annotations

import json
import signal
import termios
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clock import SystemClock
from memoryd.state.database import open_database
from tests.acceptance.command import as_json, memoryd, memoryd_at_once
from tests.acceptance.terminal import Terminal
from tests.inbox_rows import DOUBT, held, memory, store, words
from tests.transcript import Session, write

if TYPE_CHECKING:
    import subprocess

    from memoryd.model import HeldGroup
    from memoryd.paths import Paths

NAME = "feedback_review_size.md"
OLD, NEW, EDITED = memory("Under 400 lines."), memory("Under 300 lines."), memory("Under 400 lines, mostly.")
KEYS = "q quit:"


class Shell:
    """A user in a project's directory, with an inbox."""

    def __init__(self, environment: dict[str, str], paths: Paths, place: Path) -> None:
        self.environment, self.paths, self.place = environment, paths, place
        place.mkdir()
        self.memory = self.memory_of(place)
        self.memory.mkdir(parents=True)

    def memory_of(self, place: Path) -> Path:
        return Path(self.paths.transcripts_root, str(place.resolve()).replace("/", "-").replace("_", "-"), "memory")

    def hold(self, *rows: HeldGroup, place: Path | None = None) -> list[int]:
        """Put rows into the inbox; return the numbers of all that wait there."""
        memory_dir = str(self.memory if place is None else self.memory_of(place))
        with closing(open_database(self.paths)) as database:
            return [row.id for row in store(database, memory_dir, *rows, now=SystemClock().now())]

    def hold_change(self) -> int:
        """One that wants an existing memory rewritten."""
        (self.memory / NAME).write_bytes(OLD)
        return self.hold(held(before=OLD, after=NEW))[0]

    @property
    def project(self) -> tuple[str, str]:
        return "--project", str(self.place)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return memoryd(self.environment, "review", *arguments, *self.project)

    def json(self, *arguments: str) -> Any:
        return as_json(self.environment, "review", *arguments, *self.project)

    def type(self, lines: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """With the answers in a pipe."""
        return memoryd(self.environment, "review", *arguments, *self.project, lines=lines)

    def terminal(self, *arguments: str, columns: int = 80, **environment: str) -> Terminal:
        known = {**self.environment, **environment}
        return Terminal(known, "review", *arguments, *self.project, columns=columns)

    def history(self) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = as_json(self.environment, "history", *self.project)
        return told


@pytest.fixture
def shell(environment: dict[str, str], paths: Paths, tmp_path: Path) -> Shell:
    return Shell(environment, paths, tmp_path / "shop")


def editor(tmp_path: Path, *texts: bytes) -> str:
    """An editor that writes these texts, one each time, and notes what it found."""
    for number, text in enumerate(texts):
        (tmp_path / f"text-{number}").write_bytes(text)
    script = tmp_path / "editor"
    script.write_text(
        f'#!/bin/sh\ncd "{tmp_path}"\ncat "$1" >> found\nfor n in 0 1 2; do if [ -f text-$n ]; then'
        ' cat text-$n > "$1"; rm text-$n; exit 0; fi; done\n'
    )
    script.chmod(0o755)
    return str(script)


# --- for programs -----------------------------------------------------------------------------------------------------


def test_the_list_for_programs_is_exact(shell: Shell) -> None:
    shell.hold_change()
    (row,) = shell.json()
    at = row.pop("at")
    assert at.endswith("Z")
    assert row == {
        "id": 1,
        "project": str(shell.memory),
        "state": "held",
        "op": "write",
        "file": NAME,
        "type": "feedback",
        "before": OLD.decode(),
        "after": NEW.decode(),
        "quote": words().quote,
        "reason": DOUBT,
        "session": "s1",
    }
    assert list({**row, "at": at}) == [
        *("id", "project", "state", "op", "file", "type", "before", "after", "quote", "reason", "session", "at")
    ]
    assert shell.json("--list") == shell.json()
    assert shell.json("--all") == shell.json()


def test_a_group_of_several_files_is_one_row_with_the_others_beside_it(shell: Shell) -> None:
    first, second = held("a.md", before=OLD, after=None), held("b.md", before=None, after=NEW)
    both = first.group._replace(changes=(*first.group.changes, *second.group.changes), evidence=())
    shell.hold(first._replace(group=both, state="unconfirmed"))
    (row,) = shell.json()
    assert (row["state"], row["op"], row["file"], row["type"], row["after"]) == (
        *("unconfirmed", "remove", "a.md", "feedback", None),
    )
    assert (row["quote"], row["session"]) == (None, "s1")
    assert row["also"] == [{"op": "write", "file": "b.md", "before": None, "after": NEW.decode()}]


def test_a_row_that_gives_a_memory_another_name_shows_the_file_that_goes(shell: Shell) -> None:
    first, second = held("new.md", after=NEW), held("old.md", before=OLD, after=None)
    both = first.group._replace(changes=(*first.group.changes, *second.group.changes))
    shell.hold(first._replace(group=both))
    (row,) = shell.json()
    assert (row["op"], row["before"], row["after"]) == ("write", OLD.decode(), NEW.decode())
    assert "In place of old.md." in shell.run("--list").stdout


def test_the_list_for_people_has_a_line_each(shell: Shell) -> None:
    shell.hold_change()
    shell.hold(held("project_freeze.md", before=OLD, after=None, state="unconfirmed", said=(words("x"),)))
    done = shell.run("--list")
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["1", "held", "write", NAME, *DOUBT.split()],
        ["2", "unconfirmed", "remove", "project_freeze.md", *DOUBT.split()],
    ]
    assert str(shell.memory).replace(shell.environment["HOME"], "~") in shell.run("--list", "--all").stdout


def test_nothing_waits_and_where_else_something_does(shell: Shell, tmp_path: Path) -> None:
    done = shell.run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Nothing waits anywhere for your yes or no.\n")
    assert shell.json() == []
    other = tmp_path / "other place"
    other.mkdir()
    with closing(open_database(shell.paths)) as database:
        database.execute(
            "INSERT INTO projects (root, slug, memory_dir, is_shared, first_seen_at) VALUES (?, 'o', ?, 0, 1)",
            (str(other), str(shell.memory_of(other))),
        )
    shell.hold(held(), place=other)
    done = shell.run()
    assert done.returncode == 0
    assert done.stderr == (
        f"Nothing waits here for your yes or no.\n1 change in {other}: memoryd review --project '{other}'\n"
    )
    assert [row["project"] for row in shell.json("--all")] == [str(other)]


def test_status_counts_and_nothing_else_asks(shell: Shell) -> None:
    assert as_json(shell.environment, "status")["to_review"] == 0
    assert "yes or no" not in memoryd(shell.environment, "status").stdout
    shell.hold_change()
    assert "1 change waits for your yes or no: memoryd review" in memoryd(shell.environment, "status").stdout
    shell.hold(held("a.md", said=(words("a"),)), held("b.md", said=(words("b"),)))
    assert "3 changes wait for your yes or no: memoryd review" in memoryd(shell.environment, "status").stdout
    assert as_json(shell.environment, "status")["to_review"] == 3


# --- by numbers -------------------------------------------------------------------------------------------------------


def test_accept_writes_undo_takes_back_and_history_tells(shell: Shell) -> None:
    number = shell.hold_change()
    done = shell.run("accept", str(number))
    assert (done.returncode, done.stdout) == (0, f"yes: {NAME}; memoryd undo 1 takes it back\n")
    assert (shell.memory / NAME).read_bytes() == NEW
    (change,) = shell.history()
    assert (change["kind"], change["state"], change["inbox"], change["files"]) == ("review", "applied", number, [NAME])
    assert memoryd(shell.environment, "undo", *shell.project).returncode == 0
    assert (shell.memory / NAME).read_bytes() == OLD


def test_reject_closes_and_history_tells_why(shell: Shell) -> None:
    number = shell.hold_change()
    assert shell.json("reject", str(number)) == [
        {"id": number, "outcome": "rejected", "change": None, "files": [NAME], "problem": None, "diff": None}
    ]
    assert shell.json() == []
    assert shell.hold(held(before=OLD, after=NEW)) == []
    (told,) = shell.history()
    assert (told["change"], told["kind"], told["state"], told["why"]) == (None, "review", "rejected", DOUBT)
    assert (told["inbox"], told["files"]) == (number, [NAME])
    line = memoryd(shell.environment, "history", *shell.project).stdout
    assert line.startswith("    -  20")
    assert line.endswith(f"  review    {NAME} (rejected): {DOUBT}\n")
    assert memoryd(shell.environment, "history", "other.md", *shell.project).stdout == ""


def test_several_at_once_and_one_that_is_not_there_keeps_no_other_from_it(shell: Shell) -> None:
    shell.hold(held("a.md", said=(words("a"),)), held("b.md", said=(words("b"),)))
    done = shell.run("accept", "1", "99", "2", "1", "--json")
    assert done.returncode == 1
    assert [(row["id"], row["outcome"]) for row in json.loads(done.stdout)] == [
        (1, "accepted"),
        (99, "failed"),
        (2, "accepted"),
    ]
    assert done.stderr == "memoryd: There is no 99 in the inbox.\n  fix: memoryd review --list --all\n"
    assert {"a.md", "b.md"} < {file.name for file in shell.memory.iterdir()}
    again = shell.run("reject", "1")
    assert again.returncode == 1
    assert again.stderr == "memoryd: 1 no longer waits in the inbox: it was accepted.\n  fix: memoryd history\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["accept"], "Which one is to be accepted?"),
        (["accept", "x1"], "'x1' is no number of a change that waits."),
        (["reject", "-0", "--"], ""),
        (["reject", "9" * 30], f"'{'9' * 30}' is no number of a change that waits."),
        (["accept", "²"], "'²' is no number of a change that waits."),
        (["drop", "1"], ""),
        (["--yes"], "--yes belongs to `memoryd review accept ID`."),
        (["reject", "1", "--yes"], "--yes belongs to `memoryd review accept ID`."),
    ],
)
def test_what_makes_no_sense_is_told_and_nothing_is_done(shell: Shell, arguments: list[str], message: str) -> None:
    shell.hold_change()
    done = memoryd(shell.environment, "review", *shell.project, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "fix: memoryd review" in done.stderr
    assert len(shell.json()) == 1


def test_a_stale_one_is_shown_anew_and_written_only_then(shell: Shell) -> None:
    number = str(shell.hold_change())
    (shell.memory / NAME).write_bytes(EDITED)
    done = shell.run("accept", number)
    assert done.returncode == 1
    assert "-Under 400 lines, mostly.\n+Under 300 lines.\n" in done.stdout
    assert done.stderr == (
        f"memoryd: {NAME} was changed since {number} was proposed. Nothing was written.\n"
        f"  fix: memoryd review accept {number} --yes\n"
    )
    assert (shell.memory / NAME).read_bytes() == EDITED
    (told,) = json.loads(shell.run("accept", number, "--json").stdout)
    assert (told["outcome"], told["change"]) == ("stale", None)
    assert "-Under 400 lines, mostly." in told["diff"]
    done = shell.run("accept", number, "--yes")
    assert done.returncode == 0
    assert "-Under 400 lines, mostly.\n+Under 300 lines.\n" in done.stdout
    assert (shell.memory / NAME).read_bytes() == NEW


def test_of_many_processes_at_once_one_wins_and_the_others_are_told(shell: Shell) -> None:
    number = str(shell.hold_change())
    answers = ("accept", "reject", "accept", "reject", "accept")
    done = memoryd_at_once(shell.environment, *(("review", answer, number, *shell.project) for answer in answers))
    assert sorted(code for code, _ in done) == [0, 1, 1, 1, 1]
    winner = next(text for code, text in done if code == 0)
    outcome = "accepted" if winner.startswith("yes: ") else "rejected"
    assert sum(f"{number} no longer waits in the inbox: it was {outcome}." in text for _, text in done) == 4, done
    assert (shell.memory / NAME).read_bytes() == (NEW if outcome == "accepted" else OLD)
    assert len(shell.history()) == 1


# --- one after the other ----------------------------------------------------------------------------------------------


def three_rows(shell: Shell) -> None:
    shell.hold_change()
    shell.hold(held("b.md", said=(words("b"),)), held("c.md", said=(words("c"),)))


def test_answers_come_in_lines_where_there_is_no_terminal(shell: Shell) -> None:
    three_rows(shell)
    done = shell.type("yes\n\nn\n")
    assert done.returncode == 0
    for text in (f"1 of 3 · {NAME} · held", "2 of 3 · b.md · held", "3 of 3 · c.md · held", "1 yes, 1 no, 1 left."):
        assert text in done.stdout
    assert "\x1b" not in done.stdout
    assert (shell.memory / NAME).read_bytes() == NEW
    assert [row["file"] for row in shell.json()] == ["b.md"]


@pytest.mark.parametrize("lines", ["", "q\ny\ny\n", "what?\nl\n \n"])
def test_what_is_no_yes_and_no_no_leaves_all_as_it_is(shell: Shell, lines: str) -> None:
    three_rows(shell)
    done = shell.type(lines)
    assert done.returncode == 0
    assert done.stdout.endswith("0 yes, 0 no, 3 left.\n")
    assert len(shell.json()) == 3
    assert (shell.memory / NAME).read_bytes() == OLD


def test_on_a_terminal_single_keys_answer(shell: Shell) -> None:
    three_rows(shell)
    with shell.terminal() as terminal:
        first = terminal.until(KEYS)
        assert f"1 of 3 · {NAME} · held\n" in first
        assert "- Under 400 lines.\n+ Under 300 lines.\n" in first
        assert 'you said, 2026-09-21, in session s1: "maybe 300 lines would be better"\n' in first
        assert f"the doubt: {DOUBT}\n" in first
        assert termios.tcgetattr(terminal.its) != terminal.modes
        terminal.press(b"z")
        assert "z is none of them.\n" in terminal.until(KEYS)
        terminal.press(b"f")
        assert f"--- {NAME} before\n+++ {NAME} after\n" in terminal.until(KEYS), (
            "the file as it is, with its frontmatter"
        )
        terminal.press(b"y")
        second = terminal.until(KEYS)
        assert f"yes: {NAME}; memoryd undo 1 takes it back\n" in second
        assert "2 of 3 · b.md · held\n" in second
        terminal.press(b" ")
        assert "3 of 3 · c.md · held\n" in terminal.until(KEYS)
        terminal.press(b"N")
        assert "no: c.md" in terminal.until("left.")
        assert terminal.ended() == 0
        assert termios.tcgetattr(terminal.its) == terminal.modes
        assert "1 yes, 1 no, 1 left." in terminal.text
        assert "\x1b[32m+ Under 300 lines." in terminal.said
        assert "31m- Under 400 lines." in terminal.said
    assert [row["file"] for row in shell.json()] == ["b.md"]


@pytest.mark.parametrize(("keys", "code"), [(b"q", 0), (b"\x04", 0), (b"\x03", 130)], ids=["q", "ctrl-d", "ctrl-c"])
def test_it_ends_when_asked_and_the_terminal_is_as_it_was(shell: Shell, keys: bytes, code: int) -> None:
    three_rows(shell)
    with shell.terminal() as terminal:
        terminal.until(KEYS)
        terminal.press(keys)
        assert terminal.ended() == code
        assert termios.tcgetattr(terminal.its) == terminal.modes
    assert len(shell.json()) == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_the_terminal_is_as_it_was(shell: Shell, number: signal.Signals) -> None:
    three_rows(shell)
    with shell.terminal() as terminal:
        terminal.until(KEYS)
        terminal.process.send_signal(number)
        assert terminal.ended() == -number
        assert termios.tcgetattr(terminal.its) == terminal.modes


@pytest.mark.parametrize("columns", [60, 40])
def test_everything_fits_a_narrow_terminal(shell: Shell, columns: int) -> None:
    long = memory("Keep every review under three hundred changed lines, " * 4 + "wirklich.")
    said = words("maybe three hundred changed lines would be better than what we have now, I think, or not")
    shell.hold(held(after=long, said=(said,), reason="It sounds like a suggestion, and nobody has decided it. " * 2))
    with shell.terminal(columns=columns) as terminal:
        terminal.until("quit:")
        terminal.press(b"q")
        assert terminal.ended() == 0
        assert max(map(len, terminal.text.splitlines())) <= columns
        assert "wirklich." in terminal.text


def test_what_is_stale_is_shown_from_the_file_as_it_is_and_once_more_if_that_changes(shell: Shell) -> None:
    shell.hold_change()
    (shell.memory / NAME).write_bytes(EDITED)
    with shell.terminal() as terminal:
        first = terminal.until(KEYS)
        assert "It was changed since: this is the difference to the file as it is now." in first
        assert "- Under 400 lines, mostly.\n" in first
        (shell.memory / NAME).write_bytes(memory("Under 500 lines."))
        terminal.press(b"y")
        assert "- Under 500 lines.\n+ Under 300 lines.\n" in terminal.until(KEYS)
        assert (shell.memory / NAME).read_bytes() == memory("Under 500 lines.")
        terminal.press(b"y")
        terminal.until("left.")
        assert terminal.ended() == 0
    assert (shell.memory / NAME).read_bytes() == NEW


def test_accept_on_a_terminal_asks_about_a_stale_one(shell: Shell) -> None:
    number = str(shell.hold_change())
    (shell.memory / NAME).write_bytes(EDITED)
    for key, code, content in ((b"n", 1, EDITED), (b"y", 0, NEW)):
        with shell.terminal("accept", number, columns=100) as terminal:
            assert "-Under 400 lines, mostly.\n" in terminal.until("n no:")
            terminal.press(key)
            assert terminal.ended() == code
        assert (shell.memory / NAME).read_bytes() == content


def test_a_row_that_somebody_else_answers_meanwhile_is_passed_over(shell: Shell) -> None:
    three_rows(shell)
    with shell.terminal() as terminal:
        terminal.until(KEYS)
        assert shell.run("reject", "1").returncode == 0
        terminal.press(b"y")
        assert "1 no longer waits in the inbox: it was rejected." in terminal.until(KEYS)
        terminal.press(b"q")
        assert terminal.ended() == 0
    assert (shell.memory / NAME).read_bytes() == OLD


# --- edit and why -----------------------------------------------------------------------------------------------------


def test_an_edited_text_is_guarded_and_written(shell: Shell, tmp_path: Path) -> None:
    shell.hold_change()
    command = editor(tmp_path, b"---\nbroken\n", memory("Under 350 lines."))
    with shell.terminal(EDITOR=command, VISUAL="") as terminal:
        terminal.until(KEYS)
        terminal.press(b"e")
        assert "would not be a valid memory" in terminal.until(KEYS)
        terminal.press(b"e")
        assert f"yes: {NAME}" in terminal.until("left.")
        assert terminal.ended() == 0
    assert (shell.memory / NAME).read_bytes() == memory("Under 350 lines.")
    assert (tmp_path / "found").read_bytes() == NEW + b"---\nbroken\n", "the second edit goes on from the first"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("true", "Nothing was edited."),
        ("false", "ended with code 1"),
        ("no-such-editor", "cannot be started"),
        ("rm -f", "Nothing was edited."),
    ],
)
def test_an_editor_that_changes_nothing_or_fails_is_no_answer(shell: Shell, command: str, message: str) -> None:
    shell.hold_change()
    shell.environment |= {"EDITOR": command, "VISUAL": ""}
    done = shell.type("e\nq\n")
    assert message in done.stdout
    assert (shell.memory / NAME).read_bytes() == OLD
    assert len(shell.json()) == 1


def test_a_removal_has_no_text_to_edit(shell: Shell) -> None:
    (shell.memory / NAME).write_bytes(OLD)
    shell.hold(held(before=OLD, after=None))
    done = shell.type("e\ny\n")
    assert "there is no text to edit" in done.stdout
    assert not (shell.memory / NAME).exists()


def test_why_shows_the_turn_around_the_words(shell: Shell) -> None:
    session = Session()
    write(
        shell.paths.transcripts_root,
        session,
        session.turn("how large are our reviews?") + session.turn("maybe 300 lines would be better"),
    )
    assert memoryd(shell.environment, "extract-now").returncode == 0
    with closing(open_database(shell.paths)) as database:
        (_, (message_id,)) = database.query("SELECT prompt_id FROM turns ORDER BY start")
    said = words(message_id=message_id)._replace(session_id=session.id)
    shell.hold(held(said=(words("gone", "nowhere"), said)))
    done = shell.type("w\nq\n")
    assert f'{NAME}: you said, 2026-09-21, in session {session.id}: "maybe 300 lines would be better"' in done.stdout
    assert "you: maybe 300 lines would be better" in done.stdout
    assert "the agent, before: " in done.stdout
    assert "the agent, then: " in done.stdout
