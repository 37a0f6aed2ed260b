"""The MCP server of memoryd: what an agent is offered and told, whatever it sends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.mcp.resources import resources
from memoryd.mcp.server import INSTRUCTIONS, TOOLS, server_for
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.model import Changeset, FileChange, Group
from tests.acceptance.command import memoryd
from tests.memory.test_directory import an_ordinary_user

if TYPE_CHECKING:
    from memoryd.mcp.protocol import McpServer
    from memoryd.state.database import Database

PINNED = '---\nname: pinned\ndescription: "Ask Dana"\ntype: feedback\nmetadata:\n  pinned: true\n---\nAsk Dana first.\n'
TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture
def project(environment: dict[str, str], tmp_path: Path) -> Path:
    place = tmp_path / "acme"
    (place / ".git").mkdir(parents=True)
    assert memoryd(environment, "remember", "--project", str(place), "releases are cut from stable").returncode == 0
    return place


@pytest.fixture
def memory(environment: dict[str, str], project: Path) -> Path:
    (found,) = Path(environment["HOME"]).glob(".claude/projects/*/memory")
    assert project.name in found.parent.name
    return found


def ask(server: McpServer, method: str, **params: Any) -> Any:
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"
    return json.loads(server.receive(line))


def call(server: McpServer, tool: str, **arguments: Any) -> tuple[str, bool]:
    result = ask(server, "tools/call", name=tool, arguments=arguments)["result"]
    return result["content"][0]["text"], result["isError"]


def test_the_instructions_tell_when_and_how(environment: dict[str, str], project: Path) -> None:
    result = ask(server_for(environment, str(project)), "initialize", protocolVersion="2025-06-18")["result"]
    assert result["protocolVersion"] == "2025-06-18"
    assert result["instructions"] == INSTRUCTIONS
    assert len(INSTRUCTIONS) <= 2048  # clients cut what is longer
    assert all(f"{tool.name}:" in INSTRUCTIONS for tool in TOOLS)


def test_a_memory_is_recalled_explained_and_forgotten(environment: dict[str, str], project: Path, memory: Path) -> None:
    server = server_for(environment, str(project))
    text, is_error = call(server, "recall", query="which branch are releases cut from?")
    assert "releases are cut from stable" in text
    assert not is_error
    (name,) = (path.name for path in memory.glob("*_releases_*.md"))
    assert '"releases are cut from stable"' in call(server, "why", memory=name)[0]
    assert name in call(server, "forget", memory=name.removesuffix(".md"))[0]
    assert not (memory / name).exists()
    assert "you had it forgotten" in call(server, "why", memory="releases")[0]
    assert memoryd(environment, "undo", "--project", str(project)).returncode == 0
    assert (memory / name).exists()


def test_a_part_of_a_name_is_enough_where_it_fits_one(environment: dict[str, str], project: Path, memory: Path) -> None:
    server = server_for(environment, str(project))
    assert memoryd(environment, "remember", "--project", str(project), "releases are tagged by Dana").returncode == 0
    before = {path.name for path in memory.iterdir()}
    text, is_error = call(server, "forget", memory="releases")
    assert is_error
    assert text.startswith("2 memories fit releases: ")
    assert {path.name for path in memory.iterdir()} == before
    assert '"releases are cut from stable"' in call(server, "why", memory="cut-from")[0]
    assert not call(server, "forget", memory="Tagged by")[1]
    assert len(before - {path.name for path in memory.iterdir()}) == 1


def test_only_the_user_takes_away_what_is_pinned_or_foreign(
    environment: dict[str, str], project: Path, memory: Path
) -> None:
    server = server_for(environment, str(project))
    (memory / "feedback_pinned.md").write_text(PINNED)
    (memory / "notes.md").write_text("mine\n")
    for name in ("feedback_pinned.md", "notes.md", "../../../secret.md", "nothing"):
        assert call(server, "forget", memory=name)[1]
    assert (memory / "feedback_pinned.md").exists()
    assert (memory / "notes.md").exists()


def test_index_and_memories_are_resources_without_secrets(
    environment: dict[str, str], project: Path, memory: Path
) -> None:
    server = server_for(environment, str(project))
    (memory / "notes ä.md").write_text(f"the token is {TOKEN}\n")
    person = Path(environment["HOME"], ".local/share/memoryd/global")
    person.mkdir(parents=True)
    (person / "user_role.md").write_text("A nurse.\n")
    listed = {found["name"]: found["uri"] for found in ask(server, "resources/list")["result"]["resources"]}
    assert set(listed) == {"MEMORY.md", "global/user_role.md", *(path.name for path in memory.glob("*.md"))}
    texts = {
        name: ask(server, "resources/read", uri=uri)["result"]["contents"][0]["text"] for name, uri in listed.items()
    }
    assert "stable" in texts["MEMORY.md"]
    assert TOKEN not in texts["notes ä.md"]
    assert texts["global/user_role.md"] == "A nurse.\n"
    for uri in ("memoryd://memory/..%2F..%2Fsettings.json", "file:///etc/passwd", "", 5):
        assert ask(server, "resources/read", uri=uri)["error"]["code"] == -32002


def test_without_the_global_directory_the_memories_of_the_project_are_listed() -> None:
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)  # noqa: S103 - of a moment
        with an_ordinary_user():
            own, person = Path(place, "own"), Path(place, "person")
            own.mkdir()
            (own / "a.md").write_text("Said.\n")
            person.mkdir(mode=0)
            assert [found.name for found in resources(str(own), str(person))] == ["MEMORY.md", "a.md"]


def test_a_project_that_memoryd_leaves_alone_is_left_alone(
    environment: dict[str, str], project: Path, memory: Path
) -> None:
    config = Path(environment["HOME"], ".config/memoryd/config.toml")
    config.parent.mkdir(parents=True)
    config.write_text(f'[projects]\nexclude = ["{project}"]\n')
    server = server_for(environment, str(project))
    before = {path.name: path.read_bytes() for path in memory.iterdir()}
    for tool, arguments in (
        ("recall", {"query": "which branch are releases cut from?"}),
        ("remember", {"text": "Use tabs.", "quote": "use tabs"}),
        ("forget", {"memory": "project_releases"}),
        ("why", {"memory": "project_releases"}),
    ):
        assert call(server, tool, **arguments)[1]
    assert ask(server, "resources/list")["result"] == {"resources": []}
    assert {path.name: path.read_bytes() for path in memory.iterdir()} == before


def test_an_agent_in_a_jobs_own_directory_is_told_nothing(environment: dict[str, str], project: Path) -> None:
    own = Path(environment["HOME"], ".local/state/memoryd/somewhere")
    own.mkdir()
    assert call(server_for(environment, str(own)), "recall", query="which branch are releases cut from?")[1]
    assert project.exists()


def test_a_broken_database_is_a_sentence(environment: dict[str, str], project: Path, memory: Path) -> None:
    Path(environment["HOME"], ".local/state/memoryd/memoryd.sqlite3").write_bytes(b"nonsense" * 1000)
    (name,) = (path.name for path in memory.glob("*_releases_*.md"))
    text, is_error = call(server_for(environment, str(project)), "why", memory=name)
    assert is_error
    assert "Traceback" not in text


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_METHODS = st.sampled_from(
    ["initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read", "server/discover"]
)
_CALLS = st.fixed_dictionaries(
    {
        "name": st.sampled_from([tool.name for tool in TOOLS]) | _JSON,
        "arguments": st.dictionaries(
            st.sampled_from(["query", "text", "quote", "memory"]), st.text(max_size=40) | _JSON, max_size=3
        )
        | _JSON,
    }
)
_REQUESTS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | _JSON, "id": st.integers() | _JSON, "method": _METHODS | _JSON},
    optional={"params": _CALLS | st.fixed_dictionaries({"uri": st.text(max_size=20) | _JSON}) | _JSON},
)
_LINES = (
    st.binary(max_size=60)
    | _REQUESTS.map(lambda request: json.dumps(request).encode())
    | _JSON.map(lambda value: json.dumps(value).encode())
)


def test_whatever_comes_in_goes_out_as_answers_and_the_next_request_is_served(
    environment: dict[str, str], tmp_path: Path, database: Database
) -> None:
    place = tmp_path / "acme"
    place.mkdir()
    memory_dir = str(tmp_path / "memory")
    file = FileChange("feedback_tabs.md", None, PINNED.encode())
    with open_directory(memory_dir, create=True) as directory:
        commit(database, directory, Changeset("remember", "", (Group((file,), ""),)), 1.0)
    world = {**environment, "MEMORYD_MEMORY_DIR": memory_dir}

    @given(st.lists(_LINES, max_size=4), st.data())
    def check(lines: list[bytes], data: st.DataObject) -> None:
        server = server_for(world, str(place))
        sent = b"".join(line + b"\n" for line in lines)
        cut = data.draw(st.integers(0, len(sent)))
        said = server.receive(sent[:cut]) + server.receive(sent[cut:])
        for answer in said.splitlines():
            found = json.loads(answer)
            assert found["jsonrpc"] == "2.0"
            assert ("result" in found) != ("error" in found)
        assert ask(server, "ping")["result"] == {}

    check()
    assert Path(memory_dir, "feedback_tabs.md").read_text() == PINNED


def test_it_ends_with_its_input_and_nothing_else_is_printed(environment: dict[str, str], project: Path) -> None:
    lines = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\nnonsense\n'
    done = subprocess.run(
        [sys.executable, "-m", "memoryd", "mcp", "--stdio"],
        input=lines,
        env=environment,
        cwd=project,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert [json.loads(line).get("result") for line in done.stdout.splitlines()] == [{}, None]


def test_it_ends_when_nobody_reads_any_more(environment: dict[str, str], project: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "memoryd", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        cwd=project,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    os.write(process.stdin.fileno(), b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert process.wait(60) == 0
    process.stdin.close()
