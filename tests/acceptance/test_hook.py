"""`memoryd hook`: whatever a client sends, it ends with 0, and says either a whole answer or nothing."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.config import Config
from memoryd.projects import project_at
from memoryd.recall.manners import RULES_OF_USE, WITHOUT_MEMORY
from memoryd.state.database import open_database
from memoryd.state.projects import update_projects
from tests.acceptance.command import PATIENCE_SECONDS, as_json, memoryd, memoryd_given
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.paths import Paths

RULE = "Releases are cut from the branch stable, never from main"
PROMPT = "cut a release from the right branch"
EVENTS = ("user-prompt-submit", "session-start", "pre-tool-use", "stop", "pre-compact", "session-end")


HOOK = "tests.acceptance.patient_hook"


def hook(environment: dict[str, str], event: str, given: bytes) -> subprocess.CompletedProcess[bytes]:
    return memoryd_given(environment, given, "hook", event, module=HOOK)


def sent(project: Path, prompt: str = PROMPT, **other: Any) -> bytes:
    """What the client sends, with something that a later version may add."""
    call = {
        "session_id": "0f8d3c1e-3a52-4f0c-9c43-0a6a3a2a5a11",
        "transcript_path": str(project / "none.jsonl"),
        "cwd": str(project),
        "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit",
        "prompt": prompt,
        "something_new": {"nested": [1, 2]},
    }
    return json.dumps(call | other).encode()


def context_in(done: subprocess.CompletedProcess[bytes]) -> str:
    """The text that the client is to add."""
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    assert answer.keys() == {"hookEventName", "additionalContext"}
    return str(answer["additionalContext"])


def logged(paths: Paths) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in Path(paths.log_file).read_text().splitlines()]
    except FileNotFoundError:
        return []


@pytest.fixture
def project(environment: dict[str, str], tmp_path: Path) -> Path:
    place = tmp_path / "acme"
    (place / ".git").mkdir(parents=True)
    assert memoryd(environment, "remember", "--project", str(place), RULE).returncode == 0
    return place


def test_a_prompt_gets_its_memory_inside_our_mark_and_only_once(
    environment: dict[str, str], project: Path, paths: Paths
) -> None:
    done = hook(environment, "user-prompt-submit", sent(project))
    text = context_in(done)
    assert text.startswith("<memoryd-recall>\n")
    assert text.endswith("\n</memoryd-recall>")
    assert RULE in text
    assert (done.returncode, done.stderr) == (0, b"")
    assert hook(environment, "user-prompt-submit", sent(project)).stdout == b""
    assert RULE in context_in(hook(environment, "user-prompt-submit", sent(project, session_id="another")))
    assert logged(paths) == []


def test_an_event_may_be_spelt_as_the_client_spells_it(environment: dict[str, str], project: Path) -> None:
    assert RULE in context_in(hook(environment, "UserPromptSubmit", sent(project)))


def test_after_a_compaction_it_comes_again(environment: dict[str, str], project: Path) -> None:
    assert hook(environment, "user-prompt-submit", sent(project)).stdout
    assert hook(environment, "session-start", sent(project, source="resume")).stdout == b""
    assert hook(environment, "user-prompt-submit", sent(project)).stdout == b""
    again = context_in(hook(environment, "session-start", sent(project, source="compact")))
    assert again == RULES_OF_USE
    assert hook(environment, "user-prompt-submit", sent(project)).stdout


def test_asked_to_leave_memory_aside_a_prompt_and_its_calls_get_only_that(
    environment: dict[str, str], project: Path, paths: Paths
) -> None:
    rule = "Never run npm install here"
    assert memoryd(environment, "remember", "--type", "feedback", "--project", str(project), rule).returncode == 0
    call = sent(project, tool_name="Bash", tool_input={"command": "npm install"}, tool_use_id="t1")
    aside = sent(project, f"Ignore your memory: {PROMPT}")
    assert context_in(hook(environment, "user-prompt-submit", aside)) == WITHOUT_MEMORY
    assert hook(environment, "pre-tool-use", call).stdout == b""
    assert RULE in context_in(hook(environment, "user-prompt-submit", sent(project)))
    assert rule in context_in(hook(environment, "PreToolUse", call))
    assert hook(environment, "pre-tool-use", call).stdout == b""
    for other in ({"tool_name": "Read", "tool_input": {"file_path": "/a"}}, {"tool_name": 7, "tool_input": "x"}, {}):
        assert hook(environment, "pre-tool-use", sent(project, **other)).stdout == b""
    assert logged(paths) == []


def test_what_the_session_has_read_itself_does_not_come(
    environment: dict[str, str], project: Path, paths: Paths, tmp_path: Path
) -> None:
    (memory,) = Path(paths.transcripts_root).glob("*/memory/[a-z]*.md")
    block = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": str(memory)}}
    transcript = tmp_path / "session.jsonl"
    transcript.write_text(json.dumps({"type": "assistant", "message": {"content": [block]}}) + "\n")
    assert hook(environment, "user-prompt-submit", sent(project, transcript_path=str(transcript))).stdout == b""
    transcript.unlink()
    assert hook(environment, "user-prompt-submit", sent(project, transcript_path=str(transcript))).stdout


@pytest.mark.parametrize(
    "prompt",
    [
        "<task-notification>cut a release from the right branch</task-notification>",
        "<system-reminder>release branch</system-reminder>",
        "/release from the branch",
        f"<ide_selection>x = 1\n</ide_selection>\n{PROMPT}\n</ide_selection>",
        f"thanks, that is all <document><b>{PROMPT}</b></document>",
        "/release",
        "release",
        "",
        "thanks, that is all",
    ],
)
def test_what_is_not_the_users_or_says_nothing_gets_nothing(
    environment: dict[str, str], project: Path, paths: Paths, prompt: str
) -> None:
    done = hook(environment, "user-prompt-submit", sent(project, prompt))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert logged(paths) == []


@pytest.mark.parametrize(
    "prompt",
    [
        "/srv/app/release.py fails: cut a release from the right branch",
        "<ide_opened_file>src/a.py</ide_opened_file>\ncut a release from the right branch",
        "cut a re\u200blease from the right bra\u2060nch",
    ],
    ids=["path", "editor", "invisible"],
)
def test_a_path_or_a_note_of_the_editor_before_the_users_words_changes_nothing(
    environment: dict[str, str], project: Path, prompt: str
) -> None:
    assert RULE in context_in(hook(environment, "user-prompt-submit", sent(project, prompt)))


def test_a_secret_that_somebody_wrote_into_the_index_is_not_handed_over(
    environment: dict[str, str], project: Path, paths: Paths
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    Path(paths.claude_settings).write_text('{"autoMemoryEnabled": false}')
    (index,) = Path(paths.transcripts_root).glob("*/memory/MEMORY.md")
    index.write_text(f"{index.read_text()}- the key is {secret}\n")
    text = context_in(hook(environment, "session-start", sent(project, source="startup")))
    assert "the key is" in text
    assert secret not in text
    assert secret not in memoryd(environment, "context", "--project", str(project)).stdout


def test_what_could_not_be_handed_over_comes_again(environment: dict[str, str], project: Path) -> None:
    """It is put down behind the writing: whoever closed its end has not seen it."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "memoryd", "hook", "user-prompt-submit"],
        env=environment,
        input=sent(project),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert hook(environment, "user-prompt-submit", sent(project)).stdout


def test_a_thousand_memories_that_nobody_has_read_yet_come_bit_by_bit(
    environment: dict[str, str], project: Path, paths: Paths
) -> None:
    (memory,) = Path(paths.transcripts_root).glob("*/memory/[a-z]*.md")
    for number in range(1000):
        (memory.parent / f"project_{number}.md").write_text(f"Dock {number} opens at seven. " * 40)
    os.utime(memory, (0, 0))  # the oldest are read first
    assert RULE in context_in(hook(environment, "user-prompt-submit", sent(project)))
    with closing(sqlite3.connect(paths.recall_file)) as database:
        ((known,),) = database.execute("SELECT count(*) FROM memories").fetchall()
    assert 1 <= known <= 1001  # as many as a prompt may wait for; the daemon reads the rest


@pytest.mark.parametrize("event", ["user-prompt-submit", "stop", "later-event"])
@pytest.mark.parametrize(
    ("given", "why"),
    [
        (b"", "no input"),
        (b"cut a release", "input that is no JSON"),
        (b"[" * 100_000, "input that is no JSON"),
        (b"[1]", "input that is no JSON object"),
        (b"{}", "input without a session or its directory"),
        (b'{"session_id": 7, "cwd": ["/"]}', "input without a session or its directory"),
        (b'{"session_id": "s", "cwd": "relative"}', "input without a session or its directory"),
        (b'{"prompt": "' + b"x" * (9 << 20) + b'"}', "more than 8 MB of input"),
        (b'\xff\xfe{"session_id"', "input that is no JSON"),
    ],
    ids=["empty", "words", "deep", "list", "bare", "types", "relative", "huge", "bytes"],
)
def test_bad_input_is_one_line_in_the_log(
    environment: dict[str, str], paths: Paths, event: str, given: bytes, why: str
) -> None:
    done = hook(environment, event, given)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (line,) = logged(paths)
    known = event in EVENTS
    assert (line["event"], line["hook"]) == ("hook", event if known else "?")
    assert line["why"] == (why if known else "an event that this memoryd does not know")


def test_a_directory_that_is_gone_and_odd_text_get_nothing(
    environment: dict[str, str], project: Path, paths: Paths, tmp_path: Path
) -> None:
    for given in (
        sent(project, cwd=str(tmp_path / "vanished")),
        sent(project, cwd="/\u0000"),
        sent(project, "cut a \ud800 release \u0000 from main"),
        sent(project, "\u202e" * 500_000),
    ):
        done = hook(environment, "user-prompt-submit", given)
        assert (done.returncode, done.stderr) == (0, b"")
    assert logged(paths) == []


@pytest.mark.parametrize(
    ("text", "is_silent"),
    [
        ("[features]\nrecall = false\n", True),
        ('[projects]\nexclude = ["{project}"]\n', True),
        ("nonsense = 1\n", False),
    ],
    ids=["off", "excluded", "broken"],
)
def test_settings_count_and_broken_ones_are_no_reason_to_be_silent(
    environment: dict[str, str], project: Path, paths: Paths, text: str, *, is_silent: bool
) -> None:
    os.makedirs(os.path.dirname(paths.config_file))
    Path(paths.config_file).write_text(text.replace("{project}", str(project)))
    done = hook(environment, "user-prompt-submit", sent(project))
    assert done.returncode == 0
    assert (done.stdout == b"") is is_silent


def test_a_project_whose_name_clashes_with_an_older_one_gets_none_of_its_memories(
    environment: dict[str, str], tmp_path: Path, paths: Paths
) -> None:
    """`a-b` and `a.b` are one folder to the client; whoever memoryd saw first has it."""
    older, younger = tmp_path / "a-b", tmp_path / "a.b"
    for place in (older, younger):
        (place / ".git").mkdir(parents=True)
    assert memoryd(environment, "remember", "--project", str(older), RULE).returncode == 0
    with closing(open_database(paths)) as database:
        update_projects(database, [project_at(str(place), paths, Config()) for place in (older, younger)], 1.0)
    assert hook(environment, "user-prompt-submit", sent(younger)).stdout == b""
    assert hook(environment, "user-prompt-submit", sent(older)).stdout


def test_the_environment_turns_it_off(environment: dict[str, str], project: Path) -> None:
    assert hook({**environment, "MEMORYD_DISABLE_RECALL": "1"}, "user-prompt-submit", sent(project)).stdout == b""


def test_where_the_client_does_not_load_the_index_a_new_session_is_given_it(
    environment: dict[str, str], project: Path, paths: Paths
) -> None:
    start = [sent(project, source=source) for source in ("startup", "clear", "compact", "resume", "fork")]
    told = [hook(environment, "session-start", call) for call in start]
    assert [context_in(done) for done in told[:3]] == [RULES_OF_USE] * 3  # once, also where the client has the index
    assert [done.stdout for done in told[3:]] == [b"", b""]
    Path(paths.claude_settings).write_text('{"autoMemoryEnabled": false}')
    assert [bool(hook(environment, "session-start", call).stdout) for call in start] == [True, True, True, False, False]
    text = context_in(hook(environment, "session-start", start[0]))
    assert RULE in text
    assert text.startswith("<memoryd-recall>")


def test_the_end_of_a_turn_wakes_the_daemon(environment: dict[str, str], project: Path, paths: Paths) -> None:
    for event in ("stop", "pre-compact", "session-end"):
        shutil.rmtree(os.path.dirname(paths.wake_file), ignore_errors=True)
        done = hook(environment, event, sent(project))
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert os.path.exists(paths.wake_file)


def test_who_writes_to_the_file_of_recall_keeps_no_prompt_waiting(
    environment: dict[str, str], project: Path, paths: Paths
) -> None:
    """Also where a memory has changed since, which another process is just taking in."""
    assert hook(environment, "user-prompt-submit", sent(project)).stdout
    assert memoryd(environment, "remember", "--project", str(project), "The parser is in src/parse.py").returncode == 0
    other = sqlite3.connect(paths.recall_file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert RULE in context_in(hook(environment, "user-prompt-submit", sent(project, session_id="another")))
    other.close()
    assert logged(paths) == []


def test_a_state_directory_that_cannot_be_used_is_silence(environment: dict[str, str], project: Path) -> None:
    done = hook({**environment, "XDG_STATE_HOME": "/proc/nowhere"}, "user-prompt-submit", sent(project))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_ten_at_once_all_get_their_answer(environment: dict[str, str], project: Path, paths: Paths) -> None:
    """Also the first time, when the memories have to be read."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", HOOK, "hook", "user-prompt-submit"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(10)
    ]
    for number, process in enumerate(started):
        assert process.stdin is not None
        process.stdin.write(sent(project, session_id=f"session-{number}"))
        process.stdin.close()
    for process in started:
        assert process.stdout is not None
        assert process.stderr is not None
        said = process.stdout.read()
        assert process.stderr.read() == b""
        assert said, logged(paths)
        assert RULE in json.loads(said)["hookSpecificOutput"]["additionalContext"]
        assert process.wait(PATIENCE_SECONDS) == 0
        process.stdout.close()
        process.stderr.close()
    assert logged(paths) == []
    recall = as_json(environment, "status")["recall"]
    assert (recall["shown"], recall["sessions"], recall["prompts"], recall["used"]) == (10, 10, 10, 0)


def test_its_help_is_for_people(environment: dict[str, str]) -> None:
    done = memoryd(environment, "hook", "--help")
    assert done.returncode == 0
    assert "memoryd setup" in " ".join(done.stdout.split())


def test_a_session_is_told_what_was_kept_and_the_config_can_silence_it(
    environment: dict[str, str], project: Path, paths: Paths
) -> None:
    session = Session(cwd=str(project))
    write(paths.transcripts_root, session, session.turn("From now on, use tabs in shell scripts."), "-acme")
    assert memoryd(environment, "backfill", "--yes").returncode == 0
    config = Path(paths.config_file)
    config.parent.mkdir(parents=True)
    config.write_text('notice = "off"\n')
    start = sent(project, hook_event_name="SessionStart", source="startup")
    assert "systemMessage" not in json.loads(hook(environment, "session-start", start).stdout)
    config.write_text("[features]\nrecall = false\n")
    told = json.loads(hook(environment, "session-start", start).stdout)
    assert list(told) == ["systemMessage"]
    assert "Use tabs in shell scripts" in told["systemMessage"]
    assert hook(environment, "session-start", start).stdout == b""


@pytest.mark.parametrize("event", EVENTS)
def test_a_hook_imports_only_what_every_answer_needs(environment: dict[str, str], project: Path, event: str) -> None:
    """A client waits for each: what takes tens of milliseconds is loaded where a memory, a note or a line of a log needs it."""
    call: dict[str, Any] = {
        "source": "startup",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "t",
    }
    memoryd(environment, "recall", "--project", str(project), PROMPT)  # the memory has been read
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-P", "-m", "memoryd", "hook", event],
        env=environment,
        input=sent(project, **call),
        capture_output=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    imported = {line.rsplit("|", 1)[1].strip() for line in done.stderr.decode().splitlines() if "|" in line}
    assert "memoryd.clients.hook" in imported
    heavy = {"yaml", "msgspec", "dataclasses", "inspect", "logging", "random", "subprocess", "urllib.parse", "_hashlib"}
    ours = {"security.redact", "memory.commit", "memory.document", "state.changes", "rules.triggers", "review.review"}
    if event not in ("pre-compact", "session-start"):  # which read the session, and look after the plugins of clients
        ours |= {"model", "clients.registry"}
    assert imported & {*heavy, *(f"memoryd.{name}" for name in ours)} == set()
