"""Instruction files: found where the client finds them, in its order, and bounded whatever lies there instead."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.claude_code import instructions
from memoryd.clients.instruction_files import MOST_BYTES, MOST_BYTES_IN_ALL, MOST_FILES
from memoryd.clients.registry import instructions_at
from memoryd.clients.rule_paths import applies_to
from memoryd.paths import paths_from

if TYPE_CHECKING:
    from memoryd.paths import Paths


@pytest.fixture(autouse=True)
def managed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The machine's own directory, which is not to be the real one."""
    place = tmp_path / "etc"
    monkeypatch.setattr(instructions, "_MANAGED", str(place))
    return place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "code" / "acme"
    place.mkdir(parents=True)
    return place


def put(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_files_are_found_from_the_machine_down_to_the_directory(paths: Paths, project: Path, managed: Path) -> None:
    """Later ones weigh more; each text names its place here."""
    cwd = project / "sub"
    put(managed / "CLAUDE.md", "machine")
    put(Path(paths.claude_dir, "CLAUDE.md"), "user")
    put(Path(paths.claude_dir, "rules", "b.md"), "user rule b")
    put(Path(paths.claude_dir, "rules", "a.md"), "user rule a")
    put(project.parent / "CLAUDE.md", "above")
    put(project / "CLAUDE.local.md", "local")
    put(project / ".claude" / "rules" / "z.md", "rule z")
    put(project / ".claude" / "rules" / "c.md", "rule c")
    put(project / ".claude" / "rules" / "notes.txt", "no rule")
    put(project / ".claude" / "CLAUDE.md", "hidden")
    put(project / "CLAUDE.md", "project")
    put(cwd / "CLAUDE.md", "sub")
    put(cwd / "CLAUDE.local.md", "sub local")
    put(cwd / "below" / "CLAUDE.md", "not of this directory")
    put(project / "other" / "CLAUDE.md", "nor of another")
    assert instructions_at(str(cwd), paths) == [
        "machine",
        "user",
        "user rule a",
        "user rule b",
        "above",
        "project",
        "hidden",
        "rule c",
        "rule z",
        "sub",
        "local",
        "sub local",
    ]


def test_without_any_file_there_is_nothing(paths: Paths, project: Path) -> None:
    assert instructions_at(str(project), paths) == []
    assert instructions_at(str(project / "no" / "such" / "place"), paths) == []


@pytest.mark.parametrize(
    "cwd", ["", "relative/path", "/", "//", "/nul\0byte", "/half a \ud800 character", "/" + "x" * 5000]
)
def test_whatever_a_transcript_names_as_its_directory_the_users_own_files_are_read(paths: Paths, cwd: str) -> None:
    put(Path(paths.claude_dir, "CLAUDE.md"), "user")
    assert instructions_at(cwd, paths) == ["user"]


def test_a_directory_written_in_a_roundabout_way_is_the_same(paths: Paths, project: Path) -> None:
    put(project / "CLAUDE.md", "project")
    assert instructions_at(f"{project}/./x/../", paths) == ["project"]


def test_a_file_that_is_reached_in_two_ways_is_read_once(environment: dict[str, str]) -> None:
    """Working at home, the user's own file is also the one of the directory."""
    paths = paths_from(environment)
    put(Path(paths.claude_dir, "CLAUDE.md"), "user")
    put(Path(paths.home, "CLAUDE.md"), "home")
    os.symlink("CLAUDE.md", Path(paths.home, "CLAUDE.local.md"))
    assert sorted(instructions_at(paths.home, paths)) == ["home", "user"]


# --- links ------------------------------------------------------------------------------------------------------------


def test_a_link_that_leads_out_of_the_directory_that_ships_it_is_not_followed(paths: Paths, project: Path) -> None:
    secret = put(project.parent / "private.md", "private")
    os.symlink(secret, project / "CLAUDE.md")
    os.symlink("../private.md", project / "CLAUDE.local.md")
    (project / "rules").mkdir()
    os.symlink(project.parent, project / ".claude")
    assert instructions_at(str(project), paths) == []


def test_a_link_inside_the_directory_is_followed(paths: Paths, project: Path) -> None:
    put(project / "AGENTS.md", "agents")
    os.symlink("AGENTS.md", project / "CLAUDE.md")
    assert instructions_at(str(project), paths) == ["agents"]


def test_a_project_that_is_reached_through_a_link_is_read(paths: Paths, project: Path, tmp_path: Path) -> None:
    put(project / "CLAUDE.md", "project")
    os.symlink(project.parent, tmp_path / "short")
    assert instructions_at(str(tmp_path / "short" / "acme"), paths) == ["project"]


def test_the_users_own_file_may_be_a_link_to_anywhere(paths: Paths, tmp_path: Path) -> None:
    put(tmp_path / "dotfiles" / "CLAUDE.md", "user")
    os.makedirs(paths.claude_dir)
    os.symlink(tmp_path / "dotfiles" / "CLAUDE.md", Path(paths.claude_dir, "CLAUDE.md"))
    assert instructions_at("/", paths) == ["user"]


def test_links_that_lead_nowhere_or_in_circles_are_nothing(paths: Paths, project: Path) -> None:
    os.symlink("nowhere", project / "CLAUDE.md")
    os.symlink("CLAUDE.local.md", project / "CLAUDE.local.md")
    assert instructions_at(str(project), paths) == []


# --- what is no file --------------------------------------------------------------------------------------------------


def test_directories_and_fifos_are_nothing_and_nobody_waits_for_them(paths: Paths, project: Path) -> None:
    (project / "CLAUDE.md").mkdir()
    os.mkfifo(project / "CLAUDE.local.md")
    put(project / ".claude" / "rules", "a file where rules should be")
    found: list[list[str]] = []
    thread = threading.Thread(target=lambda: found.append(instructions_at(str(project), paths)), daemon=True)
    thread.start()
    thread.join(10)
    assert found == [[]]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_nothing(paths: Paths, project: Path) -> None:
    put(project / "CLAUDE.md", "closed").chmod(0)
    put(project / "CLAUDE.local.md", "open")
    assert instructions_at(str(project), paths) == ["open"]


def test_what_cannot_be_opened_or_read_is_nothing(paths: Paths, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(project / "CLAUDE.md", "broken")
    put(project / "CLAUDE.local.md", "closed")
    real = os.open

    def refusing(path: str, flags: int, *rest: int) -> int:
        if path.endswith("CLAUDE.local.md"):
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest)

    def breaking(*_: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "open", refusing)
    monkeypatch.setattr(os, "read", breaking)
    assert instructions_at(str(project), paths) == []


def test_bytes_that_are_no_text_are_replaced(paths: Paths, project: Path) -> None:
    put(project / "CLAUDE.md", b"use \xff tabs\0")
    assert instructions_at(str(project), paths) == ["use \ufffd tabs\0"]


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_of_a_huge_file_its_beginning_is_read(paths: Paths, project: Path) -> None:
    put(project / "CLAUDE.md", b"rule\n" * 2_000_000)
    (text,) = instructions_at(str(project), paths)
    assert text == ("rule\n" * 20_000)[:MOST_BYTES]


def test_of_too_many_files_those_that_weigh_most_are_read(paths: Paths, project: Path) -> None:
    """A folder full of the user's rules does not crowd out the project's own file."""
    for number in range(MOST_FILES + 20):
        put(Path(paths.claude_dir, "rules", f"{number:03}.md"), f"rule {number}")
    put(project / "CLAUDE.md", "project")
    found = instructions_at(str(project), paths)
    assert found == [*(f"rule {number}" for number in range(21, MOST_FILES + 20)), "project"]


def test_places_without_a_file_do_not_count(paths: Paths, project: Path) -> None:
    put(project / "CLAUDE.md", "project")
    deep = project.joinpath(*(["d"] * 100))
    put(deep / "CLAUDE.md", "deep")
    assert instructions_at(str(deep), paths) == ["project", "deep"]


def test_all_texts_together_are_bounded_in_bytes(paths: Paths, project: Path) -> None:
    for number in range(10):
        put(project / ".claude" / "rules" / f"{number}.md", "é" * MOST_BYTES)
    put(project / "CLAUDE.local.md", "the last word")
    found = instructions_at(str(project), paths)
    assert found[-1] == "the last word"
    assert sum(len(text.encode()) for text in found) <= MOST_BYTES_IN_ALL + len("\ufffd".encode())
    assert len(found) == 1 + MOST_BYTES_IN_ALL // MOST_BYTES


# --- imports ----------------------------------------------------------------------------------------------------------


def test_what_a_file_imports_stands_behind_it(paths: Paths, project: Path) -> None:
    put(
        project / "CLAUDE.md",
        "See @docs/style.md and @./docs/git.md, but `@docs/code.md` is code. Ask @anna or a@b.de.",
    )
    put(project / "docs" / "style.md", "style, with @more.md")
    put(project / "docs" / "more.md", "more")
    put(project / "docs" / "git.md", "git")
    put(project / "docs" / "code.md", "never")
    put(Path(paths.claude_dir, "CLAUDE.md"), "user, with @~/notes.md")
    put(Path(paths.home, "notes.md"), "notes")
    found = instructions_at(str(project), paths)
    assert [text.split()[0] for text in found] == ["user,", "notes", "See", "style,", "more", "git"]


def test_imports_end_in_circles_and_after_five_hops(paths: Paths, project: Path) -> None:
    for number in range(8):
        put(project / f"{number}.md", f"{number} @{number + 1}.md @CLAUDE.md")
    put(project / "CLAUDE.md", "begin @0.md")
    assert [text.split()[0] for text in instructions_at(str(project), paths)] == ["begin", "0", "1", "2", "3", "4"]


@pytest.mark.parametrize(
    "name", ["@../secret.md", "@~/secret.md", "@{home}/secret.md", "@link.md", "@docs/../../secret.md"]
)
def test_what_a_directory_ships_imports_nothing_from_elsewhere(paths: Paths, project: Path, name: str) -> None:
    """Cloning a repository must not show it our files."""
    put(project.parent / "secret.md", "secret")
    put(Path(paths.home, "secret.md"), "secret")
    (project / "link.md").symlink_to(project.parent / "secret.md")
    put(project / "CLAUDE.md", "begin " + name.format(home=paths.home))
    assert len(instructions_at(str(project), paths)) == 1


def test_imports_that_are_no_files_are_nothing(paths: Paths, project: Path) -> None:
    (project / "docs").mkdir()
    os.mkfifo(project / "pipe.md")
    put(project / "CLAUDE.md", "begin @docs @pipe.md @nowhere.md @" + "x" * 5000 + " @\0 @. @.. @")
    assert len(instructions_at(str(project), paths)) == 1


@pytest.mark.parametrize(
    ("paths_line", "file", "is_about"),
    [
        ("paths: src/**/*.ts", "src/web/a.ts", True),
        ("paths: src/**/*.ts", "src/a.ts", True),
        ("paths: src/**/*.ts", "src/a.py", False),
        ('paths: "docs/*.md, *.rst"', "docs/a.md", True),
        ("paths: [docs/*.md, api/**]", "api/deep/x.py", True),
        ('paths:\n  - "src/*.{ts,tsx}"\n  - lib/**', "src/a.tsx", True),
        ('paths:\n  - "src/*.{ts,tsx}"\n  - lib/**', "lib/a/b.c", True),
        ('paths:\n  - "src/*.{ts,tsx}"\n  - lib/**', "src/a.js", False),
        ("description: no paths", "src/a.js", True),
    ],
)
def test_a_rule_with_paths_is_about_files_that_its_glob_fits(paths_line: str, file: str, is_about: bool) -> None:
    text = f"---\n{paths_line}\n---\nBe careful.\n"
    assert applies_to("/code/acme/.claude/rules/a.md", text, f"/code/acme/{file}") is is_about


def test_a_rule_without_frontmatter_is_about_every_file() -> None:
    assert applies_to("/code/acme/CLAUDE.md", "paths: src/**", "/code/acme/lib/x")
