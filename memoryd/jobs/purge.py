"""Purging: a text, or all that a memory ever said, is removed from everything that memoryd keeps, and that is proved.

1. memories: ordinary commits, so that nobody's edit is lost; lines of a global memory go from the index of every project
2. stores: the changed files go out, and a ref of ours starts anew
3. the state database: every column, then the file is written anew, without freed pages and WAL
4. what recall keeps and our copies of git repositories: deleted, they are made anew
5. every other file of the state directory: masked in place, as another process may have it open
6. proof: the bytes of all these files are searched

Killed anywhere, it can be run again: each step finds what is left.
"""

from __future__ import annotations

import mmap
import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.registry import all_sessions
from memoryd.errors import BusyError, MemorydError
from memoryd.jobs.index_repair import repair_indexes
from memoryd.jobs.memory_dirs import all_memory_dirs
from memoryd.jobs.sync import all_shared, machine_name, person_name, sync_all
from memoryd.jobs.team import team_dir_of
from memoryd.memory.changeset import free_name
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.document import parse
from memoryd.memory.index import entry_of, hook_of, link_to, title_of
from memoryd.memory.limits import INDEX_NAME
from memoryd.memory.tier_names import TEAM_FOLDER
from memoryd.model import Changeset, FileChange, Group, IndexEdit
from memoryd.paths import is_below
from memoryd.security.unwanted import Unwanted
from memoryd.sources.session import NotATranscriptError
from memoryd.state import history, purge, sync
from memoryd.stores.git import GitStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from memoryd.config import Config
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.paths import Paths
    from memoryd.state.database import Database

MOST_TEXTS = 200
"""A pattern that matches more different texts than this was not meant so."""
_STORE_COPIES = "stores"
_LEAST_LINE_BYTES = 20
"""A shorter line of a memory may be anybody's."""


class PlacesOfText(NamedTuple):
    """Where a text stands."""

    texts: frozenset[bytes]
    memories: tuple[str, ...]
    is_in_database: bool
    files: tuple[str, ...]
    """In the state directory, apart from databases."""
    paths: tuple[str, ...]
    """Paths of directories that hold it in their names."""
    stores: tuple[str, ...]
    """Where copies may be on other machines."""


class StoreCleaning(NamedTuple):
    """What came of cleaning one store."""

    store: str
    error: MemorydError | None = None
    is_git: bool = False


def survey(paths: Paths, config: Config, database: Database, unwanted: Unwanted) -> PlacesOfText:
    """Look everywhere, and change nothing. Raises MemorydError where the pattern matches too much."""
    in_database = purge.found(database, unwanted)
    texts = set(in_database)
    memories, files = [], []
    for path in _memory_files(paths, config, database):
        found = _found_in_file(path, unwanted) | unwanted.found_in(os.fsencode(os.path.basename(path)))
        texts |= found
        memories += [path] * bool(found)
    for path in _state_files(paths, database):
        found = _found_in_file(path, unwanted)
        texts |= found
        files += [path] * bool(found)
    if len(texts) > MOST_TEXTS:
        raise MemorydError(
            f"That matches {len(texts):,} different texts, the shortest of them"
            f" {min(texts, key=len).decode('utf-8', 'replace')!r}. Nothing was removed.",
            "name it more closely: memoryd purge --fixed --secret TEXT",
        )
    stores = tuple(sorted(shared.address for shared in all_shared(database, config)))
    return PlacesOfText(
        frozenset(texts),
        tuple(memories),
        bool(in_database),
        tuple(files),
        tuple(purge.found_paths(database, unwanted)),
        stores,
    )


def texts_of_memory(database: Database, memory_dir: str, name: str) -> Unwanted:
    """What a memory says and ever said, as far as history has it, what the index said of it, and the words that it rests on."""
    texts = {piece.quote for piece in history.evidence_of(database, memory_dir, name)}
    for change in history.recent(database, memory_dir, name, limit=-1):
        for file in history.files_of(database, change.id):
            if file.name == name:
                texts |= _texts_in(file.before) | _texts_in(file.after)
        index = history.index_of(database, change.id)
        texts |= _texts_in_index(index.before, name) | _texts_in_index(index.after, name) if index else set()
    path = os.path.join(memory_dir, name)
    for index_data in (
        *purge.indexes_with(database, link_to(path)),
        *_indexes_of(history.changed_directories(database)),
    ):
        texts |= _texts_in_index(index_data, path)
    if (project := _project_of_team(memory_dir)) is not None:
        line = f"{TEAM_FOLDER}/{name}"
        for index_data in (*purge.indexes_with(database, link_to(line), project), *_indexes_of([project])):
            texts |= _texts_in_index(index_data, line)
    with suppress(FileNotFoundError), open_directory(memory_dir) as directory:
        state, index_state = directory.read(name), directory.read(INDEX_NAME)
        texts |= _texts_in(state.data if state else None)
        texts |= _texts_in_index(index_state.data if index_state else None, name)
    long = {text for text in texts if len(text.encode("utf-8", "surrogateescape")) >= _LEAST_LINE_BYTES}
    if purge.has_namesake(database, memory_dir, name):
        return Unwanted(long, spared=name)
    return Unwanted(long | {name})


def _project_of_team(memory_dir: str) -> str | None:
    """The directory whose index has lines of a team's memories; None where this is no team's folder."""
    project, folder = os.path.split(memory_dir)
    return project if folder == TEAM_FOLDER else None


def _indexes_of(memory_dirs: Iterable[str]) -> Iterator[bytes]:
    for memory_dir in memory_dirs:
        with suppress(OSError, MemorydError), open_directory(memory_dir) as directory:
            if (state := directory.read(INDEX_NAME)) is not None:
                yield state.data


def _texts_in(data: bytes | None) -> set[str]:
    document = parse(data or b"")
    return {document.description, *(line.strip(" *#->\t\r") for line in document.body.splitlines())}


def _texts_in_index(data: bytes | None, name: str) -> set[str]:
    lines = (data or b"").decode("utf-8", "surrogateescape").splitlines()
    return {text for line in lines if entry_of(line) == name for text in (title_of(line), hook_of(line))}


def purge_text(
    paths: Paths, config: Config, database: Database, unwanted: Unwanted, environment: Mapping[str, str], now: float
) -> Iterator[StoreCleaning]:
    """Remove a text from everything that is kept here and in the stores (steps 1 to 5); tells of each store."""
    failed: MemorydError | None = None
    for memory_dir in _memory_dirs(paths, config, database):
        try:
            with suppress(FileNotFoundError), open_directory(memory_dir) as directory:
                _mask_directory(database, directory, unwanted, now)
        except MemorydError as error:  # the others are cleaned all the same
            failed = failed or error
    for path in _memory_files(paths, config, database):  # daily logs, and what is no memory
        _mask_file(path, unwanted)
    stores = list(_cleaned_stores(paths, config, database, unwanted, environment, now))
    purge.mask(database, unwanted, now, is_in_stores=any(store.error for store in stores))
    _purge_state(paths, database, unwanted)
    purge.rewrite(database)
    yield from stores
    if failed is not None:
        raise failed


def purge_memory(
    paths: Paths,
    config: Config,
    database: Database,
    memory_dir: str,
    name: str,
    unwanted: Unwanted,
    environment: Mapping[str, str],
    now: float,
) -> Iterator[StoreCleaning]:
    """The same for a memory and all that it ever said. Other memories stay, also where they say the same."""
    with suppress(FileNotFoundError), open_directory(memory_dir) as directory, directory.locked():
        state = directory.read(name)
        if state is not None:
            gone = FileChange(name, state.data, None, state.mtime_ns, mode=state.mode)
            changeset = Changeset("forget", "purged a memory", (Group((gone,), "purged"),))
            if commit(database, directory, changeset, now).conflicted:
                raise BusyError(f"{name} was changed meanwhile and stays.", f"memoryd purge --memory {name}")
    link = link_to(os.path.join(memory_dir, name))
    if memory_dir == paths.global_dir and config.index.write:
        _remove_lines(database, _memory_dirs(paths, config, database), link, f"memoryd purge --memory {name}", now)
    project = _project_of_team(memory_dir)
    if project is not None and config.index.write:
        line = link_to(f"{TEAM_FOLDER}/{name}")
        _remove_lines(database, [project], line, f"memoryd purge --memory {TEAM_FOLDER}/{name}", now)
    yield from _cleaned_stores(paths, config, database, unwanted, environment, now)
    _purge_state(paths, database, unwanted)
    # Last: until then its name and its texts are known.
    purge.remove_memory(database, memory_dir, name, unwanted, link, project or memory_dir, now)
    purge.rewrite(database)


def _remove_lines(database: Database, memory_dirs: list[str], link: bytes, fix: str, now: float) -> None:
    """Take the lines of a memory that is gone out of the indexes of other directories. Raises BusyError where one stays."""
    with_line = [place for place in memory_dirs if any(link in data for data in _indexes_of([place]))]
    repair_indexes(database, with_line, now)
    for place in with_line:
        if any(link in data for data in _indexes_of([place])):
            raise BusyError(f"The line of the memory in {os.path.join(place, INDEX_NAME)} cannot be removed.", fix)


def _cleaned_stores(
    paths: Paths, config: Config, database: Database, unwanted: Unwanted, environment: Mapping[str, str], now: float
) -> Iterator[StoreCleaning]:
    """Send what was changed to each store; our ref of a git repository whose past holds the text gets one without a past.

    Before the database is cleaned: it knows what the store had.
    """
    try:
        for outcome in sync_all(database, paths, config, environment, now):
            error, is_git = outcome.error, False
            try:
                store = outcome.shared.open(paths, environment)
                is_git = isinstance(store, GitStore)
                if error is None and isinstance(store, GitStore) and store.holds(unwanted.is_in):
                    shared = outcome.shared
                    author = person_name(environment, shared.team_root) if shared.is_team else machine_name()
                    version = store.start_anew(author)
                    sync.put_round(database, sync.last_round(database, outcome.store)._replace(version=version))
            except MemorydError as failed:
                error = failed
            yield StoreCleaning(outcome.store, error, is_git=is_git)
    except BusyError as error:
        yield StoreCleaning("Your stores", error)


def _purge_state(paths: Paths, database: Database, unwanted: Unwanted) -> None:
    for suffix in ("-shm", "-wal", ""):
        with suppress(FileNotFoundError):
            os.remove(paths.recall_file + suffix)
    shutil.rmtree(os.path.join(paths.state_dir, _STORE_COPIES), ignore_errors=True)
    for path in _state_files(paths, database):
        _mask_file(path, unwanted)


def left_over(paths: Paths, config: Config, database: Database, unwanted: Unwanted) -> list[str]:
    """Files of ours whose bytes still hold the text: the proof, if there are none (step 6)."""
    databases = [f"{path}{suffix}" for path in (paths.database, paths.recall_file) for suffix in ("", "-wal", "-shm")]
    files = [*databases, *_state_files(paths, database), *_memory_files(paths, config, database)]
    return [path for path in files if _found_in_file(path, unwanted)]


def sessions_with(paths: Paths, unwanted: Unwanted) -> Iterator[str]:
    """Transcripts of clients that hold the text. They are theirs: they are named, not changed."""
    for client, session in all_sessions(paths):
        try:
            with client.open_session(session.path) as opened:
                if any(unwanted.is_in(block) for block in opened.blocks()):
                    yield session.path
        except (OSError, NotATranscriptError):
            continue


# --- directories and files --------------------------------------------------------------------------------------------


def _memory_dirs(paths: Paths, config: Config, database: Database) -> list[str]:
    """The memory directories that are there, those of teams and of agents before the ones they are in."""
    found = {place.path for place in all_memory_dirs(paths, config)} | set(history.changed_directories(database))
    found |= {team_dir_of(memory_dir) for memory_dir in found}
    return sorted((path for path in found if os.path.isdir(path) and not os.path.islink(path)), reverse=True)


def _memory_files(paths: Paths, config: Config, database: Database) -> Iterator[str]:
    """Every Markdown file in a memory directory, however deep."""
    seen: set[str] = set()
    for memory_dir in _memory_dirs(paths, config, database):
        for above, folders, names in os.walk(memory_dir):
            folders[:] = [folder for folder in folders if not os.path.islink(os.path.join(above, folder))]
            for name in sorted(names):
                path = os.path.join(above, name)
                if name.endswith(".md") and path not in seen and not os.path.islink(path):
                    seen.add(path)
                    yield path


def _mask_directory(database: Database, directory: MemoryDirectory, unwanted: Unwanted, now: float) -> None:
    with directory.locked():
        groups = []
        topics = directory.listing().topics
        taken = {name.casefold() for name in topics}
        for name in topics:
            state = directory.read(name)
            if state is None:
                continue
            masked = unwanted.masked(state.data)
            stem = os.fsdecode(unwanted.masked(os.fsencode(name.removesuffix(".md"))))
            if f"{stem}.md" != name:
                new_name = free_name(stem, taken)
                taken.add(new_name.casefold())
                gone = FileChange(name, state.data, None, state.mtime_ns, mode=state.mode)
                groups.append(Group((FileChange(new_name, None, masked, mode=state.mode), gone), "removed a text"))
            elif masked != state.data:
                change = FileChange(name, state.data, masked, state.mtime_ns, mode=state.mode)
                groups.append(Group((change,), "removed a text"))
        index = directory.read(INDEX_NAME)
        edit = IndexEdit(was=index.data, shall_be=unwanted.masked(index.data)) if index else IndexEdit()
        if groups or edit.was != edit.shall_be:
            changeset = Changeset("purge", "removed a text", tuple(groups), index_edit=edit)
            if commit(database, directory, changeset, now).conflicted:
                raise BusyError(f"A memory in {directory.path} was changed meanwhile.", "the same command again")


def _state_files(paths: Paths, database: Database) -> Iterator[str]:
    """Every file of the state directory that is no database in use and no copy of a store; and session notes elsewhere."""
    rows = database.query("SELECT file FROM session_notes WHERE file <> ''")
    yield from (row["file"] for row in rows if not is_below(row["file"], paths.state_dir))
    skipped = (paths.database, paths.recall_file)
    for above, folders, names in os.walk(paths.state_dir):
        if above == paths.state_dir:
            folders[:] = [folder for folder in folders if folder != _STORE_COPIES]
        for name in sorted(names):
            path = os.path.join(above, name)
            if path.removesuffix("-wal").removesuffix("-shm") not in skipped and not os.path.islink(path):
                yield path


def _found_in_file(path: str, unwanted: Unwanted) -> set[bytes]:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return set()
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return unwanted.found_in(data)
    except (OSError, ValueError):
        return set()


def _mask_file(path: str, unwanted: Unwanted) -> None:
    """In place: the daemon may append to the same file meanwhile."""
    if not _found_in_file(path, unwanted):
        return
    with open(os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC), "r+b") as file:
        with mmap.mmap(file.fileno(), 0) as data:
            for start, masked in unwanted.masks(data):
                data[start : start + len(masked)] = masked
            data.flush()
        os.fsync(file.fileno())
