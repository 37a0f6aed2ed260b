"""`memoryd setup` and `memoryd uninstall` as a user runs them, in a home of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.cli.uninstall import program_removal
from tests.acceptance.command import PATIENCE_SECONDS, as_json, memoryd
from tests.acceptance.terminal import Terminal
from tests.clients import old_hooks
from tests.transcript import Session, line, write

if TYPE_CHECKING:
    from memoryd.paths import Paths

SAID = "From now on, always run make lint before you commit."


@pytest.fixture
def home(environment: dict[str, str], paths: Paths) -> Path:
    """Of somebody who has used Claude Code, on a machine where no service can be."""
    environment.pop("XDG_RUNTIME_DIR", None)
    environment["PATH"] = f"{os.path.dirname(sys.executable)}:/usr/bin:/bin"
    session = Session(cwd="/code/acme")
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    turn = session.turn(SAID).splitlines()
    data = b"".join(line(json.loads(entry) | {"timestamp": now}) for entry in turn)
    write(paths.transcripts_root, session, data)
    Path(paths.claude_settings).write_text('{"model": "opus"}\n')
    return Path(paths.home)


def listing(home: Path) -> dict[str, str]:
    return {
        str(path.relative_to(home)): sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in home.rglob("*")
    }


def memories(home: Path) -> list[Path]:
    return list((home / ".claude/projects/-code-acme/memory").glob("feedback_*.md"))


def test_setup_and_uninstall_with_purge_leave_the_home_as_it_was(environment: dict[str, str], home: Path) -> None:
    before = listing(home)
    done = memoryd(environment, "setup", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Makes the plugin ~/.claude/skills/memoryd" in done.stdout
    assert "run make lint before you commit" in done.stdout
    assert "Kept 1 memory from 1 session." in done.stdout
    assert "Skipped: " in done.stdout
    assert len(memories(home)) == 1
    assert memoryd(environment, "hooks", "status").returncode == 0
    shown = as_json(environment, "setup", "--show")
    assert shown["plugin"] == str(home / ".claude/skills/memoryd")
    assert (shown["set_up"], shown["engine"], shown["config"], shown["service"]) == (True, "auto", None, None)
    after = listing(home)

    again = memoryd(environment, "setup", "--yes")
    assert again.returncode == 0
    assert "is up to date" in again.stdout
    assert "All that your sessions hold was read before" in again.stdout
    changed = {name for name, found in listing(home).items() if after.get(name) != found}
    assert not [name for name in changed if not name.startswith(".local/state/memoryd/")]

    done = memoryd(environment, "uninstall", "--purge", "--yes")
    assert done.returncode == 0
    assert "pip uninstall memoryd" in done.stderr
    assert listing(home) == before


def test_purge_takes_back_memories_about_the_user_and_their_lines_in_every_index(
    environment: dict[str, str], paths: Paths, home: Path
) -> None:
    session = Session(2, cwd="/code/beta")
    write(paths.transcripts_root, session, session.turn("no emojis in commit messages please"), "-code-beta")
    before = listing(home)
    assert memoryd(environment, "setup", "--yes").returncode == 0
    (about_user,) = Path(paths.global_dir).glob("feedback_*.md")
    (memory,) = memories(home)
    assert about_user.name in (memory.parent / "MEMORY.md").read_text()
    status = as_json(environment, "status")
    assert status["problems"] == [], "no index is behind the memories about the user"
    assert memoryd(environment, "uninstall", "--purge", "--yes").returncode == 0
    assert listing(home) == before


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("command", ["setup", "remember"])
def test_a_repository_that_moves_is_offered_its_memories(
    environment: dict[str, str], paths: Paths, tmp_path: Path, command: str
) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    for step in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *step], cwd=shop, check=True)
    text = "from now on, keep every commit under 200 lines"
    if command == "setup":
        session = Session(2, cwd=str(shop))
        write(paths.transcripts_root, session, session.turn(text), str(shop).replace("/", "-"))
        assert memoryd(environment, "setup", "--yes").returncode == 0
    else:
        assert memoryd(environment, "remember", text, "--project", str(shop)).returncode == 0
    shop.rename(tmp_path / "moved")
    told = memoryd(environment, "memories", "--project", str(tmp_path / "moved")).stderr
    assert "shop, which is no longer there, has 1 memory. To take them over: memoryd projects adopt" in told
    assert memoryd(environment, "projects", "adopt", "--project", str(tmp_path / "moved")).returncode == 0
    assert len(as_json(environment, "memories", "--project", str(tmp_path / "moved"))) == 1


def test_uninstall_leaves_the_memories_and_the_standard_library_is_enough(
    environment: dict[str, str], home: Path
) -> None:
    before = listing(home)
    assert memoryd(environment, "setup", "--yes", "--engine", "claude").returncode == 0
    assert (home / ".config/memoryd/config.toml").read_text() == 'engine = "claude"\n'
    script = as_json(environment, "setup", "--show")["uninstall"]
    # Another directory, no site packages: as if memoryd's own environment were gone.
    done = subprocess.run(
        [sys.executable, "-I", "-S", script, "--yes"], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    left = listing(home)
    added = {name for name in left if name not in before}
    (memory,) = memories(home)
    assert added == {str(path.relative_to(home)) for path in (memory, memory.parent, memory.with_name("MEMORY.md"))}
    assert {name: left[name] for name in before} == before


def test_with_the_history_what_was_taken_back_stays_so_after_the_next_setup(
    environment: dict[str, str], home: Path
) -> None:
    assert memoryd(environment, "setup", "--yes").returncode == 0
    assert memoryd(environment, "undo", "--all").returncode == 0
    done = memoryd(environment, "uninstall", "--keep-history", "--yes")
    assert "Kept the history of your memories" in done.stdout
    assert [path.name for path in (home / ".local/state/memoryd").iterdir()] == ["memoryd.sqlite3"]
    assert memoryd(environment, "setup", "--yes").returncode == 0
    assert memories(home) == []
    assert len(as_json(environment, "history", "--all")) == 2


def test_without_a_client_each_step_is_named_and_nothing_fails(environment: dict[str, str], paths: Paths) -> None:
    environment["PATH"] = f"{os.path.dirname(sys.executable)}:/usr/bin:/bin"
    done = memoryd(environment, "setup", "--yes")
    assert done.returncode == 0
    assert "Claude Code was not found here" in done.stdout
    assert "There is no session here yet." in done.stdout
    assert "start it in this terminal, as it is no service here: memoryd run\n" in memoryd(environment, "status").stdout
    assert memoryd(environment, "uninstall", "--yes").returncode == 0
    assert os.listdir(paths.home) == []


def test_hooks_of_an_older_memoryd_go_byte_for_byte(environment: dict[str, str], paths: Paths, home: Path) -> None:
    before = Path(paths.claude_settings).read_bytes()
    old_hooks.install(paths, sys.executable)
    assert memoryd(environment, "setup", "--yes", "--no-history").returncode == 0
    assert Path(paths.claude_settings).read_bytes() == before
    assert memories(home) == []
    assert memoryd(environment, "hooks", "status").returncode == 0


def test_a_choice_in_the_config_is_kept_and_taken_back_alone(environment: dict[str, str], home: Path) -> None:
    config = home / ".config/memoryd/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('# mine\nreview = "all"\n')
    run = ("setup", "--yes", "--no-history", "--no-service")
    assert memoryd(environment, *run, "--engine", "claude").returncode == 0
    assert memoryd(environment, *run).returncode == 0  # again, without saying which
    assert config.read_text() == 'engine = "claude"\n# mine\nreview = "all"\n'
    done = memoryd(environment, *run, "--engine", "anthropic")
    assert (done.returncode, "names none" in done.stdout) == (1, True)
    assert memoryd(environment, "uninstall", "--yes").returncode == 0
    assert config.read_text() == '# mine\nreview = "all"\n'


def test_a_folder_of_somebody_else_stays_and_is_told(environment: dict[str, str], home: Path) -> None:
    theirs = home / ".claude/skills/memoryd/SKILL.md"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("mine")
    broken = home / ".codex/config.toml"
    broken.parent.mkdir()
    broken.write_text("= no TOML")
    (home / ".gemini").mkdir()
    done = memoryd(environment, "setup", "--yes", "--no-history")
    assert done.returncode == 1
    assert "did not put there" in done.stdout
    assert "The next session of Gemini CLI knows what is remembered." in done.stdout, "and of no other"
    assert memoryd(environment, "uninstall", "--yes").returncode == 0
    assert (theirs.read_text(), broken.read_text()) == ("mine", "= no TOML")


def test_a_claude_that_is_not_there_is_told_when_it_is_chosen(environment: dict[str, str], home: Path) -> None:
    done = memoryd({**environment, "PATH": str(home)}, "setup", "--yes", "--no-history", "--engine", "claude")
    assert done.returncode == 0
    assert "No claude command with a login was found here" in " ".join(done.stdout.split())
    assert "memoryd doctor" in done.stdout


def test_several_setups_at_once_are_one_and_the_others_say_so(environment: dict[str, str], home: Path) -> None:
    before = listing(home)
    command = [sys.executable, "-m", "memoryd", "setup", "--yes"]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    ends = [(*process.communicate(timeout=PATIENCE_SECONDS), process.returncode) for process in started]
    assert {code for _, _, code in ends} <= {0, 75}
    assert any(code == 0 for _, _, code in ends)
    for out, err, code in ends:
        assert (code == 0 and not err) or (not out and err.startswith("memoryd: Another memoryd setup or uninstall"))
    assert sum("Kept 1 memory from 1 session." in out for out, _, _ in ends) == 1
    assert len(memories(home)) == len(as_json(environment, "history", "--all")) == 1
    assert memoryd(environment, "uninstall", "--purge", "--yes").returncode == 0
    assert listing(home) == before, "also the folders that the first of them made"


def test_neither_setup_nor_uninstall_begins_while_the_other_is_asking(environment: dict[str, str], home: Path) -> None:
    with Terminal(environment, "setup") as terminal:
        terminal.until("Make it? [Y/n] ")
        found = listing(home)
        for command in ("setup", "uninstall"):
            done = memoryd(environment, command, "--yes")
            assert (done.returncode, done.stdout) == (75, "")
            assert "Nothing was done here.\n  fix: memoryd setup --show" in done.stderr
        assert listing(home) == found
        terminal.press(b"\x03")
        assert terminal.ended() == 130


def test_what_was_read_already_is_measured_again_for_the_choice_of_an_engine(
    environment: dict[str, str], home: Path
) -> None:
    measured: list[list[Any]] = []
    for _ in range(2):
        with Terminal(environment, "setup", "--no-service", columns=120) as terminal:
            if not measured:
                terminal.until("Make it? [Y/n] ")
                terminal.press(b"y\n")
            measured.append(re.findall("your last 30 days: .*", terminal.until("1 to 4 [4]: ")))
            terminal.press(b"\n")
            if len(measured) == 1:
                terminal.until("keep what matters? [Y/n] ")
                terminal.press(b"y\n")
            assert terminal.ended() == 0
    assert len(measured[0]) == 4
    assert measured[0] == measured[1]
    assert len(memories(home)) == 1


def test_nobody_to_ask_is_a_mistake_and_changes_nothing(environment: dict[str, str], home: Path) -> None:
    before = listing(home)
    for command in ("setup", "uninstall"):
        done = memoryd(environment, command)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"  fix: memoryd {command} --yes")
    assert listing(home) == before


def test_every_step_is_asked_for_and_a_no_changes_nothing(environment: dict[str, str], home: Path) -> None:
    before = listing(home)
    with Terminal(environment, "setup", columns=60) as terminal:
        assert "settings are not touched" in " ".join(terminal.until("Make it? [Y/n]").split())
        terminal.press(b"n\n")
        engines = terminal.until("[4]: ")
        for name in ("1 claude", "2 anthropic", "3 local", "* 4 offline"):
            assert name in engines
        assert "your last 30 days" in " ".join(engines.split())
        terminal.press(b"9\n")
        assert "9 is none of them" in terminal.until("[4]: ")
        terminal.press(b"\n")
        assert "run make lint" in " ".join(terminal.until("[Y/n]").split())
        terminal.press(b"n\n")
        terminal.until("to undo this:")
    after = {name: found for name, found in listing(home).items() if not name.startswith(".local")}
    assert after == before


def test_an_answer_that_is_none_is_asked_for_again_until_the_engine_can_work(
    environment: dict[str, str], home: Path, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text("sk-ant-api03-example")
    config = home / ".config/memoryd/config.toml"

    def pick(*answers: tuple[str, str]) -> str:
        with Terminal(environment, "setup", "--no-history", "--no-service") as terminal:
            terminal.until("[Y/n]")
            terminal.press(b"maybe\n")
            assert "y for yes or n for no" in terminal.until("[Y/n]")
            terminal.press(b"n\n")
            for question, answer in answers:
                terminal.until(question)
                terminal.press(f"{answer}\n".encode())
            terminal.until("to undo this:")
        return config.read_text()

    local = pick(("]: ", "3"), ("its address", ""), ("name of the model: ", ""), ("name of the model: ", "qwen3"))
    assert 'base_url = "http://localhost:11434"' in local
    assert local.count('"qwen3"') == 2
    missing = tmp_path / "nothing"
    keyed = pick(("[3]: ", "2"), ("holds the key: ", str(missing)), ("holds the key: ", str(key)))
    assert (f'api_key_file = "{key}"' in keyed, "base_url" in keyed, "qwen3" in keyed) == (True, False, False)
    again = pick(("[2]: ", "3"), ("its address", "http://localhost:9"), ("name of the model: ", "phi"))
    assert ("api_key_file" in again, 'base_url = "http://localhost:9"' in again) == (False, True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("anthropic", "--key-file", "/nope"), "The key file /nope is not there, or cannot be read."),
        (("local",), "A local model has to be named, as its server knows it."),
    ],
)
def test_an_engine_that_cannot_work_is_refused(
    environment: dict[str, str], home: Path, options: tuple[str, ...], sentence: str
) -> None:
    done = memoryd(environment, "setup", "--yes", "--no-service", "--engine", *options)
    assert (done.returncode, sentence in done.stdout + done.stderr) == (1, True)
    assert not (home / ".config/memoryd/config.toml").exists()


def test_a_config_with_crlf_is_as_before_after_uninstall(environment: dict[str, str], home: Path) -> None:
    config = home / ".config/memoryd/config.toml"
    config.parent.mkdir(parents=True)
    config.write_bytes(b'# mine\r\nreview = "all"\r\n')
    config.chmod(0o644)
    done = memoryd(environment, "setup", "--yes", "--no-history", "--no-service", "--engine", "offline")
    assert done.returncode == 0
    assert config.read_bytes() == b'engine = "offline"\r\n# mine\r\nreview = "all"\r\n'
    assert memoryd(environment, "uninstall", "--yes").returncode == 0
    assert (config.read_bytes(), config.stat().st_mode & 0o777) == (b'# mine\r\nreview = "all"\r\n', 0o644)


@pytest.mark.parametrize(
    ("left", "command"),
    [
        ("uv-receipt.toml", "uv tool uninstall memoryd"),
        ("pipx_metadata.json", "pipx uninstall memoryd"),
        ("pyvenv.cfg", f"{sys.executable} -m pip uninstall memoryd"),
    ],
)
def test_the_program_is_removed_by_what_installed_it(tmp_path: Path, left: str, command: str) -> None:
    (tmp_path / left).touch()
    assert program_removal(str(tmp_path)) == command
