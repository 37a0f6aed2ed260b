"""Results of tools have a budget each: what is longer lies on disk whole, and the model sees its beginning and its path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from memoryd.config import Agent, Anthropic, Config
from memoryd.engines.model import agent, dream_brief, extraction_brief
from memoryd.engines.model.client import Client
from memoryd.engines.model.credentials import Account
from memoryd.engines.model.tools import ToolBox
from tests.messages_server import MessagesServer, Reply, call, text, tool_results

if TYPE_CHECKING:
    from pathlib import Path

    from tests.messages_server import Block, Request

CONFIG = Config()
LINES = 500
ALL = "".join(f"word {number:04} of a long file\n" for number in range(LINES))


def results_of(tmp_path: Path, config: Config, *calls: Block) -> list[str]:
    """What a model is shown of these calls, one in each turn, over a directory with a long file."""
    (tmp_path / "long.md").write_text(ALL)
    shown: list[str] = []

    def answer(request: Request) -> Reply:
        shown.extend(block["content"] for block in tool_results(request))
        turn = len(request.body["messages"]) // 2
        return Reply(calls[turn] if turn < len(calls) else text("done"))

    limits = extraction_brief.limits_of(config, "m", None, 60.0)
    with MessagesServer(answer) as server, ToolBox(str(tmp_path), lambda _: None) as box:
        client = Client(lambda: Account(server.url, "test-key"), lambda: 0.0)
        brief = agent.Brief("the system", ("the memories",), "the task")

        def ask(request: dict[str, Any]) -> Any:
            return client.send(request, 60.0)

        try:
            agent.AgentRun(brief, "m", box, ask, limits, lambda: 0.0, lambda *_: None).to_the_end()
        finally:
            client.close()
        assert server.violations == []
    return shown


GREP = call("Grep", {"pattern": "word", "max_results": 1000})
BASH = call("Bash", {"command": "cat long.md"})
READ = call("Read", {"file_path": "long.md"})


def test_each_tool_has_a_budget_of_its_own(tmp_path: Path) -> None:
    config = CONFIG._replace(agent=Agent(grep_kilobytes=4, bash_kilobytes=60))
    found, printed = results_of(tmp_path, config, GREP, BASH)
    assert found.startswith("long.md:1:word 0000")
    assert "[The whole result has" in found
    assert len(found) < 2_200
    assert printed.strip() == ALL.strip()


def test_what_is_over_budget_can_be_read_whole(tmp_path: Path) -> None:
    config = CONFIG._replace(agent=Agent(grep_kilobytes=4))
    found, rest = results_of(tmp_path, config, GREP, call("Read", {"file_path": "results/1.txt"}))
    assert "It is in results/1.txt: Read shows more." in found
    assert f"long.md:{LINES}:word {LINES - 1:04}" in rest


def test_a_file_is_shown_as_far_as_the_budget_of_read_goes(tmp_path: Path) -> None:
    (shown,) = results_of(tmp_path, CONFIG._replace(agent=Agent(read_kilobytes=4)), READ)
    assert shown.endswith("[cut: Read the rest with a higher offset]")
    assert 3_500 < len(shown) < 4_200
    (shown,) = results_of(tmp_path, CONFIG, READ)
    assert f"word {LINES - 1:04}" in shown


@pytest.mark.parametrize("limits_of", [extraction_brief.limits_of, dream_brief.limits_of])
def test_no_budget_takes_more_than_a_quarter_of_a_prompt(limits_of: Any) -> None:
    small = CONFIG._replace(anthropic=Anthropic(context_window_tokens=16_000), agent=Agent(64, 64, 64, 64))
    limits = limits_of(small, "m", None, 0.0)
    assert set(limits.result_bytes) == {"Read", "Grep", "Glob", "Bash"}
    assert set(limits.result_bytes.values()) == {limits.prompt_tokens}  # bytes: a quarter of four a token
    usual = limits_of(CONFIG, "m", None, 0.0)
    assert dict(usual.result_bytes) == {"Read": 65_536, "Grep": 16_384, "Glob": 16_384, "Bash": 16_384}
