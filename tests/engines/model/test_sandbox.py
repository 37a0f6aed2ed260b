"""A model that wants out: every way we know to read, list or change what lies beyond the directory, and to hang."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from memoryd.engines.model.sandbox import NotAllowedError
from memoryd.engines.model.tools import RESULT_BYTES, ToolBox
from tests.engines.model.attempts import BOMBS, MOUNTED_TRAPS, MOUNTED_WRITES, REFUSED, WHOLE, calls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.engines.model.attempts import Attempt

MARKER = "walrus-in-the-harbour"
"""Stands in every file outside."""
NEVER_LISTED = "otter"
"""Is in the name of a file outside that no attempt names."""
SECONDS = 2.0


class World(NamedTuple):
    root: Path
    outside: Path
    box: ToolBox


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A directory with memories and all sorts of traps in it, and secrets beside it and at home."""
    root, outside, home = tmp_path / "root", tmp_path / "outside", tmp_path / "home"
    for place in (root, outside, home):
        place.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    for place in (outside, home):
        (place / "secret.md").write_text(f"{MARKER}\n")
        (place / f"{NEVER_LISTED}.md").write_text(f"{MARKER}\n")
    (tmp_path / "patterns").write_text(f"{MARKER}\n")
    (root / "deploy.md").write_text("Deploys happen on Fridays.\n")
    (root / "tests.md").write_text("Tests run with make.\n")
    (root / "MEMORY.md").write_text("- [Deploy](deploy.md)\n")
    (root / "unary.md").write_text("a" * 601 + "\n")
    (root / "results").mkdir()
    (root / "results/7.txt").write_text("seven\n")
    links: dict[str, str | Path] = {
        "link.md": outside / "secret.md",
        "relative.md": "../outside/secret.md",
        "folder": outside,
        "results/up": "../..",
        "results/inner.md": outside / "secret.md",
        "environ.md": "/proc/self/environ",
        "zero.md": "/dev/zero",
        "terminal.md": "/dev/tty",
        "loop.md": "loop.md",
        "dangling.md": outside / "new.md",
        "root": "/",
        "descriptor.md": "/proc/self/fd/0",
    }
    for name, target in links.items():
        os.symlink(target, root / name)
    os.link(outside / "secret.md", root / "hard.md")
    os.link(outside / "secret.md", root / "results/hard.txt")
    os.mkfifo(root / "fifo.md")
    with suppress(PermissionError):  # only root makes devices
        os.mknod(root / "device.md", 0o20600, os.makedev(1, 5))
    with socket.socket(socket.AF_UNIX) as listening:
        # A path of a socket is short, that of a test is not.
        before = os.open(".", os.O_RDONLY)
        os.chdir(root)
        listening.bind("socket.md")
        os.fchdir(before)
        os.close(before)
    with ToolBox(str(root), lambda _: None, seconds=SECONDS) as box:
        yield World(root, outside, box)


def snapshot(world: World) -> dict[str, tuple[int, int, bytes]]:
    """Everything outside: names, times and content."""
    found = {}
    for place in (world.outside, world.outside.parent / "home"):
        for path in (place, *place.rglob("*")):
            status = path.lstat()
            found[str(path)] = status.st_mtime_ns, status.st_size, path.read_bytes() if path.is_file() else b""
    return found


def attempt(world: World, tool: str, given: Any) -> bool:
    """Make one attempt and look at what came of it; True if it was an error."""
    result = world.box.run(tool, given)
    for word in (MARKER, NEVER_LISTED, "HOME=", "root:x:0"):
        assert word not in result.text, (tool, given)
    assert len(result.text.encode()) <= RESULT_BYTES
    return result.is_error


def test_there_are_enough_attempts() -> None:
    """Tables shrink unnoticed; this is how many different ones there are."""
    attempts = {repr(each) for kind in REFUSED.values() for each in kind} | {repr(each) for each in BOMBS}
    assert len(attempts) > 1_000


@pytest.mark.parametrize("kind", REFUSED)
def test_every_attempt_is_an_error_and_touches_nothing(world: World, kind: str) -> None:
    outside = snapshot(world)
    inside = sorted(os.listdir(world.root))
    allowed = [given for tool, given in REFUSED[kind] if not attempt(world, tool, given)]
    assert allowed == []
    assert snapshot(world) == outside
    assert sorted(os.listdir(world.root)) == inside
    assert all("\n" not in line and len(line) <= 300 for line in world.box.refusals)
    assert len(world.box.refusals) <= 100


def test_bombs_end_and_show_nothing(world: World) -> None:
    """A call has its limit, so this test ends if every call does: the sum of the limits is no minute."""
    outside = snapshot(world)
    for tool, given in BOMBS:
        attempt(world, tool, given)
    assert snapshot(world) == outside


def test_searches_of_everything_pass_over_the_traps(world: World) -> None:
    """What walks by itself meets links, fifos and devices on its way."""
    outside = snapshot(world)
    walks = (
        "grep -rn '' .",
        "grep -r walrus",
        "grep -c . *.md",
        "ls -laR",
        "find .",
        "find . -type f -size -9k",
        "ls -l *",
    )
    found = [world.box.run("Bash", {"command": command}) for command in walks]
    found += [world.box.run("Grep", {"pattern": ""}), world.box.run("Glob", {"pattern": "**"})]
    for result in found:
        assert MARKER not in result.text
        assert NEVER_LISTED not in result.text
        assert "deploy.md" in result.text or "walrus" in result.text or "no matches" in result.text
    assert snapshot(world) == outside


def test_ordinary_calls_work_in_the_same_world(world: World) -> None:
    """So that the tests above can fail: the tools do answer."""
    run = world.box.run
    assert run("Read", {"file_path": "deploy.md"}).text == "     1\tDeploys happen on Fridays."
    assert run("Grep", {"pattern": "Fri.ays", "path": "deploy.md"}).text == "deploy.md:1:Deploys happen on Fridays."
    assert run("Glob", {"pattern": "*/7.*"}).text == "results/7.txt"
    assert run("Bash", {"command": "cat deploy.md results/7.txt"}).text == "Deploys happen on Fridays.\nseven"
    edit = {"file_path": "deploy.md", "old_string": "Fridays", "new_string": "Mondays", "quote": ""}
    assert run("Edit", edit).changed
    assert run("Write", {"file_path": "new.md", "content": "New.\n", "quote": ""}).changed
    assert (world.root / "deploy.md").read_text() == "Deploys happen on Mondays.\n"
    assert (world.root / "new.md").read_text() == "New.\n"


# --- through what is mounted ------------------------------------------------------------------------------------------

SEAL = "seal-on-the-rock"
"""Stands in every line of a transcript, which is never shown whole."""


@pytest.fixture
def mounted(world: World, tmp_path: Path) -> Iterator[World]:
    """The same world with a repository and logs to be read, full of traps as well, and a transcript."""
    repository, logs = tmp_path / "project", tmp_path / "daily"
    for folder in (repository / "src", repository / ".git", repository / "node_modules/x", logs / "2026"):
        folder.mkdir(parents=True)
    (repository / "a.md").write_text("The parser is in src.\n")
    (repository / "src/parser.py").write_text("def parse() -> None: ...\n")
    (repository / "src/image.png").write_bytes(b"\x89PNG\0parser\n" * 9)
    (repository / "node_modules/x/parser.js").write_text("parser\n")
    (logs / "2026/2026-10-18.md").write_text("- the parser was discussed\n")
    hidden = (
        repository / ".git/config",
        repository / ".env",
        repository / "src/.hidden.md",
        logs / ".hidden.md",
        logs / ".git",
    )
    for path in hidden:
        path.write_text(f"{MARKER}\n")
    secret = world.outside / "secret.md"
    (world.root / "transcripts").mkdir(mode=0o700)
    (world.root / "transcripts/s.txt").write_text("".join(f"{number} user: {SEAL}\n" for number in range(500)))
    (world.root / "transcripts/.hidden").write_text(f"{MARKER}\n")
    links: dict[Path, str | Path] = {
        repository / "link.md": secret,
        repository / "folder": world.outside,
        repository / "up": "..",
        repository / "environ": "/proc/self/environ",
        repository / "loop": "loop",
        logs / "link.md": secret,
        logs / "2026/up": world.outside,
        world.root / "transcripts/link.txt": secret,
        tmp_path / "link": world.outside,
    }
    for path, target in links.items():
        os.symlink(target, path)
    for path in (repository / "hard.md", logs / "hard.md", world.root / "transcripts/hard.txt"):
        os.link(secret, path)
    os.mkfifo(repository / "fifo.md")
    mounts = {"repository": repository, "logs": logs, "absent": tmp_path / "absent", "linked": tmp_path / "link"}
    with ToolBox(
        str(world.root),
        lambda _: None,
        mounts={name: str(path) for name, path in mounts.items()},
        windowed=("transcripts",),
        seconds=SECONDS,
    ) as box:
        yield World(world.root, tmp_path, box)


def everything(world: World) -> dict[str, tuple[int, int, int, bytes]]:
    """What is mounted and what lies beside it: names, inodes, times and content."""
    found = {}
    for folder in ("project", "daily", "outside", "home"):
        for path in (world.outside / folder).rglob("*"):
            status = path.lstat()
            data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = status.st_ino, status.st_mtime_ns, status.st_size, data
    return found


def test_no_trap_of_a_mounted_directory_is_opened(mounted: World) -> None:
    before = everything(mounted)
    allowed = [given for path in MOUNTED_TRAPS for tool, given in calls(path) if not attempt(mounted, tool, given)]
    assert allowed == []
    assert everything(mounted) == before


def test_nothing_is_written_but_among_the_memories(mounted: World) -> None:
    before = everything(mounted)
    inside = sorted(os.listdir(mounted.root))
    for name in MOUNTED_WRITES:
        for content in ("seal\n", ""):
            assert attempt(mounted, "Write", {"file_path": name, "content": content, "quote": ""}), name
        assert attempt(mounted, "Edit", {"file_path": name, "old_string": "e", "new_string": "x", "quote": ""}), name
    for folder in ("repository", "logs"):
        with pytest.raises(NotAllowedError):
            mounted.box.lay_out(folder, "new.md", "seal")
    assert everything(mounted) == before
    assert sorted(os.listdir(mounted.root)) == inside


def test_a_transcript_is_never_shown_whole(mounted: World) -> None:
    for tool, given in WHOLE:
        result = mounted.box.run(tool, given)
        assert result.is_error, given
        assert SEAL not in result.text
    window = mounted.box.run("Read", {"file_path": "transcripts/s.txt", "offset": 100, "limit": 40})
    assert (window.is_error, window.text.count(SEAL)) == (False, 40)


@pytest.mark.parametrize(
    "given",
    [
        {"path": "transcripts"},
        {"path": "transcripts/s.txt", "max_results": 1_000},
        {"glob": "transcripts/*.txt", "max_results": 1_000},
        {"path": "./transcripts/", "glob": "s.*"},
    ],
)
def test_a_search_of_transcripts_is_bounded(mounted: World, given: dict[str, Any]) -> None:
    result = mounted.box.run("Grep", {"pattern": "seal", **given})
    assert result.text.count(SEAL) == 30
    assert result.text.endswith("[470 more lines; narrow the search]")


def test_what_is_mounted_is_searched_only_where_it_is_named(mounted: World) -> None:
    run = mounted.box.run
    for tool, given in (
        ("Grep", {"pattern": "parser|seal-on"}),
        ("Bash", {"command": "grep -rE 'parser|seal-on' ."}),
        ("Grep", {"pattern": "parser|seal-on", "path": "."}),
    ):
        assert run(tool, given).text == "no matches"
    assert run("Grep", {"pattern": "parser", "path": "repository"}).text == "repository/a.md:1:The parser is in src."
    assert run("Bash", {"command": "grep -rl pars repository logs"}).text.split() == [
        "repository/a.md",
        "repository/src/parser.py",
        "logs/2026/2026-10-18.md",
    ]
    assert run("Glob", {"pattern": "repository/**/*.py"}).text == "repository/src/parser.py"
    assert run("Glob", {"pattern": "*.py", "path": "repository/src"}).text == "repository/src/parser.py"
    assert run("Glob", {"pattern": "transcripts/*"}).text == "transcripts/s.txt"
    assert run("Bash", {"command": "cat repository/src/*.py"}).text == "def parse() -> None: ..."
    assert run("Bash", {"command": "ls repository/src"}).text.split() == ["image.png", "parser.py"]
    assert run("Bash", {"command": "find repository -name 'pars*'"}).text == "repository/src/parser.py"
    assert run("Read", {"file_path": "logs/2026/2026-10-18.md"}).text == "     1\t- the parser was discussed"
    folders = run("Bash", {"command": "find . -type d -maxdepth 1"}).text.split()
    assert {"./repository", "./logs", "./transcripts"} <= set(folders)
    assert not {"./absent", "./linked"} & set(folders)


def test_walks_through_a_mounted_directory_pass_over_the_traps(mounted: World) -> None:
    before = everything(mounted)
    for command in ("grep -rn '' repository logs", "ls -laR repository", "find repository logs", "stat repository/*"):
        attempt(mounted, "Bash", {"command": command})
    for given in ({"pattern": "", "path": "repository"}, {"pattern": "walrus", "path": "logs"}):
        attempt(mounted, "Grep", given)
    attempt(mounted, "Glob", {"pattern": "repository/**"})
    assert everything(mounted) == before


def test_of_a_long_file_that_is_mounted_only_the_beginning_is_read(mounted: World) -> None:
    (mounted.outside / "project/long.txt").write_text("word\n" * 200_000 + "the end\n")
    result = mounted.box.run("Read", {"file_path": "repository/long.txt", "offset": 40_000})
    assert "can be read" in result.text
    assert mounted.box.run("Grep", {"pattern": "the end", "path": "repository/long.txt"}).text.startswith("Of `repo")


FLIPPER = """
import os, sys
root, outside = sys.argv[1:]
os.chdir(root)
os.mkdir("flips")
open("flips/inner.md", "w").write("inside\\n")
print("ready", flush=True)
while True:
    os.symlink(outside + "/secret.md", ".link")
    os.rename(".link", "flip.md")
    os.symlink(outside, ".folder")
    os.rename("flips", ".flips")
    os.rename(".folder", "flips")
    with open(".file", "w") as file:
        file.write("inside\\n")
    os.rename(".file", "flip.md")
    os.rename("flips", ".folder")
    os.rename(".flips", "flips")
    os.unlink(".folder")
"""
RACES: tuple[Attempt, ...] = (
    ("Read", {"file_path": "flip.md"}),
    ("Read", {"file_path": "flips/secret.md"}),
    ("Grep", {"pattern": "", "path": "flip.md"}),
    ("Grep", {"pattern": "", "path": "flips"}),
    ("Grep", {"pattern": "walrus|inside"}),
    ("Glob", {"pattern": "**/*.md"}),
    ("Glob", {"pattern": "*", "path": "flips"}),
    ("Bash", {"command": "cat flip.md"}),
    ("Bash", {"command": "cat flips/*"}),
    ("Bash", {"command": "tail -n 5 *.md"}),
    ("Bash", {"command": "grep -r . ."}),
    ("Bash", {"command": "ls -laR"}),
    ("Bash", {"command": "ls -l flips"}),
    ("Bash", {"command": "find . -type f"}),
    ("Bash", {"command": "find flips -name '*.md'"}),
    ("Bash", {"command": "stat flip.md flips"}),
    ("Write", {"file_path": "flip.md", "content": "seal\n", "quote": ""}),
    ("Edit", {"file_path": "flip.md", "old_string": "inside", "new_string": "seal", "quote": ""}),
)


def test_a_name_that_flips_between_a_file_and_a_link_never_shows_the_link_s_target(
    world: World, *, torture: bool
) -> None:
    """Another process renames as fast as it can; what is checked is what is opened, so no run of the tools sees outside."""
    outside = snapshot(world)
    rounds = 400 if torture else 8
    seen: dict[str, set[bool]] = {}
    with subprocess.Popen(
        [sys.executable, "-c", FLIPPER, str(world.root), str(world.outside)], stdout=subprocess.PIPE
    ) as flipper:
        assert flipper.stdout is not None
        assert flipper.stdout.readline() == b"ready\n"
        try:
            order = list(RACES) * rounds + [RACES[0]] * rounds * 20
            random.Random(7).shuffle(order)
            runs = 0
            for tool, given in order:
                seen.setdefault(tool, set()).add(attempt(world, tool, given))
                runs += 1
            assert flipper.poll() is None
        finally:
            flipper.kill()
    assert runs == rounds * (len(RACES) + 20)
    assert seen["Read"] == {True, False}  # or the race was none
    assert snapshot(world) == outside
