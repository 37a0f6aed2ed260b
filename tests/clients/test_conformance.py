"""Conformance of every client to the contract in memoryd/clients/base.py."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients.base import HookInputError
from memoryd.clients.registry import ALL, WITH_HOOKS, WITH_PLUGIN, client_named
from memoryd.clients.resume import resume_command
from memoryd.model import Cursor, Prompt, Reply, Results
from memoryd.paths import paths_from
from memoryd.transcripts.read import TurnPlace, read_turns
from memoryd.transcripts.tail import read_new_turns
from tests.clients.samples import ANSWER, PROMPT, SAMPLES, sample_of

if TYPE_CHECKING:
    from memoryd.clients.base import CodingClient, HookClient, PluginClient
    from memoryd.model import Entry
    from memoryd.paths import Paths
    from tests.clients.samples import Sample

MEMORY = "/home/ada/memories/acme"
PYTHON = "/opt/memoryd/bin/python"

WITH_LINES = [client for client in ALL if client.name in SAMPLES]
"""Clients whose files are lines; what the others write becomes lines only when it is opened."""

each_client = pytest.mark.parametrize("client", WITH_LINES, ids=[client.name for client in WITH_LINES])
each_hook_client = pytest.mark.parametrize("client", WITH_HOOKS, ids=[client.name for client in WITH_HOOKS])
each_plugin_client = pytest.mark.parametrize("client", WITH_PLUGIN, ids=[client.name for client in WITH_PLUGIN])


@pytest.fixture
def sample(client: CodingClient) -> Sample:
    return sample_of(client.name)


@pytest.fixture
def path(tmp_path: Path, sample: Sample) -> Path:
    """A session that has just begun."""
    path = tmp_path / "acme" / sample.session_file
    path.parent.mkdir()
    path.write_bytes(sample.head)
    return path


def decoded(client: CodingClient, path: Path, data: bytes) -> list[Entry]:
    decode = client.decoder(str(path))
    return [entry for line in data.splitlines(keepends=True) for entry in decode(line, Counter())]


def test_clients_have_names_of_their_own_and_a_sample() -> None:
    assert [client_named(client.name) for client in ALL] == list(ALL)
    assert [client.name for client in WITH_LINES] == list(SAMPLES)
    assert {client.name for client in ALL} - SAMPLES.keys() == {
        "opencode",
        "goose",
        "aider",
    }  # each has a test of its own


# --- its sessions -----------------------------------------------------------------------------------------------------


@each_client
def test_a_session_is_told_from_what_is_beside_it(client: CodingClient, sample: Sample, paths: Paths) -> None:
    assert client.is_session(sample.session_file)
    assert not any(map(client.is_session, sample.other_files))
    assert all(place.root.startswith(paths.home + "/") for place in client.session_places(paths, ()))


@pytest.mark.parametrize("client", ALL, ids=lambda client: client.name)
def test_sessions_are_looked_for_where_a_variable_moves_them(client: CodingClient, paths: Paths) -> None:
    for variable in client.moved_by:
        moved = paths_from({"HOME": paths.home, variable: f"/elsewhere/{variable}/x.db"})
        roots = [place.root for place in client.session_places(moved, ())]
        assert any(root.startswith(f"/elsewhere/{variable}") for root in roots), variable


@pytest.mark.parametrize(
    ("name", "file", "settings", "root"),
    [
        ("pi", ".pi/agent/settings.json", {"sessionDir": "~/said"}, "said"),
        ("qwen-code", ".qwen/settings.json", {"advanced": {"runtimeOutputDir": "~/said"}}, "said/projects"),
    ],
)
def test_sessions_are_looked_for_where_a_setting_moves_them(
    paths: Paths, name: str, file: str, settings: dict[str, Any], root: str
) -> None:
    client = client_named(name)
    Path(paths.home, file).parent.mkdir(parents=True)
    for value in (settings, {"sessionDir": 7, "advanced": 7}):
        Path(paths.home, file).write_text(json.dumps(value))
        roots = [place.root for place in client.session_places(paths, ())]
        assert (os.path.join(paths.home, root) in roots, len(roots)) == (value is settings, 1 + (value is settings))


@each_client
def test_what_was_said_names_its_session_and_its_time(client: CodingClient, sample: Sample, path: Path) -> None:
    said = [entry for entry in decoded(client, path, sample.prompt + sample.reply) if isinstance(entry, Prompt | Reply)]
    assert len({entry.session_id for entry in said}) == 1
    assert all(entry.session_id and entry.said_at for entry in said)


@each_client
def test_a_session_can_be_gone_on_with_from_any_directory(client: CodingClient) -> None:
    command = resume_command(client, "0f8d3c1e", "/home/ada/my code")
    assert "0f8d3c1e" in command
    assert "'/home/ada/my code'" in command  # quoted for a shell


@each_client
def test_a_session_gives_its_entries_in_order(client: CodingClient, sample: Sample, path: Path) -> None:
    data = sample.prompt + sample.bulk + sample.call(f"{MEMORY}/a.md") + sample.result + sample.reply
    entries = decoded(client, path, data)
    (prompt,) = (entry for entry in entries if isinstance(entry, Prompt))
    assert (prompt, prompt.text, bool(prompt.ids[0])) == (entries[0], PROMPT, True)
    replies = [entry for entry in entries if isinstance(entry, Reply)]
    calls = [call.id for reply in replies for call in reply.calls]
    assert len(calls) == 1
    results = [entry for entry in entries if isinstance(entry, Results)]
    assert {call_id for result in results for call_id in result.call_ids} == set(calls)
    assert not any(result.failed for result in results)
    assert (replies[-1].texts, replies[-1].calls, replies[-1].ends_with_text) == ((ANSWER,), (), True)
    assert entries.index(results[0]) < entries.index(replies[-1])


@each_client
def test_an_interrupt_is_told_where_the_client_tells_it(client: CodingClient, sample: Sample, path: Path) -> None:
    path.write_bytes(sample.head + sample.prompt + sample.interrupt)
    (turn,) = read_new_turns(client, str(path), Cursor(), ()).turns
    assert turn.end_reason == ("interrupted" if sample.interrupt else None)


@each_client
def test_injected_text_never_becomes_a_prompt(client: CodingClient, sample: Sample, path: Path) -> None:
    for line in sample.injected:
        assert not [entry for entry in decoded(client, path, line) if isinstance(entry, Prompt)], line


@each_client
def test_half_a_line_waits_for_its_end(client: CodingClient, sample: Sample, path: Path) -> None:
    begin = sample.head + sample.prompt
    data = begin + sample.reply
    cursor = Cursor()
    turns: dict[str, Any] = {}
    for end in (len(begin) - len(sample.prompt) // 2, len(begin), len(data) - 1, len(data)):
        path.write_bytes(data[:end])
        reading = read_new_turns(client, str(path), cursor, turns.values())
        assert (reading.damage, reading.rewritten) == ({}, False)
        cursor = reading.cursor
        assert cursor.offset == data[:end].rfind(b"\n") + 1
        turns |= {turn.prompt_id: turn for turn in reading.turns}
    (turn,) = turns.values()
    assert (turn.answered, turn.end_reason) == (True, "end_turn" if sample.says_end else None)
    last = [entry.texts[-1] for entry in decoded(client, path, data) if isinstance(entry, Reply)]
    assert last == [ANSWER]


@each_client
def test_an_unknown_entry_is_skipped_and_counted(client: CodingClient, sample: Sample, path: Path) -> None:
    path.write_bytes(sample.head + sample.prompt + sample.unknown + sample.reply)
    reading = read_new_turns(client, str(path), Cursor(), ())
    assert [turn.answered for turn in reading.turns] == [True]
    assert reading.damage == {"unknown_shape": 1}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def _with_changes(value: Any, draw: Any, odd: st.SearchStrategy[Any]) -> Any:
    """The same JSON with other values in some places."""
    if draw(st.integers(0, 9)) == 0:
        return draw(odd)
    if isinstance(value, dict):
        return {key: _with_changes(inner, draw, odd) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_changes(inner, draw, odd) for inner in value]
    return value


@each_client
@given(data=st.data())
def test_no_json_makes_decoding_raise(client: CodingClient, data: st.DataObject) -> None:
    sample = sample_of(client.name)
    lines = (sample.prompt, sample.call(f"{MEMORY}/a.md"), sample.result, sample.failure, sample.reply, sample.unknown)
    known = json.loads(data.draw(st.sampled_from([line for some in lines for line in some.splitlines()])))
    value = data.draw(_VALUES) if data.draw(st.booleans()) else _with_changes(known, data.draw, _VALUES)
    for entry in client.decoder("")(json.dumps(value).encode() + b"\n", Counter()):
        for call in entry.calls if isinstance(entry, Reply) else ():
            assert isinstance(client.summarize_call(call), str)
            assert isinstance(client.written_below(call, MEMORY), list)


@each_client
@given(noise=st.binary(max_size=200), directory=st.text(max_size=20))
def test_no_bytes_make_decoding_raise(client: CodingClient, noise: bytes, directory: str) -> None:
    client.decoder("")(noise, Counter())
    client.recent_activity(noise, directory)


# --- its tools --------------------------------------------------------------------------------------------------------


@each_client
@pytest.mark.parametrize(
    ("target", "saved"), [(f"{MEMORY}/a.md", ("a.md",)), ("/home/ada/acme/a.md", ()), (f"{MEMORY}-old/a.md", ())]
)
def test_a_call_that_writes_into_the_memory_is_seen_unless_it_failed(
    client: CodingClient, sample: Sample, path: Path, target: str, saved: tuple[str, ...]
) -> None:
    for result, expected in ((sample.result, saved), (sample.failure, ())):
        path.write_bytes(sample.head + sample.prompt + sample.call(target) + result + sample.reply)
        (turn,) = read_new_turns(client, str(path), Cursor(), ()).turns
        place = TurnPlace(turn.prompt_id, turn.start, turn.end)
        heard = read_turns(client, str(path), [place], MEMORY, with_calls=True)[turn.prompt_id]
        assert (heard.said.text, heard.said.reply, heard.saved) == (PROMPT, ANSWER, expected)
        assert [target in call for call in heard.calls] == [True]


@each_client
def test_recent_activity_knows_the_tools_and_the_memories(client: CodingClient, sample: Sample) -> None:
    activity = client.recent_activity(sample.prompt + sample.call(f"{MEMORY}/a.md") + sample.reply, MEMORY)
    assert (len(activity.tools), set(activity.files)) == (1, {"a.md"})


# --- its hooks --------------------------------------------------------------------------------------------------------


@each_plugin_client
def test_the_plugin_comes_with_every_hook_and_goes_without_a_trace(client: PluginClient, paths: Paths) -> None:
    def states(python: str) -> list[str]:
        return [hook.state for hook in client.hook_states(paths, {}, python)]

    always = len(client.hook_events) - 1  # all but the one before tool calls
    assert states(PYTHON) == ["missing"] * always
    assert not client.set_call_hook(paths, is_wanted=True)  # there is no plugin to put it into
    made = client.install_plugin(paths, PYTHON)
    assert made.before == "missing"
    assert states(PYTHON) == ["installed"] * always
    assert client.set_call_hook(paths, is_wanted=True)
    assert not client.set_call_hook(paths, is_wanted=True)
    assert states(PYTHON) == ["installed"] * (always + 1)
    assert states("/new/python") == ["outdated"] * (always + 1)
    assert client.install_plugin(paths, PYTHON).before == "installed"
    assert client.install_plugin(paths, "/new/python").before == "outdated"
    assert not os.path.exists(client.settings_file(paths))


@each_hook_client
@given(given_to_it=_VALUES | st.dictionaries(st.sampled_from(["session_id", "cwd", "prompt", "source"]), _VALUES))
def test_odd_input_of_a_hook_is_refused_in_one_way(client: HookClient, given_to_it: Any) -> None:
    for event in client.hook_events:
        try:
            call = client.read_hook_call(event, given_to_it)
        except HookInputError:
            continue
        assert os.path.isabs(call.cwd)


@each_hook_client
def test_an_answer_carries_its_text_or_the_client_takes_none(client: HookClient) -> None:
    given_to_it = dict.fromkeys(("session_id", "sessionId", "cwd", "prompt"), "/x")
    kinds = {event: client.read_hook_call(event, given_to_it).kind for event in client.hook_events}
    assert {"prompt", "start", "end"} <= {*kinds.values()}
    for event, kind in kinds.items():
        answer = client.hook_answer(event, 'use "tabs"')
        assert 'use \\"tabs\\"' in answer or (kind == "call" and not answer)
