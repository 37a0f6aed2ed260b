"""Choice by a model: which memories of a directory help with a prompt, from one line about each."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import MemorydError
from memoryd.jobs.selection import select_by_model
from memoryd.memory.directory import HEAD_BYTES, open_directory, problem_of
from memoryd.memory.manifest import manifest_of
from memoryd.memory.snapshot import memories_in
from memoryd.memory.tier_names import as_global
from memoryd.security.redact import both_ends
from memoryd.state.database import open_database

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.memory.directory import FileState
    from memoryd.paths import Paths

_ASKED_CHARACTERS = 32_000


class ModelChoice(NamedTuple):
    names: tuple[str, ...] | None
    """Memories that help, the most useful first; None where the model did not choose."""
    why: str = ""
    """Reason why it did not."""
    changed_at: Mapping[str, int] = {}
    """When each of the memories was last changed, in nanoseconds."""


def choose_by_model(
    paths: Paths,
    config: Config,
    environment: Mapping[str, str],
    clock: Clock,
    memory_dir: str,
    *,
    prompt: str,
    tools: Sequence[str],
    known: Collection[str],
    seconds: float,
) -> ModelChoice:
    """Memories that a model picks for a prompt, without those that are known. A failure is returned as a reason, not raised."""
    try:
        files = _heads(memory_dir)
        person = paths.global_dir
        if person and person != memory_dir and problem_of(person, os.R_OK | os.X_OK) is None:
            files |= {as_global(name): state for name, state in _heads(person).items()}
        files = {name: state for name, state in files.items() if name not in known}
        with closing(open_database(paths)) as database:
            selected = select_by_model(
                database,
                paths,
                config,
                environment,
                clock,
                memory_dir=memory_dir,
                query=both_ends(
                    prompt, _ASKED_CHARACTERS
                ),  # the middle was pasted, and takes long to search for secrets
                manifest_lines=manifest_of(memories_in(files)),
                names=files.keys(),
                tools=tools,
                limit=config.recall.most_memories,
                seconds=seconds,
            )
    except MemorydError as error:
        return ModelChoice(None, error.sentence)
    except OSError as error:
        return ModelChoice(None, f"The memories cannot be listed: {error.strerror}.")
    changed_at = {name: files[name].mtime_ns for name in selected.names or ()}
    return ModelChoice(selected.names, selected.why, changed_at)


def _heads(memory_dir: str) -> dict[str, FileState]:
    """The beginnings of the memories of a directory, by name; none where there is no directory yet."""
    with suppress(FileNotFoundError), open_directory(memory_dir) as directory:
        names = directory.listing().topics
        return {name: state for name in names if (state := directory.read(name, HEAD_BYTES)) is not None}
    return {}
