"""The brief for a dream, what it may take, and how its progress is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from memoryd.config import Anthropic, Budget, Config
from memoryd.engines.model import dream_brief, extraction_brief
from memoryd.engines.model.agent import AgentRun, Brief, RunLimits, ToolCallDone
from memoryd.engines.model.cost import most_usd
from memoryd.engines.model.dream_brief import Listed, Material
from memoryd.engines.model.prices import PRICES
from memoryd.engines.model.progress import line_of, merging, phase_of, topic_of
from memoryd.engines.model.reply import ModelReply, Usage
from memoryd.engines.model.tools import SCHEMAS, ToolBox, ToolResult
from memoryd.errors import EngineStoppedError
from memoryd.model import Exchange, UserMessage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LIMITS = RunLimits(30, 8_000, 100_000, 1_000_000, 0.0)
TOO_DEAR = [("claude-fable-5-1", 0.25), ("claude-opus-5", 0.25)]
AT = 1_800_000_000.0


def material(**fields: Any) -> Material:
    return Material((), 3, (), (), (), AT)._replace(**fields)


def ran(tool: str, *, changed: bool = False, **given: Any) -> ToolCallDone:
    return ToolCallDone(tool, given, ToolResult("", changed=changed))


def wrote(name: str, content: str = "x") -> ToolCallDone:
    return ran("Write", changed=True, file_path=name, content=content, quote="")


# --- the brief --------------------------------------------------------------------------------------------------------


def test_the_brief_is_not_that_of_extraction() -> None:
    assert dream_brief.prompt_name().startswith("dream ")
    assert extraction_brief.prompt_name().startswith("extract ")
    dream = dream_brief.brief_of((), material(), LIMITS)
    assert dream.system != extraction_brief.brief_of((), ()).system
    for phase in ("Orient", "Gather", "Consolidate", "Prune"):
        assert f"**{['Orient', 'Gather', 'Consolidate', 'Prune'].index(phase) + 1}. {phase}.**" in dream.system


def test_what_varies_comes_last_and_only_there() -> None:
    listed = Listed("s.txt", AT, 2_500, "services/api")
    one = dream_brief.brief_of((), material(), LIMITS)
    two = dream_brief.brief_of(
        (Exchange(UserMessage("s", "m", AT, "hello")),),
        material(folders=("logs",), changed=("- a.md",), sessions=(listed,), now=AT + 1e7),
        LIMITS,
    )
    assert (one.system, one.shared) == (two.system, two.shared)
    assert "<conversation>" not in one.task
    assert two.task.startswith("<today>\n")
    assert "<folders>\nthe memories: 3 files; " in two.task
    assert "\nlogs/: daily logs, by year and month\n</folders>" in two.task
    assert "<changed>\n- a.md\n</changed>" in two.task
    assert "- transcripts/s.txt (Friday 2027-01-15, 2.5 kB, in services/api)" in two.task


def test_what_it_is_told_is_bounded() -> None:
    brief = dream_brief.brief_of((), material(changed=["- " + "x" * 5_000] * 5_000), LIMITS)
    assert len(brief.task) < 50_000
    assert "and 4800 more" in brief.task


def test_no_turn_is_needed_and_as_many_are_taken_as_leave_room_to_read() -> None:
    exchanges = [Exchange(UserMessage("s", f"m{number}", AT, "x" * 4_000)) for number in range(200)]
    assert dream_brief.fitting((), material(), LIMITS) == 0
    taken = dream_brief.fitting(exchanges, material(), LIMITS)
    assert 30 < taken < 42  # of 100,000 tokens 40 % are for turns of a thousand tokens


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*PRICES, "local"])
@pytest.mark.parametrize("usd", [0.25, 1.0, 10.0])
def test_one_request_leaves_money_for_the_others(model: str, usd: float) -> None:
    config = Config()._replace(budget=Budget(usd_per_run=usd))
    price = PRICES.get(model)
    if (model, usd) in TOO_DEAR:
        with pytest.raises(EngineStoppedError, match="which is too little for"):
            dream_brief.limits_of(config, model, price, 0.0)
        return
    limits = dream_brief.limits_of(config, model, price, 0.0)
    full = {"system": "", "tools": [], "messages": "x" * limits.prompt_tokens * 4, "max_tokens": limits.output_tokens}
    assert most_usd(price, full) <= usd * 0.46
    assert limits.turns == 30
    assert limits.output_tokens in dream_brief.OUTPUT_TOKENS
    if price is not None and price.above_tokens:
        assert limits.prompt_tokens < price.above_tokens


def test_a_window_without_room_stops_the_engine() -> None:
    config = Config()._replace(anthropic=Anthropic(context_window_tokens=4_000))
    with pytest.raises(EngineStoppedError, match="no room for the brief"):
        dream_brief.limits_of(config, "local", None, 0.0)


@pytest.mark.parametrize(
    ("turns_left", "spent", "word"),
    [
        (29, 0.0, ""),
        (4, 0.1, ""),
        (3, 0.0, "You have 3 replies left."),
        (1, 0.2, "Your next reply is the last one."),
        (20, 0.11, "This run has little money left."),
    ],
)
def test_the_agent_is_told_when_its_end_is_near(turns_left: int, spent: float, word: str) -> None:
    said = dream_brief.hint(turns_left, spent, 0.25)
    assert said.startswith(word)
    assert bool(said) == bool(word)


def test_a_model_without_a_price_has_no_money_to_run_out_of() -> None:
    assert dream_brief.hint(10, 0.0, 0.0) == ""


def test_the_tools_say_nothing_of_a_job() -> None:
    """They are the same for all of them: part of what endpoints cache."""
    words = str(SCHEMAS).lower()
    assert not {word for word in ("dream", "extract", "transcript", "session", "merge") if word in words}


# --- the loop ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("window", "told"), [(900_000, []), (100_000, ["cache_break"])])
def test_what_the_endpoint_cleared_as_asked_is_no_break_of_the_cache(
    tmp_path: Path, window: int, told: list[str]
) -> None:
    """Only where it was asked to: else something in the prefix has changed."""
    usages = [Usage(cache_created=190_000), Usage(cache_created=50_000), Usage(cache_read=50_000)]
    cleared = 140_000 if window > 180_000 else 0
    replies = [
        ModelReply(
            ({"type": "tool_use", "id": "t", "name": "Glob", "input": {"pattern": "*"}},), None, one, (), (), gone
        )
        for one, gone in zip(usages, (0, cleared, cleared), strict=True)
    ]
    replies[-1] = replies[-1]._replace(content=())
    requests: list[dict[str, Any]] = []
    notes: list[str] = []

    def ask(request: dict[str, Any]) -> ModelReply:
        requests.append(request)
        return replies[len(requests) - 1]

    limits = LIMITS._replace(prompt_tokens=window)
    with ToolBox(str(tmp_path), lambda _: None) as box:
        AgentRun(
            Brief("s", ("m",), "t"), "m", box, ask, limits, lambda: 0.0, lambda kind, _: notes.append(kind)
        ).to_the_end()
    assert notes == told
    assert ["context_management" in request for request in requests] == [window > 180_000] * 3


def test_what_a_watcher_says_stands_behind_the_results(tmp_path: Path) -> None:
    seen: list[tuple[str, ...]] = []

    def watch(_: ModelReply, calls: Sequence[ToolCallDone]) -> str:
        seen.append(tuple(one.tool for one in calls))
        return "hurry"

    call = {"type": "tool_use", "id": "t", "name": "Glob", "input": {"pattern": "*"}}
    replies = [ModelReply((call, {**call, "name": "Nap", "id": "u"}), None, Usage(1)), ModelReply((), None, Usage(1))]
    requests: list[dict[str, Any]] = []

    def ask(request: dict[str, Any]) -> ModelReply:
        requests.append(request)
        return replies[len(requests) - 1]

    with ToolBox(str(tmp_path), lambda _: None) as box:
        AgentRun(
            Brief("s", ("m",), "t"), "m", box, ask, LIMITS, lambda: 0.0, lambda *_: None, watch=watch, whole=True
        ).to_the_end()
    assert seen == [("Glob",), ()]
    kinds = [(block["type"], block.get("text", "")[:12]) for block in requests[1]["messages"][-1]["content"]]
    assert kinds == [("tool_result", ""), ("text", "There is no "), ("text", "hurry")]


# --- progress ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "line"),
    [
        ([ran("Read", file_path="deploy_notes.md")], "Reading deploy notes"),
        ([ran("Read", file_path="MEMORY.md")], "Reading the index"),
        ([ran("Read", file_path="repository/src/a.py")], "Reading the repository"),
        ([ran("Read", file_path="logs/2026/10/2026-10-18.md")], "Reading the daily logs"),
        ([ran("Bash", command="cat instructions/1.md")], "Reading the instructions"),
        ([ran("Read", file_path="transcripts/s.txt", limit=9)], "Reading a past session"),
        ([ran("Grep", pattern="retry")], 'Searching for "retry"'),
        ([ran("Grep", pattern="(a|b).*", path="transcripts")], 'Searching for "a b"'),
        ([ran("Grep", pattern=".*")], "Searching the memories"),
        ([ran("Glob", pattern="*.md")], "Listing the memories"),
        ([ran("Edit", changed=True, file_path="project_retry_budget.md")], "Updating retry budget"),
        ([wrote("feedback_review_size.md")], "Writing review size"),
        ([wrote("feedback_no_mocks.md", "")], "Removing no mocks"),
        ([wrote("project_deploy_day.md"), wrote("project_deploy_time.md", "")], "Merging two deploy notes"),
        ([ran("Write", file_path="pinned.md", content="x")], "Trying the pinned note"),
        ([], "Finishing the consolidation"),
    ],
)
def test_a_turn_is_told_in_three_to_five_words(calls: list[ToolCallDone], line: str) -> None:
    assert line_of(calls) == line
    assert 3 <= len(line.split()) <= 5


@pytest.mark.parametrize(
    "name", ["", ".md", "__.md", "x.md", "feedback_.md", "项目.md", "a_b_c_d_e_f.md", "ghp_x y\nz.md", "x" * 500]
)
def test_any_name_has_a_topic(name: str) -> None:
    assert 1 < len(topic_of(name).split()) <= 3
    assert merging([name, name, name]).startswith("Merging three ")
    assert merging([name] * 40).startswith("Merging many ")


def test_phases_go_forward() -> None:
    look, search, log = ran("Read", file_path="a.md"), ran("Grep", pattern="x"), ran("Read", file_path="logs/a.md")
    assert phase_of([look], "orient") == "orient"
    assert phase_of([look, search], "orient") == "gather"
    assert phase_of([log], "orient") == "gather"
    assert phase_of([look], "gather") == "gather"
    assert phase_of([wrote("a.md")], "gather") == "consolidate"
    assert phase_of([wrote("a.md"), wrote("b.md", "")], "gather") == "consolidate"
    assert phase_of([wrote("b.md", "")], "consolidate") == "prune"
    assert phase_of([search], "consolidate") == "consolidate"
    assert phase_of([ran("Write", file_path="a.md", content="x")], "orient") == "orient"  # it was refused
    assert phase_of([], "consolidate") == "prune"
