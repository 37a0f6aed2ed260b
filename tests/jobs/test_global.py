"""Global memories: what a turn says of the person is kept once, for all projects; the way in, the way back, and sub-agents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Config
from memoryd.config.schema import ProjectSettings
from memoryd.engines.offline.wording import memory_of
from memoryd.errors import MemorydError
from memoryd.jobs.agent_memory import agent_memories
from memoryd.jobs.forget import forget
from memoryd.jobs.index_repair import SETTLE_SECONDS, IndexWatch, refresh_global_lines, repair_indexes
from memoryd.jobs.move import move, personal_memories
from memoryd.jobs.purge import left_over, purge_memory, texts_of_memory
from memoryd.jobs.remember import remember
from memoryd.jobs.team import share, team_dir_of
from memoryd.language.evidence import evidence_of
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.global_lines import HEADING
from memoryd.memory.history import undoing
from memoryd.memory.names import fitting_ever
from memoryd.memory.tiers import tiers_of
from memoryd.review.inbox import accept
from memoryd.state import history, inbox, team
from memoryd.state.purge import indexes_with
from tests.jobs.dream_workspace import DAY, RevisingEngine
from tests.jobs.workspace import NOW, TABS, TABS_MD
from tests.stores.machines import memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.memory_types import MemoryType
    from memoryd.model import Exchange, Revision
    from memoryd.paths import Paths
    from tests.jobs.dream_workspace import DreamWorkspace
    from tests.jobs.workspace import Workspace

NURSE = "I was a nurse for eleven years and I am new to Rust"


def names_in(place: str) -> list[str]:
    return sorted(name for name in os.listdir(place) if name != "MEMORY.md" and not name.startswith("."))


def test_a_session_brings_a_memory_of_the_project_and_one_about_the_person(workspace: Workspace) -> None:
    workspace.say(NURSE, TABS)
    ((outcome, saved),) = workspace.work()
    assert outcome == "succeeded"
    (about_person,) = (name for name in saved if name != TABS_MD)
    assert about_person.startswith("global/user_")
    assert names_in(str(workspace.memory)) == [TABS_MD]
    assert names_in(workspace.paths.global_dir) == [about_person.removeprefix("global/")]
    index = (workspace.memory / "MEMORY.md").read_text()
    assert HEADING in index
    assert "nurse" in index
    with pytest.raises(MemorydError, match="says just that already"):  # in a second project
        remember(workspace.database, str(workspace.memory.parents[1] / "-code-other" / "memory"), NURSE, NOW)
    assert len(names_in(workspace.paths.global_dir)) == 1


def test_moved_to_all_projects_and_back_it_keeps_its_words(workspace: Workspace) -> None:
    database, person, project = workspace.database, workspace.paths.global_dir, str(workspace.memory)
    (name,) = remember(database, project, "deploys go out on Tuesdays", NOW, "project")
    assert move(database, project, person, name, person, NOW) == name
    assert (names_in(project), names_in(person)) == ([], [name])
    assert [piece.quote for piece in history.evidence_in(database, person)[name]] == ["deploys go out on Tuesdays"]
    assert move(database, person, project, name, person, NOW) == name
    assert (names_in(project), names_in(person)) == ([name], [])


def test_a_move_that_is_undone_leaves_the_words_as_good_as_they_were(workspace: Workspace) -> None:
    database, person, project = workspace.database, workspace.paths.global_dir, str(workspace.memory)
    (name,) = remember(database, project, "deploys go out on Tuesdays", NOW, "project")
    (piece,) = history.evidence_in(database, project)[name]
    move(database, project, person, name, person, NOW)
    for place in (person, project):
        change = history.last_undoable(database, place)
        assert change is not None
        with open_directory(place) as directory:
            assert not commit(database, directory, undoing(database, change), NOW).conflicted
    assert (names_in(project), names_in(person)) == ([name], [])
    assert not tiers_of(database, project).is_refused(database, piece)
    workspace.forget(name)
    assert tiers_of(database, project).is_refused(database, piece)


def test_extraction_goes_on_without_the_global_directory_and_loses_nothing(workspace: Workspace) -> None:
    person = Path(workspace.paths.global_dir)
    person.parent.mkdir(parents=True, exist_ok=True)
    person.write_text("in the way")
    workspace.say(NURSE, TABS)
    assert workspace.work() == [("succeeded", (TABS_MD,))]
    assert workspace.outcomes() == ["succeeded", "succeeded"]
    (row,) = inbox.waiting(workspace.database, str(person))
    assert f"mv {person} " in row.held.reason
    person.unlink()
    accept(workspace.database, row, NOW)
    (name,) = names_in(str(person))
    assert b"nurse" in (person / name).read_bytes()


def test_words_that_take_something_back_wait_until_global_memories_can_be_read(workspace: Workspace) -> None:
    person = Path(workspace.paths.global_dir)
    session = workspace.say(NURSE)
    workspace.work()
    (name,) = names_in(str(person))
    aside = person.with_name("aside")
    person.rename(aside)
    person.write_text("in the way")
    taken_back = "Forget that I was a nurse for eleven years and am new to Rust."
    workspace.say(TABS, taken_back, "Always squash the commits.", session=session)
    done = workspace.run()
    assert [outcome.outcome for outcome in done] == ["succeeded", "failed"]
    assert f"mv {person} " in done[-1].detail
    assert TABS_MD in names_in(str(workspace.memory))
    person.unlink()
    aside.rename(person)
    workspace.work()
    assert name not in names_in(str(person))


def test_a_dream_goes_on_without_the_global_directory(dream_workspace: DreamWorkspace) -> None:
    person = Path(dream_workspace.paths.global_dir)
    person.parent.mkdir(parents=True, exist_ok=True)
    person.write_text("in the way")
    dream_workspace.remember("project_gateway.md", "The gateway listens on port 8080.")
    dream_workspace.lock(NOW - 2 * DAY)
    dream_workspace.say(NURSE, TABS)

    kinds: tuple[MemoryType, ...] = ("user", "feedback")

    def learn(turns: Sequence[Exchange]) -> list[Revision]:
        return [
            memory_of(turn.said.text, "", (evidence_of(turn.said, turn.said.text),), kind)
            for turn, kind in zip(turns, kinds, strict=True)
        ]

    done = dream_workspace.dream(RevisingEngine(learn))
    assert done.outcome == "succeeded", done
    assert names_in(str(dream_workspace.memory)) == [TABS_MD, "project_gateway.md"]
    assert [str(person) in verdict.reason for verdict in done.refused] == [True]
    assert len(inbox.waiting(dream_workspace.database, str(person))) == 1


def test_memories_about_the_person_in_projects_are_found(workspace: Workspace) -> None:
    workspace.memory.mkdir(parents=True, exist_ok=True)
    for kind in ("user", "project"):
        text = f'---\nname: x\ndescription: "A nurse"\ntype: {kind}\n---\nA nurse.\n'
        (workspace.memory / f"{kind}_x.md").write_text(text)
    found = personal_memories([str(workspace.memory), "/nowhere"])
    assert [(one.memory_dir, one.name) for one in found] == [(str(workspace.memory), "user_x.md")]


def test_an_index_that_is_behind_the_global_memories_is_noticed_and_made_right(workspace: Workspace) -> None:
    workspace.say(TABS)
    workspace.work()
    Path(workspace.paths.global_dir).mkdir(parents=True)
    Path(workspace.paths.global_dir, "user_role.md").write_bytes(memory("A nurse"))
    later = NOW + 10 * SETTLE_SECONDS
    assert IndexWatch().wrong(workspace.database, Config(), later) == [str(workspace.memory)]
    assert repair_indexes(workspace.database, [str(workspace.memory)], later) == 1
    assert "user_role.md" in (workspace.memory / "MEMORY.md").read_text()
    assert IndexWatch().wrong(workspace.database, Config(), later) == []


def test_an_edit_in_place_of_a_global_memory_is_noticed_also_for_a_project_without_sessions(
    workspace: Workspace,
) -> None:
    database, place = workspace.database, str(workspace.memory.parents[1] / "-code-other" / "memory")
    (name,) = remember(database, place, "I am a plumber", NOW, "user")
    watch, later = IndexWatch(), NOW + 10 * SETTLE_SECONDS
    assert watch.wrong(database, Config(), later) == []
    file = Path(workspace.paths.global_dir, name.removeprefix("global/"))
    with open(file, "r+b") as opened:
        opened.write(file.read_bytes().replace(b"plumber", b"painter"))
    assert watch.wrong(database, Config(), later) == [place]


def test_a_purge_that_a_line_in_an_index_holds_up_can_be_repeated(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, paths, person = workspace.database, workspace.paths, workspace.paths.global_dir
    project = str(workspace.memory)
    (name,) = remember(database, project, "I am a friend of Zebulon Quackenbush and a plumber", NOW, "user")
    name = name.removeprefix("global/")

    def purge_it() -> None:
        unwanted = texts_of_memory(database, person, name)
        list(purge_memory(paths, Config(), database, person, name, unwanted, {}, NOW))
        assert left_over(paths, Config(), database, unwanted) == []

    with monkeypatch.context() as patched, pytest.raises(MemorydError, match="cannot be removed"):
        patched.setattr("memoryd.jobs.purge.repair_indexes", lambda *_: 0)
        purge_it()
    assert fitting_ever(database, person, name) == [name]
    purge_it()
    assert fitting_ever(database, person, name) == []


def test_the_index_of_a_project_that_is_left_alone_tells_nothing_of_the_person(workspace: Workspace) -> None:
    workspace.say(NURSE, TABS)
    workspace.work()
    index = workspace.memory / "MEMORY.md"
    assert "nurse" in index.read_text()
    config = Config(projects=ProjectSettings(exclude=("/code/*",)))
    workspace.database.paths = workspace.paths._replace(excluded=config.projects.exclude)
    (name,) = names_in(workspace.paths.global_dir)
    with open_directory(workspace.paths.global_dir) as person:
        forget(workspace.database, person, name, NOW)
    assert refresh_global_lines(workspace.database, config, NOW) == 1
    assert HEADING not in index.read_text()
    assert "tabs" in index.read_text()
    remember(workspace.database, str(workspace.memory), "I was a sailor for ten years", NOW, "user")
    assert "sailor" not in index.read_text()


def test_a_memory_of_a_team_is_purged_from_the_index_of_its_project_and_from_the_history_of_that(
    workspace: Workspace,
) -> None:
    database, project = workspace.database, str(workspace.memory)
    (name,) = remember(database, project, "Ask Zebulon Quackenbush about the ledger of the bakery", NOW, "project")
    team.put_answer(database, project, "ref", "Mara", NOW)
    share(database, project, name, "Mara", NOW)
    workspace.forget(name)
    folder = team_dir_of(project)
    unwanted = texts_of_memory(database, folder, name)
    assert "Zebulon" in (workspace.memory / "MEMORY.md").read_text()
    list(purge_memory(workspace.paths, Config(), database, folder, name, unwanted, {}, NOW))
    assert "Zebulon" not in (workspace.memory / "MEMORY.md").read_text()
    indexes = indexes_with(database, b"](", project)
    assert indexes
    assert [text for text in indexes if b"Quackenbush" in text] == []


def test_agents_are_found_in_all_three_scopes_and_no_link_is_followed(paths: Paths, tmp_path: Path) -> None:
    root = tmp_path / "code"
    wanted = [
        Path(paths.claude_dir, "agent-memory", "reviewer"),
        root / ".claude/agent-memory/tester",
        root / ".claude/agent-memory-local/tester",
    ]
    for place in wanted:
        place.mkdir(parents=True)
    (root / ".claude/agent-memory/linked").symlink_to(tmp_path)
    found = list(agent_memories(paths, [str(root)]))
    assert [(agent.path, agent.root) for agent in found] == [
        (str(wanted[0]), ""),
        (str(wanted[1]), str(root)),
        (str(wanted[2]), str(root)),
    ]
