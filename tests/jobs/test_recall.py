"""Recall from end to end: what a prompt gets of real files, what a session gets only once, and what nobody gets."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anthropic  # noqa: F401 - the seconds that this takes are not what a selection may take
import pytest

from memoryd.config import Config, Recall
from memoryd.jobs.recall import (
    ALL_KNOWN,
    BUDGET_USED,
    NO_MEMORIES,
    NO_ROOM,
    NOTHING_RELEVANT,
    SINGLE_WORD,
    RecallAnswer,
    recall,
    record_shown,
)
from memoryd.jobs.recall_matches import Request
from memoryd.recall import shown as shown_log
from memoryd.recall.index import up_to_date_index
from memoryd.recall.store import open_store
from memoryd.recall.surface import MARK
from tests.jobs.model_workspace import VARIABLE, ToldClock, config_with_model
from tests.messages_server import MessagesServer, Reply, Status, last_text, text
from tests.recall.memories import FIVE, FREEZE, RELEASE, TESTS, TRACKER, Library, topic

if TYPE_CHECKING:
    from memoryd.paths import Paths

PROMPT = "which branch do we release from?"
TOKEN = "ghp_" + "a1B2c3D4e5" * 4


class Workspace:
    """One project's memories, and somebody who asks for them."""

    def __init__(self, paths: Paths, library: Library) -> None:
        self.paths, self.library, self.config, self.clock = paths, library, Config(), ToldClock()
        self.key = "test-key"

    def ask(self, prompt: str = PROMPT, session_id: str = "", **fields: Any) -> RecallAnswer:
        """As a client does: what it got is put down."""
        request, place = Request(prompt, session_id, **fields), str(self.library.place)
        answer = recall(self.paths, self.config, {VARIABLE: self.key}, self.clock, place, request)
        record_shown(self.paths, place, request, answer, self.clock.now())
        return answer

    def names(self, prompt: str = PROMPT, session_id: str = "", **fields: Any) -> list[str]:
        return [memory.name for memory in self.ask(prompt, session_id, **fields).memories]


@pytest.fixture
def workspace(paths: Paths, tmp_path: Path) -> Workspace:
    library = Library(paths, tmp_path / "memory")
    library.write(FIVE)
    return Workspace(paths, library)


# --- what a prompt gets -----------------------------------------------------------------------------------------------


def test_a_prompt_gets_what_it_means_inside_our_mark(workspace: Workspace) -> None:
    os.utime(workspace.library.place / RELEASE, (0, workspace.clock.at - 12 * 86_400))
    answer = workspace.ask()
    (one,) = answer.memories
    assert (one.name, one.type, one.description) == (RELEASE, "project", FIVE[RELEASE][0])
    assert one.at == workspace.clock.at - 12 * 86_400
    assert 0.2 <= one.score <= 1
    assert (answer.why_not, answer.selector, answer.fallback) == ("", "local", "")
    assert answer.text.startswith(f"<{MARK}>\n")
    assert f"### {RELEASE} (project, 12 days ago)\n{FIVE[RELEASE][0]}\n\n{FIVE[RELEASE][1]}" in answer.text


def test_why_nobody_gets_anything(workspace: Workspace, paths: Paths, tmp_path: Path) -> None:
    assert workspace.ask("release") == RecallAnswer(why_not=SINGLE_WORD)
    assert workspace.ask("why is the sky blue?") == RecallAnswer(why_not=NOTHING_RELEVANT)
    assert workspace.ask(least=1.0) == RecallAnswer(why_not=NOTHING_RELEVANT)
    assert Workspace(paths, Library(paths, tmp_path / "empty")).ask() == RecallAnswer(why_not=NO_MEMORIES)
    (tmp_path / "empty").rmdir()
    none = Workspace(paths, workspace.library)
    none.library.place = tmp_path / "empty"
    assert none.ask() == RecallAnswer(why_not=NO_MEMORIES)


def test_everything_that_ranks_with_a_score_of_nothing_but_never_more_than_five(workspace: Workspace) -> None:
    workspace.library.write({f"m{number}.md": ("Releases are cut from a branch", "") for number in range(9)})
    assert len(workspace.names(least=0.0)) == 5
    assert workspace.names("the merge freeze before the mobile launch", least=0.0)[0] == FREEZE


def test_a_short_prompt_for_an_action_gets_all_rules_about_it(workspace: Workspace) -> None:
    rules = {
        "size.md": ("Keep every commit under 200 lines", "Split larger work. **Why:** reviews of big ones take days."),
        "emojis.md": ("No emojis in commit messages", "**Why:** the tool for the changelog fails on them."),
        "dana.md": ("Ask Dana before you touch the billing tables", ""),
    }
    workspace.library.write(rules)
    assert set(workspace.names("commit my changes please")) == {"size.md", "emojis.md"}
    assert set(workspace.names("commit the parser")) == {"size.md", "emojis.md"}
    assert workspace.names("why did the gauge parser hang in the commit with the new units?") == []
    assert workspace.names("format it") == []


def test_an_edit_and_a_deletion_count_at_once(workspace: Workspace) -> None:
    assert workspace.names() == [RELEASE]
    workspace.library.write({RELEASE: ("Lunch orders go through the canteen form", "")})
    assert workspace.names() == []
    assert workspace.names("how do lunch orders go through the canteen?") == [RELEASE]
    (workspace.library.place / RELEASE).unlink()
    assert workspace.names("how do lunch orders go through the canteen?") == []


def test_rules_about_every_answer_go_with_the_first_prompt_among_however_many_memories(workspace: Workspace) -> None:
    """Such a rule shares no word with any prompt. What a tool call is about comes with the call."""
    place = workspace.library.place
    for name in (TRACKER, FREEZE):
        (place / name).unlink()
    (place / TESTS).write_bytes(topic("No emojis please, a matter-of-fact tone", kind="feedback"))
    (place / "feedback_push.md").write_bytes(topic("Never run git push --force", kind="feedback"))
    assert workspace.names("rename this variable") == []
    assert workspace.names("thanks, that is all", "s") == []
    assert workspace.names("rename this variable", "s") == [TESTS]
    assert workspace.names("rename that variable", "s") == []
    assert workspace.names(PROMPT, "t") == [RELEASE, TESTS]
    workspace.library.write({f"m{number}.md": ("Lunch is at noon", "") for number in range(60)})
    assert workspace.names("rename this variable", "u") == [TESTS]
    assert workspace.names(PROMPT, "v")[-1] == TESTS


def test_other_rules_leave_the_first_prompt_one_by_one_as_memories_become_more(workspace: Workspace) -> None:
    """A word with a hyphen is no name of a command: such a rule waits for no call."""
    place = workspace.library.place
    for file in place.iterdir():
        file.unlink()
    rules = {f"feedback_{number}.md": f"Colour {number} stands for first-class berths" for number in range(5)}
    for name, rule in rules.items():
        (place / name).write_bytes(topic(rule, kind="feedback"))
    given = []
    for memories in range(5, 12):
        given.append(len(workspace.names("rename this variable", f"session {memories}")))
        workspace.library.write({f"lunch_{memories}.md": (f"Lunch {memories} is at noon", "")})
    assert given == [5, 4, 3, 2, 1, 0, 0]


def test_what_is_gone_from_the_repository_is_told(workspace: Workspace, paths: Paths) -> None:
    workspace.ask()
    with closing(open_store(paths)) as store, store.transaction():
        directory = store.directory(str(workspace.library.place))
        assert directory is not None
        store.record_rot(directory.id, {RELEASE: ["make tag (no such target)"]}, "stamp", 0.0)
    answer = workspace.ask()
    assert answer.memories[0].gone == ("make tag (no such target)",)
    assert "No longer in the repository: make tag (no such target)." in answer.text


# --- tools in use -----------------------------------------------------------------------------------------------------


def test_the_manual_of_a_tool_in_use_is_left_out_and_its_trap_comes_first(workspace: Workspace) -> None:
    place = workspace.library.place
    manual = topic("Linear MCP create_issue usage", "create_issue(title, team) files a finding.", kind="reference")
    trap = topic(
        "Linear MCP create_issue silently drops labels", "Set labels on findings afterwards.", kind="reference"
    )
    (place / "manual.md").write_bytes(manual)
    (place / "trap.md").write_bytes(trap)
    prompt = "create_issue in linear for these findings with labels"
    both = {memory.name: memory.score for memory in workspace.ask(prompt, least=0.0).memories}
    assert {"manual.md", "trap.md"} <= both.keys()
    answer = workspace.ask(prompt, least=0.0, tools=("mcp__linear__create_issue",))
    with_tool = {memory.name: memory.score for memory in answer.memories}
    assert answer.memories[0].name == "trap.md"
    assert "manual.md" not in with_tool
    assert both["trap.md"] < with_tool["trap.md"] <= 1
    assert workspace.names(prompt, least=0.0, tools=("Bash",)) == list(both)


# --- sessions ---------------------------------------------------------------------------------------------------------


def test_a_session_is_shown_a_memory_once_until_it_is_compacted(workspace: Workspace, paths: Paths) -> None:
    assert workspace.names(session_id="s") == [RELEASE]
    assert workspace.ask(session_id="s") == RecallAnswer(why_not=ALL_KNOWN)
    assert workspace.names(session_id="other") == workspace.names() == workspace.names() == [RELEASE]
    shown_log.forget(paths, "s", workspace.clock.at)
    assert workspace.names(session_id="s") == [RELEASE]


def test_what_a_session_has_read_by_itself_is_not_shown(workspace: Workspace) -> None:
    assert workspace.ask(session_id="s", read=frozenset({RELEASE})) == RecallAnswer(why_not=ALL_KNOWN)
    assert workspace.ask("why is the sky blue?", "s", read=frozenset({RELEASE})).why_not == NOTHING_RELEVANT


def test_a_query_and_a_session_have_their_budget_then_there_is_silence(workspace: Workspace, paths: Paths) -> None:
    body = "\n".join(["The release branch is stable."] * 150)
    workspace.library.write({f"m{number}.md": ("The release branch", body) for number in range(40)})
    sizes = []
    while answer := workspace.ask("the release branch", "s", least=0.0).text:
        sizes.append(len(answer.encode()))
        assert len(sizes) < 40
    assert max(sizes) <= 20_480 + 1000
    shown = shown_log.shown_to(paths, "s", str(workspace.library.place))
    assert 61_440 * 0.9 < sum(memory.bytes for memory in shown) <= 61_440
    assert workspace.ask("the release branch", "s", least=0.0) == RecallAnswer(why_not=NO_ROOM)
    assert workspace.ask("the release branch", "other", least=0.0).text
    shown_log.forget(paths, "s", workspace.clock.at)
    assert workspace.ask("the release branch", "s", least=0.0).text


def test_what_another_project_was_shown_counts_in_the_sessions_budget(workspace: Workspace, paths: Paths) -> None:
    shown_log.record(paths, "s", "/elsewhere", [shown_log.Shown("a.md", 61_440)], 1.0)
    assert workspace.ask(session_id="s") == RecallAnswer(why_not=BUDGET_USED)
    workspace.config = workspace.config._replace(recall=Recall(session_kilobytes=100.0))
    assert workspace.ask(session_id="s").text


def test_a_client_that_takes_few_characters_gets_no_more(workspace: Workspace) -> None:
    workspace.library.write({"long.md": ("The release branch stable", "word " * 2000)})
    assert "long.md" not in workspace.names(least=0.0, most_characters=1000)
    assert workspace.ask(most_characters=10).why_not == NO_ROOM


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_a_secret_that_somebody_wrote_into_a_memory_is_not_handed_over(workspace: Workspace) -> None:
    (workspace.library.place / RELEASE).write_bytes(
        topic(f"Releases come from the branch, {TOKEN}", f"Branch token: {TOKEN}")
    )
    answer = workspace.ask()
    assert [memory.name for memory in answer.memories] == [RELEASE]
    assert TOKEN not in answer.text
    assert TOKEN not in answer.memories[0].description
    assert "[redacted" in answer.text


def test_nor_where_nobody_had_time_to_notice_it(workspace: Workspace, paths: Paths) -> None:
    """Another process keeps the store locked, so what is kept of the file is of before."""
    assert workspace.names() == [RELEASE]
    (workspace.library.place / RELEASE).write_bytes(topic("Releases are cut from the branch stable", f"With {TOKEN}."))
    with closing(sqlite3.connect(paths.recall_file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = workspace.ask()
    assert [memory.name for memory in answer.memories] == [RELEASE]
    assert TOKEN not in answer.text


def test_the_store_keeps_no_words_of_a_session(workspace: Workspace, paths: Paths) -> None:
    workspace.ask("which branch do we release from, xyzzyplugh?", "s")
    for path in Path(paths.state_dir).rglob("*"):
        if path.is_file():
            assert b"xyzzyplugh" not in path.read_bytes()


# --- the model --------------------------------------------------------------------------------------------------------


def picks(*names: str) -> Reply:
    return Reply(text(json.dumps({"selected_memories": names})))


def by_model(workspace: Workspace, server: MessagesServer) -> None:
    workspace.config = config_with_model(server)._replace(recall=Recall("model", model_seconds=60.0))


def test_a_model_chooses_where_the_config_wants_that(workspace: Workspace) -> None:
    (workspace.library.place / TRACKER).write_bytes(topic("Bugs are in Linear", f"With {TOKEN}."))
    with MessagesServer(lambda _: picks(TRACKER, RELEASE, "none.md")) as server:
        by_model(workspace, server)
        answer = workspace.ask(session_id="s", read=frozenset({TESTS}))
        assert ([memory.name for memory in answer.memories], answer.selector) == ([TRACKER, RELEASE], "model")
        assert TOKEN not in answer.text
        shown = server.requests[0].body["messages"][0]["content"][0]["text"]
        assert FREEZE in shown
        assert TESTS not in shown
        assert PROMPT in last_text(server.requests[0])
        workspace.ask(session_id="s")
        assert RELEASE not in server.requests[1].body["messages"][0]["content"][0]["text"]
        assert server.violations == []


def test_a_model_chooses_among_global_memories_too(workspace: Workspace) -> None:
    person = Path(workspace.paths.global_dir)
    person.mkdir(parents=True)
    (person / "user_role.md").write_bytes(topic("A nurse who learns Rust", "A nurse who learns Rust.", kind="user"))
    with MessagesServer(lambda _: picks("global/user_role.md")) as server:
        by_model(workspace, server)
        answer = workspace.ask(session_id="s")
        assert [memory.name for memory in answer.memories] == ["global/user_role.md"]
        assert "A nurse who learns Rust." in answer.text


def test_a_model_that_picks_nothing_is_believed(workspace: Workspace) -> None:
    with MessagesServer(lambda _: picks()) as server:
        by_model(workspace, server)
        assert workspace.ask() == RecallAnswer(why_not=NOTHING_RELEVANT, selector="model")


def test_without_an_answer_of_the_model_the_local_choice_counts_and_it_is_told_why(workspace: Workspace) -> None:
    with MessagesServer(lambda _: Status(529, "overloaded_error", "Overloaded")) as server:
        by_model(workspace, server)
        answer = workspace.ask()
        assert [memory.name for memory in answer.memories] == [RELEASE]
        assert answer.selector == "local"
        assert answer.fallback.startswith("The model chose nothing:")
    workspace.clock.at += 86_400
    answer = workspace.ask()  # now nobody listens there
    assert ([memory.name for memory in answer.memories], answer.selector) == ([RELEASE], "local")
    assert answer.fallback
    workspace.config = workspace.config._replace(anthropic=Config().anthropic)
    answer = workspace.ask()
    assert [memory.name for memory in answer.memories] == [RELEASE]
    assert answer.fallback == "No model is set up: the config names no key."


def test_a_single_word_is_not_paid_for(workspace: Workspace) -> None:
    with MessagesServer(lambda _: picks(RELEASE)) as server:
        by_model(workspace, server)
        assert workspace.ask("release") == RecallAnswer(why_not=SINGLE_WORD)
        assert server.requests == []


def test_the_catalogue_is_of_the_directory_that_was_asked_for(workspace: Workspace, paths: Paths) -> None:
    workspace.ask()
    with closing(open_store(paths)) as store:
        assert [path for _, path in store.directories()] == [str(workspace.library.place)]
        assert up_to_date_index(store, str(workspace.library.place), workspace.clock.at)
