"""Answers a hook of a client: its JSON on standard input, ours on standard output.

Beside the command line, since somebody waits for every millisecond of it. Whatever goes wrong, it ends with 0 and says
nothing: a hook that fails would disturb the conversation, and some exit codes erase the prompt. What went wrong is one line
in the log.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

from memoryd.clients.base import HookInputError
from memoryd.clients.hook_dialect import event_named
from memoryd.clients.memory_reader import CLAUDE_CODE, MEMORY_READER
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType

    from memoryd.clients.base import HookCall, HookClient
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database

OWN_SESSION_VARIABLE = "MEMORYD_OWN_SESSION"
"""Set in every process that a job of memoryd starts: a client that runs hooks there is one of ours."""

_MOST_INPUT_BYTES = 8 << 20
_BESIDE_NOTES_CHARACTERS = 1_500
"""Of an index that is handed over together with notes."""
_FOLLOW_SECONDS = 0.3
"""For new memories that are read once the answer was said: the client waits for the process to end."""
_RELEASE_SECONDS = 0.5
"""Longest wait for the database at the end of a session: the client waits for two."""
PATIENCE_SECONDS = 4.5
"""The client waits for five; whoever has not answered by then is silent."""


class _LateError(Exception):
    """It took too long."""


class _World(NamedTuple):
    """Where a hook is answered."""

    paths: Paths
    config: Config
    environment: Mapping[str, str]
    memory_dir: str
    database: Database | None
    """The state database, opened once for all that is asked of it."""


class _Said(NamedTuple):
    """The answer to an event."""

    text: str = ""
    """In the client's format; empty: none."""
    then: Callable[[], None] | None = None
    """What is done once it was said."""


def answer(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Always 0; on standard output either a whole answer or nothing."""
    paths: Paths | None = None
    try:
        signal.signal(signal.SIGALRM, _late)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS)
        from memoryd.paths import paths_from

        paths = paths_from(environment)
        if environment.get(OWN_SESSION_VARIABLE):
            return 0  # a job of ours: nobody is to be told anything, and nothing is to be learnt
        said = _said(_client_of(arguments), arguments[0] if arguments else "", paths, environment)
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


def all_events() -> tuple[str, ...]:
    """What `memoryd hook` can be run with."""
    from memoryd.clients.registry import WITH_HOOKS

    return tuple(dict.fromkeys(event for client in WITH_HOOKS for event in client.hook_events))


def _late(_number: int, _frame: FrameType | None) -> None:
    raise _LateError


def _client_of(arguments: Sequence[str]) -> HookClient:
    """The one that `--client` names; where nothing is said, Claude Code. Raises HookInputError."""
    _, _, name = " ".join(arguments).partition(" --client ")
    if name in ("", CLAUDE_CODE.name):
        return CLAUDE_CODE
    from memoryd.clients.registry import WITH_HOOKS

    found = next((client for client in WITH_HOOKS if client.name == name), None)
    if found is None:
        raise HookInputError("a client that this memoryd does not know")
    return found


def _said(client: HookClient, event: str, paths: Paths, environment: Mapping[str, str]) -> _Said:
    event = event_named(event)
    if event not in client.hook_events:
        raise HookInputError("an event that this memoryd does not know")
    call = client.read_hook_call(event, _input())
    if call.kind == "end":
        from memoryd.daemon.wake_file import wake

        wake(paths)
        return _Said()
    from memoryd.config import settings_in_force

    paths, config = settings_in_force(paths, any_config=True)
    if call.kind == "release":
        return _released(client, call, paths, config)
    from memoryd.state.database import state_to_read
    from memoryd.state.projects import memory_dir_at

    with state_to_read(paths) as database:
        memory_dir = memory_dir_at(call.cwd, paths, config, database)
        if not memory_dir:
            return _Said()
        if call.kind == "call":
            return _before_call(client, event, call, paths, config, memory_dir)
        return _with_memories(client, event, _World(paths, config, environment, memory_dir, database), call)


def _with_memories(client: HookClient, event: str, world: _World, call: HookCall) -> _Said:
    """What goes with a prompt or the start of a session."""
    paths, config, memory_dir = world.paths, world.config, world.memory_dir
    context, record = "", _nothing
    if config.features.recall and call.kind == "start":
        from memoryd.recall.surface import HOOK_CHARACTERS

        manners = _rules_of_use(call, memory_dir)
        room = _BESIDE_NOTES_CHARACTERS if call.is_compacted and config.features.notes else HOOK_CHARACTERS
        context = _started(client, call, world, room - len(manners))
        context = "\n".join(filter(None, (manners, context)))
    elif config.features.recall:
        context, record = _recalled(client, call, world)
    if call.is_compacted or call.is_resumed:
        context = "\n".join(filter(None, (_notes_for(client, call, paths, config, len(context)), context)))
    notice, told = _noticed(call, world) if client.shows_notices else ("", _nothing)

    def then() -> None:
        record()
        told()
        if call.kind == "start":  # a prompt is waited for
            _follow_edits(paths, memory_dir)

    return _Said(client.hook_answer(event, context, notice) if context or notice else "", then)


def _follow_edits(paths: Paths, memory_dir: str) -> None:
    """What a client or a person wrote since may be the first memory that speaks of tool calls, or have been the last."""
    from memoryd.clock import SystemClock
    from memoryd.jobs.call_hook import follow_edits

    follow_edits(paths, memory_dir, SystemClock().now(), seconds=_FOLLOW_SECONDS)


def _nothing() -> None:
    """What is done where nothing was said."""


def _noticed(call: HookCall, world: _World) -> tuple[str, Callable[[], None]]:
    """What the user is told of what was kept, and what notes that they were."""
    paths, memory_dir, mode = world.paths, world.memory_dir, world.config.notice
    if call.is_compacted or mode == "off" or world.database is None:
        return "", _nothing
    from memoryd.jobs.notice import notice_at_start, notice_with_prompt, record_told

    notice_of = notice_at_start if call.kind == "start" else notice_with_prompt
    notice = notice_of(world.database, paths, memory_dir, mode)
    return notice.text, lambda: record_told(paths, memory_dir, notice.told) if notice.text else None


def _recalled(client: HookClient, call: HookCall, world: _World) -> tuple[str, Callable[[], None]]:
    """The memories for a prompt, and what notes that they were shown."""
    from memoryd.clock import SystemClock
    from memoryd.jobs.prefetch import start_prefetch
    from memoryd.jobs.recall import ready_memories, recall, record_shown
    from memoryd.jobs.recall_matches import Request
    from memoryd.language.memory_aside import asks_to_leave_aside
    from memoryd.projects import branch_of, root_of
    from memoryd.recall.choose import is_worth_asking
    from memoryd.recall.manners import LEFT_ASIDE
    from memoryd.recall.shown import set_aside
    from memoryd.recall.surface import HOOK_CHARACTERS
    from memoryd.transcripts.recent_activity import recent_activity_of

    if not call.prompt:
        return "", _nothing
    paths, config, environment, memory_dir, database = world
    seen = recent_activity_of(client, call.transcript, memory_dir)
    request = Request(
        call.prompt,
        call.session_id,
        seen.tools,
        seen.files,
        most_characters=HOOK_CHARACTERS,
        root=root_of(call.cwd),
        branch=branch_of(call.cwd),
        is_waited_for=True,
    )
    clock = SystemClock()
    now = clock.now()  # the same for all that comes with this prompt
    ready = ""
    if not asks_to_leave_aside(call.prompt):
        ready = ready_memories(paths, config, memory_dir, call.session_id, now, most_characters=HOOK_CHARACTERS).text
    request = request._replace(most_characters=HOOK_CHARACTERS - len(ready))
    found = recall(paths, config, environment, clock, memory_dir, request, database)

    def record() -> None:
        set_aside(paths, call.session_id, now, is_aside=found.why_not == LEFT_ASIDE)
        record_shown(paths, memory_dir, request, found, now)
        is_wanted = call.session_id and found.why_not != LEFT_ASIDE and is_worth_asking(call.prompt)
        if config.recall.selector == "model" and is_wanted:
            start_prefetch(memory_dir, request, environment)

    return "\n\n".join(filter(None, (ready, found.text))), record


def _before_call(
    client: HookClient, event: str, call: HookCall, paths: Paths, config: Config, memory_dir: str
) -> _Said:
    """The memories that speak of a tool call, or the refusal of one that binds; and what a model has picked meanwhile."""
    if call.action is None or call.action.kind not in ("run", "change"):
        return _Said()
    from memoryd.clock import SystemClock
    from memoryd.jobs.point_of_action import CallRequest, at_call, record_call
    from memoryd.jobs.prefetch import is_ready
    from memoryd.projects import root_of
    from memoryd.recall.shown import is_set_aside

    now = SystemClock().now()
    request = CallRequest(call.session_id, call.cwd, root_of(call.cwd), call.action, call.call_id)
    found = at_call(paths, config, memory_dir, request, now)
    if found.refusal:
        text = client.hook_refusal(event, found.refusal)
    else:
        context = found.text
        if config.features.recall and is_ready(paths, call.session_id) and not is_set_aside(paths, call.session_id):
            from memoryd.jobs.recall import ready_memories
            from memoryd.recall.surface import HOOK_CHARACTERS

            most = HOOK_CHARACTERS - len(context)
            ready = ready_memories(
                paths, config, memory_dir, call.session_id, now, most_characters=most, with_call=True
            )
            context = "\n\n".join(filter(None, (context, ready.text)))
        text = client.hook_answer(event, context) if context else ""
        if context and not text:
            return _Said()  # the client takes nothing with a call: it was not shown
    return _Said(text, lambda: record_call(paths, memory_dir, request, found, now))


def _released(client: HookClient, call: HookCall, paths: Paths, config: Config) -> _Said:
    """What was said in the session need not wait for silence, where an engine would wait for it."""
    from memoryd.daemon.wake_file import wake

    if config.engine == "claude":
        _record_release(call, paths)
    if call.is_before_compaction and config.features.notes:
        from memoryd.jobs.notes_hook import update_notes

        update_notes(client.name, call, paths, config)
    wake(paths)
    return _Said()


def _record_release(call: HookCall, paths: Paths) -> None:
    """Note that the session need not be waited for. Where that cannot be done, it is read after the silence as all others."""
    from contextlib import closing

    from memoryd.clock import SystemClock
    from memoryd.errors import MemorydError
    from memoryd.state.database import open_database
    from memoryd.state.releases import release

    try:
        with closing(open_database(paths, _RELEASE_SECONDS)) as database:
            release(database, call.session_id, SystemClock().now())
    except MemorydError as error:
        _log(paths, ["pre-compact" if call.is_before_compaction else "session-end"], error)


def _notes_for(client: HookClient, call: HookCall, paths: Paths, config: Config, taken: int) -> str:
    """The notes of a session that was compacted, or is gone on with after days. Without them the rest is said all the same.

    `taken`: characters of the answer that something else has.
    """
    if not config.features.notes:
        return ""
    from memoryd.errors import MemorydError
    from memoryd.jobs.notes_hook import notes_for

    try:
        return notes_for(client.name, call, paths, config, taken)
    except (MemorydError, OSError, ValueError, _LateError) as error:
        _log(paths, ["session-start"], error)
        return ""


def _started(client: HookClient, call: HookCall, world: _World, room: int) -> str:
    """The index in so many characters, unless the client loads it itself.

    After a compaction the session knows nothing of what it was shown.
    """
    paths, memory_dir = world.paths, world.memory_dir
    if call.is_compacted:
        from memoryd.clock import SystemClock
        from memoryd.recall.shown import forget

        forget(paths, call.session_id, SystemClock().now())
    is_loaded = client.name == MEMORY_READER.name and _is_loaded(call.cwd, paths, world.environment, memory_dir)
    if not call.is_empty or is_loaded:
        return ""
    from memoryd.recall.context import index_of
    from memoryd.recall.surface import marked

    index = index_of(memory_dir, room, paths.global_dir)
    return marked(f"The index of the memories in {memory_dir}:\n\n{index.text}") if index.text else ""


def _rules_of_use(call: HookCall, memory_dir: str) -> str:
    """How to use memories, for a session that has not been told."""
    if not call.is_empty:
        return ""
    from memoryd.recall.manners import rules_of_use

    return rules_of_use(memory_dir)


def _is_loaded(cwd: str, paths: Paths, environment: Mapping[str, str], memory_dir: str) -> bool:
    """Whether the client loads this directory's index by itself: its own memory is on, and it is where it keeps it."""
    from memoryd.config import Config
    from memoryd.projects import project_at, root_of

    settings = MEMORY_READER.read_settings(paths, environment)
    if settings.auto_memory.is_on is False:
        return False
    own = settings.memory_dir
    return memory_dir == (own or project_at(root_of(cwd), paths._replace(forced_memory_dir=None), Config()).memory_dir)


def _input() -> Any:
    import json

    data = b""
    while len(data) <= _MOST_INPUT_BYTES and (piece := os.read(0, 1 << 20)):
        data += piece
    if len(data) > _MOST_INPUT_BYTES:
        raise HookInputError("more than 8 MB of input")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise HookInputError("input that is no JSON" if data.strip() else "no input") from error


def _log(paths: Paths | None, arguments: Sequence[str], error: BaseException | None, why: str = "") -> None:
    """One line. Where not even that is possible, nobody hears of it: here is nowhere to say it."""
    try:
        from memoryd.daemon.wake_file import prepare
        from memoryd.errors import MemorydError
        from memoryd.log.writer import open_log

        if paths is None:
            return
        prepare(paths)  # the state directory with it
        if isinstance(error, MemorydError):
            why = error.sentence
        elif isinstance(error, HookInputError):
            why = str(error)
        elif isinstance(error, _LateError):
            why = f"not done within {PATIENCE_SECONDS:g} seconds"
        event = arguments[0] if arguments and arguments[0] in all_events() else "?"
        log = open_log(paths, "info")
        if why:
            log.warning("hook", hook=event, why=why)
        else:
            log.error("hook", hook=event, error=error)
        log.close()
    except BaseException:  # noqa: BLE001, S110 - as said
        pass
