# ruff: noqa: RUF001 - strange letters are what it is about
"""Hostile homes, names and links: what is written stays inside, and what cannot be used is said with its fix."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.errors import ConfigError, MemorydError
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.model import Changeset, FileChange, Group
from memoryd.paths import paths_from
from memoryd.stores.keys import refusal_of_name
from tests.stores.machines import memory

if TYPE_CHECKING:
    import random

    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.torture.campaign import Campaign

NOW = 2_000_000_000.0
DATA = memory("Fact.")
PIECES = (
    *(
        "..",
        ".",
        "~",
        "a",
        "A",
        "memory",
        "team",
        "con",
        "aux.md",
        ".git",
        ".claude",
        "MEMORY.md",
        "memory.md",
        "-rf",
        "$HOME",
    ),
    *(
        "a b",
        "ä",
        "a\u0308",
        "\u202egnp",
        "a\u200bb",
        "\udcff",
        "x" * 260,
        "a\nb",
        "a\0b",
        "a\\b",
        "*",
        "%2e%2e",
        "‥",
        "／etc",
    ),
)


def _path(dice: random.Random) -> str:
    parts = dice.choices(PIECES, k=dice.randint(1, 4))
    return dice.choice(("", "", "/", "./", "../", "//")) + "/".join(parts) + dice.choice(("", "", ".md", "/"))


@pytest.mark.torture
def test_a_hostile_home_is_refused_or_leads_where_it_says(campaign: Campaign) -> None:
    number, through = (2000 if campaign.is_long else 200), []
    variables = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR")
    for _ in range(number):
        environment = {"HOME": "/home/u"} | {
            name: _path(campaign.random).replace("\0", "") for name in campaign.random.sample(variables, 2)
        }
        home = environment["HOME"]
        try:
            paths = paths_from(environment)
        except ConfigError as error:
            if not error.fix or (os.path.isabs(home) and "CLAUDE_CONFIG_DIR" not in str(error)):
                through.append(f"{environment} is refused with {error}")
            continue
        if home and not os.path.isabs(home):
            through.append(f"{environment}: a relative HOME is used")
        made = (paths.home, paths.config_file, paths.state_dir, paths.claude_dir, paths.memory_root)
        if not all(map(os.path.isabs, made)):
            through.append(f"{environment} leads to {made}")
    campaign.tried("paths", "hostile HOME and XDG variables", number, through)


@pytest.fixture
def place(paths: Paths) -> Path:
    directory = Path(paths.transcripts_root, "-code-acme", "memory")
    directory.mkdir(parents=True)
    return directory


@pytest.mark.torture
def test_nothing_is_written_outside_whatever_its_name(
    campaign: Campaign, database: Database, place: Path, tmp_path: Path
) -> None:
    number, through = (1000 if campaign.is_long else 60), []
    before = _tree(tmp_path, place)
    for _ in range(number):
        name = _path(campaign.random)
        _try(database, place, name)
        if _tree(tmp_path, place) != before:
            through.append(f"{name!r} wrote outside")
            before = _tree(tmp_path, place)
        is_path = "/" in name.removeprefix("team/") or ".." in name.split("/")
        if is_path and refusal_of_name(name) is None:
            through.append(f"a store may name {name!r}")
    campaign.tried("paths", "hostile names of memories", number, through)
    modes = {path.stat().st_mode & 0o077 for path in place.rglob("*") if not path.is_symlink()}
    assert modes <= {0}, "somebody else can read it"


@pytest.mark.torture
def test_links_and_umasks_change_nothing_elsewhere(
    campaign: Campaign, database: Database, place: Path, tmp_path: Path
) -> None:
    number, through = (300 if campaign.is_long else 30), []
    outside = tmp_path / "outside"
    outside.mkdir()
    for at in range(number):
        target = outside / f"target{at}.md"
        target.write_bytes(b"theirs")
        target.chmod(0o644)
        name = f"feedback_{at}.md"
        kind = campaign.random.choice(("link", "hard link", "broken link", "directory", "fifo", "case twin"))
        _lay(place, name, target, kind)
        mask = os.umask(campaign.random.choice((0, 0o002, 0o022, 0o077)))
        try:
            _try(database, place, name)
        finally:
            os.umask(mask)
        is_same = target.read_bytes() == b"theirs" and target.stat().st_mode & 0o777 == 0o644
        written = place / name
        if not is_same or len(os.listdir(outside)) != at + 1:
            through.append(f"a {kind} led outside")
        if kind == "case twin" and written.exists() and written.read_bytes() != DATA:
            through.append("a case twin took the place")
        is_ours = written.is_file() and not written.is_symlink() and written.stat().st_ino != target.stat().st_ino
        if is_ours and written.stat().st_mode & 0o077:
            through.append(f"{kind}: mode {written.stat().st_mode:o}")
    campaign.tried("paths", "links, twins and umasks", number, through)


def _lay(place: Path, name: str, target: Path, kind: str) -> None:
    path = place / name
    if kind == "link":
        path.symlink_to(target)
    elif kind == "hard link":
        os.link(target, path)
    elif kind == "broken link":
        path.symlink_to(target.parent / "not there.md")
    elif kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        (place / name.upper()).write_bytes(b"twin")


def _try(database: Database, place: Path, name: str) -> None:
    """Commit a new memory by this name, as an engine or a store would; a refusal is fine."""
    change = Changeset("remember", "", (Group((FileChange(name, None, DATA, None),), ""),))
    try:
        with open_directory(str(place)) as directory:
            commit(database, directory, change, NOW)
    except (MemorydError, ValueError, OSError):
        pass


def _tree(root: Path, inside: Path) -> set[str]:
    """All that is there but for the memory directory and the state."""
    return {
        str(path)
        for path in root.rglob("*")
        if not str(path).startswith(str(inside)) and "/.local/state/" not in f"{path}/"
    }
