"""`memoryd purge`: afterwards the bytes are nowhere, and what is left still works."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import memoryd
from tests.stores.places import git
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.paths import Paths

SECRET = 'Qu"etzal-Mör+77'  # noqa: S105 - an example


class Home:
    def __init__(self, environment: dict[str, str], paths: Paths, place: Path) -> None:
        self.environment, self.paths, self.place = environment, paths, place
        place.mkdir()
        slug = str(place.resolve()).replace("/", "-").replace("_", "-")
        self.memory = Path(paths.transcripts_root, slug, "memory")

    def run(self, *arguments: str, code: int = 0) -> str:
        before = os.getcwd()
        os.chdir(self.place)
        try:
            done = memoryd(self.environment, *arguments)
        finally:
            os.chdir(before)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def files_with(self, text: str) -> list[str]:
        """Files of memoryd that hold a text in plain bytes or as JSON has it."""
        forms = (text.encode(), text.replace('"', '\\"').encode(), text.encode("ascii", "backslashreplace"))
        places = (Path(self.paths.state_dir), self.memory)
        return [
            str(path)
            for place in places
            for path in place.rglob("*")
            if path.is_file() and any(form in path.read_bytes() for form in forms)
        ]


@pytest.fixture
def home(environment: dict[str, str], paths: Paths, tmp_path: Path) -> Home:
    return Home(environment, paths, tmp_path / "shop")


def exchanging(home: Home, remote: Path) -> Path:
    """A project that is exchanged with a bare repository."""
    git(home.place, "init", "--quiet")
    git(home.place, "init", "--quiet", "--bare", str(remote))
    git(home.place, "commit", "--quiet", "--allow-empty", "-m", "begin")
    config = Path(home.paths.config_file)
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[sync]\nremote = "{remote}"\n')
    return remote


def test_a_secret_is_gone_from_everything_and_history_still_works(home: Home) -> None:
    home.run("remember", "--type", "reference", f"The staging vault opens with {SECRET} on weekdays")
    home.run("remember", "--type", "feedback", "always run the linter before a commit")
    (file,) = home.memory.glob("reference_*.md")
    file.write_text(file.read_text() + f"\nAlso {SECRET} on Sundays.\n")
    home.run("recall", "which vault in staging")
    home.run("forget", file.name)
    home.run("undo")
    state = Path(home.paths.state_dir)
    for place, text in (
        ("memoryd.log", f"one line with {SECRET} in it\n"),
        ("notes/s1.md", f"# Task\n{SECRET}\n"),
        ("memoryd.sqlite3.damaged-20260101T000000Z", f"\0\0{SECRET}\0"),
    ):
        (state / place).parent.mkdir(exist_ok=True)
        with open(state / place, "a") as kept:
            kept.write(text)
    assert len(home.files_with(SECRET)) >= 5

    said = home.run("purge", "--secret", SECRET, "--yes")
    assert "its bytes are in no file that memoryd keeps" in said
    assert home.files_with(SECRET) == []
    (file,) = home.memory.glob("reference_*.md")
    name = file.name
    assert "opens with xxxxxxxxx" in file.read_text()
    assert (state / "memoryd.log").read_text().endswith("in it\n")
    assert "opens with xxxxx" in home.run("why", name)
    assert "Also xxxxx" in home.run("diff", "3")
    home.run("forget", name)
    home.run("undo")
    assert "always run the linter" in home.run("recall", "shall I run the linter before I commit")
    assert "0 different texts" in home.run("purge", "--secret", SECRET, "--yes")  # and no store is touched


def test_what_a_pattern_matches_is_removed_also_from_names_and_the_index(home: Home) -> None:
    home.run("remember", "--type", "reference", "The tenant of staging is acme-4711-zulu")
    (home.memory / "hand_acme-4711-zulu.md").write_text("kept by hand: acme-4711-zulu\n")
    index = home.memory / "MEMORY.md"
    index.write_text(index.read_text() + "\nMine: see acme-4711-zulu first.\n")
    home.run("purge", "--secret", r"acme-\d{4}-\w+", "--yes")
    assert home.files_with("acme-4711-zulu") == []
    assert "Mine: see xxxxxxxxxxxxxx first." in index.read_text()
    assert not [path for path in home.memory.iterdir() if "4711" in path.name]
    assert (home.memory / "hand_xxxxxxxxxxxxxx.md").read_text() == "kept by hand: xxxxxxxxxxxxxx\n"


def test_a_memory_is_gone_with_its_past_and_others_stay(home: Home) -> None:
    home.run("remember", "--type", "feedback", "never call Bob before ten in the morning")
    home.run("remember", "--type", "feedback", "always run the linter before a commit")
    (name,) = [path.name for path in home.memory.glob("*bob*.md")]
    home.run("forget", name)  # gone from the directory, not from history
    other = next(path for path in home.memory.glob("feedback_*.md"))
    before = other.read_bytes()
    said = home.run("purge", "--memory", "call_bob", "--yes")
    assert "its bytes are in no file that memoryd keeps" in said
    assert home.files_with("before ten in the morning") == []
    assert home.files_with(name) == []
    assert other.read_bytes() == before
    assert "always run the linter" in home.run("why", other.name)
    home.run("history")


def test_a_sentence_that_another_memory_has_too_is_named_and_stays(home: Home) -> None:
    home.run("remember", "--type", "feedback", "never call Bob before ten in the morning")
    (name,) = [path.name for path in home.memory.glob("*bob*.md")]
    twin = home.memory / "feedback_twin.md"
    twin.write_bytes((home.memory / name).read_bytes())
    home.run("forget", "feedback_twin.md")
    home.run("undo")
    said = home.run("purge", "--memory", name, "--yes", code=1)
    assert "Its sentences stand in other memories" in said
    assert "feedback_twin.md" in said
    assert "Bob" in twin.read_text()


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [("ab", "too many words"), ("(z*)*", "matches nothing at all"), ("\\w\\w\\w\\w\\w*", "different texts")],
)
def test_what_would_hit_everything_is_refused(home: Home, pattern: str, sentence: str) -> None:
    for number in range(40):
        words = " ".join(f"word{number}{letter * 3}" for letter in "abcdefg")
        home.memory.mkdir(parents=True, exist_ok=True)
        (home.memory / f"note_{number}.md").write_text(words)
    done = memoryd(home.environment, "purge", "--secret", pattern, "--yes", "--project", str(home.place))
    assert done.returncode in (1, 2)
    assert sentence in done.stderr
    assert "fix: " in done.stderr
    assert "word0aaa" in (home.memory / "note_0.md").read_text()


def test_nobody_to_ask_changes_nothing_and_transcripts_are_named(home: Home) -> None:
    session = Session(cwd=str(home.place))
    said = session.turn("the door code is Quetzal-9931-Mordor")
    write(home.paths.transcripts_root, session, said, home.memory.parent.name)
    home.run("remember", "--type", "reference", "The door code is Quetzal-9931-Mordor")
    assert "nobody to ask" in home.run("purge", "--secret", "Quetzal-9931-Mordor", code=2)
    assert home.files_with("Quetzal-9931-Mordor")
    purge = ("purge", "--secret", "-", "--yes", "--project", str(home.place))
    asked = memoryd(home.environment, *purge, lines="Quetzal-9931-Mordor\n")
    assert asked.returncode == 0, asked.stderr
    assert f"{session.id}.jsonl" in asked.stderr
    assert home.files_with("Quetzal-9931-Mordor") == []


def test_a_git_store_keeps_no_past(home: Home, tmp_path: Path) -> None:
    remote = exchanging(home, tmp_path / "remote.git")
    home.run("remember", "--type", "reference", "The tenant of staging is acme-4711-zulu")
    home.run("sync")
    home.run("remember", "--type", "reference", "The tenant of production is nobody's")
    home.run("sync")
    assert int(git(remote, "rev-list", "--count", "memoryd")) == 2
    said = home.run("purge", "--secret", "acme-4711-zulu", "--yes")
    assert "cleaned" in said
    assert int(git(remote, "rev-list", "--count", "memoryd")) == 1
    assert "acme-4711" not in git(remote, "grep", "-h", "tenant", "memoryd")
    assert "tenant of production" in git(remote, "grep", "-h", "tenant", "memoryd")
    home.run("sync")
    assert int(git(remote, "rev-list", "--count", "memoryd")) == 1


def test_a_reader_of_the_database_keeps_the_proof_back(home: Home) -> None:
    home.run("remember", "--type", "reference", "The tenant of staging is acme-4711-zulu")
    with sqlite3.connect(home.paths.database) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM blobs").fetchall()
        said = home.run("purge", "--secret", "acme-4711-zulu", "--yes", code=1)
        assert "memoryd service stop" in said
        reader.execute("COMMIT")
    reader.close()
    home.run("purge", "--secret", "acme-4711-zulu", "--yes")
    assert home.files_with("acme-4711-zulu") == []


def test_a_memory_is_meant_by_its_path_and_a_namesake_stays(home: Home, paths: Paths, tmp_path: Path) -> None:
    other = Home(home.environment, paths, tmp_path / "billing")
    for place in (home, other):
        place.run(
            "remember", "--type", "feedback", f"never call Bob before ten, says {place.place.name} again and again"
        )
    (tmp_path / "shop/feedback.md").write_text("nothing of ours")
    (file,) = other.memory.glob("feedback_*.md")
    (own,) = home.memory.glob("feedback_*.md")
    own.rename(home.memory / file.name)
    home.run("forget", file.name)
    home.run("undo")
    said = home.run("purge", "--memory", str(file), "--yes")
    assert "its bytes are in no file that memoryd keeps" in said
    assert not file.exists()
    assert (home.memory / file.name).exists()
    assert other.files_with("says billing again and again") == []


def test_a_pattern_may_have_flags_of_its_own(home: Home) -> None:
    home.run("remember", "--type", "reference", "The tenant of staging is Acme-4711-Zulu")
    home.run("purge", "--secret", r"(?i)acme-\d{4}-zulu", "--yes")
    assert home.files_with("Acme-4711-Zulu") == []


def test_masked_names_that_would_meet_are_numbered_and_daily_logs_are_cleaned(home: Home) -> None:
    home.run("remember", "--type", "reference", "The tenant of staging is acct_11 and nobody else")
    home.memory.joinpath("reference_acct_11.md").write_text("about acct_11\n")
    home.memory.joinpath("reference_acct_22.md").write_text("about acct_22\n")
    log = home.memory / "logs/2026/11/2026-11-18.md"
    log.parent.mkdir(parents=True)
    log.write_text("- 10:00 user: acct_11 is the tenant\n")
    home.run("purge", "--secret", r"acct_\d\d", "--yes")
    assert sorted(path.name for path in home.memory.glob("reference_x*.md")) == [
        "reference_xxxxxxx.md",
        "reference_xxxxxxx_2.md",
    ]
    assert log.read_text() == "- 10:00 user: xxxxxxx is the tenant\n"
    assert os.listdir(log.parent) == [log.name]


def test_nothing_found_leaves_the_stores_alone(home: Home, tmp_path: Path) -> None:
    remote = exchanging(home, tmp_path / "remote.git")
    for text in ("The tenant of staging is acme", "The tenant of production is nobody"):
        home.run("remember", "--type", "reference", text)
        home.run("sync")
    before = git(remote, "rev-parse", "memoryd")
    home.run("purge", "--secret", "nowhere-to-be-found", "--yes")
    assert git(remote, "rev-parse", "memoryd") == before
