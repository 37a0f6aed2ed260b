"""Answers a hook of Claude Code: its JSON on standard input, ours on standard output.

Beside the command line, since somebody waits for every millisecond of it. Whatever goes wrong, it ends with 0 and says
nothing: a hook that fails would disturb the conversation, and some exit codes erase the prompt. What went wrong is one line
in the log.
"""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType

    from memoryd.config import Config
    from memoryd.paths import Paths

EVENTS = ("user-prompt-submit", "session-start", "stop", "session-end")

_MOST_INPUT_BYTES = 8 << 20
PATIENCE_SECONDS = 4.5
"""The client waits for five; whoever has not answered by then is silent."""
_MOST_ID_CHARACTERS = 200
_COMMAND = re.compile(r"/[\w:-]+(?:\s|\Z)")
"""A prompt that begins so is one of the client's commands; with another slash behind it, a path."""
_COMPACTED = "compact"
_WITHOUT_INDEX = ("startup", "clear", _COMPACTED)
"""How a session can begin with nothing; after the others it has the whole conversation still."""


class _LateError(Exception):
    """It took too long."""


class _InputError(Exception):
    """What the client sent is not understood."""


class _Said(NamedTuple):
    """The answer to an event."""

    text: str = ""
    """In the client's format; empty: none."""
    then: Callable[[], None] | None = None
    """What is done once it was said."""


class _Call(NamedTuple):
    """What the client says of the session."""

    session_id: str
    cwd: str
    transcript: str
    prompt: str
    source: str


def answer(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Always 0; on standard output either a whole answer or nothing."""
    paths: Paths | None = None
    try:
        signal.signal(signal.SIGALRM, _late)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS)
        from memoryd.paths import paths_from

        paths = paths_from(environment)
        said = _said(arguments[0] if arguments else "", paths, environment)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if said.text:
            with open(1, "wb", closefd=False) as output:
                output.write(said.text.encode())
        if said.then is not None:
            said.then()
    except BaseException as error:  # noqa: BLE001 - the border: nothing of ours may reach the conversation
        signal.setitimer(signal.ITIMER_REAL, 0)
        _log(paths, arguments, error)
    return 0


def _late(_number: int, _frame: FrameType | None) -> None:
    raise _LateError


def _said(event: str, paths: Paths, environment: Mapping[str, str]) -> _Said:
    if event not in EVENTS:
        raise _InputError("an event that this memoryd does not know")
    call = _call(_input())
    if event in ("stop", "session-end"):
        from memoryd.wake import wake

        wake(paths)
        return _Said()
    from memoryd.config import settled

    paths, config = settled(paths, any_config=True)
    if not config.features.recall:
        return _Said()
    memory_dir = _memory_dir(call.cwd, paths, config)
    if not memory_dir:
        return _Said()
    if event == "session-start":
        return _started(call, paths, environment, memory_dir)
    return _recalled(call, paths, config, environment, memory_dir)


def _recalled(call: _Call, paths: Paths, config: Config, environment: Mapping[str, str], memory_dir: str) -> _Said:
    from memoryd.clock import SystemClock, elapsed
    from memoryd.jobs.recall import Request, put_down, recall
    from memoryd.recall.surface import HOOK_CHARACTERS
    from memoryd.transcripts.foreign import NOT_THE_USER, without_injected
    from memoryd.transcripts.glimpse import glimpse_of

    prompt = without_injected(call.prompt) if "<" in call.prompt else call.prompt
    if NOT_THE_USER.match(prompt) or _COMMAND.match(prompt):
        return _Said()
    seen = glimpse_of(call.transcript, memory_dir)
    request = Request(
        prompt,
        call.session_id,
        seen.tools,
        seen.files,
        most_characters=HOOK_CHARACTERS,
        until=elapsed() + signal.getitimer(signal.ITIMER_REAL)[0],
    )
    clock = SystemClock()
    found = recall(paths, config, environment, clock, memory_dir, request)
    if found.fallback:
        _log(paths, ["user-prompt-submit"], None, f"chosen without the model: {found.fallback}")
    return _Said(
        _output("UserPromptSubmit", found.text), lambda: put_down(paths, memory_dir, request, found, clock.now())
    )


def _started(call: _Call, paths: Paths, environment: Mapping[str, str], memory_dir: str) -> _Said:
    """After a compaction the session knows nothing of what it was shown. The index it has, if the client loads it itself."""
    if call.source == _COMPACTED:
        from memoryd.clock import SystemClock
        from memoryd.recall.sessions import forget

        forget(paths, call.session_id, SystemClock().now())
    if call.source not in _WITHOUT_INDEX or _is_loaded(call.cwd, paths, environment, memory_dir):
        return _Said()
    from memoryd.recall.context import index_of
    from memoryd.recall.surface import HOOK_CHARACTERS, marked

    index = index_of(memory_dir, HOOK_CHARACTERS)
    text = marked(f"The index of the memories in {memory_dir}:\n\n{index.text}") if index.text else ""
    return _Said(_output("SessionStart", text))


def _is_loaded(cwd: str, paths: Paths, environment: Mapping[str, str], memory_dir: str) -> bool:
    """Whether the client loads this directory's index by itself: its own memory is on, and it is where it keeps it."""
    from memoryd.clients.claude_code_settings import read
    from memoryd.config import Config
    from memoryd.projects import project_at, root_of

    if read(paths, environment).auto_memory.is_on is False:
        return False
    own = environment.get("CLAUDE_COWORK_MEMORY_PATH_OVERRIDE")
    return memory_dir == (own or project_at(root_of(cwd), paths._replace(forced_memory_dir=None), Config()).memory_dir)


def _memory_dir(cwd: str, paths: Paths, config: Config) -> str:
    """Where the memories of the session's project are; empty where memoryd leaves it alone."""
    from memoryd.projects import is_below, is_excluded, project_at, root_of
    from memoryd.state.projects import other_owner_of

    if not os.path.isdir(cwd) or is_below(cwd, paths.state_dir):
        return ""
    root = root_of(cwd)
    patterns = config.projects.exclude
    if is_excluded(root, patterns) or is_excluded(cwd, patterns):
        return ""
    project = project_at(root, paths, config)
    return "" if other_owner_of(paths, project) else project.memory_dir


def _input() -> Any:
    import json

    data = b""
    while len(data) <= _MOST_INPUT_BYTES and (piece := os.read(0, 1 << 20)):
        data += piece
    if len(data) > _MOST_INPUT_BYTES:
        raise _InputError("more than 8 MB of input")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _InputError("input that is no JSON" if data.strip() else "no input") from error


def _call(given: Any) -> _Call:
    if not isinstance(given, dict):
        raise _InputError("input that is no JSON object")

    def text(name: str) -> str:
        value = given.get(name)
        return value if isinstance(value, str) else ""

    call = _Call(text("session_id"), text("cwd"), text("transcript_path"), text("prompt"), text("source"))
    if not call.session_id or len(call.session_id) > _MOST_ID_CHARACTERS or not os.path.isabs(call.cwd):
        raise _InputError("input without a session or its directory")
    return call


def _output(event: str, text: str) -> str:
    if not text:
        return ""
    import json

    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def _log(paths: Paths | None, arguments: Sequence[str], error: BaseException | None, why: str = "") -> None:
    """One line. Where not even that is possible, nobody hears of it: here is nowhere to say it."""
    try:
        from memoryd.errors import MemorydError
        from memoryd.log import open_log
        from memoryd.wake import prepare

        if paths is None:
            return
        prepare(paths)  # the state directory with it
        if isinstance(error, MemorydError):
            why = error.sentence
        elif isinstance(error, _InputError):
            why = str(error)
        elif isinstance(error, _LateError):
            why = f"not done within {PATIENCE_SECONDS:g} seconds"
        event = arguments[0] if arguments and arguments[0] in EVENTS else "?"
        log = open_log(paths, "info")
        if why:
            log.warning("hook", hook=event, why=why)
        else:
            log.error("hook", hook=event, error=error)
        log.close()
    except BaseException:  # noqa: BLE001, S110 - as said
        pass
