"""Memories that sessions were shown, and what they did with them: a small file each, lines added at its end.

No lock and no database: hundreds of hooks may write at once, and none waits for another. A line that a kill cut short is
passed over.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memoryd import atomic_file
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from memoryd.paths import Paths

_FOLDER = "recalled"
_MOST_BYTES = 1 << 20
"""The last ones are read: nobody was shown more since a compaction."""


class Shown(NamedTuple):
    """A memory that a session was shown since it was last compacted."""

    name: str
    bytes: int


def shown_to(paths: Paths, session_id: str, memory_dir: str) -> list[Shown]:
    """What the session still has in front of it."""
    found: list[Shown] = []
    for line in _lines(_file(paths, session_id)):
        if "compacted" in line:
            found.clear()
        elif line.get("shown") and line.get("memory_dir") == memory_dir:
            found.append(Shown(line["shown"], line.get("bytes", 0)))
    return found


def spent(paths: Paths, session_id: str) -> int:
    """How many bytes of memories, of whatever project, the session still has in front of it."""
    total = 0
    for line in _lines(_file(paths, session_id)):
        total = 0 if "compacted" in line else total + int(line.get("bytes", 0))
    return total


def record(
    paths: Paths,
    session_id: str,
    memory_dir: str,
    pieces: Sequence[Shown],
    at: float,
    *,
    text: str = "",
    with_call: bool = False,
) -> None:
    """`text`: all that was handed over; what it has beside the memories is noted with the first of them.

    `with_call`: with a tool call, not with a prompt. Memories that came together have the same `at`. Raises OSError.
    """
    more = {"with": "call"} if with_call else {}
    lines: list[dict[str, Any]] = [
        {"shown": one.name, "bytes": one.bytes, "memory_dir": memory_dir, "at": at, **more} for one in pieces
    ]
    beside = len(text.encode("utf-8", "replace")) - sum(one.bytes for one in pieces)
    if lines and beside > 0:
        lines[0]["beside"] = beside
    _add(paths, session_id, lines)


def record_refusal(
    paths: Paths, session_id: str, memory_dir: str, name: str, call_id: str, at: float, *, is_allowed: bool
) -> None:
    """A memory that binds kept a call from being made, or would have: the user had allowed it once. Raises OSError."""
    kind = "allowed" if is_allowed else "refused"
    _add(paths, session_id, [{kind: name, "call": call_id or f"at {at}", "memory_dir": memory_dir, "at": at}])


def set_aside(paths: Paths, session_id: str, at: float, *, is_aside: bool) -> None:
    """The user asked to leave memory aside, or has asked something else since. Raises OSError."""
    if is_aside or is_set_aside(paths, session_id):
        _add(paths, session_id, [{"aside": is_aside, "at": at}])


def is_set_aside(paths: Paths, session_id: str) -> bool:
    """Whether the session's last prompt wanted memory to be left aside."""
    return next(
        (bool(line["aside"]) for line in reversed(list(_lines(_file(paths, session_id)))) if "aside" in line), False
    )


def forget(paths: Paths, session_id: str, at: float) -> None:
    """The session was compacted: what it was shown is gone from its context. Raises OSError."""
    if os.path.exists(_file(paths, session_id)):
        _add(paths, session_id, [{"compacted": True, "at": at}])


def unused(paths: Paths, session_id: str, memory_dir: str) -> list[str]:
    """The memories that the session was shown and has done nothing with yet, each once."""
    lines = list(_lines(_file(paths, session_id)))
    used = {line.get("used") for line in lines}
    names = (line["shown"] for line in lines if line.get("shown") and line.get("memory_dir") == memory_dir)
    return [name for name in dict.fromkeys(names) if name not in used]


def record_use(paths: Paths, session_id: str, used: Mapping[str, str], at: float) -> None:
    """Which memories the session used, and how. Raises OSError."""
    _add(paths, session_id, [{"used": name, "how": how, "at": at} for name, how in used.items()])


def first_shown(log: Iterable[Mapping[str, Any]], memory_dir: str) -> dict[str, float]:
    """The memories of a directory in a session's log, and when each was first handed over."""
    found: dict[str, float] = {}
    for line in log:
        if line.get("shown") and line.get("memory_dir") == memory_dir:
            found.setdefault(line["shown"], _at(line))
    return found


def measured_to(log: Iterable[Mapping[str, Any]], memory_dir: str) -> int:
    """How far the transcript was looked at for what the session did with a directory's memories.

    The last look counts: a transcript that was rewritten may have become shorter.
    """
    ends = [line["measured"] for line in log if "measured" in line and line.get("memory_dir") == memory_dir]
    return next((end for end in reversed(ends) if isinstance(end, int)), 0)


def record_measured(
    paths: Paths, session_id: str, memory_dir: str, notes: Iterable[Mapping[str, str]], end: int, at: float
) -> None:
    """What a session did with memories, up to a place in its transcript. Raises OSError."""
    lines = [{**note, "memory_dir": memory_dir, "at": at} for note in notes]
    _add(paths, session_id, [*lines, {"measured": end, "memory_dir": memory_dir, "at": at}])


def session_log(paths: Paths, session_id: str) -> list[dict[str, Any]]:
    """All that was noted of a session."""
    return list(_lines(_file(paths, session_id)))


def sessions_since(paths: Paths, since: float) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Sessions, and what was noted of each since then. Raises OSError."""
    with os.scandir(_folder(paths)) as entries:
        recent = [entry.path for entry in entries if entry.stat(follow_symlinks=False).st_mtime >= since]
    for path in recent:
        yield os.path.basename(path).removesuffix(".jsonl"), [line for line in _lines(path) if _at(line) >= since]


def drop_before(paths: Paths, since: float) -> None:
    """Forget sessions in which nothing was shown since then."""
    atomic_file.remove_older(_folder(paths), since)


def _folder(paths: Paths) -> str:
    return os.path.join(paths.state_dir, _FOLDER)


def _file(paths: Paths, session_id: str) -> str:
    return paths.session_file(_FOLDER, session_id, ".jsonl")


def _add(paths: Paths, session_id: str, lines: Iterable[Mapping[str, Any]]) -> None:
    """All of them in one step. What a kill left of a line before is ended first."""
    path = _file(paths, session_id)
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(path, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            data = b"\n" + data
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def _lines(path: str) -> Iterator[dict[str, Any]]:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _MOST_BYTES))  # a half line at its beginning is no JSON
            data = file.read(_MOST_BYTES)
    except OSError:
        return
    for text in data.splitlines():
        with suppress(ValueError):
            line = json.loads(text)
            if isinstance(line, dict):
                yield line


def _at(line: Mapping[str, Any]) -> float:
    at = line.get("at")
    return float(at) if isinstance(at, int | float) else 0.0
