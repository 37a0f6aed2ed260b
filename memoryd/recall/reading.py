"""Reading of memories into the terms that they are searched by; where there are thousands, half of them by a second process.

The second process, `python -m memoryd.recall.reading`, gets its memories and gives what it found through files without a name,
so that neither waits for the other and a kill of either leaves nothing behind. What it cannot do is done here.
"""

from __future__ import annotations

import marshal
import os
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from memoryd.errors import BusyError, StateError
from memoryd.memory.keys import keys_in
from memoryd.memory.limits import FILE_BYTES
from memoryd.paths import Paths
from memoryd.recall.every_answer import is_about_every_answer
from memoryd.recall.store import EVERY_ANSWER, PLAIN_CALLS, LearntMemory
from memoryd.state.database import open_for_reading
from memoryd.state.memory_keys import digest_of, keys_by_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from subprocess import Popen

    from memoryd.memory.quick_parse import QuickParse

_FOR_TWO = 2000
"""From so many files on a second process, which takes a fifth of a second to begin, saves time."""

_Stamp = tuple[int, int, int]
_Trigger = tuple[str, str, str, str]


def terms_by_two(paths: Paths, memory_dir: str, files: Mapping[str, _Stamp]) -> list[LearntMemory]:
    """The same as `learnt_memories`, in less time where there are many.

    Half is read by a second process. What they speak of takes three times as long as their terms, so that is left out, but for
    those that bind: `read_triggers` is for the rest.
    """
    if len(files) < _FOR_TWO:
        return learnt_memories(paths, memory_dir, files)
    if (os.cpu_count() or 1) == 1:
        return learnt_memories(paths, memory_dir, files, terms_first=True)
    names = list(files)
    first, rest = (
        {name: files[name] for name in some} for some in (names[: len(names) // 2], names[len(names) // 2 :])
    )
    with _file_without_name(paths) as given, _file_without_name(paths) as found:
        second = _start_second(paths, memory_dir, rest, given, found)
        try:
            learnt = learnt_memories(paths, memory_dir, first, terms_first=True)
            others = _result(second, found)
        finally:
            if second is not None:
                second.kill()
                second.wait()
    if others is None:
        others = learnt_memories(paths, memory_dir, rest, terms_first=True)
    return [*learnt, *others]


def learnt_memories(
    paths: Paths, memory_dir: str, files: Mapping[str, _Stamp], *, terms_first: bool = False
) -> list[LearntMemory]:
    """The terms of memories, and what each speaks of. Secrets are taken out first.

    `terms_first`: only of those that bind it is told what they speak of.
    """
    from memoryd.recall.weights import learnt_memory  # noqa: PLC0415 - mostly nothing has changed

    parsed = with_kept_keys(paths, [read_memory(memory_dir, name) for name in files])
    learnt = []
    for (name, stamp), memory in zip(files.items(), parsed, strict=True):
        harmless = _without_secrets(memory)
        triggers = None if terms_first and not memory.enforce else _triggers(harmless)
        learnt.append(learnt_memory(name, stamp, harmless, has_secret=harmless != memory, triggers=triggers))
    return learnt


def triggers_by_name(memory_dir: str, names: Iterable[str]) -> dict[str, Sequence[_Trigger]]:
    """What memories speak of, for those whose terms were read first."""
    return {name: _triggers(_without_secrets(read_memory(memory_dir, name))) for name in names}


def _without_secrets(memory: QuickParse) -> QuickParse:
    from memoryd.security.redact import redact  # noqa: PLC0415 - 40 ms

    return memory._replace(name=redact(memory.name), description=redact(memory.description), body=redact(memory.body))


def _triggers(memory: QuickParse) -> Sequence[_Trigger]:
    from memoryd.rules.triggers import triggers_of_memory  # noqa: PLC0415 - mostly nothing has changed

    return with_prompts(memory, triggers_of_memory(memory))


def with_prompts(memory: QuickParse, triggers: Sequence[_Trigger] = ()) -> Sequence[_Trigger]:
    """What a memory speaks of, with the work that prompts ask for, and whether it is about every answer, where it is no call."""
    from memoryd.rules.asked_work import asked_triggers  # noqa: PLC0415 - mostly nothing has changed

    is_about_call = any(trigger[0] in PLAIN_CALLS for trigger in triggers)
    about_answers = (EVERY_ANSWER,) if not is_about_call and is_about_every_answer(memory) else ()
    return (*triggers, *asked_triggers(memory, triggers), *about_answers)


def read_memory(memory_dir: str, name: str) -> QuickParse:
    """What cannot be read says nothing, until it changes."""
    from memoryd.memory.quick_parse import quick_parse  # noqa: PLC0415 - most tool calls have no memory to read

    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(os.path.join(memory_dir, name), flags)
        try:
            # As much as there is: to make room for the longest file takes longer than to read a usual one.
            return quick_parse(os.read(descriptor, min(os.fstat(descriptor).st_size, FILE_BYTES)))
        finally:
            os.close(descriptor)
    except OSError:
        return quick_parse(b"")


def with_kept_keys(paths: Paths, memories: Sequence[QuickParse]) -> list[QuickParse]:
    """Memories without keys of their own get those that a model wrote for them; they are in the state database."""
    digests = [digest_of(memory.name, memory.description, memory.body) for memory in memories]
    kept: dict[bytes, str] = {}
    with suppress(StateError, BusyError):  # a memory without them is found by its own words
        state = open_for_reading(paths)
        if state is not None:
            with closing(state):
                kept = keys_by_digest(state, digests)
    return [
        memory if memory.keys else memory._replace(keys=keys_in(kept.get(digest, "")))
        for memory, digest in zip(memories, digests, strict=True)
    ]


def _file_without_name(paths: Paths) -> BinaryIO:
    import tempfile  # noqa: PLC0415 - only for a first read

    return tempfile.TemporaryFile(dir=paths.state_dir)


def _start_second(
    paths: Paths, memory_dir: str, files: Mapping[str, _Stamp], given: BinaryIO, found: BinaryIO
) -> Popen[bytes] | None:
    """The process that reads these memories; None where it cannot be started."""
    import subprocess  # noqa: PLC0415 - only for a first read

    marshal.dump(((paths.home, paths.config_file, paths.state_dir, paths.claude_dir), memory_dir, dict(files)), given)
    given.seek(0)
    command = [sys.executable, "-P", "-m", "memoryd.recall.reading"]
    try:
        return subprocess.Popen(command, stdin=given, stdout=found, stderr=subprocess.DEVNULL)  # noqa: S603 - ourselves
    except OSError:
        return None


def _result(second: Popen[bytes] | None, found: BinaryIO) -> list[LearntMemory] | None:
    """What the second process has read; None where it failed."""
    if second is None or second.wait() != 0:
        return None
    found.seek(0)
    return list(map(_from_row, marshal.load(found)))  # noqa: S302 - our own process wrote it


def _as_row(memory: LearntMemory) -> tuple[Any, ...]:
    """A memory in plain values: its terms as one text and their weights as bytes, which takes a fifth of the time."""
    triggers = None if memory.triggers is None else [(*trigger,) for trigger in memory.triggers]
    return (*memory[:4], "\n".join(memory.weights), bytes(memory.weights.values()), triggers)


def _from_row(row: tuple[Any, ...]) -> LearntMemory:
    name, stamp, kind, has_secret, terms, weights, triggers = row
    by_term = dict(zip(terms.split("\n"), weights, strict=False))  # of no terms at all there is still one, an empty one
    return LearntMemory(name, stamp, kind, has_secret, by_term, triggers)


def main() -> None:
    """The second process."""
    paths, memory_dir, files = marshal.load(sys.stdin.buffer)  # noqa: S302 - of the process that started this one
    learnt = learnt_memories(Paths(*paths), memory_dir, files, terms_first=True)
    marshal.dump([_as_row(memory) for memory in learnt], sys.stdout.buffer)


if __name__ == "__main__":
    main()
