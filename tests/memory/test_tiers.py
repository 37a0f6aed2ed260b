"""Two tiers: one commit over a project's directory and the global one, and the lines of the second in the index of the first."""

from __future__ import annotations

import os
import random
import select
import signal
import sys
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.config import Config
from memoryd.errors import MemorydError, StateError
from memoryd.jobs.index_repair import refresh_global_lines
from memoryd.jobs.move import move
from memoryd.jobs.recovery import recover_commits
from memoryd.memory.commit import CommitPart, commit_together, reindex
from memoryd.memory.directory import open_directory
from memoryd.memory.global_lines import HEADING, MOST_GLOBAL_LINES
from memoryd.memory.guards import RefusedError
from memoryd.memory.history import undoing
from memoryd.memory.index import LINE_CHARACTERS
from memoryd.memory.limits import MOST_BYTES, MOST_LINES
from memoryd.memory.tiers import tiers_of
from memoryd.model import Changeset, Evidence, FileChange, Group
from memoryd.state import changes, history, inbox
from memoryd.state.database import open_database
from tests.stores.machines import memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.paths import Paths
    from memoryd.state.database import Database

NOW = 2_000_000_000.0


def group(name: str, before: bytes | None, after: bytes | None) -> Group:
    return Group((FileChange(name, before, after),), "said", ((name, Evidence("s", f"m-{name}", "words", "e")),))


@pytest.fixture
def project(paths: Paths) -> Path:
    place = Path(paths.transcripts_root, "-code-acme", "memory")
    place.mkdir(parents=True)
    Path(paths.global_dir).mkdir(parents=True)
    return place


def files(*places: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for place in places for path in sorted(place.iterdir())}


def both() -> Changeset:
    """A change of either directory: a memory made, one replaced, one removed."""
    return Changeset(
        "extract",
        "what you said",
        (
            group("project_a.md", None, memory("Made here")),
            group("project_b.md", memory("Old here"), memory("New here")),
            group("global/user_c.md", None, memory("Made for all")),
            group("global/user_d.md", memory("Old for all"), memory("New for all")),
            group("global/user_e.md", memory("Gone for all"), None),
        ),
        session_id="s",
        turn_ids=(1,),
    )


def prepare_world(database: Database, paths: Paths, project: Path) -> None:
    (project / "project_b.md").write_bytes(memory("Old here"))
    Path(paths.global_dir, "user_d.md").write_bytes(memory("Old for all"))
    Path(paths.global_dir, "user_e.md").write_bytes(memory("Gone for all"))
    for place in (str(project), paths.global_dir):
        with open_directory(place) as directory:
            reindex(database, directory, NOW)
    database.execute(
        "INSERT INTO transcripts (id, client, root, path, session_id, first_seen_at, history_bytes, device, inode,"
        " mtime_ns, active_at) VALUES (1, 'c', '/r', '/r/t', 's', 1, 0, 1, 1, 1, 1)"
    )
    database.execute(
        "INSERT INTO turns (id, transcript_id, generation, prompt_id, start, end, is_history, pending_calls,"
        " answered, end_reason) VALUES (1, 1, 0, 'p', 0, 1, 0, '[]', 1, 'end_turn')"
    )


def commit_in_child(paths: Paths, project: Path, wanted: Changeset, call: int) -> bool:
    """Commit in a process of its own that is killed at its so-manieth call of the file system; whether it came to an end."""

    def commit(database: Database) -> None:
        with open_directory(str(project)) as directory:
            tiers_of(database, str(project)).commit(database, directory, wanted, NOW)

    return in_child(paths, commit, call)


def in_child(paths: Paths, work: Callable[[Database], object], call: int) -> bool:
    child = os.fork()
    if child == 0:
        count = 0

        def die(event: str, given: Any) -> None:
            nonlocal count
            is_made = event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR)
            if is_made or event in (
                "os.rename",
                "os.remove",
                "os.utime",
                "os.chmod",
                "ctypes.call_function",
                "fcntl.flock",
            ):
                count += 1
                if count == call:
                    os._exit(9)

        database = open_database(paths)
        sys.addaudithook(die)
        work(database)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def recover_all(paths: Paths) -> None:
    """As the daemon does when it starts: directory by directory."""
    with closing(open_database(paths)) as database:
        for memory_dir in changes.directories_with_prepared(database):
            recover_commits(database, memory_dir, NOW)


def test_killed_at_any_call_both_directories_are_old_or_both_are_new(paths: Paths, project: Path) -> None:
    with closing(open_database(paths)) as database:
        prepare_world(database, paths, project)
        wanted = both()
    person = Path(paths.global_dir)
    old = files(project, person)
    call, seen_new, seen_old = 0, 0, 0
    while True:
        call += 1
        is_done = commit_in_child(paths, project, wanted, call)
        recover_all(paths)
        now = files(project, person)
        with closing(open_database(paths)) as database:
            (outcome,) = database.query("SELECT outcome FROM turns")[0]
            states = {row[0] for row in database.query("SELECT state FROM changes")}
            assert "prepared" not in states
        if now == old:
            seen_old += 1
            assert outcome is None
            assert not is_done
        else:
            seen_new += 1
            assert outcome == "succeeded"
            assert (project / "project_a.md").read_bytes() == memory("Made here")
            assert (project / "project_b.md").read_bytes() == memory("New here")
            assert (person / "user_c.md").read_bytes() == memory("Made for all")
            assert (person / "user_d.md").read_bytes() == memory("New for all")
            assert not (person / "user_e.md").exists()
            index = (project / "MEMORY.md").read_text()
            assert [line for line in index.splitlines() if "Gone" in line or "Old" in line] == []
            assert f"({person}/user_c.md)" in index
            assert not [name for name in (*os.listdir(project), *os.listdir(person)) if name.startswith(".")]
        if is_done:
            break
        for place in (project, person):
            for path in place.iterdir():
                path.unlink()
        for name, data in old.items():
            Path(name).write_bytes(data)
        with closing(open_database(paths)) as database:
            database.execute("UPDATE turns SET outcome = NULL")
    assert seen_old
    assert seen_new > 10


def test_a_change_for_each_directory_is_one_commit_and_closes_the_turn_once(
    database: Database, paths: Paths, project: Path
) -> None:
    prepare_world(database, paths, project)
    with open_directory(str(project)) as directory:
        done = tiers_of(database, str(project)).commit(database, directory, both(), NOW)
    assert not done.conflicted
    assert [change.memory_dir for change in history.recent(database)] == [paths.global_dir, str(project)]
    assert [row[0] for row in database.query("SELECT outcome FROM turns")] == ["succeeded"]


def test_an_edit_in_one_directory_leaves_the_turn_waiting(database: Database, paths: Paths, project: Path) -> None:
    prepare_world(database, paths, project)
    Path(paths.global_dir, "user_d.md").write_bytes(b"edited meanwhile")
    with open_directory(str(project)) as directory:
        done = tiers_of(database, str(project)).commit(database, directory, both(), NOW)
    assert done.conflicted == (3,)
    assert Path(paths.global_dir, "user_d.md").read_bytes() == b"edited meanwhile"
    assert (project / "project_a.md").exists()
    assert [row[0] for row in database.query("SELECT outcome FROM turns")] == [None]


def test_a_group_over_both_directories_is_refused(database: Database, project: Path) -> None:
    merged = Group((FileChange("global/user_a.md", None, b"x"), FileChange("user_a.md", b"x", None)), "merged")
    with open_directory(str(project)) as directory, pytest.raises(RefusedError):
        tiers_of(database, str(project)).commit(database, directory, Changeset("dream", "", (merged,)), NOW)


# --- a global directory that cannot be used -----------------------------------------------------------------------------


def put_in_the_way(path: str, what: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.isdir(path):
        os.rmdir(path)
    if what == "a file":
        Path(path).write_text("in the way")
    else:
        os.symlink("/nowhere/at/all", path)


@pytest.mark.parametrize("what", ["a file", "a link that leads nowhere"])
def test_without_a_usable_global_directory_the_project_goes_on(
    database: Database, paths: Paths, project: Path, what: str
) -> None:
    put_in_the_way(paths.global_dir, what)
    (project / "project_b.md").write_bytes(memory("Old here"))
    tiers = tiers_of(database, str(project))
    snapshot = tiers.snapshot(database)
    assert ([*snapshot.files], [*snapshot.mtimes_ns]) == (["project_b.md"], ["project_b.md"])
    assert snapshot.read("global/user_c.md") is None

    made, about_person = group("project_a.md", None, memory("Here")), group("global/user_c.md", None, memory("For all"))
    accepted, held = tiers.committable((made, about_person))
    assert (accepted, [row.group for row in held]) == ((made,), [about_person])
    assert f"mv {paths.global_dir} " in held[0].reason
    with open_directory(str(project)) as directory:
        for groups in (accepted, (), ()):  # also where there is nothing else, and once however often it is said
            changeset = Changeset("dream", "", groups, held=held)
            tiers.plan(database, directory, changeset, NOW)
            tiers.commit(database, directory, changeset, NOW)
        with pytest.raises(StateError) as refused:
            tiers.commit(database, directory, Changeset("remember", "", (about_person,)), NOW)
    assert refused.value.fix.startswith(f"mv {paths.global_dir} ")
    assert (project / "project_a.md").read_bytes() == memory("Here")
    (row,) = inbox.waiting(database, paths.global_dir)
    assert [change.name for change in row.group.changes] == ["user_c.md"]
    assert inbox.waiting(database, str(project)) == []


# --- lines in the index -----------------------------------------------------------------------------------------------


def index_of(database: Database, place: str) -> str:
    with open_directory(place) as directory:
        reindex(database, directory, NOW)
    return Path(place, "MEMORY.md").read_text()


def test_global_lines_stand_below_a_heading_with_absolute_links_and_stay_in_place(
    database: Database, paths: Paths, project: Path
) -> None:
    (project / "a.md").write_bytes(memory("Mine"))
    Path(paths.global_dir, "user_role.md").write_bytes(memory("A nurse for eleven years"))
    first = index_of(database, str(project))
    line = f"- [Note]({paths.global_dir}/user_role.md) — A nurse for eleven years\n"
    assert first == f"- [Note](a.md) — Mine\n\n{HEADING}\n{line}"
    (project / "b.md").write_bytes(memory("Mine too"))
    assert index_of(database, str(project)) == first.replace("Mine\n", "Mine\n- [Note](b.md) — Mine too\n", 1)
    Path(paths.global_dir, "user_role.md").unlink()
    assert HEADING not in index_of(database, str(project))


def test_a_heading_with_the_same_words_above_a_persons_own_text_stays(
    database: Database, paths: Paths, project: Path
) -> None:
    (project / "a.md").write_bytes(memory("Mine"))
    own = f"- [Note](a.md) — Mine\n\n{HEADING}\nI wrote this paragraph myself.\n"
    (project / "MEMORY.md").write_text(own)
    assert index_of(database, str(project)) == own
    Path(paths.global_dir, "user_role.md").write_bytes(memory("A nurse for eleven years"))
    assert index_of(database, str(project)).count(HEADING) == 2
    Path(paths.global_dir, "user_role.md").unlink()
    assert index_of(database, str(project)) == own


def test_no_bare_heading_is_left_where_one_directory_is_for_everything(
    database: Database, paths: Paths, project: Path
) -> None:
    Path(paths.global_dir, "user_role.md").write_bytes(memory("A nurse for eleven years"))
    (project / "a.md").write_bytes(memory("Mine"))
    assert HEADING in index_of(database, str(project))
    with closing(open_database(paths._replace(forced_memory_dir=str(project)))) as forced:
        assert index_of(forced, str(project)) == "- [Note](a.md) — Mine\n"


def test_neither_the_global_index_nor_a_teams_nor_an_agents_has_global_lines(
    database: Database, paths: Paths, project: Path
) -> None:
    Path(paths.global_dir, "user_role.md").write_bytes(memory("A nurse for eleven years"))
    for place in (paths.global_dir, str(project / "team"), f"{paths.claude_dir}/agent-memory/reviewer"):
        os.makedirs(place, exist_ok=True)
        Path(place, "x.md").write_bytes(memory("Something"))
        assert HEADING not in index_of(database, place)


def test_the_most_lines_hold_and_the_choice_stays_until_a_dream(
    database: Database, paths: Paths, project: Path
) -> None:
    for number in range(40):
        path = Path(paths.global_dir, f"user_{number:02}.md")
        path.write_bytes(memory(f"Fact {number} " + "with many words that say more and more " * 6))
        os.utime(path, (NOW + number, NOW + number))
    first = index_of(database, str(project))
    lines = [line for line in first.splitlines() if paths.global_dir in line]
    assert len(lines) == MOST_GLOBAL_LINES
    assert lines == sorted(lines)
    assert all(len(line) - len(paths.global_dir) - len("/user_00.md") <= LINE_CHARACTERS for line in lines)
    path = Path(paths.global_dir, "user_99.md")
    path.write_bytes(memory("Newer than all"))
    os.utime(path, (NOW + 99, NOW + 99))
    assert index_of(database, str(project)) == first
    Path(paths.global_dir, "user_39.md").unlink()
    assert "Newer than all" in index_of(database, str(project))
    for number in range(250):
        (project / f"own_{number:03}.md").write_bytes(memory(f"Mine {number}"))
    full = index_of(database, str(project))
    assert full.count("\n") <= MOST_LINES
    assert len(full.encode()) <= MOST_BYTES


def test_an_index_that_is_left_to_somebody_else_is_not_touched(database: Database, paths: Paths, project: Path) -> None:
    database.paths = paths._replace(is_index_written=False)
    (project / "MEMORY.md").write_text("mine, and wrong: [gone](gone.md)\n")
    prepare = Changeset("restore", "", (Group((FileChange("a.md", None, memory("A")),), ""),))
    with open_directory(str(project)) as directory:
        tiers_of(database, str(project)).commit(database, directory, prepare, NOW)
    assert (project / "MEMORY.md").read_text() == "mine, and wrong: [gone](gone.md)\n"
    assert (project / "a.md").exists()


@pytest.mark.parametrize("is_found_in_global", [False, True])
@pytest.mark.parametrize("is_taken", [False, True])
@pytest.mark.parametrize("is_back", [False, True])
def test_a_move_that_was_killed_is_finished_by_the_next_commit_in_either_directory_and_loses_nothing(
    paths: Paths, project: Path, *, is_back: bool, is_taken: bool, is_found_in_global: bool
) -> None:
    places = [str(project), paths.global_dir]
    source, target = reversed(places) if is_back else places
    call, is_done = 0, False
    while not is_done:
        call += 1
        for place in places:
            for path in Path(place).iterdir():
                path.unlink()
        Path(source, "user_c.md").write_bytes(memory("A nurse"))
        is_done = in_child(
            paths, lambda database: move(database, source, target, "user_c.md", paths.global_dir, NOW), call
        )
        there = Path(target, "user_c.md")
        if is_taken and not there.exists():
            there.write_bytes(memory("Somebody else's"))
        with closing(open_database(paths)) as database:
            with open_directory(places[is_found_in_global]) as directory:
                reindex(database, directory, NOW)
            assert changes.directories_with_prepared(database) == []
        found = [path for place in places for path in Path(place).glob("user*.md") if b"A nurse" in path.read_bytes()]
        assert len(found) == 1, (call, found)
    assert call > 8


def test_the_undo_of_a_move_that_was_killed_loses_nothing_where_the_old_place_is_taken(
    paths: Paths, project: Path
) -> None:
    person, old_place = Path(paths.global_dir), project / "user_c.md"

    def take_back(database: Database) -> None:
        (last,) = history.recent(database, str(person), limit=1)
        made = sorted([last, *history.of_same_commit(database, last.id)], key=lambda each: each.id)
        with ExitStack() as stack:
            directories = [stack.enter_context(open_directory(each.memory_dir)) for each in made]
            parts = [
                CommitPart(*pair) for pair in zip(directories, (undoing(database, each) for each in made), strict=True)
            ]
            commit_together(database, parts, NOW)

    call, is_done = 0, False
    while not is_done:
        call += 1
        for path in (*project.iterdir(), *person.iterdir()):
            path.unlink()
        old_place.write_bytes(memory("A nurse"))
        with closing(open_database(paths)) as database:
            move(database, str(project), str(person), "user_c.md", str(person), NOW)
        is_done = in_child(paths, take_back, call)
        if not old_place.exists():
            old_place.write_bytes(memory("Somebody else's"))
        with closing(open_database(paths)) as database, open_directory(str(project)) as directory:
            reindex(database, directory, NOW)
        found = [
            path for place in (project, person) for path in place.glob("user*.md") if b"A nurse" in path.read_bytes()
        ]
        assert len(found) == 1, (call, found)
    assert call > 8


_LONGEST_SECONDS = 120.0


def in_children(*works: Callable[[], object]) -> list[int]:
    """The exit codes of processes that do this work at the same time; those that never end are killed."""
    ended, end = os.pipe()
    children = []
    for work in works:
        child = os.fork()
        if child == 0:
            os.close(ended)
            code = 1
            with suppress(BaseException):
                work()
                code = 0
            os._exit(code)
        children.append(child)
    os.close(end)
    if not select.select([ended], [], [], _LONGEST_SECONDS)[0]:  # it can be read when the last of them has closed it
        for child in children:
            os.kill(child, signal.SIGKILL)
    os.close(ended)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def test_from_the_global_directory_nobody_waits_for_a_project_that_is_being_written(
    paths: Paths, project: Path
) -> None:
    person = paths.global_dir
    Path(person, "user_c.md").write_bytes(memory("A nurse"))
    call = 4
    while not Path(project, "user_c.md").exists():  # killed behind the first half
        call += 1
        assert not in_child(
            paths, lambda database: move(database, person, str(project), "user_c.md", person, NOW), call
        )

    def write_there() -> None:
        with closing(open_database(paths)) as database, open_directory(person) as directory:
            reindex(database, directory, NOW)

    with open_directory(str(project)) as held:
        with held.locked():
            assert in_children(write_there) == [0]
        with closing(open_database(paths)) as database:
            reindex(database, held, NOW)
            assert changes.directories_with_prepared(database) == []
    assert not Path(person, "user_c.md").exists()


def test_processes_that_lock_a_project_and_the_global_directory_in_every_way_come_to_an_end(
    paths: Paths, project: Path
) -> None:
    """Two processes that each hold what the other one wants would wait for ever. Some die in a commit, and others finish it."""
    other = Path(paths.transcripts_root, "-code-other", "memory")
    other.mkdir(parents=True)
    open_database(paths).close()
    places = [str(project), str(other)]
    works = [partial(lock_in_every_way, paths, places, random.Random(number)) for number in range(4)]
    assert in_children(*works) == [0, 0, 0, 0]
    recover_all(paths)
    with closing(open_database(paths)) as database:
        assert changes.directories_with_prepared(database) == []


def lock_in_every_way(paths: Paths, projects: list[str], chance: random.Random) -> None:
    person = paths.global_dir
    with closing(open_database(paths)) as database:
        for number in range(14):
            place, name = chance.choice(projects), f"user_{chance.randrange(6)}.md"
            fresh = f"project_{os.getpid()}_{number}.md"

            def commit_both(database: Database, place: str = place, fresh: str = fresh) -> None:
                made = (group(fresh, None, memory(fresh)), group(f"global/{fresh}", None, memory(f"All {fresh}")))
                with open_directory(place) as directory:
                    tiers_of(database, place).commit(database, directory, Changeset("extract", "said", made), NOW)

            way = chance.randrange(6)
            with suppress(MemorydError, OSError):  # another process was faster
                if way == 0:
                    commit_both(database)
                elif way == 1:
                    in_child(paths, commit_both, chance.randrange(1, 24))
                elif way == 2:
                    Path(place, name).write_bytes(memory(f"Moved {name}"))
                    move(database, place, person, name, person, NOW)
                elif way == 3:
                    move(database, person, place, name, person, NOW)
                elif way == 4:
                    refresh_global_lines(database, Config(), NOW)
                else:
                    with open_directory(person) as directory:
                        reindex(database, directory, NOW)
