"""Lines that memoryd makes of rows and of Markdown: whatever stands in them, decoding does not raise."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients.registry import client_named
from memoryd.clients.resume import resume_command
from memoryd.model import Reply
from tests.clients.other_homes import Aider, Goose, Opencode

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
each_scribe = pytest.mark.parametrize("scribe_of", [Opencode, Goose, Aider], ids=lambda scribe: scribe.client)


@cache
def lines_of(name: str) -> list[bytes]:
    scribe = next(scribe_of() for scribe_of in (Opencode, Goose, Aider) if scribe_of.client == name)
    client = client_named(name)
    with TemporaryDirectory() as home:
        parts = (
            scribe.head(),
            scribe.prompt("use tabs"),
            scribe.call("/m/a.md"),
            scribe.result(),
            scribe.reply("Tabs."),
        )
        path = scribe.write(Path(home), b"".join((*parts, scribe.prompt("thanks"))))
        with client.open_session(str(path) if name == "aider" else f"{path}#{scribe.id}") as session:
            return [line.data for line in session.lines(0) if line.data]


def changed(value: Any, draw: Any) -> Any:
    """The same JSON with other values in some places."""
    if draw(st.integers(0, 9)) == 0:
        return draw(_VALUES)
    if isinstance(value, dict):
        return {key: changed(inner, draw) for key, inner in value.items()}
    return [changed(inner, draw) for inner in value] if isinstance(value, list) else value


@each_scribe
@given(data=st.data())
def test_no_json_makes_decoding_raise(scribe_of: type[Opencode | Goose | Aider], data: st.DataObject) -> None:
    client = client_named(scribe_of.client)
    line = json.dumps(changed(json.loads(data.draw(st.sampled_from(lines_of(scribe_of.client)))), data.draw)).encode()
    for entry in client.decoder("")(line, Counter()):
        for call in entry.calls if isinstance(entry, Reply) else ():
            assert isinstance(client.summarize_call(call), str)
            assert isinstance(client.written_below(call, "/home/ada/memories"), list)


@each_scribe
@given(noise=st.binary(max_size=200))
def test_no_bytes_make_decoding_raise(scribe_of: type[Opencode | Goose | Aider], noise: bytes) -> None:
    client = client_named(scribe_of.client)
    client.decoder("")(noise, Counter())
    client.recent_activity(noise, "/m")


@pytest.mark.parametrize("scribe_of", [Opencode, Goose], ids=lambda scribe: scribe.client)
def test_recent_activity_knows_the_tools_and_the_memories(scribe_of: type[Opencode | Goose]) -> None:
    activity = client_named(scribe_of.client).recent_activity(b"".join(lines_of(scribe_of.client)), "/m")
    assert (activity.tools, set(activity.files)) == (("write",), {"a.md"})


@each_scribe
def test_a_session_can_be_gone_on_with_from_any_directory(scribe_of: type[Opencode | Goose | Aider]) -> None:
    assert "cd '/home/ada/my code' && " in resume_command(client_named(scribe_of.client), "id", "/home/ada/my code")
