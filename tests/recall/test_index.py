"""The terms that are kept are those of the files as they are, whatever was done to them and how."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memoryd.memory.limits import FILE_BYTES
from memoryd.memory.quick_parse import QuickParse
from memoryd.paths import Paths, paths_from
from memoryd.recall import reading
from memoryd.recall.index import read_triggers, up_to_date_index
from memoryd.recall.reading import read_memory
from memoryd.recall.store import HEAVIEST, WEIGHT_BITS, Store, open_store, store_to_look
from memoryd.recall.terms import PIECE
from tests.recall.memories import FIVE, NOW, RELEASE, Library, topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.recall.store import Directory

TOKEN = "ghp_" + "a1B2c3D4e5" * 4


@pytest.fixture
def library(paths: Paths, tmp_path: Path) -> Library:
    library = Library(paths, tmp_path / "memory")
    library.write(FIVE)
    return library


@pytest.fixture
def store(paths: Paths) -> Iterator[Store]:
    with closing(open_store(paths)) as opened:
        yield opened


def test_a_look_that_is_closed_last_leaves_no_side_files(paths: Paths) -> None:
    """As a daemon looks while a child writes, and is stopped afterwards."""
    writer = open_store(paths)
    look = store_to_look(paths)
    assert look is not None
    look.unfinished()
    writer.close()
    look.close()
    assert not [name for name in os.listdir(paths.state_dir) if name.startswith("recall.sqlite3-")]


def look(store: Store, library: Library, now: float = NOW, *, thorough: bool = False) -> Directory:
    directory = up_to_date_index(store, str(library.place), now, thorough=thorough)
    assert directory is not None
    return directory


def names(store: Store, library: Library, now: float = NOW) -> list[str]:
    return sorted(one.name for one in store.known(look(store, library, now).id))


def content(recall_file: str) -> dict[str, tuple[Any, ...]]:
    """Every memory that is known, with what is kept of it, without numbers and times."""
    with closing(sqlite3.connect(recall_file)) as connection:
        rows = connection.execute("SELECT id, name, type, has_secret FROM memories").fetchall()
        terms: dict[int, dict[str, int]] = {number: {} for number, *_ in rows}
        for term, entries in connection.execute("SELECT term, entries FROM postings"):
            for entry in memoryview(entries).cast("I"):
                if entry >> WEIGHT_BITS in terms:
                    weights = terms[entry >> WEIGHT_BITS]
                    assert term.startswith(PIECE) or term not in weights, "a memory has a term twice"
                    weights[term] = weights.get(term, 0) + (entry & HEAVIEST)
    return {name: (kind, has_secret, terms[number]) for number, name, kind, has_secret in rows}


# --- any sequence of changes ------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a.md", "b.md", "c.md"])
TEXTS = st.sampled_from(
    [
        topic("Releases are cut from stable", "Never from main."),
        topic("Releases are cut from master", "Never from main."),
        topic("A token", TOKEN, kind="reference"),
        b"No frontmatter, but words.\n",
        b"",
    ]
)


class Changes(RuleBasedStateMachine):
    """What people, clients and tools do to a directory between two looks."""

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.mkdtemp()
        self.place = Path(self.root, "memory")
        self.place.mkdir()
        self.paths, self.fresh = (Paths("", "", f"{self.root}/{name}", "") for name in ("kept", "fresh"))
        self.store, self.other = open_store(self.paths), open_store(self.fresh)

    def teardown(self) -> None:
        self.store.close()
        self.other.close()
        shutil.rmtree(self.root)

    @rule(name=NAMES, text=TEXTS, is_time_restored=st.booleans())
    def write_in_place(self, name: str, text: bytes, is_time_restored: bool) -> None:
        path = self.place / name
        before = path.stat() if path.exists() else None
        path.write_bytes(text)
        if before and is_time_restored:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    @rule(name=NAMES, text=TEXTS, is_time_restored=st.booleans())
    def replace(self, name: str, text: bytes, is_time_restored: bool) -> None:
        path, other = self.place / name, self.place / ".new"
        before = path.stat() if path.exists() else None
        other.write_bytes(text)
        if before and is_time_restored:
            os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
        other.rename(path)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        (self.place / name).unlink(missing_ok=True)

    @rule(name=NAMES, other=NAMES)
    def rename(self, name: str, other: str) -> None:
        if (self.place / name).exists():
            (self.place / name).rename(self.place / other)

    @rule(name=NAMES)
    def swap_for_a_symlink(self, name: str) -> None:
        (self.place / name).unlink(missing_ok=True)
        (self.place / name).symlink_to("/etc/hostname")

    @rule(name=NAMES, mode=st.sampled_from([0o600, 0o644]))
    def change_mode(self, name: str, mode: int) -> None:
        if (self.place / name).exists() and not (self.place / name).is_symlink():
            (self.place / name).chmod(mode)

    @rule()
    def look_as_another_process(self) -> None:
        with closing(open_store(self.paths)) as other:
            up_to_date_index(other, str(self.place), time.time())

    @rule()
    def begin_the_directory_again(self) -> None:
        shutil.rmtree(self.place)
        assert up_to_date_index(self.store, str(self.place), time.time()) is None
        self.place.mkdir()

    @invariant()
    def what_is_kept_is_what_a_fresh_look_finds(self) -> None:
        with self.other.transaction():
            for number, _ in self.other.directories():
                self.other.drop_directory(number)
        expected = up_to_date_index(self.other, str(self.place), time.time())
        kept = up_to_date_index(self.store, str(self.place), time.time())
        assert kept is not None
        assert expected is not None
        assert kept.memories == expected.memories
        assert content(self.paths.recall_file) == content(self.fresh.recall_file)
        assert kept.dead * 4 <= kept.memories


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=12, stateful_step_count=15)


# --- what is looked at ------------------------------------------------------------------------------------------------


def test_without_a_directory_there_is_nothing(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "none", tmp_path / "file", tmp_path / "file" / "below"):
        assert up_to_date_index(store, str(place), NOW) is None
    assert store.directories() == []


def test_only_plain_files_with_a_name_that_can_be_shown_are_memories(library: Library, store: Store) -> None:
    place = library.place
    (place / "MEMORY.md").write_text("- [a](a.md)")
    (place / ".hidden.md").write_text("x")
    (place / "notes.txt").write_text("x")
    (place / "directory.md").mkdir()
    (place / "symlink.md").symlink_to(place / RELEASE)
    (place / "large.md").write_bytes(b"x" * (2 << 20))
    (place / "fits.md").write_bytes(b"x" * FILE_BYTES)
    os.mkfifo(place / "fifo.md")
    Path(os.fsdecode(os.fsencode(place) + b"/\xff.md")).write_text("x")
    assert names(store, library) == sorted([*FIVE, "fits.md"])


def test_what_is_no_file_any_more_says_nothing_and_is_not_waited_for(library: Library) -> None:
    os.mkfifo(library.place / "fifo.md")
    (library.place / "link.md").symlink_to(library.place / RELEASE)
    (library.place / "folder.md").mkdir()
    for name in ("none.md", "fifo.md", "link.md", "folder.md"):
        assert read_memory(str(library.place), name) == QuickParse("", "", None, (), "")


def test_a_secret_is_noticed(library: Library, store: Store) -> None:
    (library.place / "secret.md").write_bytes(topic("The token of the robot", f"It is {TOKEN}."))
    known = store.known(look(store, library).id)
    assert {one.name for one in known if one.has_secret} == {"secret.md"}


def test_two_directories_do_not_know_each_other(library: Library, store: Store, paths: Paths, tmp_path: Path) -> None:
    other = Library(paths, tmp_path / "other")
    other.write({"x.md": ("Lunch is at noon", "")})
    assert names(store, library) == sorted(FIVE)
    assert names(store, other) == ["x.md"]
    assert RELEASE not in other.ranked("which branch do we release from?")


# --- what a look costs ------------------------------------------------------------------------------------------------


def writes(store: Store, library: Library, now: float = NOW) -> bool:
    """Whether a look writes anything."""
    before = store._database._connection.total_changes
    look(store, library, now)
    return store._database._connection.total_changes > before


def test_a_look_at_what_is_known_writes_nothing(library: Library, store: Store) -> None:
    assert writes(store, library)
    assert not writes(store, library)
    (library.place / RELEASE).touch()
    assert writes(store, library)
    assert not writes(store, library)


def test_a_file_that_was_just_written_is_read_once_more(library: Library, store: Store) -> None:
    """Within one tick of the file system's clock, a second edit of the same length would leave no trace."""
    now = (library.place / RELEASE).stat().st_ctime
    assert writes(store, library, now)
    assert writes(store, library, now + 100)
    assert not writes(store, library, now + 200)


_AS_NOBODY = """
import hashlib, os, sys, urllib.parse
import memoryd.rules.asked_work, memoryd.rules.triggers, memoryd.security.redact
from memoryd.paths import paths_from
from memoryd.recall import reading
from memoryd.recall.index import read_triggers, up_to_date_index
from memoryd.recall.store import open_store
from memoryd.memory.quick_parse import quick_parse
reading.with_prompts(quick_parse(b"---\\ntype: feedback\\n---\\na"))  # reads the word lists
os.setgid(65534); os.setuid(65534)
store = open_store(paths_from(os.environ))
for _ in range(3):
    directory = up_to_date_index(store, sys.argv[1], 2e9)
    print(directory and directory.memories, store._database._connection.total_changes)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="root drops its rights to be refused")
def test_an_unreadable_file_is_not_tried_again_at_every_prompt(environment: dict[str, str], open_place: Path) -> None:
    environment["HOME"] = str(open_place)
    paths = paths_from(environment)
    library = Library(paths, open_place / "memory")
    library.write(FIVE)
    for place in (open_place, library.place, *library.place.iterdir()):
        os.chown(place, 65534, 65534)
    (library.place / RELEASE).chmod(0)

    def look_thrice() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, str(library.place)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    one, two, three = look_thrice()
    assert one.startswith("5 ")
    assert one == two == three
    assert "releas" not in content(paths.recall_file)[RELEASE][2]
    (library.place / RELEASE).chmod(0o600)
    assert look_thrice()[0] != "5 0"
    assert "releas" in content(paths.recall_file)[RELEASE][2]
    library.place.chmod(0)
    assert look_thrice() == ["None 0"] * 3


def test_of_very_many_files_not_each_is_looked_at_for_every_prompt(paths: Paths, tmp_path: Path, store: Store) -> None:
    """What was added, removed or replaced is noticed at once, what was edited in its place within a minute."""
    library = Library(paths, tmp_path / "memory")
    for number in range(2001):
        (library.place / f"m{number}.md").write_bytes(b"x")
    assert look(store, library).memories == 2001
    assert not writes(store, library, NOW + 59)

    (library.place / "new.md").write_bytes(topic("Releases are cut from stable"))
    assert look(store, library, NOW + 1).memories == 2002
    (library.place / "m0.md").unlink()
    assert look(store, library, NOW + 2).memories == 2001
    (library.place / ".temporary").write_bytes(topic("Lunch is at noon"))
    (library.place / ".temporary").rename(library.place / "m1.md")
    look(store, library, NOW + 3)
    assert "lunch" in content(paths.recall_file)["m1.md"][2]

    (library.place / "m2.md").write_bytes(topic("Coffee is on floor two"))
    look(store, library, NOW + 4)
    assert "coffe" not in content(paths.recall_file)["m2.md"][2]
    look(store, library, NOW + 63)
    assert "coffe" in content(paths.recall_file)["m2.md"][2]
    (library.place / "m3.md").write_bytes(topic("Tea is on floor three"))
    look(store, library, NOW + 64, thorough=True)
    assert "tea" in content(paths.recall_file)["m3.md"][2]


def test_a_clock_that_was_set_back_hides_no_change(paths: Paths, tmp_path: Path, store: Store) -> None:
    library = Library(paths, tmp_path / "memory")
    for number in range(2001):
        (library.place / f"m{number}.md").write_bytes(b"x")
    look(store, library)
    (library.place / "m2.md").write_bytes(topic("Coffee is on floor two"))
    look(store, library, NOW - 3600)
    assert "coffe" in content(paths.recall_file)["m2.md"][2]


def test_terms_of_the_dead_are_cleared_away(library: Library, store: Store) -> None:
    """Someone who edits one memory a thousand times does not fill the disk."""
    sizes = set()
    for number in range(40):
        library.write({RELEASE: (f"Edit number {number}", "Of the same memory.")})
        sizes.add(len(store.postings(look(store, library).id, ["edit"])["edit"]))
    assert max(sizes) <= 3


def test_who_has_no_time_does_not_wait_for_another_that_writes(library: Library, store: Store) -> None:
    with closing(open_store(library.paths)) as other, other.transaction():
        other.record_check("/elsewhere", 0, NOW)
        began = time.monotonic()
        assert up_to_date_index(store, str(library.place), NOW, seconds=0.05) is None
        assert time.monotonic() - began < 1.0  # of the two seconds that others wait
    assert names(store, library) == sorted(FIVE)


@pytest.mark.parametrize("is_broken", [False, True])
def test_what_two_processes_read_is_what_one_reads(
    library: Library, paths: Paths, monkeypatch: pytest.MonkeyPatch, *, is_broken: bool
) -> None:
    """A second process that cannot start costs time and nothing else."""
    library.place.joinpath("secret.md").write_bytes(topic("secret", f"the token is {TOKEN}"))
    files = {name: (1, 2, 3) for name in sorted(os.listdir(library.place)) if name != "MEMORY.md"}
    alone = reading.learnt_memories(paths, str(library.place), files, terms_first=True)
    assert any(memory.has_secret for memory in alone)
    os.makedirs(paths.state_dir, exist_ok=True)
    monkeypatch.setattr(reading, "_FOR_TWO", 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    if is_broken:
        monkeypatch.setattr(sys, "executable", "/nonexistent")
    together = reading.terms_by_two(paths, str(library.place), files)
    assert [reading._as_row(memory) for memory in together] == [reading._as_row(memory) for memory in alone]
    assert os.listdir(paths.state_dir) == []


def test_what_very_many_memories_speak_of_is_read_after_their_terms(
    library: Library, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it in the end, as if it had been read at once, by whoever has time and by hooks that have little; binding ones at once."""
    binding = b"---\nname: x\ndescription: never push by force\nmetadata:\n  type: feedback\n  enforce: run git push --force\n---\n"
    rules = {
        f"rule{number}.md": topic(f"Run `make lint{number}` before a push", kind="feedback") for number in range(45)
    }
    for name, text in {**rules, "binding.md": binding}.items():
        library.place.joinpath(name).write_bytes(text)
    at_once, terms_first, hurried = (Paths("", "", f"{paths.state_dir}/{name}", "") for name in "abc")
    with closing(open_store(at_once)) as store:
        look(store, library)
    monkeypatch.setattr(reading, "_FOR_TWO", 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    for place, seconds in ((terms_first, None), (hurried, 0.0)):
        with closing(open_store(place)) as store:
            found = look(store, library)
            assert found.is_unfinished
            assert store.unfinished() == [str(library.place)]
            assert content(place.recall_file) == content(at_once.recall_file)
            assert [rule[1] for rule in store.binding()] == ["binding.md"]
            assert {row[1] for row in triggers(place.recall_file)} == {"binding.md"}
            looks = 0
            while look(store, library).is_unfinished:
                read_triggers(store, str(library.place), seconds=seconds)
                looks += 1
            assert looks == (1 if seconds is None else 3)
            assert store.unfinished() == []
        assert triggers(place.recall_file) == triggers(at_once.recall_file)


def triggers(recall_file: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(recall_file)) as connection:
        sql = "SELECT has_triggers_read, name, kind, key, pattern, scope FROM triggers JOIN memories ON memory_id = memories.id"
        return sorted(connection.execute(sql))


def test_a_prompt_during_a_first_read_is_answered_from_what_is_known(
    library: Library, paths: Paths, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one process reads all memories, and while it writes, another that has no time looks at once."""
    look(store, library)
    library.write({"more.md": ("what was just written", "")})
    looks: list[tuple[int, float]] = []

    def look_in_between(*_: object) -> None:
        with closing(open_store(paths)) as hurried:
            began = time.monotonic()
            found = up_to_date_index(hurried, str(library.place), NOW, seconds=0.0)
            assert found is not None
            looks.append((found.memories, time.monotonic() - began))

    learn = Store.learn

    def learn_and_look(*arguments: Any) -> None:
        learn(*arguments)
        look_in_between()

    monkeypatch.setattr(Store, "learn", learn_and_look)
    with closing(open_store(paths)) as reader:
        assert look(reader, library).memories == len(FIVE) + 1
    assert [number for number, _ in looks] == [len(FIVE)]  # as before the reader's transaction, which is still open
    assert all(seconds < 1.0 for _, seconds in looks)  # of the two that others wait
