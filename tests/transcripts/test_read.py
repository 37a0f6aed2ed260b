"""What was said at a place in a transcript, what had been answered before it, and what the assistant saved there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients.claude_code import ClaudeCodeClient
from memoryd.clients.registry import ALL
from memoryd.clock import parse_iso
from memoryd.model import Cursor, ToolCall, UserMessage
from memoryd.sources.session import NotATranscriptError
from memoryd.transcripts.read import ReadTurn, TurnPlace, read_turns
from memoryd.transcripts.tail import read_new_turns
from tests.transcript import Session, an_id, id_of, line

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    from memoryd.clients.base import Decoder
    from memoryd.model import Entry

MEMORY = "/home/ada/.claude/projects/-code-acme/memory"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def places_in(path: Path) -> list[TurnPlace]:
    """Every turn of a transcript, as the ledger hands them to a job."""
    turns = read_new_turns(ALL[0], str(path), Cursor(), ()).turns
    before: list[int | None] = [None, *(turn.start for turn in turns)]
    return [TurnPlace(turn.prompt_id, turn.start, turn.end, start) for turn, start in zip(turns, before, strict=False)]


def heard_in(path: Path) -> list[ReadTurn]:
    places = places_in(path)
    heard = read_turns(ALL[0], str(path), places, MEMORY)
    return [heard[place.prompt_id] for place in places]


def a_call(session: Session, name: str, asked: object, call_id: str = "t", **fields: Any) -> bytes:
    content = [{"type": "tool_use", "id": call_id, "name": name, "input": asked}]
    message = {"role": "assistant", "content": content, "stop_reason": "tool_use"}
    return line(session.entry("assistant", message=message, **fields))


def a_failure(session: Session, text: str, call_id: str = "t") -> bytes:
    content = [{"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": True}]
    return line(session.entry("user", message={"role": "user", "content": content}))


def test_calls_are_told_in_a_few_words_where_they_are_wanted(path: Path) -> None:
    session = Session()
    path.write_bytes(
        session.prompt("run the tests")
        + a_call(session, "Bash", {"command": "npm  test\n--all", "description": "Runs them"})
        + session.result("t", "a secret place: 4711")
        + a_call(session, "Read", {"file_path": "/code/acme/a.py"})
        + a_call(session, "TodoWrite", {"todos": []})
        + a_call(session, "Task", {"prompt": "look"}, isSidechain=True)
        + session.reply("All pass.")
    )
    (place,) = places_in(path)
    told = read_turns(ALL[0], str(path), [place], MEMORY, with_calls=True)[place.prompt_id]
    assert told.calls == ("Bash: npm test --all", "Read: /code/acme/a.py", "TodoWrite")
    assert (told.said.reply, heard_in(path)[0].calls) == ("All pass.", ())


# --- what was said ----------------------------------------------------------------------------------------------------


def test_a_turn_has_the_words_the_answer_before_them_and_the_directory(path: Path) -> None:
    session = Session()
    first = session.prompt("shall we?")
    answer = session.reply("Yes, with tabs.")
    two = session.prompt("do that always", cwd="/code/acme/sub")
    path.write_bytes(first + answer + two + session.reply("Done."))
    assert heard_in(path) == [
        ReadTurn(
            UserMessage(
                session.id,
                id_of(first),
                parse_iso("2026-10-18T09:00:01Z"),
                "shall we?",
                "",
                "/code/acme",
                reply="Yes, with tabs.",
            ),
        ),
        ReadTurn(
            UserMessage(
                session.id,
                id_of(two),
                parse_iso("2026-10-18T09:00:03Z"),
                "do that always",
                "Yes, with tabs.",
                "/code/acme/sub",
                reply="Done.",
            ),
        ),
    ]


def test_the_answer_before_is_found_also_if_its_turn_is_not_asked_for(path: Path) -> None:
    """It was worked on in an earlier job."""
    session = Session()
    path.write_bytes(session.turn("one") + session.prompt("two") + session.reply("Second.") + session.turn("three"))
    last = places_in(path)[-1]
    (heard,) = read_turns(ALL[0], str(path), [last], MEMORY).values()
    assert (heard.said.text, heard.said.answer) == ("three", "Second.")


def test_the_assistants_last_words_are_the_answer(path: Path) -> None:
    """Not what it said before a tool was called, and not what the tool said."""
    session = Session()
    path.write_bytes(
        session.prompt("look")
        + session.reply("I look.", stop_reason=None)
        + session.call("t")
        + session.result("t", 'it says {"type":"assistant"}')
        + session.reply("I looked.", stop_reason=None)
        + session.reply("It is fine.")
        + session.reply("A sub-agent's words.", isSidechain=True)
        + session.turn("good")
    )
    assert [heard.said.answer for heard in heard_in(path)] == ["", "It is fine."]


def test_an_answer_that_is_being_written_is_no_answer_yet(path: Path) -> None:
    session = Session()
    prompt, reply = session.prompt("look"), session.reply("I looked.")
    path.write_bytes(prompt + reply[:-9])
    heard = read_turns(ALL[0], str(path), [TurnPlace(id_of(prompt), 0, len(prompt), None)], MEMORY)
    assert [turn.said.text for turn in heard.values()] == ["look"]


def test_bulk_between_prompt_and_answer_is_passed_by(path: Path) -> None:
    session = Session()
    path.write_bytes(session.prompt("look") + session.bulk(3_000_000) + session.reply("Seen.") + session.turn("good"))
    assert [heard.said.answer for heard in heard_in(path)] == ["", "Seen."]


def test_a_copy_whose_original_is_gone_is_known_by_the_originals_id(path: Path) -> None:
    """The ledger keeps the id under which a message was first seen."""
    session = Session("fork")
    original = an_id("the original")
    path.write_bytes(session.prompt("use tabs", forkedFrom={"sessionId": "other", "messageUuid": original}))
    heard = read_turns(ALL[0], str(path), [TurnPlace(original, 0, path.stat().st_size, None)], MEMORY)
    assert [(number, turn.said.message_id, turn.said.text) for number, turn in heard.items()] == [
        (original, original, "use tabs")
    ]


def test_of_a_rewritten_transcript_only_what_still_stands_in_its_place_is_read(path: Path) -> None:
    session = Session()
    path.write_bytes(session.turn("one") + session.turn("two") + session.turn("three"))
    places = places_in(path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = session.prompt("another, and longer")
    path.write_bytes(b"".join(lines))
    assert [turn.said.text for turn in read_turns(ALL[0], str(path), places, MEMORY).values()] == ["one"]
    path.write_bytes(b"")
    assert read_turns(ALL[0], str(path), places, MEMORY) == {}


def test_damage_at_a_place_is_repaired_as_everywhere(path: Path) -> None:
    session = Session()
    prompt = session.prompt("use tabs")
    path.write_bytes(b"\0\0\0" + prompt)
    heard = read_turns(ALL[0], str(path), [TurnPlace(id_of(prompt), 0, path.stat().st_size, None)], MEMORY)
    assert [turn.said.text for turn in heard.values()] == ["use tabs"]


def test_what_is_no_transcript_is_not_opened(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_turns(ALL[0], str(path), [], MEMORY)
    os.mkfifo(path)
    with pytest.raises(NotATranscriptError):
        read_turns(ALL[0], str(path), [], MEMORY)


# --- what was saved ---------------------------------------------------------------------------------------------------


def saved_in(path: Path, *calls: bytes) -> tuple[str, ...]:
    session = Session()
    path.write_bytes(session.prompt("remember: tabs") + b"".join(calls) + session.reply("Done."))
    (heard,) = heard_in(path)
    return heard.saved


@pytest.mark.parametrize(
    ("tool", "asked", "saved"),
    [
        ("Write", {"file_path": f"{MEMORY}/feedback_tabs.md", "content": "x"}, "feedback_tabs.md"),
        ("Write", {"file_path": f"{MEMORY}/my own note.md", "content": "x"}, "my own note.md"),
        ("Write", {"file_path": f"{MEMORY}/logs/2026/10.md", "content": "x"}, "logs/2026/10.md"),
        ("Write", {"file_path": "~/.claude/projects/-code-acme/memory/a.md", "content": "x"}, "a.md"),
        ("Write", {"file_path": "/mnt/home/.claude/projects/-code-acme/memory//a.md", "content": "x"}, "a.md"),
        ("Edit", {"file_path": f"{MEMORY}/MEMORY.md", "old_string": "a", "new_string": "b"}, "MEMORY.md"),
        ("MultiEdit", {"file_path": f"{MEMORY}/a.md", "edits": []}, "a.md"),
        ("NotebookEdit", {"notebook_path": f"{MEMORY}/a.ipynb"}, "a.ipynb"),
        ("Bash", {"command": f"rm {MEMORY}/a.md"}, "a.md"),
        ("Bash", {"command": "rm ~/.claude/projects/-code-acme/memory/a.md"}, "a.md"),
        ("Bash", {"command": f"cd {MEMORY} && rm a.md"}, "a.md"),
        ("Bash", {"command": "cd ~/.claude/projects/-code-acme && echo hi >> memory/a.md"}, "a.md"),
        ("Bash", {"command": f"cat > '{MEMORY}/a.md' <<'EOF'\nit's so\nEOF"}, "a.md"),
        ("Bash", {"command": f"M={MEMORY}; sed -i s/a/b/ $M/a.md"}, "a.md"),
    ],
)
def test_what_the_main_agent_writes_below_its_memory_is_seen(
    path: Path, tool: str, asked: dict[str, Any], saved: str
) -> None:
    assert saved_in(path, a_call(Session(), tool, asked)) == (saved,)


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        ("Read", {"file_path": f"{MEMORY}/a.md"}),
        ("Grep", {"path": MEMORY, "pattern": "tabs"}),
        ("Bash", {"command": f"cat {MEMORY}/MEMORY.md 2>/dev/null || echo none"}),
        ("Bash", {"command": f"cp {MEMORY}/a.md /tmp/"}),
        ("Bash", {"command": f"grep -n tabs {MEMORY}/a.md > /tmp/out"}),
        ("Write", {"file_path": "/code/acme/memory/a.md", "content": f"see {MEMORY}/a.md"}),
        ("Write", {"file_path": "/home/ada/.claude/projects/-code-acme-web/memory/a.md", "content": "-code-acme"}),
        ("Write", {"file_path": f"{MEMORY}-old/a.md"}),
        ("Write", {"file_path": f"{MEMORY}/../a.md"}),
        ("Write", {"file_path": MEMORY}),
        ("Write", {"file_path": None, "content": MEMORY}),
        ("Write", MEMORY),
        ("Task", {"prompt": f"write {MEMORY}/a.md"}),
    ],
)
def test_what_is_read_or_written_elsewhere_is_not(path: Path, tool: str, asked: object) -> None:
    assert saved_in(path, a_call(Session(), tool, asked)) == ()


def test_several_files_are_named_once_each_in_their_order(path: Path) -> None:
    session = Session()
    names = ["b.md", "a.md", "b.md"]
    calls = [
        a_call(session, "Write", {"file_path": f"{MEMORY}/{name}"}, f"t{number}") for number, name in enumerate(names)
    ]
    assert saved_in(path, *calls) == ("b.md", "a.md")


def test_a_sub_agents_write_is_not_the_main_agents(path: Path) -> None:
    asked = {"file_path": f"{MEMORY}/a.md"}
    assert saved_in(path, a_call(Session(), "Write", asked, isSidechain=True)) == ()
    assert saved_in(path, a_call(Session(), "Write", asked, agentId="a1")) == ()


def test_a_write_that_failed_or_was_refused_saved_nothing(path: Path) -> None:
    session = Session()
    write = a_call(session, "Write", {"file_path": f"{MEMORY}/a.md"}, "one")
    refused = a_failure(session, "The user doesn't want to proceed with this tool use.", "one")
    again = a_call(session, "Write", {"file_path": f"{MEMORY}/a.md"}, "two")
    assert saved_in(path, write, refused) == ()
    assert saved_in(path, write, refused, again) == ("a.md",)
    assert saved_in(path, write, a_failure(session, "no such tool", "another")) == ("a.md",)


def test_a_command_that_ran_and_ended_badly_may_have_written(path: Path) -> None:
    session = Session()
    remove = a_call(session, "Bash", {"command": f"rm {MEMORY}/a.md /nowhere"})
    assert saved_in(path, remove, a_failure(session, "Exit code 1\nrm: cannot remove '/nowhere'")) == ("a.md",)
    assert saved_in(path, remove, a_failure(session, "The user doesn't want to proceed")) == ()


def test_only_the_turn_in_which_it_was_saved_has_it(path: Path) -> None:
    session = Session()
    path.write_bytes(
        session.turn("one")
        + session.prompt("two")
        + a_call(session, "Write", {"file_path": f"{MEMORY}/a.md"})
        + session.result("t")
        + session.reply("Saved.")
        + session.turn("three")
    )
    assert [(heard.said.text, heard.saved) for heard in heard_in(path)] == [
        ("one", ()),
        ("two", ("a.md",)),
        ("three", ()),
    ]


def test_a_directory_of_any_name_is_recognised_in_the_clients_json(path: Path) -> None:
    session = Session()
    place = '/home/ada/notes é "x"/the memory'
    path.write_bytes(session.prompt("so") + a_call(session, "Write", {"file_path": f"{place}/a.md"}) + session.reply())
    (heard,) = read_turns(ALL[0], str(path), places_in(path), place).values()
    assert heard.saved == ("a.md",)
    (heard,) = read_turns(ALL[0], str(path), places_in(path), "/memory").values()
    assert heard.saved == ()


def test_a_directory_at_the_top_of_the_file_system_is_recognised(path: Path) -> None:
    session = Session()
    for place, saved in (("/memory", ("a.md",)), ("/code/memory", ())):
        call = a_call(session, "Write", {"file_path": f"{place}/a.md"})
        path.write_bytes(session.prompt("so") + call + session.reply())
        (heard,) = read_turns(ALL[0], str(path), places_in(path), "/memory").values()
        assert heard.saved == saved


@given(
    st.binary(max_size=80)
    | st.sampled_from(
        [
            b"[]",
            b"null",
            b'{"file_path": 3}',
            b'{"file_path": ["/home/ada/.claude/projects/-code-acme/memory/a.md"]}',
            b'{"command": ["rm /home/ada/.claude/projects/-code-acme/memory/a.md"]}',
            b'{"command": null}',
        ]
    ),
    st.sampled_from(["Write", "Bash", "NotebookEdit", "None", ""]),
)
def test_no_call_is_too_odd(noise: bytes, tool: str) -> None:
    for given_to_it in (noise, noise + b' "-code-acme" "memory"'):
        call = ToolCall("t", tool, given_to_it)
        assert ALL[0].written_below(call, MEMORY) == []
        assert ALL[0].summarize_call(call).startswith(tool)


# --- how often ----------------------------------------------------------------------------------------------------------


class CountingClient(ClaudeCodeClient):
    """Keeps every line that it decodes."""

    def __init__(self) -> None:
        self.decoded: list[bytes] = []

    def decoder(self, path: str) -> Decoder:
        decode = super().decoder(path)

        def counted(line: bytes, damage: Counter[str]) -> tuple[Entry, ...]:
            self.decoded.append(line)
            return decode(line, damage)

        return counted


def test_every_line_is_decoded_once(path: Path) -> None:
    """Also one that is a prompt, an answer to the next prompt, and a call that writes and is told."""
    session = Session()
    turn = session.prompt('what is an "assistant"?') + a_call(session, "Write", {"file_path": f"{MEMORY}/a.md"})
    data = b"".join(
        (turn, a_failure(session, "no"), session.reply("It is."), session.turn("two"), session.turn("three"))
    )
    path.write_bytes(data)
    places = places_in(path)
    client = CountingClient()
    assert len(read_turns(client, str(path), places, MEMORY, with_calls=True)) == 3
    assert client.decoded == data.splitlines(keepends=True)
    client = CountingClient()
    read_turns(client, str(path), places[1:], MEMORY)  # the first is read for its answer
    assert sorted(client.decoded) == sorted(data.splitlines(keepends=True))
