"""A short session of each client, in the client's own words, for the conformance suite."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.clients.homes import SCRIBES
from tests.clients.planted import ELEMENTS, PLANTED, SHAPES
from tests.transcript import Session, line

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.homes import Scribe

PROMPT = "use tabs from now on"
ANSWER = "Tabs it is."


class Sample(NamedTuple):
    """Lines as the client writes them; each ends in a newline."""

    session_file: str
    other_files: tuple[str, ...]
    """Files beside it that are no conversation with the user."""
    prompt: bytes
    """PROMPT, typed by the user."""
    call: Callable[[str], bytes]
    """A tool call that writes a file, by its path."""
    result: bytes
    failure: bytes
    """The call was refused."""
    reply: bytes
    """ANSWER; it ends the turn."""
    interrupt: bytes
    bulk: bytes
    """What the client writes for itself, and is no part of the conversation."""
    unknown: bytes
    """A message in a shape that memoryd has never seen."""
    injected: tuple[bytes, ...]
    """In the user's place, and not the user's."""
    head: bytes = b""
    """With what a session's file begins."""
    says_end: bool = True
    """Whether the reply says that it ends the turn."""


def claude_code() -> Sample:
    session = Session()

    def call(path: str) -> bytes:
        block = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": path, "content": "x"}}
        message = {"role": "assistant", "content": [block], "stop_reason": "tool_use"}
        return line(session.entry("assistant", message=message))

    refused = {"type": "tool_result", "tool_use_id": "t1", "content": "The user said no.", "is_error": True}
    return Sample(
        "6897cab2-8d20-41cf-855e-21319ee17b33.jsonl",
        ("agent-a87c52df.jsonl", "6897cab2.json", "MEMORY.md"),
        session.prompt(PROMPT),
        call,
        session.result("t1"),
        line(session.entry("user", message={"role": "user", "content": [refused]})),
        session.reply(ANSWER),
        session.interrupt(),
        session.bulk(),
        line(session.entry("user", message={"role": "user", "content": {"parts": ["what is this?"]}})),
        (
            *(session.prompt(PLANTED, **{mark: True}) for mark in ("isMeta", "isSidechain", "isCompactSummary")),
            *(
                session.prompt(shape.text(element))
                for shape in SHAPES.values()
                for element in ELEMENTS
                if not shape.keeps_own
            ),
        ),
    )


def sample_by(scribe_of: type[Scribe]) -> Sample:
    scribe = scribe_of()
    return Sample(
        scribe.path(Path("/")).name,
        ("MEMORY.md", "workspace.yaml", "projects.json"),
        scribe.prompt(PROMPT),
        scribe.call,
        scribe.result(),
        scribe.failure(),
        scribe.reply(ANSWER),
        scribe.interrupt(),
        scribe.bulk(),
        scribe.unknown_shape(),
        tuple(scribe.injected()),
        scribe.head(),
        scribe.says_end,
    )


SAMPLES: dict[str, Callable[[], Sample]] = {
    "claude-code": claude_code,
    **{scribe.client: partial(sample_by, scribe) for scribe in SCRIBES},
}


def sample_of(name: str) -> Sample:
    return SAMPLES[name]()
