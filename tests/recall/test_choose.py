"""Of a tool in use right now its manual is left out and its traps are wanted more."""

from __future__ import annotations

from itertools import pairwise

import pytest

from memoryd.memory.quick_parse import QuickParse
from memoryd.recall.choose import LEAST_PROBABILITY, floor_of, is_manual, is_pitfall, names_of_tools, speaks_of
from memoryd.recall.rank import Candidate
from memoryd.recall.store import IndexedMemory


def memory(description: str, body: str = "", *, name: str = "", kind: str | None = "reference") -> QuickParse:
    return QuickParse(name, description, kind, (), body)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        (["mcp__linear__create_issue"], {"mcp__linear__create_issue", "create_issue", "linear mcp"}),
        (["WebSearch"], {"websearch"}),
        (["Bash", "Read", "Edit", "query"], set()),
        (["mcp__db__query"], {"mcp__db__query", "db mcp"}),
        (["mcp__db__"], {"mcp__db__", "db mcp"}),
        (["mcp__"], {"mcp__"}),
        (["", "  "], set()),
        ([], set()),
    ],
)
def test_what_a_memory_would_call_a_tool(tools: list[str], names: set[str]) -> None:
    assert names_of_tools(tools) == names


@pytest.mark.parametrize(
    ("tools", "text", "is_meant"),
    [
        (["mcp__linear__create_issue"], "Linear MCP: `create_issue` wants a team id", True),
        (["mcp__linear__create_issue"], "The Linear MCP is slow in the morning", True),
        (["mcp__linear__create_issue"], "Issues are in Linear", False),
        (["mcp__linear__create_issue"], "recreate_issues is a script", False),
        (["mcp__db__query"], "Every query needs a limit", False),
        (["mcp__db__query"], "mcp__db__query cuts at 100 rows", True),
        (["Bash"], "Run it in bash", False),
        (["Grep"], "Grep, not find", True),
        (["a.b+c"], "use a.b+c for this", True),
        (["a.b+c"], "use aXb+c for this", False),
        (["mcp__x__"], "anything at all", False),
        ([""], "anything at all", False),
    ],
)
def test_whether_a_memory_speaks_of_a_tool(tools: list[str], text: str, is_meant: bool) -> None:
    assert speaks_of(memory(text), names_of_tools(tools)) is is_meant
    assert speaks_of(memory("", text), names_of_tools(tools)) is is_meant


def test_the_name_of_a_memory_counts_too() -> None:
    assert speaks_of(memory("", name="linear-mcp"), names_of_tools(["mcp__linear__x"]))


MANUALS = [
    "create_issue usage: title, team, labels",
    "How to call create_issue",
    "create_issue(title, team_id, labels=[])",
    "create_issue takes a title and a team",
    "Parameters of create_issue",
    "create_issue 的参数和用法",
    "create_issue の使い方と引数",
    "Aufruf von create_issue mit Titel und Team",
    "Les paramètres de create_issue",
    "Los parámetros de create_issue",
]
PITFALLS = [
    "create_issue silently drops labels",
    "Gotcha: create_issue takes the team id, not its key",
    "create_issue fails without a team",
    "Never call create_issue twice",
    "create_issue 的坑、参数顺序",
    "create_issue の引数に注意",
    "Vorsicht mit create_issue: Aufruf doppelt",
    "create_issue : jamais sans ses paramètres",
    "create_issue: cuidado con los parámetros",
]


@pytest.mark.parametrize("text", MANUALS)
@pytest.mark.parametrize("kind", ["reference", None])
def test_a_manual(text: str, kind: str | None) -> None:
    assert is_manual(memory(text, kind=kind))
    assert not is_pitfall(memory(text, kind=kind))


@pytest.mark.parametrize("text", PITFALLS)
def test_a_trap_is_no_manual(text: str) -> None:
    assert is_pitfall(memory(text))
    assert not is_manual(memory(text, "create_issue(title, team)"))


@pytest.mark.parametrize("kind", ["user", "feedback", "project"])
def test_what_the_user_wants_or_the_project_does_is_no_manual(kind: str) -> None:
    assert not is_manual(memory(MANUALS[0], kind=kind))


@pytest.mark.parametrize(
    "text", ["Issues go to the team Core", "Tickets of the importer are in Linear", "工单放在核心组"]
)
def test_where_things_are_is_neither(text: str) -> None:
    assert not is_manual(memory(text))
    assert not is_pitfall(memory(text))


def test_one_memory_more_never_silences_recall() -> None:
    floors = [floor_of(number) for number in range(200)]
    assert floors[0] == floors[5]
    assert floors[-1].best == LEAST_PROBABILITY
    for floor in ([each.best for each in floors], [each.asked or 0.0 for each in floors]):
        steps = [later - earlier for earlier, later in pairwise(floor)]
        assert min(steps) >= 0
        assert max(steps) < 0.01


def test_what_is_about_the_work_that_is_asked_for_needs_less_among_few() -> None:
    about_work = Candidate(IndexedMemory(1, "a.md", 0, 0, 0, "feedback", has_secret=False), 0.02, (), is_asked=True)
    few, many = floor_of(10), floor_of(100)
    assert few.raised(about_work).probability == few.best
    assert many.raised(about_work) == about_work
    assert many.asked == many.best
    assert few.raised(about_work._replace(is_asked=False)).probability == 0.02
    assert few.raised(about_work._replace(probability=0.9)).probability == 0.9
