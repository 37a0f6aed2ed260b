"""Taking back without memoryd: what the record names goes, and nothing that somebody else made or changed."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.claude_code import plugin
from memoryd.clients.connections import PieceNote
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


def test_everything_that_was_made_goes_with_the_folders_for_it(paths: Paths) -> None:
    record = SetupRecord(paths.state_dir).with_folders_of([uninstaller(paths), plugin.plugin_folder(paths)])
    write_record(paths, record)
    made = plugin.install(paths, sys.executable)
    Path(paths.state_dir, "logs").mkdir()
    Path(paths.state_dir, "logs", "x").write_text("x")
    Path(made.folder, "skills", "dream", ".SKILL.md.new").write_text("half")
    told = take_back.take_back(as_dict(record._replace(plugin_folder=made.folder, plugin_files=made.files)))
    assert len(told) == 2
    assert list(Path(paths.home).iterdir()) == []
    assert take_back.take_back(as_dict(record)) == []


@pytest.mark.parametrize("before", [None, "# mine\n"])
def test_the_config_goes_back_unless_somebody_changed_it(paths: Paths, before: str | None) -> None:
    file = Path(paths.config_file)
    file.parent.mkdir(parents=True)
    record = SetupRecord(paths.state_dir, config=ConfigChange(str(file), before, "after\n"))
    file.write_text("by hand\n")
    assert take_back.take_back(as_dict(record)) == [f"{file} was changed by hand and stays."]
    assert file.read_text() == "by hand\n"
    file.write_text("after\n")
    file.chmod(0o640)
    take_back.take_back(as_dict(record))
    assert (file.read_text() if file.exists() else None) == before
    if before:
        assert file.stat().st_mode & 0o777 == 0o640
    take_back.take_back(as_dict(record))
    assert (file.read_text() if file.exists() else None) == before


def test_a_record_cannot_lead_out_of_its_folder(paths: Paths, tmp_path: Path) -> None:
    made = plugin.install(paths, sys.executable)
    victim = Path(made.folder).parent / "victim"
    victim.write_text("x")
    (tmp_path / "state").mkdir()
    record = SetupRecord(str(tmp_path / "state"), plugin_folder=made.folder, plugin_files=("../victim", *made.files))
    take_back.take_back(as_dict(record))
    assert victim.exists()
    assert (tmp_path / "state").exists()  # no directory of memoryd's, by its name
