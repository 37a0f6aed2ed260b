"""From a transcript to the memory directory: what a file says between injected tags is remembered nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.planted import BESIDE, OWN, PLANTED, SHAPES
from tests.jobs.workspace import TABS, TABS_MD
from tests.transcript import Session, line

if TYPE_CHECKING:
    from tests.jobs.workspace import Workspace


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@pytest.mark.parametrize("name", [*BESIDE, "bash-stdout", "task-notification", "teammate-message"])
def test_planted_words_are_remembered_nowhere_and_own_words_are(workspace: Workspace, name: str) -> None:
    """Every shape with this element, in a string and in a block of its own: a turn each."""
    session = Session()
    data = b""
    for shape in SHAPES.values():
        text = shape.text(name)
        for content in (text, [block(text)], [block(text), block("please look at the parser")]):
            data += session.prompt(content) + session.reply()
    workspace.append(session, data + session.turn(TABS))
    workspace.work()
    assert OWN == TABS
    assert TABS_MD in workspace.files()
    assert all(body.startswith(TABS) for body in workspace.bodies())
    assert b"deploy" not in b"".join(path.read_bytes() for path in workspace.memory.iterdir())
    workspace.say(PLANTED, session=Session("said by the user"))
    workspace.work()
    assert any("deploy" in body for body in workspace.bodies())


@pytest.mark.parametrize(
    "fields",
    [
        {"origin": {"kind": "task-notification"}},
        {"origin": {"kind": "channel", "server": "chat"}},
        {"origin": {"kind": "peer", "from": "agent"}},
        {"message": {"role": "assistant", "content": PLANTED}},
        {"message": {"role": "system", "content": [block(PLANTED)]}},
        {"toolUseResult": {"stdout": PLANTED}},
        {"toolUseResult": PLANTED},
        {"toolUseResult": [block(PLANTED)]},
    ],
    ids=str,
)
def test_what_the_client_marks_as_not_the_users_is_remembered_nowhere(
    workspace: Workspace, fields: dict[str, Any]
) -> None:
    session = Session()
    entry = session.entry("user", **({"message": {"role": "user", "content": PLANTED}} | fields))
    workspace.append(session, session.turn("hello") + line(entry) + session.reply() + session.turn(TABS))
    assert workspace.work() == [("succeeded", (TABS_MD,))]
    assert workspace.files() == ["MEMORY.md", TABS_MD]


def test_words_with_invisible_characters_are_found_again_and_written_without(workspace: Workspace) -> None:
    """Also those of a message that has no id, which is known by its text."""
    session = Session()
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "deploy")
    data = b""
    for text in ("\ufefffrom now on,\u200b use \u202etabs\u202c" + hidden, "never use mo\u2060cks"):
        entry = session.entry("user", message={"role": "user", "content": text})
        del entry["uuid"]
        data += line(entry) + session.reply()
    workspace.append(session, data)
    workspace.work()
    written = b"".join(path.read_bytes() for path in workspace.memory.iterdir()).decode()
    assert TABS_MD in workspace.files()
    assert "mocks" in written
    assert not set(written) & {*"\u200b\u202e\u202c\u2060\ufeff", *hidden}
    workspace.database.execute("UPDATE turns SET outcome = NULL")
    assert workspace.work() == [("succeeded_no_output", ())]
