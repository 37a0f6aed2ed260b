"""The team's lines in the index of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.memory.commit import reindex
from memoryd.memory.directory import open_directory
from memoryd.memory.index import Topic
from memoryd.memory.limits import MOST_BYTES, MOST_LINES
from memoryd.memory.team_lines import HEADING, with_team_lines, without_team_lines
from memoryd.state import team
from tests.stores.machines import memory

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.state.database import Database


def index_of(database: Database, place: Path) -> str:
    team.put_answer(database, str(place), "example.org/me/shop", "Mara", 1.0)
    with open_directory(str(place)) as directory:
        reindex(database, directory, 1.0)
    return (place / "MEMORY.md").read_text()


def test_they_stand_below_a_heading_and_new_lines_of_ones_own_above_it(database: Database, tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    (tmp_path / "a.md").write_bytes(memory("Mine"))
    (tmp_path / "team/b.md").write_bytes(memory("Theirs"))
    first = index_of(database, tmp_path)
    assert first == f"- [Note](a.md) — Mine\n\n{HEADING}\n- [Note](team/b.md) — Theirs\n"
    (tmp_path / "c.md").write_bytes(memory("Mine too"))
    second = index_of(database, tmp_path)
    assert second == f"- [Note](a.md) — Mine\n- [Note](c.md) — Mine too\n\n{HEADING}\n- [Note](team/b.md) — Theirs\n"
    assert index_of(database, tmp_path) == second
    (tmp_path / "team/b.md").unlink()
    assert index_of(database, tmp_path) == "- [Note](a.md) — Mine\n- [Note](c.md) — Mine too\n"


def test_an_index_without_a_team_keeps_its_bytes(database: Database, tmp_path: Path) -> None:
    text = "# My notes\n\n- [A](a.md) — mine\n\n## Later\n\nfree words\n"
    (tmp_path / "a.md").write_bytes(memory("Mine"))
    (tmp_path / "MEMORY.md").write_text(text)
    assert index_of(database, tmp_path) == without_team_lines(text) == text


def test_ones_own_go_first_where_there_is_no_room_for_all(database: Database, tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    for number in range(150):
        (tmp_path / f"own_{number:03}.md").write_bytes(memory(f"Mine {number}"))
        (tmp_path / f"team/their_{number:03}.md").write_bytes(memory(f"Theirs {number}"))
    text = index_of(database, tmp_path)
    assert text.count("](own_") == 150
    assert text.count("](team/") == MOST_LINES - 152
    assert len(text.encode()) <= MOST_BYTES


def test_links_in_the_team_folder_get_no_line(database: Database, tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    (tmp_path / "a.md").write_bytes(memory("Mine"))
    (tmp_path / "team/link.md").symlink_to("/etc/passwd")
    assert "team/" not in index_of(database, tmp_path)


def test_only_as_many_files_are_read_as_there_is_room_for(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    for number in range(1_000):
        (tmp_path / f"team/their_{number:04}.md").touch()
    read: list[str] = []

    def topic(name: str) -> Topic:
        read.append(name)
        return Topic(name, "Theirs")

    with open_directory(str(tmp_path)) as directory:
        text = with_team_lines("", directory, topic)
    assert text.count("\n") == MOST_LINES
    assert len(read) <= MOST_LINES
