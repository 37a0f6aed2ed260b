"""What `doctor` finds: the examinations judge facts, and look at a world that is broken in known ways."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from memoryd.clients import claude_code_settings
from memoryd.clients.claude_code_hooks import Standing
from memoryd.clients.claude_code_settings import Switch
from memoryd.config import Config, parse
from memoryd.doctor import (
    EXAMINATIONS,
    client,
    engine,
    examine,
    files,
    hooks,
    memories,
    neighbours,
    program,
    service,
    settings,
    space,
    times,
    watching,
)
from memoryd.doctor import (
    database as database_examination,
)
from memoryd.doctor.check import Check, Name, World
from memoryd.errors import BusyError, EngineStoppedError, ServiceError, StateError
from memoryd.failure import Failure
from memoryd.instance import Instance, Trouble, only_instance
from memoryd.jobs.sweep import Sweeper
from memoryd.service.state import State
from memoryd.state import pauses
from memoryd.state.health import Unfinished, Unworked
from memoryd.state.holds import Hold
from memoryd.state.pauses import Pause
from tests.sample import Session, write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.clients.claude_code_hooks import State as HookState
    from memoryd.paths import Paths
    from memoryd.state.database import Database

NOW = 1_790_000_000.0
DAY = 86_400.0
OF_THE_MACHINE = ("watches", "watch_instances", "space")
"""What tests beside this one, or a small machine, may use up."""
DOCUMENT = Path(os.path.dirname(__file__), "../docs/doctor.md")


@pytest.fixture
def world(paths: Paths, environment: dict[str, str]) -> World:
    return World(paths, Config(), NOW, environment)


def verdicts(checks: Iterable[Check]) -> list[tuple[str, str]]:
    return [(check.name, check.verdict) for check in checks]


def the(name: str, checks: Iterable[Check]) -> Check:
    """The only check of that name."""
    (found,) = [check for check in checks if check.name == name]
    return found


# --- the whole --------------------------------------------------------------------------------------------------------


def test_every_check_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", DOCUMENT.read_text(), re.MULTILINE)
    assert explained == list(get_args(Name))


def test_a_fresh_home_has_one_problem_that_nothing_runs(world: World) -> None:
    problems = [check for one in examine(world) for check in one.checks if check.verdict == "problem"]
    assert [check.name for check in problems if check.name not in OF_THE_MACHINE] == ["daemon"]
    assert all(check.fix for check in problems)


def test_nothing_is_made_by_looking(world: World) -> None:
    examine(world)
    assert os.listdir(world.paths.home) == []


def test_an_examination_that_fails_is_a_line_and_the_others_go_on(world: World) -> None:
    def breaks(_: World) -> list[Check]:
        raise KeyError("secret words of a transcript")

    def cannot_ask(_: World) -> list[Check]:
        raise StateError("The state database is damaged.", "memoryd run")

    def cannot_look(_: World) -> list[Check]:
        raise PermissionError(13, "Permission denied", "/a b")

    well = Check("clock", "ok", "fine")
    found = examine(world, [("one", breaks), ("two", cannot_ask), ("three", cannot_look), ("four", lambda _: [well])])
    assert [one.checks for one in found] == [
        (
            Check(
                "examination",
                "problem",
                "this could not be looked at: a fault of memoryd's own (KeyError)",
                "pip install --upgrade memoryd",
            ),
        ),
        (Check("examination", "note", "not looked at: the database cannot be asked"),),
        (Check("examination", "problem", "/a b cannot be looked at: Permission denied", "ls -ld '/a b'"),),
        (well,),
    ]


def test_a_library_that_is_missing_is_named(world: World) -> None:
    def breaks(_: World) -> list[Check]:
        raise ModuleNotFoundError("No module named 'psutil'", name="psutil")

    (check,) = examine(world, [("one", breaks)])[0].checks
    assert (check.verdict, check.text) == ("problem", "this could not be looked at: the library psutil is missing")


def test_an_examination_that_hangs_is_left_behind(world: World) -> None:
    over = threading.Event()

    def hangs(_: World) -> list[Check]:
        over.wait()
        return []

    well = Check("clock", "ok", "fine")
    try:
        found = examine(world, [("one", hangs), ("two", lambda _: [well])], longest_seconds=0.1)
    finally:
        over.set()
    assert verdicts(found[0].checks) == [("examination", "problem")]
    assert found[1].checks == (well,)


def test_a_damaged_database_is_told_once(world: World, paths: Paths) -> None:
    os.makedirs(paths.state_dir, mode=0o700)
    Path(paths.database).write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    Path(paths.database).chmod(0o600)
    found = {one.title: one.checks for one in examine(world)}
    assert verdicts(found["database"]) == [("database", "problem")]
    others = [check for title, checks in found.items() for check in checks if title != "database"]
    problems = [check.name for check in others if check.verdict == "problem"]
    assert [name for name in problems if name not in OF_THE_MACHINE] == ["daemon"]


# --- the program ------------------------------------------------------------------------------------------------------


def a_program(**more: Any) -> program.Facts:
    libraries = (program.Library("rich", "<16,>=13.9", "14.0.0"),)
    facts = program.Facts(
        "1.0", "3.12.1", "Linux 6 x86_64", "linux", "3.45.1", libraries, "/home/me/state", "ext4", "/home/me"
    )
    return facts._replace(**more)


def test_a_program_that_is_whole() -> None:
    assert list(program.judge(a_program())) == [
        Check("program", "ok", "memoryd 1.0, Python 3.12.1, Linux 6 x86_64"),
        Check("sqlite", "ok", "SQLite 3.45.1"),
        Check("libraries", "ok", "libraries: rich 14.0.0"),
        Check("file_system", "ok", "~/state is on a local file system (ext4)"),
    ]


@pytest.mark.parametrize(
    ("installed", "is_well"),
    [
        ("13.9", True),
        ("13.9.4", True),
        ("15.99", True),
        ("13.8.9", False),
        ("16.0", False),
        ("16", False),
        (None, False),
    ],
)
def test_libraries_lie_within_their_bounds(installed: str | None, is_well: bool) -> None:
    facts = a_program(libraries=(program.Library("rich", "<16,>=13.9", installed),))
    check = the("libraries", program.judge(facts))
    assert check.verdict == ("ok" if is_well else "problem")
    assert bool(check.fix) is not is_well


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("nfs4", "problem"),
        ("9p", "problem"),
        ("fuse.sshfs", "problem"),
        ("fuse.mergerfs", "note"),
        ("apfs", "ok"),
        ("", "ok"),
    ],
)
def test_sqlite_needs_a_local_file_system(kind: str, verdict: str) -> None:
    assert the("file_system", program.judge(a_program(file_system=kind))).verdict == verdict


def test_an_old_sqlite_or_an_unknown_system_is_said() -> None:
    found = list(program.judge(a_program(sqlite="3.36.0", platform="freebsd14", libraries=None)))
    assert verdicts(found)[:3] == [("program", "note"), ("sqlite", "problem"), ("libraries", "note")]


def test_this_program_is_whole(world: World) -> None:
    assert {check.verdict for check in program.judge(program.look(world))} == {"ok"}


# --- config and files -------------------------------------------------------------------------------------------------


def test_what_is_switched_off_and_by_whom(paths: Paths) -> None:
    facts = settings.Facts("/home/me/c.toml", "/home/me", exists=True, off=("extraction", "dream"))
    assert [check.fix for check in settings.judge(facts._replace(off_by_environment=("dream",)))] == [
        "",
        "set features.extraction = true in ~/c.toml",
        "unset MEMORYD_DISABLE_DREAM",
    ]
    config = parse(b"[features]\ndream = false\n", paths)
    assert settings.look(World(paths, config, NOW, {})).off == ("dream",)


def a_state(paths: Paths) -> None:
    os.makedirs(paths.state_dir, mode=0o700)
    for path in (paths.database, paths.log_file):
        Path(path).touch(0o600)


def test_private_files_are_well(world: World, paths: Paths) -> None:
    a_state(paths)
    name = paths.state_dir.replace(paths.home, "~")
    text = f"{name} and what is in it can be read by you alone"
    assert list(files.judge(files.look(world))) == [Check("state_files", "ok", text)]


@pytest.mark.parametrize(
    ("spoil", "fix"),
    [
        (lambda paths: Path(paths.state_dir).chmod(0o750), "chmod 700 {state}"),
        (lambda paths: Path(paths.database).chmod(0o640), "chmod 600 {database}"),
        (lambda paths: os.symlink("/dev/null", paths.daemon_lock), "mv {lock} {lock}.aside"),
        (lambda paths: os.mkdir(f"{paths.database}-wal"), "mv {database}-wal {database}-wal.aside"),
    ],
)
def test_files_that_others_can_reach_are_problems(world: World, paths: Paths, spoil: Any, fix: str) -> None:
    a_state(paths)
    spoil(paths)
    (check,) = files.judge(files.look(world))
    names = {"state": paths.state_dir, "database": paths.database, "lock": paths.daemon_lock}
    assert (check.verdict, check.fix) == ("problem", fix.format(**names))


def test_files_of_another_user_are_problems() -> None:
    state = files.Place("/home/me/s", "directory", 0o700, owner=0)
    config = files.Place("/home/me/c", "file", 0o644, owner=7)
    memory = files.Place("/home/me/m", "directory", 0o700, owner=7)
    facts = files.Facts("/home/me", 1000, 1000, config, state, (), (memory,))
    assert [(check.name, check.fix) for check in files.judge(facts)] == [
        ("config_file", "sudo chown -R 1000 /home/me/c"),
        ("state_files", "sudo chown -R 1000 /home/me/s"),
        ("memory_dirs", "sudo chown -R 1000 /home/me/m"),
    ]


def test_of_a_directory_that_cannot_be_entered_only_that_is_said() -> None:
    state = files.Place("/home/me/s", "directory", 0o000, 1000, is_usable=False)
    inside = files.Place("/home/me/s/db", error="Permission denied")
    facts = files.Facts("/home/me", 1000, 1000, files.Place("/c"), state, (inside,), ())
    assert [check.fix for check in files.judge(facts)] == ["chmod u+rwx /home/me/s"]
    (alone,) = files.judge(facts._replace(state=state._replace(mode=0o700, is_usable=True)))
    assert alone.fix == "ls -ld /home/me/s/db"


def test_root_in_the_home_of_somebody_else_is_a_problem() -> None:
    nothing = files.Place("/home/me/x")
    assert ("owner", "problem") in verdicts(files.judge(files.Facts("/home/me", 0, 1000, nothing, nothing, (), ())))


@pytest.mark.parametrize(
    ("place", "fix"),
    [
        (files.Place("/m", "directory", 0o777, 1000), "chmod go-w /m"),
        (files.Place("/m", "file", 0o600, 1000), "mv /m /m.aside"),
        (files.Place("/m", "directory", 0o500, 1000, is_usable=False), "chmod u+rwx /m"),
        (files.Place("/m", error="Permission denied"), "ls -ld /m"),
    ],
)
def test_memory_directories_that_cannot_be_trusted_or_used(place: files.Place, fix: str) -> None:
    nothing = files.Place("/x")
    facts = files.Facts("/home/me", 1000, 1000, nothing, nothing, (), (place,))
    assert the("memory_dirs", files.judge(facts)).fix == fix


# --- the database -----------------------------------------------------------------------------------------------------


def test_a_database_that_is_whole(world: World, database: Database) -> None:
    assert verdicts(database_examination.judge(database_examination.look(world))) == [
        ("database", "ok"),
        ("recovery", "ok"),
        ("jobs", "ok"),
    ]
    assert database.is_in_place()


def test_what_killed_processes_left() -> None:
    facts = database_examination.Facts(
        "/home/me/db",
        "/home/me",
        NOW,
        1000,
        is_checked=True,
        prepared=(NOW - 5, NOW - 500),
        unfinished=(Unfinished("dream", "", NOW - 8000), Unfinished("extract", "abcdefghij", NOW - 10)),
    )
    found = list(database_examination.judge(facts))
    assert [(check.name, check.verdict, check.fix) for check in found[1:]] == [
        ("recovery", "problem", "memoryd run"),
        ("jobs", "problem", "memoryd dream-stop"),
    ]
    assert the("recovery", database_examination.judge(facts._replace(is_running=True))).verdict == "note"
    at_work = facts._replace(prepared=(NOW - 5,), unfinished=facts.unfinished[1:])
    assert verdicts(database_examination.judge(at_work))[1:] == [("recovery", "ok"), ("jobs", "ok")]


def test_who_holds_a_busy_database_is_named() -> None:
    error = BusyError("Another process has kept the state database locked.", "fuser -v db")
    facts = database_examination.Facts("/db", "/home/me", NOW, 1000, error, holders=((12, "backup"),))
    assert list(database_examination.judge(facts)) == [
        Check(
            "database",
            "problem",
            "Another process has kept the state database locked; it is open in backup (12)",
            "fuser -v db",
        )
    ]


# --- space, watching, clock -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("room", "verdict", "fix"),
    [
        (space.Room("/s", "/s", 10**9, 10**6), "ok", ""),
        (space.Room("/s", "/s", 10**9, None), "ok", ""),
        (space.Room("/s/t", "/s", 10**8, 10**6), "problem", "df -h /s"),
        (space.Room("/s/t", "/s", 10**9, 10), "problem", "df -i /s"),
    ],
)
def test_a_disk_that_is_nearly_full(room: space.Room, verdict: str, fix: str) -> None:
    (check,) = space.judge(space.Facts("/home/me", NOW, (room,), 0, None))
    assert (check.verdict, check.fix) == (verdict, fix)


def test_what_history_takes(world: World, database: Database) -> None:
    facts = space.look(world)
    assert facts.history == space.History(0, 0, None)
    assert database.is_in_place()
    facts = facts._replace(state_bytes=5_000_000, history=space.History(2_000_000, 1_000_000, NOW - 7200))
    text = (
        "memoryd takes 5.0 MB, 2.0 MB of it to undo changes; the next upkeep frees 1.0 MB; the last upkeep was 2 h ago"
    )
    assert the("history", space.judge(facts)) == Check("history", "ok", text)


def watched(**more: Any) -> watching.Facts:
    return watching.Facts("/home/me", "/home/me/p", "", 100, watching.Limits(8192, 128), 50, 3)._replace(**more)


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (watched(), ["ok", "ok", "ok"]),
        (watched(limits=None), ["ok", "ok"]),
        (watched(watches_of_others=7500), ["ok", "problem", "ok"]),
        (watched(folders=100_000), ["ok", "problem", "ok"]),
        (watched(instances_of_others=127), ["ok", "ok", "problem"]),
        (watched(error="missing", folders=0), ["note", "ok", "ok"]),
        (watched(error="Permission denied", folders=0), ["problem", "ok", "ok"]),
    ],
)
def test_limits_of_watching(facts: watching.Facts, found: list[str]) -> None:
    checks = list(watching.judge(facts))
    assert [check.verdict for check in checks] == found
    for check in checks:
        if check.name.startswith("watch") and check.verdict == "problem":
            assert re.search(r"sysctl fs\.inotify\.max_user_(watches|instances)=\d+$", check.fix)


def test_folders_are_counted_and_links_are_not_followed(world: World, paths: Paths) -> None:
    os.makedirs(os.path.join(paths.transcripts_root, "a", "b"))
    os.symlink("/", os.path.join(paths.transcripts_root, "everything"))
    facts = watching.look(world)
    assert (facts.error, facts.folders) == ("", 3)


def test_a_clock_that_is_behind_what_was_recorded(world: World, paths: Paths) -> None:
    path = write(paths.transcripts_root, session := Session(), session.turn())
    os.utime(path, (NOW + 900, NOW + 900))
    (check,) = times.judge(times.look(world))
    assert check.verdict == "problem"
    assert "15 min ahead" in check.text
    assert [one.verdict for one in times.judge(times.look(world._replace(now=NOW + 700)))] == ["ok"]
    assert [one.verdict for one in times.judge(times.Facts(0.0, (), "linux"))] == ["problem"]


# --- the engine -------------------------------------------------------------------------------------------------------


def hired(**more: Any) -> engine.Facts:
    facts = engine.Facts(
        is_chosen=True,
        base_url="https://x",
        models=("small", "large"),
        key_from="the file /k",
        answer=engine.Answer("listed", ("small-20261001", "large")),
        usd_per_day=1.0,
    )
    return facts._replace(**more)


def test_offline_needs_nothing(world: World) -> None:
    assert list(engine.judge(engine.look(world))) == [
        Check("engine", "ok", "offline: no model, no network, no key needed")
    ]


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (hired(), ["ok", "ok", "ok"]),
        (hired(key_error=EngineStoppedError("It is gone.", "fix it"), answer=None), ["problem", "ok"]),
        (hired(key_from="the variable KEY"), ["note", "ok", "ok"]),
        (hired(answer=None), ["ok", "note", "ok"]),
        (hired(answer=engine.Answer("refused", text="It refuses.", fix="another")), ["ok", "problem", "ok"]),
        (hired(answer=engine.Answer("silent", text="it cannot be reached")), ["ok", "problem", "ok"]),
        (hired(answer=engine.Answer("no_list")), ["ok", "note", "ok"]),
        (hired(answer=engine.Answer("no_list"), is_local=True, key_from=""), ["ok", "ok", "ok"]),
        (hired(answer=engine.Answer("listed", ("small",))), ["ok", "note", "ok"]),
        (hired(price_errors=(EngineStoppedError("Nobody knows.", "add"),)), ["ok", "ok", "problem", "ok"]),
        (hired(spent_usd=1.0), ["ok", "ok", "note"]),
        (hired(hold=Hold("engine_stopped", "It stopped.", "", None, NOW)), ["ok", "ok", "problem"]),
        (hired(hold=Hold("budget_reached", "Used up.", "", None, NOW)), ["ok", "ok", "note"]),
    ],
)
def test_what_a_model_needs(facts: engine.Facts, found: list[str]) -> None:
    checks = list(engine.judge(facts))
    assert [check.verdict for check in checks] == ["ok", *found]
    assert all(check.fix for check in checks if check.verdict == "problem")


def test_without_the_network_no_command_for_the_key_is_run(paths: Paths, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    config = parse(f'[anthropic]\napi_key_command = "touch {mark}"\n'.encode(), paths)
    facts = engine.look(World(paths, config, NOW, {"PATH": os.environ["PATH"]}, is_offline=True))
    assert (facts.key_error, facts.answer, mark.exists()) == (None, None, False)


# --- Claude Code ------------------------------------------------------------------------------------------------------


def set_client(paths: Paths, **values: Any) -> None:
    os.makedirs(paths.claude_dir, exist_ok=True)
    Path(paths.claude_settings).write_text(json.dumps(values))


def test_what_the_client_is_set_to_do(paths: Paths, tmp_path: Path) -> None:
    managed = tmp_path / "managed"
    (managed / "managed-settings.d").mkdir(parents=True)
    (managed / "managed-settings.json").write_text('{"cleanupPeriodDays": 7, "autoDreamEnabled": true}')
    (managed / "managed-settings.d" / "10-ours.json").write_text('{"cleanupPeriodDays": 9}')
    (managed / "managed-settings.d" / "20-broken.json").write_text("{")
    hook = {"hooks": [{"type": "command", "command": "bun", "args": ["/x/claude-mem/worker.js"]}]}
    set_client(
        paths,
        cleanupPeriodDays=99,
        autoMemoryEnabled=True,
        env={"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"},
        hooks={"Stop": [hook], "SessionStart": "nonsense"},
        enabledPlugins={"a@b": True, "c@d": False},
    )
    Path(paths.home, ".claude.json").write_text('{"mcpServers": {"mem": {"command": "npx", "args": ["mem0"]}}}')
    pieces = managed / "managed-settings.d"
    assert claude_code_settings.read(paths, {}, str(managed)) == claude_code_settings.ClientSettings(
        auto_memory=Switch(False, f"CLAUDE_CODE_DISABLE_AUTO_MEMORY in {paths.claude_settings}"),
        auto_dream=Switch(True, f"autoDreamEnabled in {managed / 'managed-settings.json'}"),
        cleanup_days=9.0,
        cleanup_by=str(pieces / "10-ours.json"),
        writes_transcripts=Switch(True),
        hooks=("bun /x/claude-mem/worker.js",),
        plugins=("a@b",),
        servers=("mem npx mem0",),
        broken=(str(pieces / "20-broken.json"),),
    )


@pytest.mark.parametrize(
    ("variable", "setting", "expected"),
    [(None, None, None), (None, False, False), ("1", True, False), ("0", False, True), ("", False, False)],
)
def test_the_variable_beats_the_setting(
    paths: Paths, tmp_path: Path, variable: str | None, setting: bool | None, expected: bool | None
) -> None:
    set_client(paths, **({} if setting is None else {"autoMemoryEnabled": setting}))
    environment = {} if variable is None else {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": variable}
    assert claude_code_settings.read(paths, environment, str(tmp_path)).auto_memory.is_on is expected


def test_the_version_comes_from_the_newest_transcript(world: World, paths: Paths) -> None:
    for name, version, age in (("old", "2.1.1", 90), ("new", "2.1.325", 60)):
        session = Session(name)
        data = session.prompt(version=version) + b'{"version": 3}\nno json "version"\n'
        os.utime(write(paths.transcripts_root, session, data), (NOW - age, NOW - age))
    facts = client.look(world)
    assert (facts.version, facts.transcripts, facts.newest_at) == ("2.1.325", 2, NOW - 60)
    assert the("transcripts", client.judge(facts)).text == "2 transcripts, the newest 60 s old"


def seen(**more: Any) -> client.Facts:
    return client.Facts(NOW, "/home/me", "/bin/claude", "2.1", 9, NOW - 60, 0, Switch(True), 30.0, "")._replace(**more)


@pytest.mark.parametrize(
    ("facts", "verdict", "fix"),
    [
        (seen(), "ok", ""),
        (seen(waiting=Unworked(3, NOW - 20 * DAY)), "ok", ""),
        (seen(waiting=Unworked(3, NOW - 28 * DAY)), "problem", "memoryd extract-now"),
        (seen(waiting=Unworked(3, NOW - 28 * DAY), is_running=True), "ok", ""),
        (seen(history=Unworked(3, NOW - 31 * DAY)), "note", "memoryd backfill"),
        (seen(history=Unworked(3, NOW - 5 * DAY), cleanup_days=7.0), "note", "memoryd backfill"),
    ],
)
def test_transcripts_that_are_about_to_be_deleted(facts: client.Facts, verdict: str, fix: str) -> None:
    check = the("deletion", client.judge(facts))
    assert (check.verdict, check.fix) == (verdict, fix)


def test_turns_that_wait_are_found_in_the_database(world: World, paths: Paths, database: Database) -> None:
    path = write(paths.transcripts_root, session := Session(), session.turn())
    os.utime(path, (NOW - 28 * DAY, NOW - 28 * DAY))
    Sweeper(database, paths, Config()).sweep(NOW)
    facts = client.look(world)
    assert (facts.waiting, facts.history) == (Unworked(), Unworked(1, NOW - 28 * DAY))
    path.unlink()
    Sweeper(database, paths, Config()).sweep(NOW + 1)
    assert (client.look(world).history, client.look(world).deleted_turns) == (Unworked(), 1)


def test_a_client_that_writes_no_transcripts_or_newer_ones() -> None:
    off = Switch(False, "CLAUDE_CODE_SKIP_PROMPT_HISTORY in the environment")
    check = the("transcripts", client.judge(seen(writes_transcripts=off)))
    assert (check.verdict, check.fix) == ("problem", "unset CLAUDE_CODE_SKIP_PROMPT_HISTORY")
    in_file = Switch(False, "CLAUDE_CODE_SKIP_PROMPT_HISTORY in /home/me/s.json")
    assert the("transcripts", client.judge(seen(writes_transcripts=in_file))).fix == "${EDITOR:-vi} /home/me/s.json"
    assert the("unknown_lines", client.judge(seen(unknown_lines=4))).verdict == "note"


def test_who_switches_hooks_off_is_named(paths: Paths, tmp_path: Path) -> None:
    managed = tmp_path / "managed-settings.json"

    def off() -> Switch:
        return claude_code_settings.read(paths, {}, str(tmp_path)).hooks_off

    set_client(paths, allowManagedHooksOnly=True)
    assert off() == Switch(None)  # that is not for users to say
    set_client(paths, disableAllHooks=True)
    assert off() == Switch(True, f"disableAllHooks in {paths.claude_settings}")
    managed.write_text('{"disableAllHooks": false, "allowManagedHooksOnly": true}')
    assert off() == Switch(True, f"allowManagedHooksOnly in {managed}")
    managed.write_text('{"disableAllHooks": true}')
    assert off() == Switch(True, f"disableAllHooks in {managed}")


@pytest.mark.parametrize(
    ("outdated", "verdict", "words", "fix"),
    [
        ({}, "ok", "no memory is known", ""),
        (
            {"/home/me/a b": 1},
            "note",
            "1 memory names what ~/a b no longer has",
            "memoryd verify --project '/home/me/a b'",
        ),
        ({"/srv/x": 2}, "note", "2 memories name what /srv/x no longer has", "memoryd verify --project /srv/x"),
    ],
)
def test_memories_that_the_code_has_left(outdated: dict[str, int], verdict: str, words: str, fix: str) -> None:
    check = the("rot", memories.judge(memories.Facts("/home/me", is_switched_off=False, outdated=outdated)))
    assert (check.verdict, check.fix) == (verdict, fix)
    assert words in check.text


def test_what_is_switched_off_is_not_called_sound() -> None:
    check = the("rot", memories.judge(memories.Facts("/home/me", is_switched_off=True, outdated={"/srv/x": 2})))
    assert (check.verdict, check.text) == ("note", "memories are not compared with the code: features.rot_check is off")


def hooked(*states: HookState, python_exists: bool = True) -> hooks.Facts:
    command = "/home/me/p -P -m memoryd hook stop || true"
    return hooks.Facts("/home/me", [Standing("Stop", state, command, python_exists) for state in states])


@pytest.mark.parametrize(
    ("facts", "verdict", "words"),
    [
        (hooked("installed"), "ok", "has the hooks of this memoryd"),
        (hooked("missing"), "note", "no hooks in Claude Code"),
        (hooked("installed", "missing"), "note", "missing: Stop"),
        (hooked("installed", "outdated"), "problem", "another Python"),
        (hooked("outdated", python_exists=False), "problem", "~/p is gone"),
        (hooked("installed", "missing", python_exists=False), "problem", "~/p is gone"),
    ],
)
def test_hooks_in_the_client(facts: hooks.Facts, verdict: str, words: str) -> None:
    check = the("hooks", hooks.judge(facts))
    assert (check.verdict, words in check.text) == (verdict, True)
    assert check.fix == ("" if verdict == "ok" else "memoryd hooks install")


def test_hooks_that_will_not_run_and_settings_that_cannot_be_read_are_notes(world: World, paths: Paths) -> None:
    off = Switch(True, "disableAllHooks in /home/me/s.json")
    _, note = hooks.judge(hooked("installed")._replace(off=off))
    assert note == Check("hooks", "note", "Claude Code does not run them: disableAllHooks in ~/s.json")
    Path(paths.claude_dir).mkdir()
    Path(paths.claude_settings).write_text("{")
    check = the("hooks", hooks.judge(hooks.look(world)))
    assert (check.verdict, check.fix) == ("note", f"${{EDITOR:-vi}} {paths.claude_settings}")


# --- who else ---------------------------------------------------------------------------------------------------------


def around(**more: Any) -> neighbours.Facts:
    facts = neighbours.Facts("/home/me", Switch(None), Switch(None), extracts=True, dreams=True, tools=(), holders=())
    return facts._replace(**more)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (around(), ("both extract", "memoryd dreams; Claude Code dreams if")),
        (
            around(auto_memory=Switch(False, "x in /home/me/s"), auto_dream=Switch(False, "y in /home/me/s")),
            ("only memoryd extracts: Claude Code's own memory is off (x in ~/s)", "does not dream (y in ~/s)"),
        ),
        (around(extracts=False, dreams=False), ("only Claude Code extracts", "memoryd does not dream")),
        (around(extracts=False, auto_memory=Switch(False, "x in y")), ("nobody extracts", "memoryd dreams")),
    ],
)
def test_who_does_what_is_said_in_a_sentence(facts: neighbours.Facts, words: tuple[str, str]) -> None:
    memory, dream, *_ = neighbours.judge(facts)
    assert (words[0] in memory.text, words[1] in dream.text) == (True, True)


def test_other_tools_are_found_by_hook_plugin_server_and_directory(world: World, paths: Paths) -> None:
    set_client(
        paths,
        hooks={"Stop": [{"hooks": [{"command": "/opt/memsearch/hook.sh --token hunter2"}]}]},
        enabledPlugins={"claude-mem@thedotmack": True, "episodic-memory@x": False},
    )
    os.makedirs(os.path.join(paths.home, ".claude-mem"))
    os.makedirs(os.path.join(paths.home, ".basic-memory"))
    facts = neighbours.look(world)
    assert facts.tools == (
        neighbours.Seen("claude-mem", ("plugin", "~/.claude-mem")),
        neighbours.Seen("memsearch", ("hook",)),
        neighbours.Seen("basic-memory", ("~/.basic-memory",)),
    )
    text = "\n".join(check.text for check in neighbours.judge(facts))
    assert "memsearch remembers here too" in text
    assert "basic-memory was or is used here" in text
    assert "hunter2" not in text


def test_whoever_consolidates_now_is_named(world: World, paths: Paths, database: Database) -> None:
    write(paths.transcripts_root, session := Session(cwd=paths.home), session.turn())
    Sweeper(database, paths, Config()).sweep(NOW)
    (row,) = database.query("SELECT memory_dir FROM projects")
    os.makedirs(row[0])
    lock = Path(row[0], ".consolidate-lock")
    lock.write_text(str(os.getpid()))
    now = lock.stat().st_mtime
    (holder,) = neighbours.look(world._replace(now=now)).holders
    assert (holder.memory_dir, holder.pid, holder.is_ours) == (row[0], os.getpid(), False)
    assert ("consolidating", "note") in verdicts(neighbours.judge(around(holders=(holder,))))
    assert neighbours.look(world._replace(now=now + 7200)).holders == ()


# --- the service ------------------------------------------------------------------------------------------------------

INSTALLED = State("systemd", "/home/me/u", True, True, True, "active", 7, 0, "")
RUNNING = Instance(7, NOW - 60, "events", version="1.0")


def serving(**more: Any) -> service.Facts:
    return service.Facts(NOW, "/home/me", "1.0", RUNNING, service=INSTALLED, lingers=True)._replace(**more)


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (serving(), [("daemon", "ok", ""), ("service", "ok", "")]),
        (serving(lingers=False), [("daemon", "ok", ""), ("service", "ok", ""), ("lingering", "ok", "")]),
        (
            serving(running=None),
            [("daemon", "problem", "memoryd service restart"), ("service", "ok", "")],
        ),
        (
            serving(running=None, service=INSTALLED._replace(is_installed=False)),
            [("daemon", "problem", "memoryd service install"), ("service", "note", "memoryd service install")],
        ),
        (
            serving(running=None, service=None, service_error=ServiceError("No systemd.", "memoryd run")),
            [("daemon", "problem", "memoryd run"), ("service", "note", "memoryd run")],
        ),
        (
            serving(version="1.1"),
            [("daemon", "ok", ""), ("daemon_version", "problem", "memoryd service restart"), ("service", "ok", "")],
        ),
        (
            serving(running=RUNNING._replace(version="", pid=9)),
            [("daemon", "ok", ""), ("daemon_version", "problem", "kill 9 && memoryd run"), ("service", "ok", "")],
        ),
        (
            serving(running=RUNNING._replace(troubles=(Trouble("a", "One.", "mend"), Trouble("b", "Two.")))),
            [("daemon", "ok", ""), ("trouble", "problem", "mend"), ("trouble", "note", ""), ("service", "ok", "")],
        ),
        (
            serving(pause=Pause(NOW, None)),
            [("daemon", "ok", ""), ("pause", "note", "memoryd resume"), ("service", "ok", "")],
        ),
        (
            serving(names_this_python=False),
            [("daemon", "ok", ""), ("service", "problem", "memoryd service install")],
        ),
        (
            serving(service=INSTALLED._replace(active="failed", text="It broke.")),
            [("daemon", "ok", ""), ("service", "problem", "memoryd service restart")],
        ),
        (
            serving(service=INSTALLED._replace(is_enabled=False)),
            [("daemon", "ok", ""), ("service", "problem", "memoryd service install")],
        ),
        (
            serving(running=None, failure=Failure(NOW - 60, 78, "Bad config.", "vi c")),
            [
                ("daemon", "problem", "memoryd service restart"),
                ("service", "ok", ""),
                ("last_failure", "problem", "vi c"),
            ],
        ),
    ],
)
def test_how_memoryd_runs(facts: service.Facts, found: list[tuple[str, str, str]]) -> None:
    assert [(check.name, check.verdict, check.fix) for check in service.judge(facts)] == found


def test_a_running_daemon_and_a_pause_are_seen(world: World, paths: Paths, database: Database) -> None:
    pauses.begin(database, None, NOW)
    with only_instance(paths, since=NOW - 5) as held:
        held.tell("polling", [Trouble("polling_only", "Slow.", "mend")])
        facts = service.look(world)
    assert facts.running is not None
    assert (facts.running.pid, facts.running.troubles) == (os.getpid(), (Trouble("polling_only", "Slow.", "mend"),))
    assert facts.pause == Pause(NOW, None)
    assert verdicts(service.judge(facts))[:3] == [("daemon", "ok"), ("trouble", "problem"), ("pause", "note")]


def test_the_examinations_have_titles_of_their_own() -> None:
    titles = [title for title, _ in EXAMINATIONS]
    assert len(titles) == len(set(titles))
