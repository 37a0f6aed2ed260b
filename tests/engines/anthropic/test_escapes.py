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

from memoryd.engines.anthropic.tools import RESULT_BYTES, ToolBox
from tests.engines.anthropic.attempts import BOMBS, REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.engines.anthropic.attempts import Attempt

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
    rounds = 400 if torture else 15
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
