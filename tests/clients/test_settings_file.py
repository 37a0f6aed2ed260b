"""The client's settings file, as it is changed on the disk: whole, in its place, and with a way back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clients import edited_file, replaced_file
from memoryd.clients.claude_code.settings_file import old_hooks, remove
from memoryd.errors import BusyError, ClientError
from tests.clients.old_hooks import HOOKS, install

if TYPE_CHECKING:
    from memoryd.paths import Paths

NOW = 1_790_000_000.25
PYTHON = "/opt/memoryd/bin/python"


@pytest.fixture
def settings(paths: Paths) -> Path:
    path = Path(paths.claude_settings)
    path.parent.mkdir()
    path.write_bytes(b'{"model": "x", "hooks": { }}\r\n')
    return path


def mode(path: Path | str) -> int:
    return os.stat(path).st_mode & 0o777


def meddle(monkeypatch: pytest.MonkeyPatch, settings: Path, *texts: bytes) -> None:
    """Somebody else writes these, each just before memoryd would rename."""
    looks, read, left = 0, replaced_file.read, list(texts)

    def read_and_meddle(path: str) -> Any:
        nonlocal looks
        looks += 1
        if looks % 2 == 0 and left:
            settings.write_bytes(left.pop(0))
        return read(path)

    for module in (edited_file, replaced_file):  # the first read, and the one before the rename
        monkeypatch.setattr(module, "read", read_and_meddle)


@pytest.mark.parametrize("rights", [0o600, 0o644, 0o660])
def test_the_file_keeps_its_mode_and_nothing_is_left_beside_it(paths: Paths, settings: Path, rights: int) -> None:
    settings.chmod(rights)
    before = settings.read_bytes()
    install(paths, PYTHON)
    assert sorted(old_hooks(paths)) == sorted(hook.event for hook in HOOKS)
    assert remove(paths, NOW).after == before
    assert (settings.read_bytes(), mode(settings), os.listdir(settings.parent)) == (before, rights, ["settings.json"])


def test_a_file_that_was_not_there_goes_again(paths: Paths) -> None:
    install(paths, PYTHON)
    assert remove(paths, NOW).after is None
    assert os.listdir(paths.claude_dir) == []
    assert not remove(paths, NOW).is_changed


def test_what_was_changed_since_stays(paths: Paths, settings: Path) -> None:
    before = settings.read_bytes()
    install(paths, PYTHON)
    settings.write_bytes(settings.read_bytes().replace(b'"x"', b'"y"'))
    remove(paths, NOW)
    assert settings.read_bytes() == before.replace(b'"x"', b'"y"')


def test_two_config_directories_are_not_mixed_up(paths: Paths, settings: Path) -> None:
    elsewhere = paths._replace(claude_dir=f"{paths.home}/work")
    before = settings.read_bytes()
    install(paths, PYTHON)
    install(elsewhere, PYTHON)
    assert remove(elsewhere, NOW).after is None
    assert remove(paths, NOW).after == before
    assert os.listdir(f"{paths.state_dir}/hooks") == []


def test_the_last_five_versions_are_kept_for_the_user_alone(paths: Paths, settings: Path) -> None:
    install(paths, PYTHON)
    before = settings.read_bytes()
    backup = remove(paths, NOW).backup
    assert os.path.basename(backup) == "claude-code-settings-20260921T141320.250000Z.json"
    assert (Path(backup).read_bytes(), mode(backup), mode(os.path.dirname(backup))) == (before, 0o600, 0o700)
    assert mode(paths.state_dir) == 0o700
    for number in range(1, 7):
        install(paths, PYTHON)
        remove(paths, NOW + number)
    kept = sorted(os.listdir(os.path.dirname(backup)))
    assert (len(kept), kept[0]) == (5, "claude-code-settings-20260921T141322.250000Z.json")


def test_what_the_client_writes_in_the_middle_is_kept(
    paths: Paths, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(paths, PYTHON)
    theirs = settings.read_bytes().replace(b'"x"', b'"theirs"')
    meddle(monkeypatch, settings, settings.read_bytes() + b" ", theirs)
    changed = remove(paths, NOW)
    assert changed.before == theirs
    assert settings.read_bytes() == changed.after == b'{"model": "theirs", "hooks": { }}\r\n'
    assert Path(changed.backup).read_bytes() == theirs


def test_whoever_writes_without_end_wins(paths: Paths, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(paths, "/old/python")
    installed = settings.read_bytes()
    texts = [installed + b" " * number for number in range(1, 9)]
    meddle(monkeypatch, settings, *texts)
    with pytest.raises(BusyError) as refused:
        remove(paths, NOW)
    assert refused.value.fix == "memoryd hooks remove"
    assert settings.read_bytes() == texts[2]
    assert os.listdir(settings.parent) == ["settings.json"]


def test_a_file_that_is_to_go_and_is_written_in_the_middle_stays(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    install(paths, PYTHON)
    settings = Path(paths.claude_settings)
    meddle(monkeypatch, settings, b'{"model": "theirs"}')
    assert not remove(paths, NOW).is_changed
    assert settings.read_bytes() == b'{"model": "theirs"}'


def test_a_link_is_neither_replaced_nor_followed_by_itself(paths: Paths, settings: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    settings.rename(real)
    settings.symlink_to(real)
    before = real.read_bytes()
    install(paths, PYTHON)
    assert len(old_hooks(paths)) == len(HOOKS)
    with pytest.raises(ClientError) as refused:
        remove(paths, NOW)
    assert str(real) in refused.value.sentence
    assert refused.value.fix == "memoryd hooks remove claude-code --follow"
    changed = remove(paths, NOW, follow=True)
    assert (changed.path, settings.is_symlink(), settings.readlink()) == (str(real), True, real)
    assert real.read_bytes() == before


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"{", "is not valid JSON (line 1)"),
        (b"[]", "is not a JSON object"),
        (b'{"a": "\xff"}', "is not UTF-8"),
    ],
)
def test_what_cannot_be_understood_stays_as_it_is(paths: Paths, settings: Path, data: bytes, complaint: str) -> None:
    settings.write_bytes(data)
    with pytest.raises(ClientError) as refused:
        remove(paths, NOW)
    assert refused.value.sentence == f"{settings} {complaint}, so it stays as it is."
    assert refused.value.fix == f"${{EDITOR:-vi}} {settings}"
    assert settings.read_bytes() == data
    assert not os.path.exists(paths.state_dir)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "directory"])
def test_what_is_no_file_is_refused_and_not_waited_for(paths: Paths, settings: Path, make: Any) -> None:
    settings.unlink()
    make(settings)
    with pytest.raises(ClientError, match="is no regular file, so it stays as it is"):
        remove(paths, NOW)


def test_what_a_killed_process_left_is_cleared_and_what_a_living_one_writes_is_not(
    paths: Paths, settings: Path
) -> None:
    for pid in (os.getpid(), os.getppid(), 2**22 + 1):  # beyond the largest that Linux gives
        (settings.parent / f".settings.json.memoryd-{pid}").write_text("half")
    install(paths, PYTHON)
    remove(paths, NOW)
    assert sorted(os.listdir(settings.parent)) == [f".settings.json.memoryd-{os.getppid()}", "settings.json"]


@pytest.mark.usefixtures("settings")
def test_a_note_that_is_damaged_costs_no_more_than_empty_things(paths: Paths) -> None:
    install(paths, PYTHON)
    Path(paths.state_dir, "hooks", "claude-code.json").write_text("[{")
    assert remove(paths, NOW).after == b'{"model": "x"}\r\n'
