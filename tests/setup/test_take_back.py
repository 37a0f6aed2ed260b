"""Taking back without memoryd: what the record names goes, and nothing that somebody else made or changed."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.claude_code import plugin
from memoryd.clients.connections import PieceNote, note_of, put_in
from memoryd.clients.registry import CONNECTED
from memoryd.setup import take_back
from memoryd.setup.record import ConfigChange, SetupRecord, as_dict, read_record, record_file, uninstaller, write_record

if TYPE_CHECKING:
    from memoryd.paths import Paths


def test_it_needs_nothing_but_the_standard_library() -> None:
    above = Path(take_back.__file__).parents[2]
    beside = {name.removesuffix(".py").replace("/", ".") for name in take_back.MODULES}
    for file in (Path(take_back.__file__), *(above / name for name in take_back.MODULES)):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                named = {f"{node.module}.{alias.name}" for alias in node.names}
                names = named if node.module == "memoryd.clients" else {node.module or ""}
            else:
                continue
            assert all(name in beside or name.split(".")[0] in sys.stdlib_module_names for name in names), (file, names)


def test_a_record_is_read_as_it_was_written_and_a_damaged_one_is_none(paths: Paths) -> None:
    pieces = (PieceNote("codex", "/c", "toml", None, "a.b", "/h"),)
    config = ConfigChange("/c", None, "t")
    record = SetupRecord(paths.state_dir, "/p", ("/a",), "/f", ("x",), pieces, config, "/u", "systemd")
    write_record(paths, record)
    assert read_record(paths) == record
    assert Path(uninstaller(paths)).read_bytes() == Path(take_back.__file__).read_bytes()
    for text in ("", "{", "[]", "{}", '{"python": 1}', "[" * 99_999):
        Path(record_file(paths)).write_text(text)
        assert read_record(paths) is None


def test_a_later_version_has_noted_more_and_what_is_known_goes_all_the_same(paths: Paths) -> None:
    settings, record = connected(paths)
    later = Path(paths.home, "later.yaml")
    later.write_text("memoryd: true\n")
    noted = json.loads(Path(record_file(paths)).read_text())
    noted["pieces"][0]["shade"] = "blue"
    noted["pieces"].append({**noted["pieces"][0], "client": "later", "kind": "yaml", "file": str(later)})
    Path(record_file(paths)).write_text(json.dumps({**noted, "moods": ["calm"]}))
    found = read_record(paths)
    assert found is not None
    assert found.pieces[0] == record.pieces[0]
    for read in (as_dict(found), noted):  # by `memoryd uninstall`, and by the script beside the record
        done = take_back.take_back(read)
        assert settings.read_text() == '{"key": "sk-mine"}'
        assert [line.partition(",")[0] for line in done.left] == [
            f"{later} was changed by a later memoryd than this one"
        ]


def test_everything_that_was_made_goes_with_the_folders_for_it(paths: Paths) -> None:
    record = SetupRecord(paths.state_dir).with_folders_of([uninstaller(paths), plugin.plugin_folder(paths)])
    write_record(paths, record)
    made = plugin.install(paths, sys.executable)
    Path(paths.state_dir, "logs").mkdir()
    Path(paths.state_dir, "logs", "x").write_text("x")
    Path(made.folder, "skills", "dream", ".SKILL.md.new").write_text("half")
    told = take_back.take_back(as_dict(record._replace(plugin_folder=made.folder, plugin_files=made.files)))
    assert (len(told.told), told.left) == (2, [])
    assert list(Path(paths.home).iterdir()) == []
    assert take_back.take_back(as_dict(record)) == ([], [])


@pytest.mark.parametrize("before", [None, "# mine\n"])
def test_the_config_goes_back_unless_somebody_changed_it(paths: Paths, before: str | None) -> None:
    file = Path(paths.config_file)
    file.parent.mkdir(parents=True)
    record = SetupRecord(paths.state_dir, config=ConfigChange(str(file), before, "after\n"))
    file.write_text("by hand\n")
    assert take_back.take_back(as_dict(record)) == ([f"{file} was changed by hand and stays."], [])
    assert file.read_text() == "by hand\n"
    file.write_text("after\n")
    file.chmod(0o640)
    take_back.take_back(as_dict(record))
    assert (file.read_text() if file.exists() else None) == before
    if before:
        assert file.stat().st_mode & 0o777 == 0o640
    take_back.take_back(as_dict(record))
    assert (file.read_text() if file.exists() else None) == before


def connected(paths: Paths) -> tuple[Path, SetupRecord]:
    """Settings with a key of the user's that setup has put memoryd into, and the record of that."""
    (gemini,) = (client for client in CONNECTED if client.name == "gemini-cli")
    (piece,) = gemini.pieces(paths, sys.executable)
    settings = Path(piece.file)
    settings.parent.mkdir(parents=True)
    settings.write_text('{"key": "sk-mine"}')
    settings.chmod(0o600)
    record = SetupRecord(paths.state_dir, sys.executable, pieces=(note_of(gemini.name, piece, follow=False),))
    write_record(paths, record)
    put_in(piece, record.pieces[0])
    return settings, record


def test_what_lies_beside_a_settings_file_stays_and_nobody_reads_it_meanwhile(
    paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, record = connected(paths)
    mine, victim = settings.with_name("settings.json.new"), tmp_path / "victim"
    victim.write_text("theirs")
    mine.symlink_to(victim)
    replace, modes = os.replace, []

    def look_and_replace(source: str, target: str) -> None:
        modes.append(os.stat(source).st_mode & 0o777)
        replace(source, target)

    monkeypatch.setattr(os, "replace", look_and_replace)
    assert take_back.take_back(as_dict(record)).left == []
    assert (settings.read_text(), settings.is_symlink(), modes) == ('{"key": "sk-mine"}', False, [0o600])
    assert (mine.is_symlink(), victim.read_text()) == (True, "theirs")
    assert sorted(os.listdir(settings.parent)) == ["settings.json", "settings.json.new"]


def test_what_somebody_writes_meanwhile_is_not_lost(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, record = connected(paths)
    written, fsync = settings.read_text().replace("sk-mine", "sk-new"), os.fsync

    def meddle_and_fsync(descriptor: int) -> None:
        settings.write_text(written)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", meddle_and_fsync)
    assert take_back.take_back(as_dict(record)).left == []
    assert settings.read_text() == '{"key": "sk-new"}'


def test_what_a_killed_process_left_beside_the_settings_goes(paths: Paths) -> None:
    settings, record = connected(paths)
    left = settings.with_name(f".settings.json.memoryd-{2**30}")
    for _ in range(2):
        left.write_text("sk-mine")
        take_back.take_back(as_dict(record))
        assert os.listdir(settings.parent) == ["settings.json"]


@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_file_that_became_a_link_is_named_and_its_record_stays(
    paths: Paths, tmp_path: Path, is_dangling: bool
) -> None:
    settings, record = connected(paths)
    shared = tmp_path / "dotfiles.json"
    full = settings.read_text()
    settings.rename(shared)
    settings.symlink_to(shared)
    if is_dangling:
        shared.rename(tmp_path / "elsewhere.json")
    Path(paths.state_dir, "cache").write_text("x")
    done = take_back.take_back(as_dict(record))
    assert len(done.left) == 1
    assert str(settings) in done.left[0]
    assert f"fix: ${{EDITOR:-vi}} {shared}" in done.left[0]
    assert (read_record(paths), os.listdir(paths.state_dir)) == (record, ["setup"])
    settings.unlink()
    settings.write_text(full)
    again = subprocess.run([sys.executable, "-I", "-S", uninstaller(paths), "--yes"], check=False)
    assert (again.returncode, settings.read_text()) == (0, '{"key": "sk-mine"}')
    assert not os.path.exists(paths.state_dir)


def test_a_link_to_what_memoryd_is_not_in_is_no_obstacle(paths: Paths, tmp_path: Path) -> None:
    settings, record = connected(paths)
    settings.unlink()
    settings.symlink_to(tmp_path / "theirs.json")
    (tmp_path / "theirs.json").write_text("{}")
    assert take_back.take_back(as_dict(record)).left == []
    assert settings.is_symlink()


def test_a_read_only_file_stays_with_its_record(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, record = connected(paths)
    settings.chmod(0o400)
    full, access = settings.read_text(), os.access
    monkeypatch.setattr(  # root may write everything
        os,
        "access",
        lambda path, mode: access(path, mode) and not (mode & os.W_OK and os.stat(path).st_mode & 0o200 == 0),
    )
    (line,) = take_back.take_back(as_dict(record)).left
    assert line.endswith(f"fix: chmod u+w {settings}")
    assert (settings.read_text(), read_record(paths)) == (full, record)


def test_a_record_cannot_lead_out_of_its_folder(paths: Paths, tmp_path: Path) -> None:
    made = plugin.install(paths, sys.executable)
    victim = Path(made.folder).parent / "victim"
    victim.write_text("x")
    (tmp_path / "state").mkdir()
    record = SetupRecord(str(tmp_path / "state"), plugin_folder=made.folder, plugin_files=("../victim", *made.files))
    take_back.take_back(as_dict(record))
    assert victim.exists()
    assert (tmp_path / "state").exists()  # no directory of memoryd's, by its name
