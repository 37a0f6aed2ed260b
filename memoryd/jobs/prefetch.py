"""Prefetch: while the agent works on a prompt, a model picks the memories for it; the next prompt or tool call hands them over.

The hook starts a process of its own for that and does not wait for it. The prompt goes through a pipe and is kept nowhere.
What was picked is a small file with names, for the session, which the first to hand it over takes away. kill -9 of the
process leaves the amount that was reserved, which counts as spent; nothing else, and the next prompt asks anew.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from memoryd import atomic_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.jobs.recall_matches import Request
    from memoryd.paths import Paths

_FOLDER = "prefetched"
MODEL_SECONDS = 60.0
"""Nobody waits: as long as an answer may take and still come within the turn."""
_HALF_CHARACTERS = 6_000
"""Of the beginning of a prompt, and of its end: it has to fit into a pipe, which nobody may be reading yet."""
_KEPT_SECONDS = 3600.0
"""What was picked for a prompt so long ago is about something else by now."""
_MOST_BYTES = 1 << 16


def start_prefetch(memory_dir: str, request: Request, environment: Mapping[str, str]) -> None:
    """Start the process that asks the model; returns at once. Raises OSError.

    Its output goes nowhere: a client waits until every copy of a hook's output is closed.
    """
    from memoryd.security.redact import both_ends  # noqa: PLC0415 - 40 ms that a hook without a model need not pay

    prompt = both_ends(request.prompt, _HALF_CHARACTERS)
    data = json.dumps({"prompt": prompt, "tools": request.tools, "read": sorted(request.read)}, ensure_ascii=False)
    reader, writer = os.pipe()
    try:
        os.set_blocking(writer, False)
        os.write(writer, data.encode("utf-8", "replace")[:_MOST_BYTES])
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-m", "memoryd", "child", "--prefetch", memory_dir, request.session_id],
            dict(environment),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, reader, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setpgroup=0,  # a client that ends its hooks by their group does not end this one
        )
    finally:
        os.close(reader)
        os.close(writer)


def prefetch(
    paths: Paths,
    config: Config,
    environment: Mapping[str, str],
    clock: Clock,
    memory_dir: str,
    session_id: str,
    given: Any,
) -> str:
    """Ask the model about the prompt in `given`, and keep what it picks for the session. Returns why nothing was picked.

    1. what the session was shown or has read is not asked about
    2. the model picks, within its budget and MODEL_SECONDS
    3. names go into the session's file, in place of what was picked for an earlier prompt
    """
    from memoryd.jobs.model_choice import choose_by_model  # noqa: PLC0415 - the engine, which a hook need not load
    from memoryd.recall.shown import shown_to  # noqa: PLC0415

    if not isinstance(given, dict) or not isinstance(given.get("prompt"), str):
        return "There is no prompt."
    known = {shown.name for shown in shown_to(paths, session_id, memory_dir)} | set(given.get("read", ()))
    choice = choose_by_model(
        paths,
        config,
        environment,
        clock,
        memory_dir,
        prompt=given["prompt"],
        tools=given.get("tools", ()),
        known=known,
        seconds=MODEL_SECONDS,
    )
    if choice.names:
        picked = {"memory_dir": memory_dir, "names": choice.names, "at": clock.now()}
        atomic_file.write(_file(paths, session_id), json.dumps(picked).encode())
    return choice.why


def is_ready(paths: Paths, session_id: str) -> bool:
    """Whether something was picked for a session: one look for a file, for those who would load more to hand it over."""
    return os.path.exists(_file(paths, session_id))


def take_ready(paths: Paths, session_id: str, memory_dir: str, now: float) -> tuple[str, ...]:
    """Names that are ready for a session, each time only once. For a session without any this costs a look for a file."""
    path = _file(paths, session_id)
    try:
        data = atomic_file.read(path, _MOST_BYTES)
        os.remove(path)  # of two that hand over at once, the second finds nothing
        picked = json.loads(data)
        is_ours = picked["memory_dir"] == memory_dir and 0 <= now - picked["at"] < _KEPT_SECONDS
        return tuple(name for name in picked["names"] if isinstance(name, str)) if is_ours else ()
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def drop_before(paths: Paths, since: float) -> None:
    """Forget what was picked for sessions that never came back."""
    atomic_file.remove_older(_folder(paths), since)


def _folder(paths: Paths) -> str:
    return os.path.join(paths.state_dir, _FOLDER)


def _file(paths: Paths, session_id: str) -> str:
    return paths.session_file(_FOLDER, session_id, ".json")
