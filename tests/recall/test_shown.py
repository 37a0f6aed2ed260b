"""What sessions were shown: written by many at once without waiting, read whatever a kill left."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.recall import shown
from memoryd.recall.outcomes import Use, use_since
from memoryd.recall.shown import Shown

if TYPE_CHECKING:
    from memoryd.paths import Paths

NOW = 2_000_000_000.0
PLACE = "/memory"
SHOWN = [Shown("a.md", 10), Shown("é.md", 20)]


def file_of(paths: Paths) -> Path:
    (file,) = Path(paths.state_dir, "recalled").iterdir()
    return file


def test_what_a_session_was_shown_until_it_was_compacted(paths: Paths) -> None:
    assert shown.shown_to(paths, "s", PLACE) == []
    shown.record(paths, "s", PLACE, SHOWN, NOW)
    assert shown.shown_to(paths, "s", PLACE) == SHOWN
    assert shown.shown_to(paths, "other", PLACE) == shown.shown_to(paths, "s", "/other") == []
    shown.forget(paths, "s", NOW)
    assert shown.shown_to(paths, "s", PLACE) == []
    shown.record(paths, "s", PLACE, SHOWN[:1], NOW + 1)
    assert shown.shown_to(paths, "s", PLACE) == SHOWN[:1]


def test_a_session_that_was_shown_nothing_leaves_nothing(paths: Paths) -> None:
    shown.forget(paths, "s", NOW)
    assert not os.path.exists(paths.state_dir)


def test_what_was_of_use_is_counted_once(paths: Paths) -> None:
    assert use_since(paths, 0.0) is None
    shown.record(paths, "s", PLACE, SHOWN, NOW)
    shown.forget(paths, "s", NOW + 1)
    shown.record(paths, "s", PLACE, SHOWN[:1], NOW + 2)
    assert shown.unused(paths, "s", PLACE) == ["a.md", "é.md"]
    shown.record_use(paths, "s", {"a.md": "read"}, NOW + 3)
    assert shown.unused(paths, "s", PLACE) == ["é.md"]
    for name in Path(paths.state_dir, "recalled").iterdir():
        os.utime(name, (NOW, NOW))
    assert use_since(paths, NOW) == Use(3, 1, 1, tokens=11, prompts=2, prompt_tokens=3, session_tokens=11)
    assert use_since(paths, NOW - 1) == use_since(paths, NOW)
    assert use_since(paths, NOW + 2) == Use()


def test_sessions_that_are_too_old_go(paths: Paths) -> None:
    shown.drop_before(paths, NOW)
    for name, age in (("old", 10), ("new", 0)):
        shown.record(paths, name, PLACE, SHOWN, NOW - age)
        os.utime(Path(paths.state_dir, "recalled", f"{name}.jsonl"), (NOW - age, NOW - age))
    shown.drop_before(paths, NOW - 5)
    assert os.listdir(Path(paths.state_dir, "recalled")) == ["new.jsonl"]


@pytest.mark.parametrize(
    "session_id", ["../../etc/passwd", "a/b", ".", "..", "x" * 500, "\ud800", "a b", "é", "-x", "s\n"]
)
def test_no_name_of_a_session_leads_out(paths: Paths, session_id: str) -> None:
    shown.record(paths, session_id, PLACE, SHOWN, NOW)
    assert shown.shown_to(paths, session_id, PLACE) == SHOWN
    assert len(os.listdir(Path(paths.state_dir, "recalled"))) == 1
    assert os.listdir(paths.state_dir) == ["recalled"]


def test_a_line_that_a_kill_cut_short_costs_only_itself(paths: Paths) -> None:
    shown.record(paths, "s", PLACE, SHOWN, NOW)
    file = file_of(paths)
    file.write_bytes(file.read_bytes()[:-7])
    assert shown.shown_to(paths, "s", PLACE) == SHOWN[:1]
    shown.record(paths, "s", PLACE, [Shown("c.md", 5)], NOW)
    assert shown.shown_to(paths, "s", PLACE) == [SHOWN[0], Shown("c.md", 5)]


@pytest.mark.parametrize("damage", [b"\x00" * 50, b"[1]\n7\nnull\n", b"\xff\xfe\n", b'{"shown": 1'])
def test_what_is_no_line_is_passed_over(paths: Paths, damage: bytes) -> None:
    shown.record(paths, "s", PLACE, SHOWN[:1], NOW)
    file = file_of(paths)
    file.write_bytes(damage + b"\n" + file.read_bytes())
    assert shown.shown_to(paths, "s", PLACE) == SHOWN[:1]
    assert shown.unused(paths, "s", PLACE) == ["a.md"]


def test_nobody_else_can_read_it_whatever_the_umask(paths: Paths) -> None:
    before = os.umask(0)
    try:
        shown.record(paths, "s", PLACE, SHOWN, NOW)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file_of(paths).stat().st_mode) == 0o600
    assert stat.S_IMODE(file_of(paths).parent.stat().st_mode) == 0o700


def test_a_symlink_is_not_followed(paths: Paths, tmp_path: Path) -> None:
    os.makedirs(Path(paths.state_dir, "recalled"))
    (tmp_path / "elsewhere").write_text('{"shown": "a.md", "bytes": 1, "memory_dir": "/memory"}\n')
    os.symlink(tmp_path / "elsewhere", Path(paths.state_dir, "recalled", "s.jsonl"))
    assert shown.shown_to(paths, "s", PLACE) == []
    with pytest.raises(OSError, match="symbolic links"):
        shown.record(paths, "s", PLACE, SHOWN, NOW)


def test_many_at_once_lose_nothing(paths: Paths) -> None:
    def work(number: int) -> None:
        for one in range(20):
            shown.record(paths, "s", PLACE, [Shown(f"{number}-{one}.md", 1)], NOW)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(shown.shown_to(paths, "s", PLACE))) == 160
